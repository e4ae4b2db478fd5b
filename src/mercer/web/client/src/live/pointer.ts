// Any place of the map is a row of the data: the one under the pointer, and how far it is from the rows that there are.

import { h } from "../dom";
import { formatShort } from "../format";
import type { Panel } from "../panel";
import type { Store } from "../store";
import { fromScreenX, fromScreenY } from "../view";
import { greyImage } from "./image";
import type { Ask, LiveAbout } from "./live";
import type { Header } from "./message";
import { FAR } from "./strip";

export const HOW: Record<string, string> = { "pre-image": "pre-image", inverse: "inverse of PCA", interpolated: "interpolated between the nearest points" };

const SLOW = 400; // milliseconds without an answer after which the page says that it looks for one

export class UnderPointer {
  readonly element: HTMLElement;
  private readonly wanted = h("input", { type: "checkbox", id: "under-pointer" });
  private readonly shown = h("div", { class: "under", hidden: true });
  private asked = 0; // the question that is not answered yet, 0 if there is none
  private next: [Panel, number, number] | null = null; // where the pointer has gone since
  private last: [Panel, number, number] | null = null; // where it is; null if it is in no map
  private slow = 0;

  constructor(private readonly store: Store, private readonly about: LiveAbout, private readonly panels: () => Panel[], private readonly ask: Ask) {
    this.wanted.checked = about.image !== null;
    this.wanted.addEventListener("change", () => (this.shown.hidden = this.shown.hidden || !this.wanted.checked));
    this.element = h("div", { class: "take" }, h("label", { class: "check first" }, this.wanted, h("span", {}, "Row under the pointer")), this.shown);
    document.addEventListener("pointermove", (event) => this.moved(event));
  }

  /** The server is another one: what it was asked is not answered. */
  reset(): void {
    this.asked = 0;
    window.clearTimeout(this.slow);
  }

  /** Another map is shown: the row was that of a place of the map before. */
  hide(): void {
    this.shown.hidden = true;
  }

  /** Asks for the row where the pointer is. */
  go(): void {
    if (!this.wanted.checked || !this.last) return;
    this.next = this.last;
    if (!this.asked) this.askNext();
  }

  private moved(event: PointerEvent): void {
    this.last = null;
    if (!this.wanted.checked || event.buttons || !(event.target instanceof Element)) return;
    const surface = event.target.closest(".surface");
    const panel = surface && this.panels().find((each) => each.surface === surface);
    if (!panel || panel.map !== this.store.maps[0] || panel.map.axes.some((axis) => axis.made)) return;
    const box = panel.surface.getBoundingClientRect();
    this.next = this.last = [panel, event.clientX - box.left, event.clientY - box.top];
    if (!this.asked) this.askNext();
  }

  /** The first row of a map may have to wait for its pre-images. */
  private wait(): void {
    this.shown.hidden = !this.wanted.checked;
    this.shown.replaceChildren(h("p", { class: "hint" }, "finding the row of this place …"));
  }

  private askNext(): void {
    if (!this.next) return;
    const [panel, px, py] = this.next;
    this.next = null;
    const [a, b] = panel.drawn, [halfX, halfY] = panel.halves;
    const x = fromScreenX(panel.view, panel.size, px), y = fromScreenY(panel.view, panel.size, py);
    // Coordinates that are not drawn are those of the nearest point.
    const near = panel.index().nearest(x, y, Math.max(panel.size.width, panel.size.height) / panel.view.scale, this.store.isVisible);
    const place = panel.map.axes.map((axis) => (near < 0 ? 0 : axis.value(near)));
    place[panel.axes[0]] = a.middle + halfX * x;
    place[panel.axes[1]] = b.middle + halfY * y;
    this.asked = this.ask("cursor", { place });
    window.clearTimeout(this.slow);
    this.slow = window.setTimeout(() => this.wait(), SLOW);
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.id !== this.asked) return;
    this.asked = 0;
    window.clearTimeout(this.slow);
    if (this.next) this.askNext();
    this.shown.hidden = !this.wanted.checked;
    if (header["trouble"]) {
      this.shown.replaceChildren(h("p", { class: "hint" }, String(header["trouble"])));
      return;
    }
    const gap = header["gap"] as number | null;
    const empty = gap !== null && gap > FAR;
    const far = gap === null ? "" : empty ? `empty space: ${formatShort(gap, 2)} × the usual distance from the data` : `${formatShort(gap, 2)} × the usual distance from the data`;
    const nearest = h("button", { type: "button", class: "link", onclick: () => this.store.pin(header["nearest"] as number, this.panels()[0]) }, `Nearest row: ${this.store.idOf(header["nearest"] as number)}`);
    const row = floats["row"];
    const seen = row && this.about.image ? greyImage(row, this.about.image, this.about.range, "The row under the pointer")
      : h("dl", { class: "facts-list" }, ...(header["values"] as [string, number][]).flatMap(([name, value]) => [h("dt", { title: name }, name), h("dd", {}, formatShort(value, 4))]));
    seen.classList.toggle("faded", empty);
    this.shown.replaceChildren(seen, h("p", { class: "hint" }, `${HOW[String(header["how"])] ?? ""}; ${far}. `, nearest));
  }
}
