// What the page knows and what was chosen; parts of the page listen to its changes.

import { type Colouring, colouring, coloursOf } from "./colouring";
import { type Ground, LIGHT, type RGB } from "./colours";
import { Axis, Column, rowNumbers, spread } from "./columns";
import { type About, type Numbers, type Score, unpack } from "./data";
import { DIMMED, HIDDEN, SHOWN, mixedOrder } from "./renderer";

export type Change = "colour" | "states" | "selection" | "search" | "hover" | "pin" | "style" | "ground";
export type Filter = { off: Uint8Array } | { low: number; high: number; missing: boolean };
export interface MapData { name: string; axes: Axis[]; quality: Score[] | null; run: Record<string, unknown> | null }

export class Store {
  readonly title: string;
  readonly rows: number;
  readonly maps: MapData[];
  readonly ids: Column | null;
  readonly columns: Column[];
  readonly order: Uint32Array;
  readonly filters = new Map<Column, Filter>();
  readonly states: Uint8Array;

  ground: Ground = LIGHT;
  colouring: Colouring;
  colours: RGB[] = [];
  selected: Uint32Array | null = null; // rows, ascending
  matches: { query: string; mask: Uint8Array; count: number } | null = null;
  spotlight = -1; // the class that the pointer rests on in the legend
  hovered = -1;
  pinned = -1;
  size: number;
  opacity: number;
  shown = 0;

  private readonly visible: Uint8Array;
  private selectedMask: Uint8Array | null = null;
  private readonly listeners = new Map<Change, ((source: unknown) => void)[]>();
  private readonly images: { bytes: Uint8Array; starts: Float64Array; lengths: Numbers } | null;

  constructor(about: About, block: Uint8Array) {
    this.title = about.title;
    this.rows = about.rows;
    this.maps = about.maps.map((map) => ({
      name: map.name, quality: map.quality, run: map.run,
      axes: withSpread(map.axes.map((axis) => Axis.of(block, axis)), about.rows),
    }));
    this.ids = about.ids && new Column(block, about.ids);
    this.columns = about.columns.map((column) => new Column(block, column));
    this.images = about.images && imageTable(block, about.images);
    this.order = mixedOrder(this.rows);
    this.visible = new Uint8Array(this.rows).fill(1);
    this.states = new Uint8Array(this.rows);
    this.size = autoSize(this.rows);
    this.opacity = autoOpacity(this.rows);
    const labels = about.label === null ? null : this.columns[about.label]!;
    const first = labels?.colours ? labels : this.columns.find((column) => column.colours);
    this.colouring = colouring(first ?? null, this.rows);
    this.recolour();
    this.restate();
  }

  on(change: Change, listener: (source: unknown) => void): void {
    this.listeners.set(change, [...(this.listeners.get(change) ?? []), listener]);
  }

  emit(change: Change, source: unknown = null): void {
    for (const listener of this.listeners.get(change) ?? []) listener(source);
  }

  colourBy(column: Column | null): void {
    this.colouring = colouring(column, this.rows);
    this.spotlight = -1;
    this.recolour();
    this.emit("colour");
  }

  setGround(ground: Ground): void {
    this.ground = ground;
    this.recolour();
    this.emit("ground");
  }

  setFilter(column: Column, filter: Filter | null): void {
    if (filter) this.filters.set(column, filter);
    else this.filters.delete(column);
    this.visible.fill(1);
    for (const [each, what] of this.filters) hide(each, what, this.visible);
    this.restate();
    this.emit("states");
  }

  clearFilters(): void {
    this.filters.clear();
    this.visible.fill(1);
    this.restate();
    this.emit("states");
  }

  /** Selects rows given by a mask (kept), or none. */
  select(mask: Uint8Array | null): void {
    this.selectedMask = mask;
    this.selected = mask && rowsIn(mask);
    this.restate();
    this.emit("selection");
    this.emit("states");
  }

  /** What a selection of these rows would be: alone, together with the earlier one, or taken from it. */
  combined(rows: Iterable<number>, how: "replace" | "add" | "remove"): Uint8Array {
    const mask = how === "replace" || !this.selectedMask ? new Uint8Array(this.rows) : this.selectedMask.slice();
    for (const row of rows) mask[row] = how === "remove" ? 0 : 1;
    return mask;
  }

  search(query: string): void {
    const wanted = query.trim().toLowerCase();
    if (wanted) {
      const mask = new Uint8Array(this.rows);
      this.ids?.search(wanted, mask);
      if (!this.ids && /^\d+$/.test(wanted) && Number(wanted) < this.rows) mask[Number(wanted)] = 1;
      for (const column of this.columns) if (column.kind !== "number" && column.kind !== "date") column.search(wanted, mask);
      this.matches = { query: wanted, mask, count: mask.reduce((sum, each) => sum + each, 0) };
    } else {
      this.matches = null;
    }
    this.restate();
    this.emit("search");
    this.emit("states");
  }

  setSpotlight(code: number): void {
    if (code === this.spotlight) return;
    this.spotlight = code;
    this.restate();
    this.emit("states");
  }

  hover(row: number, source: unknown): void {
    if (row === this.hovered) return;
    this.hovered = row;
    this.emit("hover", source);
  }

  pin(row: number, source: unknown = null): void {
    this.pinned = row;
    this.emit("pin", source);
  }

  isVisible = (row: number): boolean => this.visible[row] === 1;

  idOf(row: number): string {
    return this.ids ? (this.ids.text(row) ?? "missing") : String(row);
  }

  get hasImages(): boolean {
    return this.images !== null;
  }

  /** The image of a row, to be shown and thrown away with URL.revokeObjectURL. */
  imageOf(row: number): Blob | null {
    if (!this.images) return null;
    const length = this.images.lengths[row]!, start = this.images.starts[row]!;
    if (!length) return null;
    const bytes = this.images.bytes.slice(start, start + length);
    return new Blob([bytes], { type: bytes[0] === 0x89 ? "image/png" : "image/jpeg" });
  }

  /** Whether some points are paler than others. */
  get dimming(): boolean {
    return this.selectedMask !== null || (this.matches !== null && this.matches.count > 0) || this.spotlight >= 0;
  }

  private recolour(): void {
    this.colours = coloursOf(this.colouring, this.ground);
  }

  private restate(): void {
    const { states, visible, selectedMask, spotlight } = this;
    const found = this.matches?.count ? this.matches.mask : null;
    const codes = this.colouring.codes;
    this.shown = 0;
    for (let i = 0; i < this.rows; i++) {
      if (!visible[i]) {
        states[i] = HIDDEN;
        continue;
      }
      this.shown++;
      const bright = (!selectedMask || selectedMask[i]) && (!found || found[i]) && (spotlight < 0 || codes[i] === spotlight);
      states[i] = bright ? SHOWN : DIMMED;
    }
  }
}

function hide(column: Column, filter: Filter, visible: Uint8Array): void {
  if ("off" in filter) {
    for (let i = 0; i < visible.length; i++) if (filter.off[column.codes![i]!]) visible[i] = 0;
  } else {
    for (let i = 0; i < visible.length; i++) {
      const value = column.numbers![i]!;
      const keep = Number.isNaN(value) ? filter.missing : value >= filter.low && value <= filter.high;
      if (!keep) visible[i] = 0;
    }
  }
}

export function rowsIn(mask: Uint8Array): Uint32Array {
  let count = 0;
  for (const each of mask) count += each;
  const rows = new Uint32Array(count);
  for (let i = 0, at = 0; i < mask.length; i++) if (mask[i]) rows[at++] = i;
  return rows;
}

function withSpread(axes: Axis[], rows: number): Axis[] {
  return axes.length === 1 ? [axes[0]!, spread(rows), rowNumbers(rows)] : axes;
}

function imageTable(block: Uint8Array, place: NonNullable<About["images"]>) {
  const lengths = unpack(block, place.lengths!);
  const starts = new Float64Array(lengths.length);
  let at = place.at;
  for (let i = 0; i < starts.length; i++) {
    starts[i] = at;
    at += lengths[i]!;
  }
  return { bytes: block, starts, lengths };
}

/** Few points are large and nearly opaque, many are small and let those beneath shine through. */
export const autoSize = (rows: number): number => Math.min(10, Math.max(1.5, 27 * rows ** -0.2));
export const autoOpacity = (rows: number): number => Math.min(0.9, Math.max(0.1, 0.9 * (4000 / rows) ** 0.33));
