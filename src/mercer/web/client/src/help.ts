// How to use the page.

import { h, iconButton } from "./dom";

const WAYS: [string, string[]][] = [
  ["Move", ["drag", "← ↑ → ↓"]],
  ["Zoom", ["wheel", "pinch", "+ −"]],
  ["Show all", ["double click", "0"]],
  ["Select", ["Shift and drag", "L: lasso", "B: rectangle", "S: all in view"]],
  ["Add to a selection", ["Ctrl and lasso", "Shift and S: all in view"]],
  ["Take from a selection", ["Alt and lasso", "X: all in view"]],
  ["Table of all rows", ["T", "click a head to sort"]],
  ["Keep a row in sight, with its nearest", ["click its point", "Enter: the one in the middle"]],
  ["Hide a class", ["click it in the legend"]],
  ["Show one class alone", ["Shift-click it"]],
  ["Search", ["/", "Enter zooms to what is found"]],
  ["Back", ["Escape closes, then clears"]],
];

const LIVE_WAYS: [string, string[]][] = [
  ["Undo, redo a setting", ["Ctrl and Z", "Ctrl, Shift and Z"]],
  ["Fine steps of a slider", ["← →", "PageUp, PageDown: coarse"]],
  ["Pull points of t-SNE and hold them", ["D, then drag a point or the selection"]],
  ["Cut an edge of Isomap's graph", ["click a red line", "click the dashed line: put it back"]],
  ["Choose an axis", ["click a bar of the spectrum", "Shift-click: vertical"]],
];

/** live: the page has sliders. */
export function helpDialog(live: boolean): HTMLDialogElement {
  const list = h("dl", {});
  for (const [what, ways] of live ? [...LIVE_WAYS, ...WAYS] : WAYS) list.append(h("dt", {}, what), h("dd", {}, ...ways.map((way) => h("kbd", {}, way))));
  const dialog = h("dialog", { class: "help", "aria-label": "Help and shortcuts" });
  const close = iconButton("close", "Close", () => dialog.close());
  dialog.append(h("header", {}, h("h2", {}, "Finding your way"), close), list,
    h("p", { class: "quiet" }, "Keys for a map work once it has the focus: press Tab until it is framed, or click it. Two maps share selection, hovering and colours."));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
