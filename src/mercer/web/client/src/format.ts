// Numbers and dates as people read them.

const grouped = new Intl.NumberFormat("en");

/** 1234567 → 1,234,567. */
export const formatCount = (count: number): string => grouped.format(count);

/** "1 row", "2 rows". */
export const rowsOf = (count: number): string => `${formatCount(count)} ${count === 1 ? "row" : "rows"}`;

/** Five significant digits, or as many as are asked for, and powers of ten where they are needed. */
export function formatShort(value: number, digits = 5): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  const near = Number(value.toPrecision(digits));
  const text = size >= 1e7 || size < 1e-4 ? near.toExponential().replace("e+", "e") : String(near);
  return text.replaceAll("-", "−");
}

/** The shortest text that reads back as the same number. */
export function formatExact(value: number, single: boolean): string {
  if (!single || Number.isInteger(value)) return String(value);
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

export const isMidnight = (milliseconds: number): boolean => milliseconds % 86_400_000 === 0;

/** A date in UTC, with the time of day unless it is midnight; `timed` tells that, too. */
export function formatDate(milliseconds: number, timed = false): string {
  if (Math.abs(milliseconds) > 8.64e15) return String(milliseconds);
  const text = new Date(milliseconds).toISOString();
  return isMidnight(milliseconds) && !timed ? text.slice(0, -14) : text.replace(/\.000Z$/, "Z").replace("T", " ").replace("Z", "");
}

/** Numbers that are a step apart, with the digits it takes to tell them apart. */
export function formatTicks(values: number[]): string[] {
  const step = values.length > 1 ? values[1]! - values[0]! : Infinity;
  return values.map((value) => {
    const digits = Math.ceil(Math.log10(Math.abs(value) / step)) + 1;
    return formatShort(value, Number.isFinite(digits) ? Math.min(15, Math.max(5, digits)) : 5);
  });
}

/** Text that a person typed as a number, or a date in UTC as pages write it; NaN where it is none. */
export function parsed(text: string, isDate: boolean): number {
  const given = text.trim();
  if (given === "") return NaN;
  if (!isDate) return Number(given.replaceAll("−", "-").replace(",", "."));
  const clock = /^\S+[T ]\d{1,2}:\d{2}[\d:.]*$/.test(given); // a time without a zone would be read as local
  return Date.parse(clock ? `${given.replace(" ", "T")}Z` : given);
}

/** Round numbers between low and high, about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw) ?? raw;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high && out.length < 50; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}
