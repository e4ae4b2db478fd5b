// Names on a map: where they may stand, and which of them have room.

import { toScreenX, toScreenY, type Size, type View } from "./view";

/** same: a number that names of one class share; reach: half the height of what is named, in units of the map. */
export interface Name { text: string; x: number; y: number; same: number; reach: number }
export interface Placed { text: string; x: number; y: number; width: number }

export const LABEL_HEIGHT = 18;
const AREA = 12_000; // square pixels of the map for each name; more names would cover the points
const GAP = 6; // pixels between two names
const REPEAT = 190; // pixels between two names of one class
const TOP = 10, BOTTOM = 24; // pixels that a name stays away from the edges; below are the numbers of the axis
const CORNER = 130, HEAD = 38; // pixels of the corner on the top left, where the name of the vertical axis stands
const MOST_ANCHORS = 120; // places that names avoid to cover: the first of the list, so that a thousand classes are fast

/** The names that are in view and do not overlap, the first of the list first. `radius` is that of a point. */
export function placed(names: Name[], view: View, size: Size, radius: number, measure: (text: string) => number): Placed[] {
  const most = Math.max(4, Math.floor((size.width * size.height) / AREA));
  const seen = names.map((name) => ({ name, x: toScreenX(view, size, name.x), y: toScreenY(view, size, name.y) }))
    .filter(({ x, y }) => x >= 0 && y >= 0 && x <= size.width && y <= size.height);
  const anchors = seen.slice(0, MOST_ANCHORS);
  const out: (Placed & { same: number })[] = [];
  for (const own of seen) {
    if (out.length >= most) break;
    const { text, same } = own.name, width = measure(text);
    const free = (x: number, y: number): boolean =>
      y >= (x - width / 2 < CORNER ? HEAD : TOP) && y <= size.height - BOTTOM && out.every((other) =>
        (Math.abs(x - other.x) > (width + other.width) / 2 + GAP || Math.abs(y - other.y) > LABEL_HEIGHT) &&
        (same !== other.same || Math.hypot(x - other.x, y - other.y) > REPEAT));
    const gap = (to: { x: number; y: number }, x: number, y: number): number =>
      Math.hypot(Math.max(0, Math.abs(to.x - x) - width / 2), Math.max(0, Math.abs(to.y - y) - LABEL_HEIGHT / 2));
    // A name that is nearer to what another one names would seem to be its name.
    const clear = (x: number, y: number): boolean => {
      const away = gap(own, x, y);
      return anchors.every((other) => other === own || gap(other, x, y) >= Math.max(away, radius) || (other.x === own.x && other.y === own.y));
    };
    const half = own.name.reach * view.scale + radius;
    const spots = places(half, width).map(([dx, dy]) => [Math.min(size.width - width / 2 - 4, Math.max(width / 2 + 4, own.x + dx)), own.y + dy] as const); // wholly on the map
    const upon = half > LABEL_HEIGHT && free(...spots[0]!) ? spots[0] : undefined;
    const spot = spots.find(([x, y]) => free(x, y) && clear(x, y)) ?? upon;
    if (spot) out.push({ text, x: spot[0], y: spot[1], width, same });
  }
  return out.map(({ text, x, y, width }) => ({ text, x, y, width }));
}

/** Where a name may stand from the middle of what it names, the best first: upon a large cloud, beside one that it would hide. */
function places(half: number, width: number): [number, number][] {
  if (half > LABEL_HEIGHT) return [[0, 0], [0, -LABEL_HEIGHT - 1], [0, LABEL_HEIGHT + 1]];
  const away = half + LABEL_HEIGHT / 2 + 1, beside = half + width / 2 + GAP;
  return [[0, -away], [0, away], [beside, 0], [-beside, 0]];
}
