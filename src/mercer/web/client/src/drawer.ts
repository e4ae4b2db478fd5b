// The rows as a table: those that are selected, or all that are shown. It can be sorted, and taken away.

import { picture } from "./card";
import { css } from "./colours";
import type { Column } from "./columns";
import { csv, inert } from "./csv";
import { h, icon, iconButton } from "./dom";
import { formatCount, rowsOf } from "./format";
import type { Panel } from "./panel";
import { shorten } from "./text";
import { sorted } from "./sorting";
import { type Store, rowsIn } from "./store";

const ROW = 34; // pixels
const TALLEST = 8_000_000; // pixels: browsers make no element that is much taller. The bar of a longer table moves in larger steps
const SEARCH_FROM = 15; // columns from which there is a search field
const LEAST_WIDTH = 64, MOST_WIDTH = 260; // pixels of a column
const PADDING = 34, DOT = 18; // pixels beside the text of a cell, and those of the dot of its colour
const MEASURED = 60; // rows whose values set the width of a column

export class Drawer {
  readonly element = h("section", { class: "drawer", hidden: true, "aria-label": "Table of rows" });
  private readonly count = h("h2", {});
  private readonly shares = h("div", { class: "shares" });
  private readonly scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Rows" });
  private readonly body = h("tbody");
  private rows: Uint32Array = new Uint32Array(0);
  private first = -1;
  private firstColumn = -1;
  private columns: Column[];
  private edges: number[] = []; // of the columns, in pixels from the left: one more than there are
  private readonly ruler = document.createElement("canvas").getContext("2d")!;

  constructor(private readonly store: Store, private readonly panels: () => Panel[], private readonly announce: (text: string) => void) {
    const save = h("button", { type: "button", class: "button primary", onclick: () => this.download() }, icon("save"), "Download CSV");
    const zoom = h("button", { type: "button", class: "button", onclick: () => this.panels().forEach((panel) => panel.zoomTo(this.rows)) }, icon("fit"), "Zoom to it");
    const clear = iconButton("close", "Close the table, and clear the selection (Escape)", () => {
      store.table = false;
      store.select(null);
    });
    this.columns = store.columns;
    this.element.append(h("header", {}, this.count, this.shares, this.columnSearch(), h("div", { class: "actions" }, zoom, save, clear)), this.scroller);
    this.scroller.addEventListener("scroll", () => this.fill());
    for (const go of ["pointerleave", "focusout"]) this.scroller.addEventListener(go, () => store.hover(-1, this));
    new ResizeObserver(() => this.fill(true)).observe(this.scroller);
    store.on("selection", () => this.refresh());
    store.on("table", () => this.refresh());
    store.on("states", () => {
      if (store.table && !store.selected) this.refresh(false);
    });
    store.on("colour", () => this.refresh(false));
    store.on("ground", () => this.refresh(false));
  }

  private refresh(say = true): void {
    const { selected, table: wanted } = this.store;
    const was = this.element.hidden;
    this.element.hidden = selected === null && !wanted;
    if (this.element.hidden) {
      if (!was && say) this.announce("Selection cleared");
      return;
    }
    const { rows, shown } = this.store;
    const chosen = selected ?? rowsIn(this.store.visibleMask);
    const hidden = selected ? selected.reduce((sum, row) => sum + Number(!this.store.isVisible(row)), 0) : 0;
    const about = selected ? `${chosen.length === 1 ? "row" : "rows"} selected${hidden ? `, ${formatCount(hidden)} hidden by a filter` : ""}` : shown < rows ? `of ${formatCount(rows)} rows shown` : chosen.length === 1 ? "row" : "rows";
    this.rows = sorted(chosen, this.store.sorting);
    this.count.replaceChildren(h("strong", {}, formatCount(chosen.length)), ` ${about}`);
    if (say) this.announce(selected ? `${rowsOf(chosen.length)} selected` : `Table of ${rowsOf(chosen.length)}`);
    this.showShares();
    this.showTable();
  }

  /** A field that chooses which columns of many the table shows: those whose names have all the words. */
  private columnSearch(): HTMLElement | null {
    const { columns } = this.store;
    if (columns.length < SEARCH_FROM) return null;
    const input = h("input", { type: "search", class: "columns-wanted", placeholder: `Find among ${formatCount(columns.length)} columns`, "aria-label": "Columns in the table: find by name" });
    input.addEventListener("input", () => {
      const words = input.value.trim().toLowerCase().split(/\s+/);
      this.columns = columns.filter((column) => words.every((word) => column.name.toLowerCase().includes(word)));
      this.showTable();
      this.announce(`${formatCount(this.columns.length)} of ${formatCount(columns.length)} columns shown`);
    });
    return input;
  }

  private showTable(): void {
    const { store, columns } = this;
    const heads = [...(store.hasImages ? [h("td")] : []), this.head(store.ids ? store.ids.name || "id" : "row", store.ids, "id"), ...columns.map((column) => this.head(column.name, column, column.kind === "number" ? "number" : ""))];
    const ids = this.widthOf(store.ids ? store.ids.name || "id" : "row", (row) => shorten(store.idOf(row), 60));
    const widths = [...(store.hasImages ? [56] : []), ids, ...columns.map((column) => this.widthOf(column.name, (row) => this.cellText(column, row)) + (column === store.colouring.column ? DOT : 0))];
    this.edges = [0];
    for (const width of widths) this.edges.push(this.edges.at(-1)! + width);
    const columnOf = (width: number): HTMLElement => {
      const element = h("col");
      element.style.width = `${width}px`;
      return element;
    };
    // A last column without cells takes what is left of a wide window.
    const table = h("table", { "aria-rowcount": String(this.rows.length + 1), "aria-colcount": String(widths.length) },
      h("colgroup", {}, ...widths.map(columnOf), h("col")), h("thead", {}, h("tr", {}, ...heads, h("td", { "aria-hidden": "true" }))), this.body);
    table.style.width = `max(100%, ${this.edges.at(-1)!}px)`;
    const { scrollLeft } = this.scroller;
    this.scroller.replaceChildren(table);
    this.scroller.scrollTop = 0;
    this.scroller.scrollLeft = scrollLeft;
    this.fill(true);
  }

  private cellText(column: Column, row: number): string {
    const value = column.shown(row), given = value === null ? column.given(row) : null;
    return `${shorten(value ?? "missing", 120)}${given === null ? "" : `  ${shorten(given, 60)}`}`;
  }

  /** Room for the head of a column and for the values of the first rows. */
  private widthOf(head: string, text: (row: number) => string): number {
    this.ruler.font = `500 13px ${getComputedStyle(this.element).fontFamily}`;
    let widest = this.ruler.measureText(`${shorten(head, 40) || "(no name)"} ↓`).width;
    for (let k = 0; k < Math.min(MEASURED, this.rows.length); k++) widest = Math.max(widest, this.ruler.measureText(text(this.rows[k]!)).width);
    return Math.round(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, widest + PADDING)));
  }

  /** The head of a column; a click sorts by it, a second one the other way. */
  private head(name: string, column: Column | null, kind: string): HTMLElement {
    const { store } = this;
    const { sorting } = store;
    const own = sorting.column === column;
    const sort = (): void => {
      store.sorting = { column, down: own && !sorting.down };
      this.rows = sorted(this.rows.slice().sort(), store.sorting);
      this.showTable();
      this.announce(`Sorted by ${name || "no name"}, ${store.sorting.down ? "greatest" : "least"} first`);
      this.scroller.querySelectorAll<HTMLElement>(".sort").forEach((each) => {
        if (each.dataset.sorts === name) each.focus({ preventScroll: true });
      });
      store.emit("sorting");
    };
    const arrow = h("span", { "aria-hidden": "true" }, own ? (sorting.down ? " ↓" : " ↑") : "");
    const button = h("button", { type: "button", class: "sort", "data-sorts": name, title: `Sort by ${shorten(name, 300) || "(no name)"}`, onclick: sort }, shorten(name, 40) || "(no name)", arrow);
    return h("th", { scope: "col", class: kind, "aria-sort": own ? (sorting.down ? "descending" : "ascending") : "none" }, button);
  }

  /** A bar of the classes in the selection. */
  private showShares(): void {
    const { column, codes } = this.store.colouring;
    this.shares.replaceChildren();
    if (!column?.codes || !this.rows.length) return;
    const counts = new Map<number, number>();
    for (const row of this.rows) counts.set(codes[row]!, (counts.get(codes[row]!) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const bar = h("div", { class: "bar", "aria-hidden": "true" });
    for (const [code, count] of sorted.slice(0, 60)) {
      const part = h("span", { title: `${shorten(column.names[code] ?? "missing", 80)}: ${formatCount(count)}` });
      part.style.flexGrow = String(count);
      part.style.background = css(this.store.colours[code]!);
      bar.append(part);
    }
    const say = ([code, count]: [number, number]): string => `${shorten(column.names[code] ?? "missing", 24) || "(empty)"}: ${Math.round((100 * count) / this.rows.length)} %`;
    const words = sorted.slice(0, 3).map(say).join(" · ") + (sorted.length > 3 ? ` · ${sorted.length - 3} more` : "");
    this.shares.append(bar, h("span", { class: "quiet", dir: "auto" }, words));
  }

  /** Makes the rows that can be seen, and a few more. */
  private fill(anew = false): void {
    if (this.element.hidden) return;
    const listed = this.rows.length, tall = Math.min(TALLEST, listed * ROW);
    const visible = Math.ceil(this.scroller.clientHeight / ROW);
    // Pixels that the table would be away from its top, were it as tall as all of its rows.
    const most = Math.max(1, tall + ROW - this.scroller.clientHeight);
    const away = tall < listed * ROW ? Math.min(1, this.scroller.scrollTop / most) * ((listed + 1) * ROW - this.scroller.clientHeight) : this.scroller.scrollTop;
    const first = Math.max(0, Math.min(listed - visible, Math.floor(away / ROW)) - 6);
    const [from, to] = this.columnsInView();
    if (!anew && Math.abs(first - this.first) < 4 && from === this.firstColumn) return;
    this.first = first;
    this.firstColumn = from;
    const last = Math.min(listed, first + visible + 14);
    const above = tall < listed * ROW ? Math.max(0, Math.min(tall - (last - first) * ROW, this.scroller.scrollTop - (away - first * ROW))) : first * ROW;
    const gap = (height: number): HTMLElement => {
      const cell = h("td", { colspan: String(this.edges.length) });
      cell.style.height = `${height}px`;
      return h("tr", { class: "gap", "aria-hidden": "true" }, cell);
    };
    const rows: HTMLElement[] = [];
    for (let k = first; k < last; k++) rows.push(this.line(this.rows[k]!, k, from, to));
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.closest("tr")!.ariaRowIndex : null;
    const below = tall - above - (last - first) * ROW;
    this.body.replaceChildren(...(above > 0 ? [gap(above)] : []), ...rows, ...(below > 0 ? [gap(below)] : []));
    rows.find((row) => row.ariaRowIndex === focused)?.querySelector("button")!.focus({ preventScroll: true });
  }

  /** The columns of which cells are made: those in view and some on either side, from a multiple of that number on. */
  private columnsInView(): [number, number] {
    const lead = Number(this.store.hasImages) + 1, spare = 8;
    const { scrollLeft, clientWidth } = this.scroller;
    const from = Math.max(0, this.edges.findIndex((edge) => edge > scrollLeft) - 1 - lead);
    const beyond = this.edges.findIndex((edge) => edge > scrollLeft + clientWidth);
    const to = beyond < 0 ? this.columns.length : beyond - lead;
    return [Math.max(0, Math.floor(from / spare) * spare - spare), Math.min(this.columns.length, Math.ceil(to / spare) * spare + spare)];
  }

  private line(row: number, k: number, from: number, to: number): HTMLElement {
    const { store } = this;
    const image = store.hasImages ? h("td", { class: "thumb" }, picture(store, row, 26)) : null;
    // A cell spans a thousand columns at most.
    const gap = (columns: number): HTMLElement[] => Array.from({ length: Math.ceil(columns / 1000) }, (_, each) => h("td", { colspan: String(Math.min(1000, columns - 1000 * each)), "aria-hidden": "true" }));
    const lead = Number(store.hasImages) + 2; // columns are counted from 1
    const cells = this.columns.slice(from, to).map((column, c) => {
      const value = column.shown(row);
      const kind = value === null ? "missing" : column.kind === "number" ? "number" : "";
      const cell = h("td", { class: kind, dir: column.numbers ? "ltr" : "auto", "aria-colindex": String(lead + from + c) });
      if (column === store.colouring.column) {
        const dot = h("span", { class: "dot" });
        dot.style.background = css(store.colours[store.colouring.codes[row]!]!);
        cell.append(dot);
      }
      cell.append(value === null ? "missing" : shorten(value, 120));
      const given = value === null ? column.given(row) : null;
      if (given !== null) cell.append(h("small", { class: "given" }, shorten(given, 60)));
      return cell;
    });
    const open = h("button", { type: "button", class: "link", onclick: () => store.pin(row), onfocus: () => store.hover(row, this) }, shorten(store.idOf(row), 60));
    return h("tr", { "aria-rowindex": String(k + 2), onpointerenter: () => store.hover(row, this) }, image, h("th", { scope: "row" }, open), ...gap(from), ...cells, ...gap(this.columns.length - to), h("td", { "aria-hidden": "true" }));
  }

  private download(): void {
    const { store } = this;
    const axes = this.panels().flatMap((panel) => panel.map.axes.filter((axis) => !axis.made).map((axis) => ({ name: `${panel.map.name}: ${axis.name}`, axis })));
    const columns = store.columns;
    const names = [store.ids ? store.ids.name || "id" : "row", ...columns.map((column) => column.name), ...axes.map((each) => each.name)];
    const cell = (row: number, k: number): string | null => {
      if (k > columns.length) return axes[k - 1 - columns.length]!.axis.text(row);
      const column = k === 0 ? store.ids : columns[k - 1]!;
      const text = column ? column.text(row) : String(row);
      return column?.isText ? inert(text) : text;
    };
    save(new Blob(csv(names, this.rows, cell), { type: "text/csv;charset=utf-8" }), `${fileName(store.title)}-${store.selected ? "selection" : "rows"}.csv`);
    this.announce(`${rowsOf(this.rows.length)} downloaded`);
  }
}

export const fileName = (title: string): string => title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "map";

/** Hands a file to the person. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

