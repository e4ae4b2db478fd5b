// A filter by the range of a column of numbers or dates: its histogram, two handles, two fields, and what is missing.

import { type Bins, barsOf, binsOf } from "./bins";
import type { Column } from "./columns";
import { css, ramp } from "./colours";
import { h, svg } from "./dom";
import { formatCount, formatDate, formatShort, parsed } from "./format";
import type { Store } from "./store";
import { shorten } from "./text";

type Range = { low: number; high: number; missing: boolean };

export class RangeFilter {
  readonly element = h("div", { class: "range" });
  private readonly bins: Bins;
  private readonly bars: Uint8Array;
  private readonly totals: number[];
  private readonly say: (value: number) => string;
  private readonly handles: [HTMLInputElement, HTMLInputElement];
  private readonly fields: [HTMLInputElement, HTMLInputElement];
  private readonly box: HTMLInputElement | null;
  private rects: SVGElement[] = [];

  /** coloured: the bars have the colours of the points. */
  constructor(private readonly store: Store, readonly column: Column, private readonly coloured: boolean) {
    this.bins = binsOf(column);
    this.bars = barsOf(column, this.bins.edges);
    this.totals = this.counts(() => true);
    this.say = column.kind === "date" ? formatDate : formatShort;
    const of = coloured ? "" : ` of ${shorten(column.title, 60)}`;
    const handle = (which: "low" | "high"): HTMLInputElement =>
      h("input", { type: "range", class: `handle ${which}`, min: "0", max: "1000", step: "1", "aria-label": `${which === "low" ? "Least" : "Greatest"} value shown${of}` });
    const field = (which: string): HTMLInputElement => h("input", { type: "text", inputmode: "decimal", "aria-label": `${which} value shown${of}, as text` });
    this.handles = [handle("low"), handle("high")];
    this.fields = [field("Least"), field("Greatest")];
    this.handles.forEach((each, k) => each.addEventListener("input", () => this.slide(k)));
    this.fields.forEach((each, k) => each.addEventListener("change", () => this.typed(k)));
    const missing = this.totals.at(-1)!;
    this.box = missing ? h("input", { type: "checkbox" }) : null;
    this.box?.addEventListener("change", () => this.set({ ...this.range, missing: this.box!.checked }));
    const { kind } = column.scale();
    const range = [h("div", { class: "scale" }, this.histogram(), h("div", { class: "handles" }, ...this.handles)),
      h("div", { class: column.timed ? "ends timed" : "ends" }, this.fields[0], h("span", { class: "quiet" }, "to"), this.fields[1])];
    this.element.append(...(missing < store.rows ? range : [h("p", { class: "quiet" }, "Every value is missing.")]),
      ...(kind === "linear" ? [] : [h("p", { class: "hint" }, kind === "log" ? "Colours follow the logarithm." : "Colours are pressed together in the long tails.")]),
      ...(this.box ? [this.missingSwitch(this.box, missing)] : []));
    this.refresh();
  }

  /** The filter, or what is visible, has changed. */
  refresh(): void {
    const { low, high, missing } = this.range;
    [low, high].forEach((value, k) => {
      if (document.activeElement !== this.handles[k]) this.handles[k]!.value = String(Math.round(1000 * this.place(value, k)));
      this.fields[k]!.value = this.say(value);
    });
    if (this.box) this.box.checked = missing;
    const most = Math.max(1, ...this.totals.slice(0, -1));
    const seen = this.counts(this.store.isVisible);
    this.rects.forEach((rect, k) => {
      const bar = k >> 1, count = k % 2 ? seen[bar]! : this.totals[bar]!;
      const tall = count ? Math.max(1.5, 40 * Math.sqrt(count / most)) : 0; // by area, so that small bars are seen
      rect.setAttribute("y", String(44 - tall));
      rect.setAttribute("height", String(tall));
    });
  }

  /** Of a bound: the outer end of its bar for the ends of the range, so that handles stand at the ends of the histogram. */
  private place(value: number, end: number): number {
    const { low, high } = this.column.extent();
    if (high <= low) return end;
    return end === 0 && value <= low ? 0 : end === 1 && value >= high ? 1 : this.bins.place(value);
  }

  private counts(accept: (row: number) => boolean): number[] {
    const counts = new Array<number>(this.bins.edges.length).fill(0);
    for (let i = 0; i < this.bars.length; i++) if (accept(i)) counts[this.bars[i]!]!++;
    return counts;
  }

  private histogram(): SVGElement {
    const { edges } = this.bins;
    const scale = this.column.scale();
    for (let bar = 0; bar + 1 < edges.length; bar++) {
      const [from, to] = [250 * this.bins.place(edges[bar]!), 250 * this.bins.place(edges[bar + 1]!)];
      const shape = { x: from + 0.4, width: Math.max(0.8, to - from - 0.8) };
      const fill = this.coloured ? css(ramp(scale.place((edges[bar]! + edges[bar + 1]!) / 2), this.store.ground)) : "";
      for (const kind of ["all", "seen"]) this.rects.push(svg("rect", { ...shape, class: kind, ...(fill ? { fill } : {}) }));
    }
    const label = `Histogram of ${shorten(this.column.title, 60)}: ${formatCount(edges.length - 1)} bars`;
    return svg("svg", { class: `histogram${this.coloured ? "" : " plain"}`, viewBox: "0 0 250 44", preserveAspectRatio: "none", role: "img", "aria-label": label, "data-bars": edges.length - 1 }, ...this.rects);
  }

  private missingSwitch(box: HTMLInputElement, count: number): HTMLElement {
    const dot = h("span", { class: "dot" });
    dot.style.background = css(this.store.ground.missing);
    return h("label", { class: "check" }, box, dot, h("span", { class: "missing" }, "missing"), h("span", { class: "count" }, formatCount(count)));
  }

  private get range(): Range {
    const filter = this.store.filters.get(this.column);
    return filter && "low" in filter ? filter : { ...this.column.extent(), missing: true };
  }

  private set(next: Range): void {
    const { low, high } = this.column.extent();
    const everything = next.low <= low && next.high >= high && next.missing;
    this.store.setFilter(this.column, everything ? null : next);
  }

  private slide(end: number): void {
    const places = this.handles.map((handle) => Number(handle.value));
    if (places[0]! > places[1]!) places[end] = places[1 - end]!;
    this.handles[end]!.value = String(places[end]);
    const extent = this.column.extent();
    const value = this.bins.value(places[end]! / 1000);
    const next = { ...this.range };
    // A bound between two whole numbers is the one inside; the end of the histogram is that of the data.
    if (end === 0) next.low = Math.min(next.high, Math.max(extent.low, this.bins.whole ? Math.ceil(value) : value));
    else next.high = Math.max(next.low, Math.min(extent.high, this.bins.whole ? Math.floor(value) : value));
    this.set(next);
  }

  private typed(end: number): void {
    const value = parsed(this.fields[end]!.value, this.column.kind === "date"); // the other end stays as it is: its text is rounded
    const which = end === 0 ? "low" : "high";
    const next = { ...this.range, [which]: Number.isFinite(value) ? value : this.column.extent()[which] };
    this.set({ ...next, low: Math.min(next.low, next.high), high: Math.max(next.low, next.high) });
  }
}
