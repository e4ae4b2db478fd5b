// Rows as comma-separated text, by RFC 4180 but for the line ends.

/** A field, in quotes where it needs them. A missing value is empty; empty text is in quotes. */
export function field(value: string | null): string {
  if (value === null) return "";
  return value === "" || /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** A table in pieces that a Blob can be made of. */
export function csv(names: string[], rows: Iterable<number>, cell: (row: number, column: number) => string | null): string[] {
  const pieces = [names.map(field).join(",") + "\n"];
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
