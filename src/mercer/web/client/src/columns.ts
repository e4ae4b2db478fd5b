// Columns and axes as the page uses them: a text for every row, and codes or numbers to colour by.

import { type AsFitted, type AxisAbout, type ColumnAbout, type Numbers, Texts, unpack } from "./data";
import { formatDate, formatExact, formatShort, isMidnight } from "./format";
import { type Scale, scaleOf } from "./scale";

export type Kind = ColumnAbout["kind"];

/** A column of the table. */
export class Column {
  readonly name: string;
  readonly kind: Kind;
  readonly names: string[];
  readonly codes: Numbers | null;
  readonly numbers: Numbers | null;
  private readonly fitted: AsFitted | null;
  private readonly texts: Texts | null;
  private hasTimes: boolean | null = null;
  private range: { low: number; high: number } | null = null;
  private scaled: Scale | null = null;

  /** block: where its values are, or the numbers themselves; map: the map that it is a score of, "" for a column of the table. */
  constructor(block: Uint8Array | Float32Array, about: ColumnAbout, readonly map = "") {
    this.name = about.name;
    this.kind = about.kind;
    this.names = about.names ?? [];
    this.fitted = about.fitted ?? null;
    const given = block instanceof Float32Array ? block : null, packed = given ? new Uint8Array(0) : (block as Uint8Array);
    this.codes = about.kind === "category" ? unpack(packed, about) : null;
    this.numbers = given ?? (about.kind === "number" || about.kind === "date" ? unpack(packed, about) : null);
    this.texts = about.kind === "text" ? new Texts(packed, about) : null;
  }

  /** The name, with that of the map if it is a score of one. */
  get title(): string {
    return this.map ? `${this.name} · ${this.map}` : this.name;
  }

  /** Whether points can be coloured by it. */
  get colours(): boolean {
    return this.kind !== "text";
  }

  /** The value of a row as text, exactly; null where it is missing. */
  text(row: number): string | null {
    if (this.codes) return this.names[this.codes[row]!] ?? null;
    if (this.texts) return this.texts.get(row);
    const value = this.numbers![row]!;
    if (Number.isNaN(value)) return null;
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    return this.kind === "date" ? formatDate(value, this.timed) : formatExact(value, this.numbers instanceof Float32Array);
  }

  /** Whether some of its dates have a time of day: all are shown with it then. */
  get timed(): boolean {
    return (this.hasTimes ??= this.kind === "date" && this.numbers!.some((value) => !Number.isNaN(value) && !isMidnight(value)));
  }

  /** Whether its values are text, even such as reads like a number. */
  get isText(): boolean {
    return this.texts !== null || (this.codes !== null && !this.names.every((name) => /^-?\d+$/.test(name)));
  }

  /** The value of a row to look at: seven digits are enough for that. */
  shown(row: number): string | null {
    const value = this.kind === "number" ? this.numbers![row]! : NaN;
    return !Number.isFinite(value) || Number.isSafeInteger(value) ? this.text(row) : String(Number(value.toPrecision(7)));
  }

  /** What the method was given for a row, in words; null where that is the value itself. */
  given(row: number): string | null {
    if (!this.fitted) return null;
    const { fill, centre, spread } = this.fitted;
    const text = this.text(row);
    if (text === null && fill === null) return null;
    const value = Number(text ?? fill);
    const filled = text === null ? `filled in: ${typeof fill === "number" ? formatShort(fill) : fill}` : "";
    const scaled = (centre !== 0 || spread !== 1) && Number.isFinite(value) ? `fitted as ${formatShort((value - centre) / spread)}` : "";
    return [filled, scaled].filter(Boolean).join(", ") || null;
  }

  /** The least and the greatest number, infinite ones left out; 0 and 1 if there is none. */
  extent(): { low: number; high: number } {
    if (this.range) return this.range;
    let low = Infinity, high = -Infinity;
    for (const value of this.numbers!) {
      if (value < low && value !== -Infinity) low = value;
      if (value > high && value !== Infinity) high = value;
    }
    this.range = low <= high ? { low, high } : { low: 0, high: 1 };
    return this.range;
  }

  scale(): Scale {
    const { low, high } = this.extent();
    return (this.scaled ??= scaleOf(this.numbers!, low, high));
  }

  /** Adds the rows whose text contains `query` (in lower case) to `found`. Numbers match as a whole. */
  search(query: string, found: Uint8Array): void {
    if (this.codes) {
      const hits = this.names.map((name) => name.toLowerCase().includes(query));
      if (!hits.includes(true)) return;
      for (let i = 0; i < found.length; i++) if (hits[this.codes[i]!]) found[i] = 1;
    } else if (this.texts) {
      const texts = this.texts.all();
      for (let i = 0; i < found.length; i++) if (texts[i]?.includes(query)) found[i] = 1;
    } else if (this.kind === "number" && query !== "" && Number.isFinite(Number(query))) {
      const value = Number(query);
      for (let i = 0; i < found.length; i++) if (this.numbers![i] === value) found[i] = 1;
    }
  }
}

/** One axis: value = start + step · stored. */
export class Axis {
  readonly low: number;
  readonly high: number;

  constructor(readonly name: string, readonly stored: Numbers, readonly start: number, readonly step: number,
    readonly ticks = true, readonly made = false, // made: by the page, for maps of one column
  ) {
    let low = Infinity, high = -Infinity;
    for (const value of stored) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.low = low;
    this.high = high;
  }

  static of(block: Uint8Array, about: AxisAbout): Axis {
    return new Axis(about.name, unpack(block, about), about.start!, about.step!);
  }

  value(row: number): number {
    return this.start + this.step * this.stored[row]!;
  }

  /** The value of a row with as many digits as are kept: a ten-millionth of the range, however far from 0. */
  text(row: number): string {
    const value = this.value(row);
    const digits = 7 + Math.max(0, Math.ceil(Math.log10(Math.abs(value) / (2 * this.half))));
    return String(Number(value.toPrecision(Math.min(17, Number.isFinite(digits) ? digits : 17))));
  }

  get middle(): number {
    return this.start + (this.step * (this.low + this.high)) / 2;
  }

  get half(): number {
    return (this.step * (this.high - this.low)) / 2;
  }

  /** Half of the smallest difference that is kept. */
  get error(): number {
    return this.stored instanceof Uint16Array ? this.step / 2 : 0;
  }

  /** (value − middle) / half for all rows. */
  scaled(half: number): Float32Array {
    const out = new Float32Array(this.stored.length);
    const middle = (this.low + this.high) / 2;
    const factor = half > 0 ? this.step / half : 0;
    for (let i = 0; i < out.length; i++) out[i] = (this.stored[i]! - middle) * factor;
    return out;
  }
}

/** Places for maps of one dimension: spread at random, the same at every opening, or by the number of the row. */
export function spread(rows: number): Axis {
  const stored = new Float32Array(rows);
  for (let i = 0; i < rows; i++) {
    let hash = Math.imul(i + 1, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    stored[i] = ((hash ^ (hash >>> 13)) >>> 0) / 4294967296;
  }
  return new Axis("spread (no meaning)", stored, 0, 1, false, true);
}

export function rowNumbers(rows: number): Axis {
  const stored = new Uint32Array(rows);
  for (let i = 0; i < rows; i++) stored[i] = i;
  return new Axis("row", stored, 0, 1, true, true);
}
