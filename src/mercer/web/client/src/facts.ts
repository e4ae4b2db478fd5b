// How good the maps are, and how they were made.

import { h } from "./dom";
import { formatCount, formatShort } from "./format";
import { shorten, shortenAll } from "./text";
import type { Score } from "./data";
import type { MapData } from "./store";

const MOST_BESIDE = 2; // maps whose numbers have room beside the name of a score; those of more stand below it
const MOST_ACROSS = 4; // maps that have room side by side; the table of more scrolls

/** The scores of all maps side by side; a click on a name tells what it means. */
export function quality(maps: MapData[]): HTMLElement | null {
  const scored = maps.filter((map) => map.quality?.length);
  if (!scored.length) return null;
  const names = [...new Set(scored.flatMap((map) => map.quality!.map((score) => score.name)))];
  const below = scored.length > MOST_BESIDE;
  const short = shortenAll(scored.map((map) => map.name), 24);
  const heads = scored.map((map, k) => h("th", { scope: "col", title: shorten(map.name, 300) }, short[k]!));
  const head = scored.length > 1 ? [h("thead", {}, h("tr", {}, below ? null : h("td"), ...heads))] : [];
  const bodies = names.map((name, k) => h("tbody", {}, ...scoreRows(name, k, scored, below)));
  const table = h("table", { class: `quality ${below ? "below" : `of-${scored.length}`}` }, ...head, ...bodies);
  if (scored.length > MOST_ACROSS) table.style.minWidth = `${76 * scored.length}px`;
  const across = scored.length > MOST_ACROSS ? { tabindex: "0", role: "region", "aria-label": "Scores of all maps" } : {};
  return h("section", { class: "block" }, h("h2", {}, "Quality"), h("div", { class: "across", ...across }, table),
    h("p", { class: "hint" }, `± is one standard error.${scored.length > 1 ? " The best stand on a tint, with those that two standard errors do not tell from them." : ""} Press a name to read what it means.${scored.length > MOST_ACROSS ? ` The table holds ${scored.length} maps: scroll it sideways.` : ""}`));
}

/** neighbor_recall → Neighbor recall. */
const title = (name: string): string => capital(name.replaceAll("_", " ").replace(/^kl\b/i, "KL"));

function scoreRows(name: string, k: number, maps: MapData[], below: boolean): HTMLElement[] {
  const scores = maps.map((map) => map.quality!.find((score) => score.name === name));
  const columns = String(below ? maps.length : maps.length + 1);
  const about = h("tr", { id: `score-${k}`, class: "meaning", hidden: true }, h("td", { colspan: columns }, ...meaning(scores, maps)));
  const button = h("button", { type: "button", class: "score", "aria-expanded": "false", "aria-controls": `score-${k}` }, shorten(title(name), 60));
  button.addEventListener("click", () => {
    about.hidden = !about.hidden;
    button.setAttribute("aria-expanded", String(!about.hidden));
  });
  const best = bestOf(scores);
  const values = scores.map((score, i) => h("td", best.has(i) ? { class: "best" } : {}, ...value(score), ...(best.has(i) ? [h("span", { class: "unseen" }, " (best)")] : [])));
  if (!below) return [h("tr", {}, h("th", { scope: "row" }, button), ...values), about];
  return [h("tr", {}, h("th", { scope: "rowgroup", colspan: columns }, button)), h("tr", { class: "values" }, ...values), about];
}

/** The maps whose score is nearest to the best that it can be, where maps differ. Within two standard errors they do not. */
export function bestOf(scores: (Score | undefined)[]): Set<number> {
  const away = scores.map((score) => (score && typeof score.value === "number" && typeof score.best === "number" ? Math.abs(score.value - score.best) : NaN));
  const least = Math.min(...away.filter((each) => !Number.isNaN(each)));
  const first = away.indexOf(least);
  const error = (i: number): number => (typeof scores[i]?.error === "number" ? scores[i]!.error : 0);
  const ties = away.map((each, i) => each - least <= 2 * Math.hypot(error(i), error(first)));
  const known = away.filter((each) => !Number.isNaN(each)).length;
  const count = ties.filter(Boolean).length;
  return new Set(known > 1 && count < known ? [...ties.keys()].filter((i) => ties[i]) : []);
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

/** What a score is, and for each map what it was taken from; said once where that is the same. */
function meaning(scores: (Score | undefined)[], maps: MapData[]): HTMLElement[] {
  const some = scores.find((score) => score !== undefined)!;
  const best = typeof some.best === "number" ? `Best is ${formatShort(some.best)}.` : "";
  const facts = scores.map((score) => (score ? taken(score) : ""));
  const one = facts.every((fact, i) => fact === facts[0] || !scores[i]);
  const first = [some.meaning ? ended(some.meaning) : "", best, one ? taken(some) : ""].filter(Boolean).join(" ");
  const lines = one ? [] : facts.flatMap((fact, i) => (fact ? [`${shorten(maps[i]!.name, 40)}: ${fact}`] : []));
  return [first, ...lines].filter(Boolean).map((line) => h("p", { dir: "auto" }, line));
}

function taken(score: Score): string {
  const rows = score.rows ? `Taken over ${formatCount(score.rows)} ${score.unit || "rows"}.` : "";
  return [rows, score.note ? ended(score.note) : ""].filter(Boolean).join(" ");
}

/** With a capital and a full stop. */
const ended = (text: string): string => capital(/[.!?]$/.test(text) ? text : `${text}.`);

const capital = (text: string): string => text.replace(/^./u, (letter) => letter.toUpperCase());

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

const say = (value: unknown): string => (value === null ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value));
