// Filters on several columns at once, each with its histogram or its classes, and how many rows they leave.

import { chooser } from "./chooser";
import { ClassFilter } from "./classes";
import type { Column } from "./columns";
import { h, iconButton } from "./dom";
import { formatCount, formatDate, formatShort, rowsOf } from "./format";
import { RangeFilter } from "./range";
import type { Filter, Store } from "./store";
import { shorten } from "./text";

export class Filters {
  readonly element = h("section", { class: "block filters", "aria-label": "Filters" });
  private readonly count = h("p", { class: "shown", role: "status" });
  private readonly clearing = h("button", { type: "button", class: "link" }, "Clear");
  private readonly chips = h("div", { class: "chips" });
  private readonly list = h("div", {});
  private filtered = -1;
  private readonly parts = new Map<Column, { element: HTMLElement; part: ClassFilter | RangeFilter }>();

  constructor(private readonly store: Store, private readonly announce: (text: string) => void) {
    const columns = store.colourable;
    const choice = chooser(columns, columns.map((_, k) => String(k)), ["", "Add a filter …"], true, { label: "Add a filter" });
    choice.select.value = "";
    choice.select.addEventListener("change", () => {
      const column = columns[Number(choice.select.value)];
      if (choice.select.value !== "" && column) this.add(column);
      choice.select.value = "";
    });
    this.clearing.addEventListener("click", () => {
      this.clear();
      choice.select.focus(); // the button has gone
    });
    this.element.append(h("h2", {}, "Filters", this.clearing), this.count, this.chips, choice.element, this.list);
    this.element.hidden = !columns.length;
    store.on("states", () => this.refresh());
    store.on("colour", () => this.refresh());
    store.on("ground", () => this.rebuild());
    this.refresh();
  }

  add(column: Column): void {
    if (!this.parts.has(column)) this.make(column);
    this.refresh();
    this.announce(`Filter by ${column.title}`);
  }

  private make(column: Column): void {
    const part = column.codes ? new ClassFilter(this.store, column, false, this.announce) : new RangeFilter(this.store, column, false);
    const remove = iconButton("close", `Remove the filter of ${shorten(column.title, 60)}`, () => {
      this.parts.delete(column);
      this.store.setFilter(column, null);
    });
    const element = h("section", { class: "filter" }, h("h3", {}, h("span", { dir: "auto" }, shorten(column.title, 60) || "(no name)"), remove), part.element);
    this.parts.set(column, { element, part });
  }

  private clear(): void {
    this.parts.clear();
    this.store.setFilters(new Map());
    this.announce("All points shown");
  }

  private rebuild(): void {
    const columns = [...this.parts.keys()];
    this.parts.clear();
    columns.forEach((column) => this.make(column));
    this.refresh();
  }

  private refresh(): void {
    const { store } = this;
    for (const column of store.filters.keys()) if (column !== store.colouring.column && !this.parts.has(column)) this.make(column);
    this.clearing.hidden = !store.filters.size && !this.parts.size;
    const wanted = [...this.parts.values()].map(({ element }) => element);
    if (wanted.length !== this.list.children.length || wanted.some((element, k) => this.list.children[k] !== element)) this.list.replaceChildren(...wanted);
    if (this.filtered === store.filtered && store.filters.size === this.chips.children.length) return; // a selection is no filter
    this.filtered = store.filtered;
    for (const { part } of this.parts.values()) part.refresh();
    this.count.textContent = store.filters.size ? `${formatCount(store.shown)} of ${rowsOf(store.rows)} shown` : store.rows === 1 ? "1 row shown" : `All ${rowsOf(store.rows)} shown`;
    this.chips.replaceChildren(...[...store.filters].map(([column, filter]) => this.chip(column, filter)));
  }

  /** A filter in a few words; a click removes it. */
  private chip(column: Column, filter: Filter): HTMLElement {
    const say = column.kind === "date" ? formatDate : formatShort;
    const what = "off" in filter ? `${[...filter.off].filter(Boolean).length} hidden` : `${say(filter.low)} to ${say(filter.high)}`;
    return h("button", { type: "button", class: "chip", onclick: () => this.store.setFilter(column, null), title: "Remove this filter" },
      h("span", {}, `${shorten(column.title, 24)}: ${what}`), h("span", { "aria-hidden": "true" }, "×"));
  }
}
