// What is selected: how many rows, of which classes, as a table, and to take away.

import { picture } from "./card";
import { css } from "./colours";
import { csv, inert } from "./csv";
import { h, icon, iconButton } from "./dom";
import { formatCount, rowsOf } from "./format";
import { type Panel, shorten } from "./panel";
import type { Store } from "./store";

const ROW = 34; // pixels
const MOST_LISTED = 100_000; // no browser makes an element of a hundred million pixels
const MOST_COLUMNS = 40;

export class Drawer {
  readonly element = h("section", { class: "drawer", hidden: true, "aria-label": "Selected rows" });
  private readonly count = h("h2", {});
  private readonly shares = h("div", { class: "shares" });
  private readonly scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of selected rows" });
  private readonly body = h("tbody");
  private rows: Uint32Array = new Uint32Array(0);
  private first = -1;

  constructor(private readonly store: Store, private readonly panels: () => Panel[], private readonly announce: (text: string) => void) {
    const save = h("button", { type: "button", class: "button primary", onclick: () => this.download() }, icon("save"), "Download CSV");
    const zoom = h("button", { type: "button", class: "button", onclick: () => this.panels().forEach((panel) => panel.zoomTo(this.rows)) }, icon("fit"), "Zoom to it");
    const clear = iconButton("close", "Clear the selection (Escape)", () => store.select(null));
    this.element.append(h("header", {}, this.count, this.shares, h("div", { class: "actions" }, zoom, save, clear)), this.scroller);
    this.scroller.addEventListener("scroll", () => this.fill());
    this.scroller.addEventListener("pointerleave", () => store.hover(-1, this));
    new ResizeObserver(() => this.fill(true)).observe(this.scroller);
    store.on("selection", () => this.refresh());
    store.on("colour", () => this.refresh(false));
    store.on("ground", () => this.refresh(false));
  }

  private refresh(say = true): void {
    const { selected } = this.store;
    const was = this.element.hidden;
    this.element.hidden = selected === null;
    if (!selected) {
      if (!was && say) this.announce("Selection cleared");
      return;
    }
    this.rows = selected;
    this.count.replaceChildren(h("strong", {}, formatCount(selected.length)), ` ${selected.length === 1 ? "row" : "rows"} selected`);
    if (say) this.announce(`${rowsOf(selected.length)} selected`);
    this.showShares();
    const listed = Math.min(selected.length, MOST_LISTED);
    const head = h("thead", {}, h("tr", {}, ...this.names().map((name) => h("th", { scope: "col", title: shorten(name, 300) }, shorten(name, 40)))));
    const table = h("table", { "aria-rowcount": String(selected.length + 1) }, head, this.body);
    const more = selected.length > listed ? h("p", { class: "hint" }, `The table lists the first ${formatCount(listed)}; the download has all.`) : null;
    this.scroller.replaceChildren(table, ...(more ? [more] : []));
    this.scroller.scrollTop = 0;
    this.fill(true);
  }

  private names(): string[] {
    return [...(this.store.hasImages ? [""] : []), this.store.ids ? "id" : "row", ...this.store.columns.slice(0, MOST_COLUMNS).map((column) => column.name)];
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
    const listed = Math.min(this.rows.length, MOST_LISTED);
    const visible = Math.ceil(this.scroller.clientHeight / ROW);
    const first = Math.max(0, Math.min(listed - visible, Math.floor(this.scroller.scrollTop / ROW)) - 6);
    if (!anew && Math.abs(first - this.first) < 4) return;
    this.first = first;
    const last = Math.min(listed, first + visible + 14);
    const width = this.names().length;
    const gap = (rows: number): HTMLElement => {
      const cell = h("td", { colspan: String(width) });
      cell.style.height = `${rows * ROW}px`;
      return h("tr", { class: "gap", "aria-hidden": "true" }, cell);
    };
    const rows: HTMLElement[] = [];
    for (let k = first; k < last; k++) rows.push(this.line(this.rows[k]!, k));
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.closest("tr")!.ariaRowIndex : null;
    this.body.replaceChildren(...(first ? [gap(first)] : []), ...rows, ...(last < listed ? [gap(listed - last)] : []));
    rows.find((row) => row.ariaRowIndex === focused)?.querySelector("button")!.focus({ preventScroll: true });
  }

  private line(row: number, k: number): HTMLElement {
    const { store } = this;
    const image = store.hasImages ? h("td", { class: "thumb" }, picture(store, row, 26)) : null;
    const cells = store.columns.slice(0, MOST_COLUMNS).map((column) => {
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
    const names = [store.ids ? "id" : "row", ...columns.map((column) => column.name), ...axes.map((each) => each.name)];
    const cell = (row: number, k: number): string | null => {
      if (k > columns.length) return axes[k - 1 - columns.length]!.axis.text(row);
      const column = k === 0 ? store.ids : columns[k - 1]!;
      const text = column ? column.text(row) : String(row);
      return column?.isText ? inert(text) : text;
    };
    save(new Blob(csv(names, this.rows, cell), { type: "text/csv;charset=utf-8" }), `${fileName(store.title)}-selection.csv`);
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

