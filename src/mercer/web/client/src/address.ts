// What is chosen on the page as text for its address, so that a reload, a bookmark or a link shows the same.

export interface PanelState { map: number; axes: [number, number]; equal: boolean | null; view: [number, number, number] | null; snapshot: number } // view: x, y, closeness; snapshot: −1 for the map itself
export type FilterState = { column: number; off: number[] } | { column: number; low: number; high: number; missing: boolean };
export interface State {
  panels: PanelState[];
  colour: number | null; // of the columns that can be coloured by; −1 for one colour, null for what the page begins with
  filters: FilterState[];
  search: string;
  pinned: number;
  selected: ArrayLike<number> | null; // rows, ascending
  names: string | null;
  contours: boolean;
  table: boolean;
  sort: [number, boolean] | null; // the column (−1: the ids) and whether the greatest come first
  size: number | null;
  opacity: number | null;
  theme: "light" | "dark" | null;
  live?: Record<string, string | number> | null; // the settings of a live page
}

const MOST_ROWS = 20_000_000; // more points than a page can hold
const MOST_LETTERS = 200_000; // of a selection: browsers keep addresses of two million

const whole = (text: string | undefined, least = 0): number | null => {
  const value = Number(text);
  return text && Number.isInteger(value) && value >= least ? value : null;
};
const finite = (text: string | undefined): number | null => (text && Number.isFinite(Number(text)) ? Number(text) : null);
const short = (value: number): string => String(Number(value.toPrecision(6)));

export function written(state: State): string {
  const out = new URLSearchParams();
  for (const { map, axes, equal, view, snapshot } of state.panels) {
    out.append("map", [map, ...axes, equal === null ? "" : Number(equal), ...(view ?? []).map(short), ...(snapshot < 0 ? [] : [`s${snapshot}`])].join("_"));
  }
  if (state.colour !== null) out.set("colour", String(state.colour));
  for (const filter of state.filters) {
    out.append("filter", "off" in filter ? `${filter.column}_off_${filter.off.join(".")}` : [filter.column, "range", filter.low, filter.high, Number(filter.missing)].join("_"));
  }
  if (state.search) out.set("search", state.search);
  if (state.pinned >= 0) out.set("row", String(state.pinned));
  const rows = state.selected && writtenRows(state.selected);
  if (rows && rows.length <= MOST_LETTERS) out.set("rows", rows);
  if (state.names !== null) out.set("names", state.names);
  if (state.contours) out.set("lines", "1");
  if (state.table) out.set("table", "1");
  if (state.sort) out.set("sort", `${state.sort[0]}_${Number(state.sort[1])}`);
  if (state.size !== null) out.set("size", short(state.size));
  if (state.opacity !== null) out.set("opacity", short(state.opacity));
  if (state.theme) out.set("theme", state.theme);
  for (const [name, value] of Object.entries(state.live ?? {})) out.set(`live.${name}`, String(value));
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
      const [map, x, y, equal, ...rest] = text.split("_");
      const view = rest.filter((part) => !part.startsWith("s"));
      const snapshot = whole(rest.find((part) => part.startsWith("s"))?.slice(1)) ?? -1;
      const numbers = [whole(map), whole(x), whole(y)];
      if (numbers.includes(null)) return [];
      const places = view.map(finite);
      const seen = places.length === 3 && !places.includes(null) && places[2]! > 0 ? (places as [number, number, number]) : null;
      return [{ map: numbers[0]!, axes: [numbers[1]!, numbers[2]!], equal: equal ? equal === "1" : null, view: seen, snapshot }];
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
    selected: given.has("rows") ? readRows(given.get("rows")!) : null,
    names: given.get("names"),
    contours: flag("lines"),
    table: flag("table"),
    sort: sorted === null ? null : [sorted, sort[1] === "1"],
    size: finite(given.get("size") ?? undefined),
    opacity: finite(given.get("opacity") ?? undefined),
    theme: theme === "dark" || theme === "light" ? theme : null,
    ...liveOf(given),
  };
}

/** Settings of a live page, numbers as numbers; whether they exist is for the page to check. */
function liveOf(given: URLSearchParams): Pick<State, "live"> {
  const found = [...given].filter(([name]) => name.startsWith("live.")).map(([name, text]) => [name.slice(5), text !== "" && Number.isFinite(Number(text)) ? Number(text) : text] as const);
  return found.length ? { live: Object.fromEntries(found) } : {};
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"; // six bits each

/** Ascending rows, as runs or as bits, whichever is shorter. */
export function writtenRows(rows: ArrayLike<number>): string {
  const letters = Math.ceil(((rows[rows.length - 1] ?? -1) + 1) / 6);
  return runsOf(rows, letters + 1) ?? bitsOf(rows, letters);
}

/** Runs of rows: the step from the end of the one before, and after a dash how many rows more, to the base 36; null if longer than `most`. */
function runsOf(rows: ArrayLike<number>, most: number): string | null {
  const parts: string[] = [];
  let length = 0, end = 0;
  for (let k = 0; k < rows.length; ) {
    let last = k;
    while (last + 1 < rows.length && rows[last + 1] === rows[last]! + 1) last++;
    const more = last - k;
    parts.push((rows[k]! - end).toString(36) + (more ? `-${more.toString(36)}` : ""));
    length += parts[parts.length - 1]!.length + 1;
    if (length > most + 1) return null; // a dot fewer than parts
    end = rows[last]!;
    k = last + 1;
  }
  return parts.join(".");
}

/** A star, then a letter for every six rows. */
function bitsOf(rows: ArrayLike<number>, letters: number): string {
  const sixes = new Uint8Array(letters);
  for (let k = 0; k < rows.length; k++) sixes[Math.floor(rows[k]! / 6)]! |= 1 << rows[k]! % 6;
  return `*${Array.from(sixes, (six) => LETTERS[six]).join("")}`;
}

export function readRows(text: string): number[] {
  const rows: number[] = [];
  if (text.startsWith("*")) {
    for (let k = 1; k < text.length; k++) {
      const six = LETTERS.indexOf(text[k]!);
      for (let bit = 0; bit < 6; bit++) if (six >= 0 && six & (1 << bit)) rows.push(6 * (k - 1) + bit);
    }
    return rows;
  }
  let row = 0;
  for (const part of text.split(".")) {
    const found = /^([0-9a-z]{1,6})(?:-([0-9a-z]{1,6}))?$/.exec(part);
    if (!found) continue;
    row += parseInt(found[1]!, 36);
    rows.push(row);
    // A forged address may claim more rows than any page has.
    for (let more = Math.min(MOST_ROWS - rows.length, parseInt(found[2] ?? "0", 36)); more > 0; more--) rows.push(++row);
    if (rows.length >= MOST_ROWS) break;
  }
  return rows;
}
