// Names on a map: where they may stand, and which of them have room.

import { toScreenX, toScreenY, type Size, type View } from "./view";

export interface Name { text: string; x: number; y: number; same: number } // same: a number that names of one class share
export interface Placed { text: string; x: number; y: number; width: number }

export const LABEL_HEIGHT = 18;
const AREA = 15_000; // square pixels of the map for each name; more names would cover the points
const GAP = 6; // pixels between two names
const REPEAT = 190; // pixels between two names of one class

/** The names that are in view and do not overlap, the first of the list first. */
export function placed(names: Name[], view: View, size: Size, measure: (text: string) => number): Placed[] {
  const most = Math.max(4, Math.floor((size.width * size.height) / AREA));
  const out: (Placed & { same: number })[] = [];
  for (const name of names) {
    if (out.length >= most) break;
    const x = toScreenX(view, size, name.x), y = toScreenY(view, size, name.y);
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const width = measure(name.text);
    const centre = Math.min(size.width - width / 2 - 4, Math.max(width / 2 + 4, x)); // wholly on the map
    const free = (other: Placed & { same: number }): boolean =>
      (Math.abs(centre - other.x) > (width + other.width) / 2 + GAP || Math.abs(y - other.y) > LABEL_HEIGHT) &&
      (name.same !== other.same || Math.hypot(centre - other.x, y - other.y) > REPEAT);
    if (out.every(free)) out.push({ text: name.text, x: centre, y, width, same: name.same });
  }
  return out.map(({ text, x, y, width }) => ({ text, x, y, width }));
}
