// What the page knows and what was chosen; parts of the page listen to its changes.

import { type Colouring, colouring, coloursOf } from "./colouring";
import { type Ground, LIGHT, type RGB } from "./colours";
import { Axis, Column, rowNumbers, spread } from "./columns";
import type { Panel } from "./panel";
import type { Pen } from "./pen";
import { type About, type NeighborsAbout, type Numbers, type Score, unpack } from "./data";
import { DIMMED, HIDDEN, SHOWN, mixedOrder } from "./renderer";
import type { Sorting } from "./sorting";

export type Change = "colour" | "states" | "selection" | "search" | "hover" | "pin" | "style" | "ground" | "marks" | "table" | "sorting" | "view" | "maps" | "scores";
/** Which names stand on the maps: of classes, of clusters that the page finds, or none. */
export type Naming = "classes" | "clusters" | "none";
export type Filter = { off: Uint8Array } | { low: number; high: number; missing: boolean };
/** The nearest rows in the data, as far as they are known. */
export interface Nearest { k: number; sampled: number | null; of(row: number): number[] | null }
export interface MapData {
  name: string; axes: Axis[]; quality: Score[] | null; run: Record<string, unknown> | null;
  snapshots: { steps: number; axes: [Axis, Axis] }[];
}

export class Store {
  readonly title: string;
  readonly rows: number;
  readonly maps: MapData[];
  readonly ids: Column | null;
  readonly columns: Column[];
  readonly scores: Column[]; // of single rows, by map
  readonly label: Column | null;
  near: Nearest | null;
  readonly drawings: ((pen: Pen, panel: Panel) => void)[] = []; // what else lies over the points of a map
  order: Uint32Array;
  readonly filters = new Map<Column, Filter>();
  readonly states: Uint8Array;

  ground: Ground = LIGHT;
  colouring: Colouring;
  colours: RGB[] = [];
  selected: Uint32Array | null = null; // rows, ascending
  matches: { query: string; mask: Uint8Array; count: number; hidden: number } | null = null; // hidden: by a filter
  spotlight = -1; // the class that the pointer rests on in the legend
  hovered = -1;
  pinned = -1;
  size: number;
  opacity: number;
  shown = 0;
  scored: number | null = null; // how many rows have the score that points are coloured by, if only these stand out
  filtered = 0; // how often the filters have changed: what depends on them alone is kept in between
  naming: Naming = "none";
  contours = false;
  table = false; // whether the table is open without a selection
  sorting: Sorting = { column: null, down: false };

  private absent: number | null = null;
  private readonly mixed: Uint32Array;
  private readonly visible: Uint8Array;
  private selectedMask: Uint8Array | null = null;
  private readonly listeners = new Map<Change, ((source: unknown) => void)[]>();
  private readonly images: { bytes: Uint8Array; starts: Float64Array; lengths: Numbers } | null;

  constructor(about: About, block: Uint8Array) {
    this.title = about.title;
    this.rows = about.rows;
    this.maps = about.maps.map((map) => ({
      name: map.name, quality: map.quality, run: map.run,
      snapshots: map.snapshots.map(({ steps, axes }) => ({
        steps, axes: axes.map((axis, k) => Axis.of(block, { ...axis, name: map.axes[k]?.name ?? "" })) as [Axis, Axis],
      })),
      axes: withSpread(map.axes.map((axis) => Axis.of(block, axis)), about.rows),
    }));
    this.ids = about.ids && new Column(block, about.ids);
    this.columns = about.columns.map((column) => new Column(block, column));
    this.scores = about.maps.flatMap((map) => map.scores.map((score) => new Column(block, score, map.name)));
    this.near = about.neighbors && new NearestRows(block, about.neighbors);
    this.images = about.images && imageTable(block, about.images);
    this.order = this.mixed = mixedOrder(this.rows);
    this.visible = new Uint8Array(this.rows).fill(1);
    this.states = new Uint8Array(this.rows);
    this.size = autoSize(this.rows);
    this.opacity = autoOpacity(this.rows);
    const labels = about.label === null ? null : this.columns[about.label]!;
    this.label = labels;
    const first = labels?.colours ? labels : this.columns.find((column) => column.colours);
    this.colouring = colouring(first ?? null, this.rows);
    this.naming = (this.classes?.names.length ?? 0) > 1 ? "classes" : "none"; // the name of the only class says nothing
    this.reorder();
    this.recolour();
    this.restate();
  }

  /** Puts other coordinates in place of a map; panels that show it follow by themselves. */
  replaceMap(index: number, name: string, axes: Axis[], run: Record<string, unknown> | null): void {
    const map = this.maps[index]!;
    map.name = name;
    map.axes = withSpread(axes, this.rows);
    map.run = run;
  }

  /** A map that stays beside the one that changes; it takes the place of one that was kept before. */
  keepMap(map: MapData): void {
    this.maps.splice(1, this.maps.length, map);
    this.emit("maps");
  }

  /** A score takes the place of an earlier one of its name. */
  setScore(score: Column): void {
    const at = this.scores.findIndex((each) => each.name === score.name);
    const filter = at < 0 ? undefined : this.filters.get(this.scores[at]!);
    if (filter) {
      this.filters.delete(this.scores[at]!);
      this.filters.set(score, filter);
    }
    this.scores.splice(at < 0 ? this.scores.length : at, 1, score);
    this.emit("scores");
    if (filter) this.refilter();
  }

  /** How many rows have a place: the first ones. */
  get placed(): number {
    return this.absent ?? this.rows;
  }

  /** Rows from this one on have no place yet; null if all have. */
  setAbsent(from: number | null): void {
    if (from === this.absent) return;
    this.absent = from;
    this.refilter();
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
    this.reorder();
    this.recolour();
    this.restate();
    this.emit("colour");
  }

  /** All columns that points can be coloured by and filtered by. */
  get colourable(): Column[] {
    return [...this.columns.filter((column) => column.colours), ...this.scores];
  }

  /** The classes that may have names on the map: those of the colours, otherwise those of the label. */
  get classes(): Column | null {
    return [this.colouring.column, this.label].find((column) => column?.names.length) ?? null;
  }

  /** Rows without a value are drawn first, so that they hide none that has one. */
  private reorder(): void {
    const numbers = this.colouring.column?.numbers;
    const missing = numbers ? this.mixed.filter((row) => Number.isNaN(numbers[row]!)) : null;
    if (!missing?.length) {
      this.order = this.mixed;
      return;
    }
    this.order = new Uint32Array(this.rows);
    this.order.set(missing);
    this.order.set(this.mixed.filter((row) => !Number.isNaN(numbers![row]!)), missing.length);
  }

  setGround(ground: Ground): void {
    this.ground = ground;
    this.recolour();
    this.emit("ground");
  }

  setFilter(column: Column, filter: Filter | null): void {
    if (filter) this.filters.set(column, filter);
    else this.filters.delete(column);
    this.refilter();
  }

  setFilters(filters: Map<Column, Filter>): void {
    this.filters.clear();
    for (const [column, filter] of filters) this.filters.set(column, filter);
    this.refilter();
  }

  private refilter(): void {
    this.filtered++;
    this.visible.fill(1);
    if (this.absent !== null) this.visible.fill(0, this.absent);
    for (const [each, what] of this.filters) hide(each, what, this.visible);
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
      this.matches = { query: wanted, mask, count: mask.reduce((sum, each) => sum + each, 0), hidden: 0 };
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

  get visibleMask(): Uint8Array {
    return this.visible;
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
    return this.highlights || this.scored !== null;
  }

  /** Whether a selection, a search or the legend lets some points stand out. */
  private get highlights(): boolean {
    return this.selectedMask !== null || (this.matches !== null && this.matches.count > 0) || this.spotlight >= 0;
  }

  /** Dims the rows that have no score of those that points are coloured by, where some that stand out have one. */
  private dimUnscored(): void {
    const { states, colouring } = this;
    const sampled = colouring.column?.map ? (this.near?.sampled ?? null) : null;
    this.scored = null;
    if (sampled === null || sampled === this.rows) return;
    const scores = colouring.column!.numbers!;
    if (!states.some((state, row) => state === SHOWN && !Number.isNaN(scores[row]!))) return; // a search that found unscored rows alone
    this.scored = sampled;
    for (let i = 0; i < this.rows; i++) if (states[i] === SHOWN && Number.isNaN(scores[i]!)) states[i] = DIMMED;
  }

  private recolour(): void {
    this.colours = coloursOf(this.colouring, this.ground);
  }

  private restate(): void {
    const { states, visible, selectedMask, spotlight } = this;
    const found = this.matches?.count ? this.matches.mask : null;
    const codes = this.colouring.codes;
    this.shown = 0;
    let hidden = 0;
    for (let i = 0; i < this.rows; i++) {
      if (!visible[i]) {
        states[i] = HIDDEN;
        if (found?.[i]) hidden++;
        continue;
      }
      this.shown++;
      const bright = (!selectedMask || selectedMask[i]) && (!found || found[i]) && (spotlight < 0 || codes[i] === spotlight);
      states[i] = bright ? SHOWN : DIMMED;
    }
    if (this.matches) this.matches.hidden = hidden;
    this.dimUnscored();
  }
}

/** The nearest rows in the data, of every row or of a sample of rows. */
export class NearestRows implements Nearest {
  readonly k: number;
  readonly sampled: number | null; // how many rows have neighbours, if not all
  private readonly indices: Numbers;
  private readonly places: Map<number, number> | null;

  constructor(block: Uint8Array, about: NeighborsAbout) {
    this.k = about.k;
    this.indices = unpack(block, about.indices);
    const rows = about.rows && unpack(block, about.rows);
    this.sampled = rows && rows.length;
    this.places = rows && new Map(Array.from(rows, (row, place) => [row, place]));
  }

  /** Nearest first; null for a row that is not in the sample. */
  of(row: number): number[] | null {
    const place = this.places ? this.places.get(row) : row;
    return place === undefined ? null : Array.from(this.indices.subarray(place * this.k, (place + 1) * this.k));
  }
}

function hide(column: Column, filter: Filter, visible: Uint8Array): void {
  if ("off" in filter) {
    for (let i = 0; i < visible.length; i++) if (filter.off[column.codes![i]!]) visible[i] = 0;
  } else {
    // Infinite values are beyond the ends of the scale: they stay as long as an end does.
    const extent = column.extent();
    const low = filter.low <= extent.low ? -Infinity : filter.low, high = filter.high >= extent.high ? Infinity : filter.high;
    for (let i = 0; i < visible.length; i++) {
      const value = column.numbers![i]!;
      const keep = Number.isNaN(value) ? filter.missing : value >= low && value <= high;
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
