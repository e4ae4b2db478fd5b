// What is drawn over the points: names and lines of equal density.

import { h } from "./dom";
import type { Naming, Store } from "./store";
import { shorten } from "./text";

export function overlays(store: Store): HTMLElement {
  const names = h("select", { id: "names", "aria-label": "Names on the map" });
  const build = (): void => {
    const classes = store.classes;
    names.replaceChildren(...(classes ? [h("option", { value: "classes" }, `of ${shorten(classes.name, 40) || "classes"}`)] : []),
      h("option", { value: "clusters" }, "of clusters found"), h("option", { value: "none" }, "none"));
    if (!classes && store.naming === "classes") store.naming = "none";
    names.value = store.naming;
  };
  build();
  store.on("colour", build);
  const lines = h("input", { type: "checkbox", id: "contours" });
  const show = (): void => {
    names.value = store.naming;
    lines.checked = store.contours;
  };
  names.addEventListener("change", () => {
    store.naming = names.value as Naming;
    store.emit("marks");
  });
  lines.addEventListener("change", () => {
    store.contours = lines.checked;
    store.emit("marks");
  });
  store.on("marks", show);
  show();
  return h("section", { class: "block" }, h("h2", {}, "On the map"),
    h("label", { class: "slider" }, h("span", {}, "Names"), names),
    h("label", { class: "check", title: "Within the lines lie 25, 50, 75 and 95 % of the points shown" }, lines, h("span", {}, "Density lines (25, 50, 75, 95 %)")));
}
