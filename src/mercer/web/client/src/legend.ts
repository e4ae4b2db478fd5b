// What the colours mean. A click hides a class or brings it back; numbers have a range with two handles.

import type { Column } from "./columns";
import { css, ramp } from "./colours";
import { h, svg } from "./dom";
import { formatCount, formatDate, formatShort, parsed } from "./format";
import { shorten } from "./panel";
import type { Filter, Store } from "./store";

const SEARCH_FROM = 14; // classes from which the legend has a search field
const SPOTLIGHT_UP_TO = 200_000; // rows up to which resting on a class brings it out
const BINS = 42;

export class Legend {
  readonly element = h("div", { class: "legend" });
  readonly chips = h("div", { class: "chips" });
  private buttons: HTMLButtonElement[] = [];
  private counts: number[] = [];

  constructor(private readonly store: Store, private readonly announce: (text: string) => void) {
    store.on("colour", () => this.build());
    store.on("ground", () => this.build());
    store.on("states", () => this.refresh());
    this.build();
  }

  private get column(): Column | null {
    return this.store.colouring.column;
  }

  private build(): void {
    const { column } = this;
    this.buttons = [];
    if (!column) this.element.replaceChildren(h("p", { class: "quiet" }, "All points have one colour."));
    else if (column.codes) this.element.replaceChildren(...this.classes(column));
    else this.element.replaceChildren(...this.scale(column));
    this.refresh();
  }

  // --- classes ---

  private classes(column: Column): Node[] {
    const count = column.names.length;
    this.counts = new Array<number>(count + 1).fill(0);
    for (const code of column.codes!) this.counts[code]!++;
    const list = h("ul", { class: "classes", "aria-label": `Classes of ${shorten(column.name, 80)}` });
    for (let code = 0; code <= count; code++) {
      if (code === count && !this.counts[code]) continue;
      const button = this.classButton(column, code);
      this.buttons[code] = button;
      list.append(h("li", {}, button));
    }
    list.addEventListener("pointerleave", () => this.store.setSpotlight(-1));
    const all = h("button", { type: "button", class: "link", onclick: () => this.store.setFilter(column, null) }, "Show all");
    const none = h("button", { type: "button", class: "link", onclick: () => this.apply(column, this.allOff(column)) }, "Hide all");
    const tools = h("div", { class: "legend-tools" }, all, none);
    const parts: Node[] = [tools, list, h("p", { class: "hint" }, "Click hides a class, Shift-click shows it alone.")];
    if (count >= SEARCH_FROM) parts.splice(1, 0, this.finder(column, list));
    return parts;
  }

  private classButton(column: Column, code: number): HTMLButtonElement {
    const missing = code === column.names.length;
    const name = missing ? "missing" : column.names[code]!;
    const dot = h("span", { class: "dot" });
    dot.style.background = css(this.store.colours[code]!);
    const label = h("span", { class: missing || name === "" ? "name missing" : "name", dir: "auto" }, name === "" ? "(empty)" : shorten(name, 200));
    const button = h(
      "button",
      { type: "button", class: "class", "aria-pressed": "true", title: shorten(name, 400), onclick: (event: MouseEvent) => this.press(column, code, event) },
      dot, label, h("span", { class: "count" }, formatCount(this.counts[code]!)),
    );
    if (this.store.rows <= SPOTLIGHT_UP_TO) {
      let timer = 0;
      button.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "touch") return;
        timer = window.setTimeout(() => this.store.setSpotlight(this.isOff(column, code) ? -1 : code), 140);
      });
      button.addEventListener("pointerleave", () => window.clearTimeout(timer));
    }
    return button;
  }

  private finder(column: Column, list: HTMLElement): HTMLElement {
    const input = h("input", { type: "search", placeholder: `Find among ${formatCount(column.names.length)} classes`, "aria-label": "Find a class" });
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      [...list.children].forEach((item) => {
        const text = item.querySelector(".name")!.textContent!.toLowerCase();
        (item as HTMLElement).hidden = !text.includes(wanted);
      });
    });
    return input;
  }

  private off(column: Column): Uint8Array {
    const filter = this.store.filters.get(column);
    return filter && "off" in filter ? filter.off : new Uint8Array(column.names.length + 1);
  }

  /** Every class hidden that has rows: "missing" only where something is. */
  private allOff(column: Column): Uint8Array {
    return Uint8Array.from({ length: column.names.length + 1 }, (_, code) => (this.buttons[code] ? 1 : 0));
  }

  private isOff(column: Column, code: number): boolean {
    return this.off(column)[code] === 1;
  }

  private press(column: Column, code: number, event: MouseEvent): void {
    const off = this.off(column).slice();
    if (event.shiftKey || event.altKey) {
      const alone = !off[code] && this.buttons.every((_, other) => other === code || off[other] === 1);
      off.set(alone ? new Uint8Array(off.length) : this.allOff(column));
      off[code] = 0;
    } else {
      off[code] = off[code] ? 0 : 1;
    }
    this.store.spotlight = -1;
    this.apply(column, off);
  }

  private apply(column: Column, off: Uint8Array): void {
    this.store.setFilter(column, off.includes(1) ? { off } : null);
    this.announce(`${formatCount(this.store.shown)} of ${formatCount(this.store.rows)} points shown`);
  }

  // --- numbers ---

  private scale(column: Column): Node[] {
    const { low, high } = column.extent();
    const say = column.kind === "date" ? formatDate : formatShort;
    const bars = this.histogram(column);
    const slider = (which: "low" | "high"): HTMLInputElement =>
      h("input", { type: "range", class: `handle ${which}`, min: "0", max: "1000", step: "1", value: which === "low" ? "0" : "1000",
        "aria-label": which === "low" ? "Least value shown" : "Greatest value shown" });
    const [from, to] = [slider("low"), slider("high")];
    const current = this.range(column);
    const scale = column.scale();
    const share = (value: number): string => String(Math.round(1000 * scale.place(value)));
    if (high > low) [from.value, to.value] = [share(current.low), share(current.high)];
    const least = h("input", { type: "text", inputmode: "decimal", value: say(current.low), "aria-label": "Least value shown, as text" });
    const most = h("input", { type: "text", inputmode: "decimal", value: say(current.high), "aria-label": "Greatest value shown, as text" });
    const set = (next: { low: number; high: number }): void => {
      const filter: Filter = { low: next.low, high: next.high, missing: this.range(column).missing };
      this.setRange(column, filter);
      least.value = say(next.low);
      most.value = say(next.high);
      for (const [k, bar] of [...bars.children].entries()) {
        bar.classList.toggle("out", scale.value((k + 1) / BINS) < next.low || scale.value(k / BINS) > next.high);
      }
    };
    const slide = (): void => {
      let [a, b] = [Number(from.value), Number(to.value)];
      if (a > b) [a, b] = document.activeElement === from ? [b, b] : [a, a];
      from.value = String(a);
      to.value = String(b);
      set({ low: scale.value(a / 1000), high: scale.value(b / 1000) });
    };
    from.addEventListener("input", slide);
    to.addEventListener("input", slide);
    const typed = (end: "low" | "high", text: string): void => {
      const value = parsed(text, column.kind === "date"); // the other end stays as it is: its text is rounded
      const next = { ...this.range(column), [end]: Number.isFinite(value) ? value : column.extent()[end] };
      const [a, b] = [Math.min(next.low, next.high), Math.max(next.low, next.high)];
      from.value = share(a);
      to.value = share(b);
      set({ low: a, high: b });
    };
    least.addEventListener("change", () => typed("low", least.value));
    most.addEventListener("change", () => typed("high", most.value));
    const parts: Node[] = [
      h("div", { class: "scale" }, bars, h("div", { class: "handles" }, from, to)),
      h("div", { class: "ends" }, least, h("span", { class: "quiet" }, "to"), most),
    ];
    if (scale.kind !== "linear") {
      parts.push(h("p", { class: "hint" }, scale.kind === "log" ? "Colours follow the logarithm." : "Colours are pressed together in the long tails."));
    }
    const missing = countMissing(column);
    if (missing) parts.push(this.missingSwitch(column, missing));
    return parts;
  }

  private missingSwitch(column: Column, count: number): HTMLElement {
    const box = h("input", { type: "checkbox", checked: this.range(column).missing });
    box.addEventListener("change", () => this.setRange(column, { ...this.range(column), missing: box.checked }));
    const dot = h("span", { class: "dot" });
    dot.style.background = css(this.store.colours.at(-1)!);
    return h("label", { class: "check" }, box, dot, h("span", { class: "missing" }, "missing"), h("span", { class: "count" }, formatCount(count)));
  }

  private range(column: Column): { low: number; high: number; missing: boolean } {
    const filter = this.store.filters.get(column);
    return filter && "low" in filter ? filter : { ...column.extent(), missing: true };
  }

  private setRange(column: Column, filter: { low: number; high: number; missing: boolean }): void {
    const { low, high } = column.extent();
    const whole = filter.low <= low && filter.high >= high && filter.missing;
    this.store.setFilter(column, whole ? null : filter);
  }

  private histogram(column: Column): SVGElement {
    const counts = new Array<number>(BINS).fill(0);
    const scale = column.scale();
    for (const value of column.numbers!) {
      if (!Number.isNaN(value)) counts[Math.min(BINS - 1, Math.floor(scale.place(value) * BINS))]!++;
    }
    const most = Math.max(1, ...counts);
    const bars = counts.map((count, k) => {
      const tall = count ? Math.max(1.5, 40 * Math.sqrt(count / most)) : 0; // by area, so that small bins are seen
      const fill = css(ramp(k / (BINS - 1), this.store.ground));
      return svg("rect", { x: k * 6 + 0.5, y: 44 - tall - 4, width: 5, height: tall + 4, rx: 1, fill });
    });
    return svg("svg", { class: "histogram", viewBox: `0 0 ${6 * BINS} 44`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars);
  }

  // --- both ---

  private refresh(): void {
    const { column } = this;
    if (column?.codes) {
      const off = this.off(column);
      this.buttons.forEach((button, code) => button.setAttribute("aria-pressed", String(!off[code])));
    }
    const others = [...this.store.filters].filter(([each]) => each !== column);
    this.chips.replaceChildren(...others.map(([each, filter]) => this.chip(each, filter)));
  }

  /** A filter on a column that is not the one coloured by. */
  private chip(column: Column, filter: Filter): HTMLElement {
    const say = column.kind === "date" ? formatDate : formatShort;
    const what = "off" in filter
      ? `${[...filter.off].filter(Boolean).length} hidden`
      : `${say(filter.low)} to ${say(filter.high)}`;
    const remove = (): void => this.store.setFilter(column, null);
    return h("button", { type: "button", class: "chip", onclick: remove, title: "Remove this filter" },
      h("span", {}, `${shorten(column.name, 24)}: ${what}`), h("span", { "aria-hidden": "true" }, "×"));
  }
}

function countMissing(column: Column): number {
  let count = 0;
  for (const value of column.numbers!) if (Number.isNaN(value)) count++;
  return count;
}
