// Rows of data one after the other, as images or as a small table, each with its distance to the data.

import { h } from "../dom";
import { formatShort } from "../format";
import { shorten } from "../text";
import { greyImage } from "./image";
import type { LiveAbout } from "./live";
import type { Header } from "./message";

export const FAR = 3; // usual distances between rows beyond which a place is empty

export interface Step { gap: number | null; nearest?: number; how?: string }

const told = (gap: number | null): string => (gap === null ? "–" : formatShort(gap, 2));

const ABOUT = "Distance from the data, over the usual one: to the nearest row, or on the map to the nearest point, whichever is greater";

export function strip(header: Header, floats: Record<string, Float32Array>, about: LiveAbout, label: string): HTMLElement {
  const steps = header["steps"] as Step[], rows = floats["strip"];
  const empty = (step: Step): boolean => step.gap !== null && step.gap > FAR;
  if (rows && about.image) {
    const size = rows.length / steps.length;
    const list = h("ol", { class: "strip", "aria-label": label }, ...steps.map((step, k) => {
      const image = greyImage(rows.subarray(k * size, (k + 1) * size), about.image!, about.range, `Step ${k + 1} of ${steps.length}`);
      image.classList.toggle("faded", empty(step));
      return h("li", {}, image, h("small", { title: ABOUT }, told(step.gap)));
    }));
    list.style.setProperty("--steps", String(steps.length));
    return list;
  }
  const cell = (text: string, step: Step): HTMLElement => h("td", { class: empty(step) ? "faded-text" : "" }, text);
  const lines = (header["changes"] as [string, (number | null)[]][]).map(([name, values]) =>
    h("tr", {}, h("th", { scope: "row", title: name }, shorten(name, 24)), ...values.map((value, k) => cell(value === null ? "–" : formatShort(value, 3), steps[k]!))));
  const gaps = steps.some((step) => step.gap !== null) ? [h("tr", { class: "gaps" }, h("th", { scope: "row", title: ABOUT }, "distance"), ...steps.map((step) => cell(told(step.gap), step)))] : [];
  const head = h("tr", {}, h("td"), ...steps.map((_, k) => h("th", { scope: "col" }, String(k + 1))));
  return h("div", { class: "across", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "separating" }, h("thead", {}, head), h("tbody", {}, ...lines, ...gaps)));
}
