// What is chosen on the page as text for its address, so that a reload, a bookmark or a link shows the same.

export interface PanelState { map: number; axes: [number, number]; equal: boolean | null; view: [number, number, number] | null } // view: x, y, closeness
export type FilterState = { column: number; off: number[] } | { column: number; low: number; high: number; missing: boolean };
export interface State {
  panels: PanelState[];
  colour: number | null; // of the columns that can be coloured by; −1 for one colour, null for what the page begins with
  filters: FilterState[];
  search: string;
  pinned: number;
  selected: number[] | null;
  names: string | null;
  contours: boolean;
  table: boolean;
  sort: [number, boolean] | null; // the column (−1: the ids) and whether the greatest come first
  size: number | null;
  opacity: number | null;
  theme: "light" | "dark" | null;
}

export const MOST_SELECTED = 400; // rows that an address holds: mail programs cut longer ones

const whole = (text: string | undefined, least = 0): number | null => {
  const value = Number(text);
  return text && Number.isInteger(value) && value >= least ? value : null;
};
const finite = (text: string | undefined): number | null => (text && Number.isFinite(Number(text)) ? Number(text) : null);
const short = (value: number): string => String(Number(value.toPrecision(6)));

export function written(state: State): string {
  const out = new URLSearchParams();
  for (const { map, axes, equal, view } of state.panels) {
    out.append("map", [map, ...axes, equal === null ? "" : Number(equal), ...(view ?? []).map(short)].join("_"));
  }
  if (state.colour !== null) out.set("colour", String(state.colour));
  for (const filter of state.filters) {
    out.append("filter", "off" in filter ? `${filter.column}_off_${filter.off.join(".")}` : [filter.column, "range", filter.low, filter.high, Number(filter.missing)].join("_"));
  }
  if (state.search) out.set("search", state.search);
  if (state.pinned >= 0) out.set("row", String(state.pinned));
  if (state.selected && state.selected.length <= MOST_SELECTED) out.set("rows", differences(state.selected));
  if (state.names !== null) out.set("names", state.names);
  if (state.contours) out.set("lines", "1");
  if (state.table) out.set("table", "1");
  if (state.sort) out.set("sort", `${state.sort[0]}_${Number(state.sort[1])}`);
  if (state.size !== null) out.set("size", short(state.size));
  if (state.opacity !== null) out.set("opacity", short(state.opacity));
  if (state.theme) out.set("theme", state.theme);
  return out.toString();
}

/** The state in an address; what cannot be read is left out. Whether columns and rows exist is for the page to check. */
export function read(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const flag = (name: string): boolean => given.get(name) === "1";
  const theme = given.get("theme");
  const sort = (given.get("sort") ?? "").split("_");
  const sorted = whole(sort[0], -1);
  return {
    panels: given.getAll("map").flatMap((text): PanelState[] => {
      const [map, x, y, equal, ...view] = text.split("_");
      const numbers = [whole(map), whole(x), whole(y)];
      if (numbers.includes(null)) return [];
      const places = view.map(finite);
      const seen = places.length === 3 && !places.includes(null) && places[2]! > 0 ? (places as [number, number, number]) : null;
      return [{ map: numbers[0]!, axes: [numbers[1]!, numbers[2]!], equal: equal ? equal === "1" : null, view: seen }];
    }),
    colour: whole(given.get("colour") ?? undefined, -1),
    filters: given.getAll("filter").flatMap((text): FilterState[] => {
      const [column, kind, ...rest] = text.split("_");
      const at = whole(column), [low, high] = [finite(rest[0]), finite(rest[1])];
      if (at === null) return [];
      if (kind === "off") return [{ column: at, off: (rest[0] ?? "").split(".").map((each) => whole(each)).filter((each) => each !== null) }];
      return kind === "range" && low !== null && high !== null ? [{ column: at, low, high, missing: rest[2] === "1" }] : [];
    }),
    search: given.get("search") ?? "",
    pinned: whole(given.get("row") ?? undefined) ?? -1,
    selected: given.has("rows") ? sums(given.get("rows")!) : null,
    names: given.get("names"),
    contours: flag("lines"),
    table: flag("table"),
    sort: sorted === null ? null : [sorted, sort[1] === "1"],
    size: finite(given.get("size") ?? undefined),
    opacity: finite(given.get("opacity") ?? undefined),
    theme: theme === "dark" || theme === "light" ? theme : null,
  };
}

/** Ascending rows by the steps between them, to the base 36. */
const differences = (rows: number[]): string => rows.map((row, k) => (row - (k ? rows[k - 1]! : 0)).toString(36)).join(".");

function sums(text: string): number[] {
  let row = 0;
  return text.split(".").filter((part) => /^[0-9a-z]+$/.test(part)).map((part) => (row += parseInt(part, 36)));
}
