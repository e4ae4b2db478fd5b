// The line above a map: its name, its axes, the tools.

import { h, iconButton } from "./dom";
import { formatCount } from "./format";
import type { Panel } from "./panel";
import { shorten, shortenAll } from "./text";
import type { Store } from "./store";
import type { Tool } from "./gestures";

/** live: points can be pulled while a descent runs. */
export function toolbar(panel: Panel, store: Store, live: boolean): HTMLElement {
  const names = h("div", { class: "names" });
  const build = (): void => {
    names.replaceChildren(mapName(panel, store, build), ...(panel.map.axes.every((axis) => axis.ticks) ? [equalSwitch(panel)] : []));
    panel.element.querySelectorAll(".axis").forEach((each) => each.remove());
    panel.element.append(...axisChoice(panel));
    panel.element.querySelector(".steps")?.remove();
    if (panel.map.snapshots.length) panel.surface.before(snapshotSlider(panel));
  };
  build();
  panel.onMap = build;
  const tools: [Tool, string][] = [["pan", "Move (P)"], ["lasso", "Lasso (L, or Shift and drag)"], ["box", "Rectangle (B)"], ...(live ? [["drag", "Pull points and hold them (D)"] as [Tool, string]] : [])];
  const buttons = tools.map(([tool, label]) => iconButton(tool, label, () => panel.setTool(tool), { "data-tool": tool }));
  panel.onTool = () => buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(tools[k]![0] === panel.tool)));
  panel.setTool(panel.tool);
  return h("header", { class: "panel-head" }, names,
    h("div", { class: "segmented", role: "group", "aria-label": "Tool" }, ...buttons),
    h("div", { class: "zooms", role: "group", "aria-label": "Zoom" },
      iconButton("plus", "Zoom in (+)", () => panel.zoom(1.6)),
      iconButton("minus", "Zoom out (−)", () => panel.zoom(1 / 1.6)),
      iconButton("fit", "Show all (0)", () => panel.reset())));
}

function mapName(panel: Panel, store: Store, rebuild: () => void): HTMLElement {
  if (store.maps.length < 2) return h("h2", { dir: "auto" }, shorten(panel.map.name, 80));
  const select = h("select", { class: "map-name", "aria-label": "Map" }, ...shortenAll(store.maps.map((map) => map.name), 60).map((name, index) => h("option", { value: String(index) }, name || `map ${index + 1}`)));
  select.value = String(store.maps.indexOf(panel.map));
  select.addEventListener("change", () => {
    panel.setMap(store.maps[Number(select.value)]!);
    rebuild();
  });
  return select;
}

/** Whether one unit is as long on both axes. */
function equalSwitch(panel: Panel): HTMLElement {
  const equal = h("button", { type: "button", class: "link equal", "aria-pressed": String(panel.equal), title: "One unit is as long on both axes" }, "1:1");
  equal.addEventListener("click", () => {
    panel.setEqual(!panel.equal);
    equal.setAttribute("aria-pressed", String(panel.equal));
  });
  return equal;
}

/** A way through the earlier states of a map; the last place is the map itself. */
function snapshotSlider(panel: Panel): HTMLElement {
  const { snapshots } = panel.map;
  const told = h("output", {});
  const input = h("input", { type: "range", min: "0", max: String(snapshots.length), step: "1", "aria-label": "Steps of the descent" });
  const show = (): void => {
    const at = Number(input.value), text = at < snapshots.length ? `after ${formatCount(snapshots[at]!.steps)} steps` : "the map";
    told.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.value = String(panel.snapshot < 0 ? snapshots.length : panel.snapshot);
  show();
  input.addEventListener("input", () => {
    panel.setSnapshot(Number(input.value) < snapshots.length ? Number(input.value) : -1);
    show();
  });
  return h("label", { class: "steps" }, h("span", {}, "Descent"), input, told);
}

/** Which columns are x and y, where there is a choice; the lists stand where the names of the axes would. */
function axisChoice(panel: Panel): HTMLElement[] {
  const { axes } = panel.map;
  if (axes.length < 3) return [];
  return ([0, 1] as const).map((which) => {
    const select = h("select", { "aria-label": which ? "Vertical axis" : "Horizontal axis" }, ...axes.map((axis, index) => h("option", { value: String(index) }, shorten(axis.name, 40))));
    select.value = String(panel.axes[which]);
    select.addEventListener("change", () => {
      const next: [number, number] = [...panel.axes];
      next[which] = Number(select.value);
      panel.setAxes(next);
    });
    const arrow = h("span", { "aria-hidden": "true" }, which ? "↑" : "→");
    return h("label", { class: `axis ${which ? "vertical" : "horizontal"}` }, ...(which ? [arrow, select] : [select, arrow]));
  });
}
