// Numbers and dates as people read them.

const grouped = new Intl.NumberFormat("en");
const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 5, useGrouping: false });

/** 1234567 → 1,234,567. */
export const formatCount = (count: number): string => grouped.format(count);

/** "1 row", "2 rows". */
export const rowsOf = (count: number): string => `${formatCount(count)} ${count === 1 ? "row" : "rows"}`;

/** Five significant digits, powers of ten where they are needed. */
export function formatShort(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  return rounded.format(value).replace("-", "−");
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

export function formatDate(milliseconds: number): string {
  if (Math.abs(milliseconds) > 8.64e15) return String(milliseconds);
  const text = new Date(milliseconds).toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, -14) : text.replace(/\.000Z$/, "Z").replace("T", " ").replace("Z", "");
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
