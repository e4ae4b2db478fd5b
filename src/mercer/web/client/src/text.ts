// Text that fits.

/** On one line, with at most so many letters. */
export const shorten = (text: string, most: number): string => {
  const flat = text.replace(/\s+/g, " ");
  const letters = [...flat.slice(0, 2 * most)];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
};

/** All of them shortened: those that would read alike are cut in their middle, if that tells them apart. */
export function shortenAll(texts: string[], most: number): string[] {
  const short = texts.map((text) => shorten(text, most));
  const counts = new Map<string, number>();
  for (const text of short) counts.set(text, (counts.get(text) ?? 0) + 1);
  return short.map((text, k) => (counts.get(text)! > 1 ? middleCut(texts[k]!, most) : text));
}

function middleCut(text: string, most: number): string {
  const letters = [...text.replace(/\s+/g, " ")];
  const head = Math.ceil((most - 1) / 2);
  return letters.length > most ? `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}` : letters.join("");
}
