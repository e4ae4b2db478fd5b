// The classes of a column with their counts. A click hides a class or brings it back, Shift and a click shows it alone.

import type { Column } from "./columns";
import { DISTINCT, css } from "./colours";
import { h } from "./dom";
import { formatCount } from "./format";
import type { Store } from "./store";
import { shorten } from "./text";

const SEARCH_FROM = 14; // classes from which there is a search field
const SPOTLIGHT_UP_TO = 200_000; // rows up to which resting on a class brings it out

export class ClassFilter {
  readonly element = h("div", { class: "class-filter" });
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly counts: number[];
  private shown: HTMLElement[] = [];

  /** coloured: the classes have the colours of the points. */
  constructor(private readonly store: Store, readonly column: Column, private readonly coloured: boolean, private readonly announce: (text: string) => void) {
    const count = column.names.length;
    this.counts = new Array<number>(count + 1).fill(0);
    for (const code of column.codes!) this.counts[code]!++;
    const list = h("ul", { class: "classes", "aria-label": `Classes of ${shorten(column.name, 80)}` });
    for (let code = 0; code <= count; code++) {
      if (code === count && !this.counts[code]) continue;
      this.buttons[code] = this.button(code);
      list.append(h("li", {}, this.buttons[code]!));
    }
    list.addEventListener("pointerleave", () => this.store.setSpotlight(-1));
    const all = h("button", { type: "button", class: "link", onclick: () => this.store.setFilter(column, null) }, "Show all");
    const none = h("button", { type: "button", class: "link", onclick: () => this.apply(this.allOff()) }, "Hide all");
    this.element.append(h("div", { class: "legend-tools" }, all, none), ...(count >= SEARCH_FROM ? [this.finder(list)] : []), list);
    if (coloured && count > DISTINCT) {
      this.element.append(h("p", { class: "hint repeat" }, `${formatCount(count)} classes share ${DISTINCT} colours: the same colour stands for several of them. Names on the map tell them apart, or rest on one here.`));
    }
    if (coloured) this.element.append(h("p", { class: "hint" }, "Click hides a class, Shift-click shows it alone."));
    this.refresh();
  }

  /** The filter, or what is visible, has changed. */
  refresh(): void {
    const off = this.off();
    const seen = new Array<number>(this.counts.length).fill(0);
    const all = this.store.shown === this.store.rows;
    if (!all) for (let i = 0; i < this.store.rows; i++) if (this.store.isVisible(i)) seen[this.column.codes![i]!]!++;
    this.buttons.forEach((button, code) => {
      button.setAttribute("aria-pressed", String(!off[code]));
      const total = formatCount(this.counts[code]!);
      this.shown[code]!.textContent = all || off[code] || seen[code] === this.counts[code] ? total : `${formatCount(seen[code]!)} of ${total}`;
    });
  }

  private button(code: number): HTMLButtonElement {
    const { column } = this;
    const missing = code === column.names.length;
    const name = missing ? "missing" : column.names[code]!;
    const dot = h("span", { class: this.coloured ? "dot" : "dot plain" });
    if (this.coloured) dot.style.background = css(this.store.colours[code]!);
    const label = h("span", { class: missing || name === "" ? "name missing" : "name", dir: "auto" }, name === "" ? "(empty)" : shorten(name, 200));
    this.shown[code] = h("span", { class: "count" });
    const button = h("button", { type: "button", class: "class", title: shorten(name, 400), onclick: (event: MouseEvent) => this.press(code, event) }, dot, label, this.shown[code]);
    if (this.coloured && this.store.rows <= SPOTLIGHT_UP_TO) {
      let timer = 0;
      button.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "touch") return;
        timer = window.setTimeout(() => this.store.setSpotlight(this.off()[code] ? -1 : code), 140);
      });
      button.addEventListener("pointerleave", () => window.clearTimeout(timer));
      button.addEventListener("focus", () => {
        if (button.matches(":focus-visible")) this.store.setSpotlight(this.off()[code] ? -1 : code); // by the keyboard
      });
      button.addEventListener("blur", () => this.store.setSpotlight(-1));
    }
    return button;
  }

  private finder(list: HTMLElement): HTMLElement {
    const input = h("input", { type: "search", placeholder: `Find among ${formatCount(this.column.names.length)} classes`, "aria-label": "Find a class" });
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      [...list.children].forEach((item) => {
        (item as HTMLElement).hidden = !item.querySelector(".name")!.textContent!.toLowerCase().includes(wanted);
      });
    });
    return input;
  }

  private off(): Uint8Array {
    const filter = this.store.filters.get(this.column);
    return filter && "off" in filter ? filter.off : new Uint8Array(this.column.names.length + 1);
  }

  /** Every class hidden that has rows: "missing" only where something is. */
  private allOff(): Uint8Array {
    return Uint8Array.from({ length: this.column.names.length + 1 }, (_, code) => (this.buttons[code] ? 1 : 0));
  }

  private press(code: number, event: MouseEvent): void {
    const off = this.off().slice();
    if (event.shiftKey || event.altKey) {
      const alone = !off[code] && this.buttons.every((_, other) => other === code || off[other] === 1);
      off.set(alone ? new Uint8Array(off.length) : this.allOff());
      off[code] = 0;
    } else {
      off[code] = off[code] ? 0 : 1;
    }
    this.store.spotlight = -1;
    this.apply(off);
  }

  private apply(off: Uint8Array): void {
    this.store.setFilter(this.column, off.includes(1) ? { off } : null);
    this.announce(`${formatCount(this.store.shown)} of ${formatCount(this.store.rows)} points shown`);
  }
}
