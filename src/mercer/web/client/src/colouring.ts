// From a column to a colour for every row.

import type { Column } from "./columns";
import { type Ground, RAMP_STEPS, type RGB, classColours, ramp } from "./colours";

export interface Colouring {
  column: Column | null;
  codes: Uint16Array; // of each row, an index into the colours; the last colour is that of missing values
}

/** What does not depend on light or dark. */
export function colouring(column: Column | null, rows: number): Colouring {
  if (!column) return { column, codes: new Uint16Array(rows) };
  if (column.codes) return { column, codes: new Uint16Array(column.codes) };
  const numbers = column.numbers!;
  const scale = column.scale();
  const codes = new Uint16Array(rows);
  for (let i = 0; i < rows; i++) {
    const value = numbers[i]!;
    codes[i] = Number.isNaN(value) ? RAMP_STEPS : Math.min(RAMP_STEPS - 1, Math.floor(scale.place(value) * RAMP_STEPS));
  }
  return { column, codes };
}

/** The colours behind the codes, the one of missing values last. */
export function coloursOf({ column }: Colouring, ground: Ground): RGB[] {
  if (!column) return [...classColours(1, ground), ground.missing];
  if (column.codes) return [...classColours(column.names.length, ground), ground.missing];
  return [...Array.from({ length: RAMP_STEPS }, (_, i) => ramp(i / (RAMP_STEPS - 1), ground)), ground.missing];
}
