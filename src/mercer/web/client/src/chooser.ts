// A list of columns to choose from, with a search field where it is long.

import type { Column } from "./columns";
import { h } from "./dom";
import { formatCount } from "./format";
import { shorten } from "./text";

const SEARCH_FROM = 20; // columns from which there is a search field

export interface Chooser { element: HTMLElement; select: HTMLSelectElement }

/** values[k] stands for columns[k]; `other` is an option that is no column: its value and its name. */
export function chooser(columns: Column[], values: string[], other: [string, string], first: boolean, props: { id?: string; label: string }): Chooser {
  const select = h("select", { ...(props.id ? { id: props.id } : {}), "aria-label": props.label });
  const fill = (wanted: string): void => {
    const kept = select.value;
    const words = wanted.trim().toLowerCase().split(/\s+/);
    const option = (column: Column): HTMLOptionElement => h("option", { value: values[columns.indexOf(column)]! }, shorten(column.name, 60) || "(no name)");
    const fits = columns.filter((column) => values[columns.indexOf(column)] === kept || words.every((word) => column.title.toLowerCase().includes(word)));
    const groups = [...new Set(fits.map((column) => column.map))].map((map) => {
      const options = fits.filter((column) => column.map === map).map(option);
      return map ? h("optgroup", { label: `Quality of ${shorten(map, 40)}` }, ...options) : options;
    });
    const nothing = h("option", { value: other[0] }, other[1]);
    select.replaceChildren(...(first ? [nothing] : []), ...groups.flat(), ...(first ? [] : [nothing]));
    select.value = kept || values[0] || other[0];
  };
  fill("");
  if (columns.length < SEARCH_FROM) return { element: select, select };
  const input = h("input", { type: "search", placeholder: `Find among ${formatCount(columns.length)} columns`, "aria-label": `${props.label}: find a column` });
  input.addEventListener("input", () => fill(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // Enter takes the first column that fits.
    const words = input.value.trim().toLowerCase().split(/\s+/);
    const found = columns.find((column) => words.every((word) => column.title.toLowerCase().includes(word)));
    if (!found) return;
    select.value = values[columns.indexOf(found)]!;
    select.dispatchEvent(new Event("change"));
  });
  return { element: h("div", { class: "chooser" }, input, select), select };
}
