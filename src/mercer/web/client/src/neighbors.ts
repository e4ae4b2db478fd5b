// The nearest rows of a row, in the data and in the maps, side by side.

import { picture } from "./card";
import { h } from "./dom";
import { formatCount } from "./format";
import type { Panel } from "./panel";
import type { Store } from "./store";
import { shorten } from "./text";

export function neighborLists(store: Store, panels: Panel[], row: number): HTMLElement | null {
  if (!store.near) return null;
  const near = store.near.of(row);
  if (!near && store.near.sampled === null) return null; // not known yet
  if (!near) {
    return h("p", { class: "hint" }, `This row is not among the ${formatCount(store.near.sampled!)} whose nearest rows are in this file. Colour by quality to see which ones are.`);
  }
  const inData = new Set(near);
  const found = panels.map((panel) => ({ panel, rows: panel.neighbors(row, near.length) }));
  const inMaps = new Set(found.flatMap(({ rows }) => rows));
  const lists = [
    list(store, "In the data", "lines", near, (other) => inMaps.has(other)),
    ...found.map(({ panel, rows }) => {
      const kept = rows.filter((other) => inData.has(other)).length;
      return list(store, shorten(panel.map.name, 30), `${kept} of ${near.length} kept`, rows, (other) => inData.has(other));
    }),
  ];
  return h("section", { class: "nearest", "aria-label": "Nearest rows" }, h("h2", {}, `Nearest ${near.length} rows`), h("div", { class: "lists" }, ...lists),
    h("p", { class: "hint" }, "On the maps, lines lead to the nearest in the data, and dashed rings are around the nearest in the map. Rows in bold are both."));
}

function list(store: Store, title: string, about: string, rows: number[], both: (row: number) => boolean): HTMLElement {
  const items = rows.map((row) => {
    const name = shorten(store.idOf(row), 40);
    const image = picture(store, row, 28);
    const button = h("button", { type: "button", class: both(row) ? "near both" : "near", title: name, "aria-label": `${name}${both(row) ? ", in the data and in the map" : ""}`, onclick: () => store.pin(row) }, image ?? name);
    for (const come of ["pointerenter", "focus"]) button.addEventListener(come, () => store.hover(row, button));
    for (const go of ["pointerleave", "blur"]) button.addEventListener(go, () => store.hover(-1, button));
    return h("li", {}, button);
  });
  return h("div", {}, h("h3", { dir: "auto" }, title), h("small", {}, about), h("ol", { class: store.hasImages ? "images" : "" }, ...items));
}
