// The values of a row: beside the pointer, or pinned.

import { css } from "./colours";
import { h, iconButton } from "./dom";
import { formatShort } from "./format";
import { neighborLists } from "./neighbors";
import type { Panel } from "./panel";
import { shorten } from "./text";
import type { Store } from "./store";

const MOST_HOVERED = 8; // values shown while hovering; a pinned card has all

/** An image of the page, scaled up without smoothing where it is small. */
export function picture(store: Store, row: number, size: number): HTMLImageElement | null {
  const blob = store.imageOf(row);
  if (!blob) return null;
  const image = h("img", { alt: `Image of row ${shorten(store.idOf(row), 80)}`, width: size, height: size });
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth < size));
  image.addEventListener("error", () => image.remove());
  const reader = new FileReader(); // notebooks of VS Code show images of data: addresses, and none of blob:
  reader.addEventListener("load", () => (image.src = reader.result as string));
  reader.readAsDataURL(blob);
  return image;
}

export class Cards {
  readonly hovering = h("div", { class: "card hovering", hidden: true, "aria-hidden": "true" });
  readonly pinned = h("aside", { class: "card pinned", hidden: true, "aria-label": "Pinned row" });
  private pinnedIn: Panel | null = null;

  constructor(private readonly store: Store, private readonly stage: HTMLElement, sidebar: HTMLElement, private readonly panels: () => Panel[]) {
    stage.append(this.hovering);
    const narrow = matchMedia("(max-width: 860px)");
    // Beside the maps, so that it covers none of them; where the page is one column, over the map.
    const settle = (): void => (narrow.matches ? stage.append(this.pinned) : sidebar.prepend(this.pinned));
    settle();
    narrow.addEventListener("change", settle);
    store.on("hover", (source) => this.showHovered(source as Panel));
    store.on("pin", (source) => this.showPinned(source as Panel | null));
    store.on("colour", () => this.showPinned(this.pinnedIn));
    store.on("ground", () => this.showPinned(this.pinnedIn));
  }

  private showHovered(source: Panel): void {
    const row = this.store.hovered;
    this.hovering.hidden = row < 0 || row === this.store.pinned || !this.panels().includes(source); // a table shows the row itself
    if (this.hovering.hidden) return;
    this.hovering.replaceChildren(...this.content(row, MOST_HOVERED));
    this.put(this.hovering, source, row);
  }

  private showPinned(source: Panel | null): void {
    const row = this.store.pinned;
    this.pinned.hidden = row < 0;
    this.pinnedIn = source;
    if (row < 0) return;
    this.hovering.hidden = true;
    const close = iconButton("close", "Close (Escape)", () => this.store.pin(-1));
    this.pinned.replaceChildren(close, ...this.content(row, Infinity));
    this.pinned.parentElement!.scrollTop = 0;
  }

  private content(row: number, most: number): Node[] {
    const { store } = this;
    const image = picture(store, row, 96);
    const columns = store.columns.slice(0, most);
    const list = h("dl");
    for (const column of columns) {
      const value = column.shown(row);
      const given = value === null || most === Infinity ? column.given(row) : null;
      this.entry(list, column.name, value, column === store.colouring.column ? row : -1, given);
    }
    if (most === Infinity) {
      for (const panel of this.panels()) {
        for (const axis of panel.map.axes) {
          if (!axis.made) this.entry(list, `${panel.map.name} · ${axis.name}`, formatShort(axis.value(row)));
        }
      }
    }
    const names = new Set(this.panels().map((panel) => panel.map.name));
    for (const score of most === Infinity ? store.scores : []) {
      const value = score.shown(row);
      if (value !== null && (names.has(score.map) || score === store.colouring.column)) this.entry(list, score.title, value, score === store.colouring.column ? row : -1);
    }
    const nearest = most === Infinity ? neighborLists(store, this.panels(), row) : null;
    const left = store.columns.length - columns.length;
    return [
      h("div", { class: "card-head" }, image, h("div", {}, h("small", {}, store.ids ? shorten(store.ids.name, 40) || "id" : "row"), h("strong", {}, shorten(store.idOf(row), 120)))),
      ...(nearest ? [nearest] : []),
      list,
      ...(left > 0 ? [h("small", { class: "more" }, `and ${left} more: click the point`)] : []),
    ];
  }

  private entry(list: HTMLElement, name: string, value: string | null, colourOf = -1, given: string | null = null): void {
    const text = h("dd", { class: value === null ? "missing" : "" }, value === null ? "missing" : shorten(value, 300));
    if (colourOf >= 0) {
      const dot = h("span", { class: "dot" });
      dot.style.background = css(this.store.colours[this.store.colouring.codes[colourOf]!]!);
      text.prepend(dot);
    }
    if (given !== null) text.append(h("small", { class: "given" }, shorten(given, 120)));
    list.append(h("dt", {}, shorten(name, 60)), text);
  }

  /** Beside the point, on the side with more room. */
  private put(card: HTMLElement, panel: Panel, row: number): void {
    const stage = this.stage.getBoundingClientRect(), surface = panel.surface.getBoundingClientRect();
    const [x, y] = panel.screen(row);
    const left = x + surface.left - stage.left, top = y + surface.top - stage.top;
    const { offsetWidth: width, offsetHeight: height } = card;
    const goLeft = left + 18 + width > stage.width && left - 18 - width > 0;
    card.style.left = `${Math.max(6, Math.min(stage.width - width - 6, goLeft ? left - 18 - width : left + 18))}px`;
    card.style.top = `${Math.max(6, Math.min(stage.height - height - 6, top - height / 2))}px`;
  }
}
