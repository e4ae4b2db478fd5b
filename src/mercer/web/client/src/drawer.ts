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
const MOST_COLUMNS = 40; // a wider table would be slow to scroll; a search chooses others, and the download has all

export class Drawer {
  readonly element = h("section", { class: "drawer", hidden: true, "aria-label": "Table of rows" });
  private readonly count = h("h2", {});
  private readonly shares = h("div", { class: "shares" });
  private readonly scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Rows" });
  private readonly body = h("tbody");
  private rows: Uint32Array = new Uint32Array(0);
  private first = -1;
  private columns: Column[];

  constructor(private readonly store: Store, private readonly panels: () => Panel[], private readonly announce: (text: string) => void) {
    const save = h("button", { type: "button", class: "button primary", onclick: () => this.download() }, icon("save"), "Download CSV");
    const zoom = h("button", { type: "button", class: "button", onclick: () => this.panels().forEach((panel) => panel.zoomTo(this.rows)) }, icon("fit"), "Zoom to it");
    const clear = iconButton("close", "Close the table, and clear the selection (Escape)", () => {
      store.table = false;
      store.select(null);
    });
    this.columns = store.columns.slice(0, MOST_COLUMNS);
    this.element.append(h("header", {}, this.count, this.shares, this.columnSearch(), h("div", { class: "actions" }, zoom, save, clear)), this.scroller);
    this.scroller.addEventListener("scroll", () => this.fill());
    this.scroller.addEventListener("pointerleave", () => store.hover(-1, this));
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
    if (columns.length <= MOST_COLUMNS) return null;
    const input = h("input", { type: "search", class: "columns-wanted", placeholder: `Find among ${formatCount(columns.length)} columns`, "aria-label": "Columns in the table: find by name" });
    input.addEventListener("input", () => {
      const words = input.value.trim().toLowerCase().split(/\s+/);
      const fits = columns.filter((column) => words.every((word) => column.name.toLowerCase().includes(word)));
      this.columns = fits.slice(0, MOST_COLUMNS);
      this.showTable();
      this.announce(`${formatCount(this.columns.length)} of ${formatCount(fits.length)} columns shown`);
    });
    return input;
  }

  private showTable(): void {
    const { store, columns } = this;
    const heads = [...(store.hasImages ? [h("td")] : []), this.head(store.ids ? store.ids.name || "id" : "row", store.ids), ...columns.map((column) => this.head(column.name, column))];
    const table = h("table", { "aria-rowcount": String(this.rows.length + 1) }, h("thead", {}, h("tr", {}, ...heads)), this.body);
    const left = store.columns.length - columns.length;
    const more = left > 0 ? h("p", { class: "hint" }, `${formatCount(columns.length)} of ${formatCount(store.columns.length)} columns are shown. Find others by name, above; all are in the download and on the card of a row.`) : null;
    this.scroller.replaceChildren(table, ...(more ? [more] : []));
    this.scroller.scrollTop = 0;
    this.fill(true);
  }

  /** The head of a column; a click sorts by it, a second one the other way. */
  private head(name: string, column: Column | null): HTMLElement {
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
    return h("th", { scope: "col", "aria-sort": own ? (sorting.down ? "descending" : "ascending") : "none" }, button);
  }

  private get width(): number {
    return Number(this.store.hasImages) + 1 + this.columns.length;
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
    if (!anew && Math.abs(first - this.first) < 4) return;
    this.first = first;
    const last = Math.min(listed, first + visible + 14);
    const above = tall < listed * ROW ? Math.max(0, Math.min(tall - (last - first) * ROW, this.scroller.scrollTop - (away - first * ROW))) : first * ROW;
    const gap = (height: number): HTMLElement => {
      const cell = h("td", { colspan: String(this.width) });
      cell.style.height = `${height}px`;
      return h("tr", { class: "gap", "aria-hidden": "true" }, cell);
    };
    const rows: HTMLElement[] = [];
    for (let k = first; k < last; k++) rows.push(this.line(this.rows[k]!, k));
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.closest("tr")!.ariaRowIndex : null;
    const below = tall - above - (last - first) * ROW;
    this.body.replaceChildren(...(above > 0 ? [gap(above)] : []), ...rows, ...(below > 0 ? [gap(below)] : []));
    rows.find((row) => row.ariaRowIndex === focused)?.querySelector("button")!.focus({ preventScroll: true });
  }

  private line(row: number, k: number): HTMLElement {
    const { store } = this;
    const image = store.hasImages ? h("td", { class: "thumb" }, picture(store, row, 26)) : null;
    const cells = this.columns.map((column) => {
      const value = column.shown(row);
      const cell = h("td", { class: value === null ? "missing" : column.numbers ? "number" : "", dir: column.numbers ? "ltr" : "auto" });
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
    const open = h("button", { type: "button", class: "link", onclick: () => store.pin(row) }, shorten(store.idOf(row), 60));
    return h("tr", { "aria-rowindex": String(k + 2), onpointerenter: () => store.hover(row, this) }, image, h("th", { scope: "row" }, open), ...cells);
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

