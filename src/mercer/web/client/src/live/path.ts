// A path between two points of the map: the rows of data on the straight line from one to the other.

import { h } from "../dom";
import { formatShort } from "../format";
import type { Panel } from "../panel";
import type { Pen } from "../pen";
import type { Store } from "../store";
import { shorten } from "../text";
import type { Ask, LiveAbout } from "./live";
import type { Header } from "./message";
import { HOW } from "./pointer";
import { FAR, type Step, strip } from "./strip";

const COUNT = 9; // places on the path, its ends included

export class Path {
  readonly element: HTMLElement;
  private readonly button = h("button", { type: "button", class: "button", id: "path-start", onclick: () => this.press() });
  private readonly shown = h("div", { "aria-live": "polite" });
  private start = -1;
  private end = -1;
  private asked = 0;
  private fresh = false; // whether the path that is asked for has not been seen yet

  constructor(private readonly store: Store, private readonly about: LiveAbout, private readonly ask: Ask) {
    this.element = h("details", { class: "take", id: "path" }, h("summary", {}, "A path between two points"),
      h("p", { class: "hint" }, "Click a point, press Start here, and click another: rows of data on the line between them."),
      h("div", { class: "descent" }, this.button), this.shown);
    store.on("pin", () => this.pinned());
    store.drawings.push((pen, panel) => this.draw(pen, panel));
    this.refresh();
  }

  private refresh(): void {
    const { store, start } = this;
    this.button.textContent = start < 0 ? "Start here" : "Forget the path";
    this.button.disabled = start < 0 && store.pinned < 0;
  }

  private press(): void {
    this.start = this.start < 0 ? this.store.pinned : -1;
    this.end = -1;
    this.shown.replaceChildren(...(this.start < 0 ? [] : [h("p", { class: "hint" }, `From ${shorten(this.store.idOf(this.start), 40)}. Click the point to go to.`)]));
    this.refresh();
    this.store.emit("marks");
  }

  private pinned(): void {
    const { pinned } = this.store;
    if (this.start >= 0 && pinned >= 0 && pinned !== this.start) {
      this.end = pinned;
      this.fresh = true;
      this.go();
    }
    this.refresh();
  }

  /** Asks for the rows on the path, if there is one. */
  go(): void {
    if (this.end >= 0) this.asked = this.ask("path", { start: this.start, end: this.end, count: COUNT });
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.id !== this.asked || this.end < 0) return;
    if (header["trouble"]) {
      this.shown.replaceChildren(h("p", { class: "trouble" }, String(header["trouble"])));
      return;
    }
    const steps = header["steps"] as Step[], gaps = steps.map((step) => step.gap ?? 0);
    const farthest = gaps.indexOf(Math.max(...gaps));
    const names = [this.start, this.end].map((row) => shorten(this.store.idOf(row), 30));
    const far = gaps[farthest]! > FAR ? `Step ${farthest + 1} is in empty space: ${formatShort(gaps[farthest]!, 2)} × the usual distance from the data.` : `Every step is near the data: at most ${formatShort(gaps[farthest]!, 2)} × the usual distance.`;
    this.shown.replaceChildren(strip(header, floats, this.about, `Rows on the path from ${names[0]} to ${names[1]}`),
      h("p", { class: "hint" }, `${names[0]} → ${names[1]}, ${HOW[steps[0]!.how ?? ""] ?? ""}. ${far}`));
    if (this.fresh) this.shown.scrollIntoView({ block: "nearest" }); // the card of the row that was clicked has moved it away
    this.fresh = false;
    this.store.emit("marks");
  }

  private draw(pen: Pen, panel: Panel): void {
    if (this.start < 0 || this.end < 0 || panel.map !== this.store.maps[0] || panel.snapshot >= 0) return;
    const [x0, y0] = panel.screen(this.start), [x1, y1] = panel.screen(this.end);
    pen.strokeStyle = pen.fillStyle = this.store.ground.accent;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    for (let k = 0; k < COUNT; k++) {
      pen.beginPath();
      pen.arc(x0 + ((x1 - x0) * k) / (COUNT - 1), y0 + ((y1 - y0) * k) / (COUNT - 1), 3, 0, 2 * Math.PI);
      pen.fill();
    }
  }
}
