// How good the maps are, and how they were made.

import { h } from "./dom";
import { formatCount, formatShort } from "./format";
import { shorten } from "./panel";
import type { Score } from "./data";
import type { MapData } from "./store";

/** The scores of all maps side by side; a click on a name tells what it means. */
export function quality(maps: MapData[]): HTMLElement | null {
  const scored = maps.filter((map) => map.quality?.length);
  if (!scored.length) return null;
  const names = [...new Set(scored.flatMap((map) => map.quality!.map((score) => score.name)))];
  const head = scored.length > 1
    ? [h("thead", {}, h("tr", {}, h("td"), ...scored.map((map) => h("th", { scope: "col" }, shorten(map.name, 24)))))]
    : [];
  const body = h("tbody");
  for (const [k, name] of names.entries()) body.append(...scoreRows(name, k, scored));
  const table = h("table", { class: `quality of-${Math.min(3, scored.length)}` }, ...head, body);
  return h("section", { class: "block" }, h("h2", {}, "Quality"), table, h("p", { class: "hint" }, "± is one standard error. Press a name to read what it means."));
}

/** neighbor_recall → Neighbor recall. */
const title = (name: string): string => name.replaceAll("_", " ").replace(/^kl\b/i, "KL").replace(/^./u, (letter) => letter.toUpperCase());

function scoreRows(name: string, k: number, maps: MapData[]): HTMLElement[] {
  const scores = maps.map((map) => map.quality!.find((score) => score.name === name));
  const some = scores.find((score) => score !== undefined)!;
  const about = h("tr", { id: `score-${k}`, class: "meaning", hidden: true }, h("td", { colspan: String(maps.length + 1) }, meaning(some)));
  const button = h("button", { type: "button", class: "score", "aria-expanded": "false", "aria-controls": `score-${k}` }, shorten(title(name), 60));
  button.addEventListener("click", () => {
    about.hidden = !about.hidden;
    button.setAttribute("aria-expanded", String(!about.hidden));
  });
  return [h("tr", {}, h("th", { scope: "row" }, button), ...scores.map((score) => h("td", {}, ...value(score)))), about];
}

function value(score: Score | undefined): Node[] {
  if (!score) return [h("span", { class: "quiet" }, "–")];
  if (typeof score.value !== "number") return [h("span", { class: "quiet" }, String(score.value ?? "–"))];
  const error = typeof score.error === "number" && score.error > 0 ? score.error : 0;
  const digits = error ? Math.min(4, Math.max(2, -Math.floor(Math.log10(error)))) : 3;
  const number = Math.abs(score.value) < 1000 ? score.value.toFixed(digits) : formatShort(score.value);
  const parts: Node[] = [h("span", { class: "value" }, number.replace("-", "−"))];
  if (error) parts.push(h("span", { class: "error" }, `± ${error < 1e-4 ? formatShort(error) : error.toFixed(digits)}`));
  if (score.best === 1 && score.value >= 0 && score.value <= 1) {
    const bar = h("span", { class: "gauge", "aria-hidden": "true" }, h("span"));
    (bar.firstElementChild as HTMLElement).style.width = `${100 * score.value}%`;
    parts.push(bar);
  }
  return parts;
}

function meaning(score: Score): string {
  const facts = [
    score.meaning ?? "",
    typeof score.best === "number" ? `Best is ${formatShort(score.best)}.` : "",
    score.rows ? `Taken over ${formatCount(score.rows)} rows.` : "",
  ];
  return facts.filter(Boolean).map((fact) => (/[.!?]$/.test(fact) ? fact : `${fact}.`)).join(" ");
}

/** Parameters, versions, seed and whatever else stands in the record of a run. */
export function runs(maps: MapData[]): HTMLElement | null {
  const recorded = maps.filter((map) => map.run && Object.keys(map.run).length);
  if (!recorded.length) return null;
  const parts = recorded.map((map) => {
    const list = h("dl", { class: "run" });
    for (const [name, text] of flattened(map.run!)) list.append(h("dt", { title: name }, shorten(name, 80)), h("dd", { dir: "auto" }, text));
    return h("details", { class: "block" }, h("summary", {}, recorded.length > 1 ? `How ${shorten(map.name, 40)} was made` : "How it was made"), list);
  });
  return h("div", {}, ...parts);
}

export function flattened(value: Record<string, unknown>, prefix = ""): [string, string][] {
  return Object.entries(value).flatMap(([key, part]): [string, string][] => {
    const name = prefix ? `${prefix} · ${key}` : key;
    if (part && typeof part === "object" && !Array.isArray(part)) return flattened(part as Record<string, unknown>, name);
    return [[name, shorten(Array.isArray(part) ? part.map(say).join(", ") : say(part), 400)]];
  });
}

const say = (value: unknown): string => (value === null ? "none" : typeof value === "number" && !Number.isInteger(value) ? formatShort(value) : typeof value === "object" ? JSON.stringify(value) : String(value));
