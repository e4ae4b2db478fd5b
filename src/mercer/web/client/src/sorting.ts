// Rows in the order of a column. Missing values come last, whichever way the others go.

import type { Column } from "./columns";

export interface Sorting { column: Column | null; down: boolean } // null: the order of the file

/** Rows (ascending) in the order of a column; equal ones stay in the order of the file. */
export function sorted(rows: Uint32Array, { column, down }: Sorting): Uint32Array {
  if (!column) return down ? rows.slice().reverse() : rows;
  const sign = down ? -1 : 1;
  const values = column.numbers ?? column.codes;
  if (values) {
    const missing = (row: number): boolean => (column.numbers ? Number.isNaN(values[row]!) : values[row]! >= column.names.length);
    const there = rows.filter((row) => !missing(row)).sort((a, b) => sign * (values[a]! - values[b]!) || a - b);
    const out = new Uint32Array(rows.length);
    out.set(there);
    out.set(rows.filter(missing), there.length);
    return out;
  }
  const texts = new Map<number, string | null>();
  for (const row of rows) texts.set(row, column.text(row));
  const order = new Intl.Collator("en", { numeric: true });
  return rows.slice().sort((a, b) => {
    const [s, t] = [texts.get(a)!, texts.get(b)!];
    if (s === null || t === null) return Number(s === null) - Number(t === null) || a - b;
    return sign * order.compare(s, t) || a - b;
  });
}
