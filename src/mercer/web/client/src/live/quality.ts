// Where the live map lies: its quality as a colour, the true neighbours of a row, and a magnet that pulls them together for a look.

import { Column } from "../columns";
import { h } from "../dom";
import { formatCount, formatShort } from "../format";
import type { Panel } from "../panel";
import type { Nearest, Store } from "../store";
import type { Ask } from "./live";
import type { Header } from "./message";

const SCORES = ["neighbours kept", "trustworthiness", "continuity"];
const COUNT = 10; // neighbours of the pinned row
const PAUSE = 1000; // milliseconds between two measurements of a map on its way

export class Quality implements Nearest {
  readonly element: HTMLElement;
  readonly k = COUNT;
  sampled: number | null = null;
  private readonly score = h("select", { id: "live-quality" }, h("option", { value: "" }, "not shown"), ...SCORES.map((name) => h("option", { value: name }, name)));
  private readonly told = h("p", { class: "hint", hidden: true });
  private readonly magnet = h("button", { type: "button", class: "button", id: "magnet", "aria-pressed": "false", title: "Draws the nearest rows in the data around the pinned one; the map stays what it is", onclick: () => this.attract(!this.pulling) }, "Magnet");
  private readonly near = new Map<number, number[]>();
  private column: Column | null = null;
  private asked = 0; // the measurement that is not answered yet
  private measured = 0; // when the last one came
  private again = false;
  private sought = 0;
  private pulling = false;
  private title = "";

  constructor(private readonly store: Store, private readonly panels: () => Panel[], private readonly ask: Ask) {
    store.near = this;
    this.score.addEventListener("change", () => this.choose());
    this.element = h("details", { class: "take", id: "quality" }, h("summary", {}, "Where the map lies"),
      h("label", { class: "control choice" }, h("span", {}, "quality"), this.score), this.told,
      h("p", { class: "hint" }, "Click a point: lines lead to its nearest rows in the data."), h("div", { class: "descent" }, this.magnet));
    store.on("pin", () => this.pinned());
    store.on("colour", () => {
      if (this.column && store.colouring.column !== this.column) this.leave();
    });
    this.pinned();
  }

  // --- quality as a colour ---

  private choose(): void {
    if (!this.score.value) {
      const had = this.column;
      this.leave();
      if (had) this.store.colourBy(this.store.label ?? this.store.colourable[0] ?? null);
    } else this.measure();
  }

  private leave(): void {
    this.column = null;
    this.score.value = "";
    this.told.hidden = true;
  }

  private measure(): void {
    if (this.asked) this.again = true;
    else this.asked = this.ask("quality", { score: this.score.value });
  }

  /** Another map is drawn. A map on its way is measured now and then. */
  follow(title: string, newRows: boolean): void {
    this.title = title;
    if (newRows) this.near.clear();
    if (this.score.value && !this.asked && performance.now() - this.measured > PAUSE) this.measure();
  }

  /** Asks for what is shown of the map, which has settled. */
  go(): void {
    if (this.store.pinned >= 0 && !this.near.has(this.store.pinned)) this.pinned();
    this.asked = 0; // what was asked before is of a map that is no longer drawn, or of a server that has ended
    if (this.score.value) this.measure();
  }

  private showScores(header: Header, floats: Record<string, Float32Array>): void {
    if (header.id !== this.asked) return;
    this.asked = 0;
    this.measured = performance.now();
    if (this.again && this.score.value) {
      this.again = false;
      this.measure();
    }
    if (!this.score.value) return;
    this.told.hidden = false;
    if (header["trouble"]) {
      this.told.textContent = String(header["trouble"]);
      return;
    }
    const { store } = this, of = header["of"] as number;
    this.sampled = of < store.rows ? of : null;
    const column = new Column(floats["scores"]!, { name: String(header["score"]), kind: "number", at: 0, count: store.rows }, this.title);
    this.column = column;
    store.setScore(column);
    store.colourBy(column);
    this.told.textContent = `On average ${formatShort(header["mean"] as number, 3)} over ${formatCount(of)} rows and ${header["k"]} neighbours.`;
  }

  // --- the nearest rows of the pinned one ---

  of(row: number): number[] | null {
    return this.near.get(row) ?? null;
  }

  private pinned(): void {
    const { pinned } = this.store;
    this.magnet.disabled = pinned < 0;
    if (pinned >= 0 && !this.near.has(pinned)) this.sought = this.ask("near", { row: pinned, count: COUNT });
    else this.attract(this.pulling && pinned >= 0);
  }

  private attract(pulling: boolean): void {
    const was = this.pulling, { pinned } = this.store;
    this.pulling = pulling;
    this.magnet.setAttribute("aria-pressed", String(pulling));
    if (!was && !pulling) return;
    const rows = pulling ? this.of(pinned) : null;
    for (const panel of this.panels()) panel.attract(rows ? { to: pinned, rows } : null);
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.what === "quality") return this.showScores(header, floats);
    if (header.id !== this.sought || header["trouble"]) return;
    this.near.set(header["row"] as number, header["near"] as number[]);
    if (header["row"] !== this.store.pinned) return;
    this.store.emit("pin", this.panels()[0]);
  }
}
