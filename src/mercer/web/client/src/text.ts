// Text that fits.

/** On one line, with at most so many letters. */
export const shorten = (text: string, most: number): string => {
  const flat = text.replace(/\s+/g, " ");
  const letters = [...flat.slice(0, 2 * most)];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
};
