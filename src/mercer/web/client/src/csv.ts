// Rows as comma-separated text, by RFC 4180 but for the line ends.

// A spreadsheet runs text that begins like a formula. An apostrophe before it makes it text again; Mercer's reader takes
// one apostrophe away before any such text.
const RUNS = /^'*[=+\-@\t\r]/;

/** Text as no spreadsheet runs it. Numbers are not text: -1 stays a number. */
export const inert = (value: string | null): string | null => (value !== null && RUNS.test(value) ? `'${value}` : value);

/** A field, in quotes where it needs them. A missing value is empty; empty text is in quotes. */
export function field(value: string | null): string {
  if (value === null) return "";
  return value === "" || /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** A table in pieces that a Blob can be made of. */
export function csv(names: string[], rows: Iterable<number>, cell: (row: number, column: number) => string | null): string[] {
  const pieces = [names.map((name) => field(inert(name))).join(",") + "\n"];
  let lines: string[] = [];
  for (const row of rows) {
    lines.push(names.map((_, column) => field(cell(row, column))).join(","));
    if (lines.length === 10_000) {
      pieces.push(lines.join("\n") + "\n");
      lines = [];
    }
  }
  if (lines.length) pieces.push(lines.join("\n") + "\n");
  return pieces;
}
