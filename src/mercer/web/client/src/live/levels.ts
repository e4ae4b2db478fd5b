// A component as a function of the data: its level sets over two variables, with the rows among them.

import { css, ramp } from "../colours";
import { levelLines } from "../contours";
import { h } from "../dom";
import { formatShort } from "../format";
import { DIMMED, HIDDEN } from "../renderer";
import type { Store } from "../store";
import { shorten } from "../text";
import type { Ask, LiveAbout } from "./live";
import type { Header } from "./message";

const SIDE = 272; // pixels
const LINES = 9; // levels that divide the range of the values
const MOST_NAMES = 500; // variables in a list
const AXES = "axes"; // what the list calls the principal axes
const FUNCTIONS = ["kpca", "pca", "isomap"];

interface Drawn { header: Header; values: Float32Array; points: Float32Array }

export class LevelSets {
  readonly element: HTMLDetailsElement;
  private readonly component = h("select", { id: "level-component" });
  private readonly across = [0, 1].map((k) => h("select", { id: `level-${k ? "vertical" : "horizontal"}` }));
  private readonly base = h("input", { type: "checkbox", id: "level-base" });
  private readonly canvas = h("canvas", { class: "level-sets", role: "img", width: String(2 * SIDE), height: String(2 * SIDE) });
  private readonly told = h("p", { class: "hint" });
  private readonly figure = h("div", { hidden: true }, this.canvas, this.told);
  private readonly message = h("p", { class: "trouble", hidden: true });
  private drawn: Drawn | null = null;
  private asked = 0;

  constructor(private readonly store: Store, about: LiveAbout, private readonly ask: Ask) {
    const named = (label: string, control: HTMLElement): HTMLElement => h("label", { class: "control choice" }, h("span", {}, label), control);
    const names = about.features.slice(0, MOST_NAMES);
    const option = (name: string, k: number): HTMLElement => h("option", { value: String(k) }, shorten(name, 40));
    this.across[0]!.append(h("option", { value: AXES }, "principal axes"), ...names.map(option));
    this.across[1]!.append(...names.map(option));
    if (names.length > 1 && names.length <= 10) this.across[0]!.value = "0"; // few columns mean something by themselves
    if (names.length > 1) this.across[1]!.value = "1";
    const vertical = named("and", this.across[1]!);
    const toggle = (): void => void (vertical.hidden = this.across[0]!.value === AXES);
    for (const select of [this.component, ...this.across]) select.addEventListener("change", () => this.go());
    this.across[0]!.addEventListener("change", toggle);
    this.base.addEventListener("change", () => this.go());
    toggle();
    this.element = h("details", { class: "take", id: "levels" }, h("summary", {}, "Level sets of a component"),
      h("div", { class: "controls" }, named("component", this.component), named("over", this.across[0]!), vertical),
      h("label", { class: "check" }, this.base, h("span", {}, "through the pinned row, not the mean")), this.message, this.figure);
    this.element.addEventListener("toggle", () => this.go());
    this.canvas.addEventListener("click", (event) => this.press(event));
    store.on("pin", () => this.base.checked && this.go());
    for (const change of ["colour", "states", "ground", "pin"] as const) store.on(change, () => this.draw());
  }

  /** Another map is shown, with these components, of a method. */
  follow(axes: string[], method: string): void {
    this.element.hidden = !FUNCTIONS.includes(method);
    if (Array.from(this.component.options, (option) => option.text).join() === axes.join()) return;
    const kept = this.component.value;
    this.component.replaceChildren(...axes.map((name, k) => h("option", { value: String(k) }, name)));
    this.component.value = Number(kept) < axes.length ? kept || "0" : "0";
  }

  /** Asks for the level sets, if they are looked at. */
  go(): void {
    if (!this.element.open || this.element.hidden) return;
    const [a, b] = this.across.map((select) => select.value) as [string, string];
    const { pinned } = this.store;
    this.asked = this.ask("levels", { component: Number(this.component.value), across: a === AXES ? null : [Number(a), Number(b)], base: this.base.checked && pinned >= 0 ? pinned : null });
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.id !== this.asked) return;
    this.message.hidden = !header["trouble"];
    this.figure.hidden = !this.message.hidden;
    this.message.textContent = String(header["trouble"] ?? "");
    this.drawn = header["trouble"] ? null : { header, values: floats["values"]!, points: floats["points"]! };
    this.draw();
  }

  /** Pixels of the canvas, twice as many as of the screen, for a value of either variable. */
  private place(ranges: [[number, number], [number, number]], s: number, t: number): [number, number] {
    const share = (value: number, [low, high]: [number, number]): number => (value - low) / (high - low);
    return [2 * SIDE * share(s, ranges[0]), 2 * SIDE * (1 - share(t, ranges[1]))];
  }

  private draw(): void {
    if (!this.drawn) return;
    const { header, values, points } = this.drawn;
    const { ground, colours, colouring, states, pinned } = this.store;
    const side = header["side"] as number, stride = header["stride"] as number, ranges = header["ranges"] as [[number, number], [number, number]];
    const names = header["names"] as [string, string];
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    const pen = this.canvas.getContext("2d")!;
    const cells = new ImageData(side, side);
    values.forEach((value, k) => {
      const [r, g, b] = ramp(high > low ? (value - low) / (high - low) : 0.5, ground);
      cells.data.set([r, g, b, 90], 4 * ((side - 1 - Math.floor(k / side)) * side + (k % side))); // the first row of values is the lowest
    });
    const small = h("canvas", { width: String(side), height: String(side) });
    small.getContext("2d")!.putImageData(cells, 0, 0);
    pen.fillStyle = css(ground.paper);
    pen.fillRect(0, 0, 2 * SIDE, 2 * SIDE);
    const half = SIDE / (side - 1); // values stand at the middles of cells, the outermost at the edges
    pen.drawImage(small, -half, -half, 2 * SIDE + 2 * half, 2 * SIDE + 2 * half);
    const at = (c: number, r: number): [number, number] => [(2 * SIDE * c) / (side - 1), 2 * SIDE * (1 - r / (side - 1))];
    const line = (level: number, width: number, colour: string): void => {
      const found = levelLines(values, side, side, level, at);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      for (let i = 0; i < found.length; i += 4) {
        pen.moveTo(found[i]!, found[i + 1]!);
        pen.lineTo(found[i + 2]!, found[i + 3]!);
      }
      pen.stroke();
    };
    for (let k = 1; k <= LINES && high > low; k++) line(low + ((high - low) * k) / (LINES + 1), 1.5, ground.faint);
    if (low < 0 && high > 0) line(0, 4, ground.ink);
    const count = points.length / 2;
    for (const dimmed of [true, false]) {
      for (let k = 0; k < count; k++) {
        const row = k * stride;
        if (states[row] === HIDDEN || dimmed !== (states[row] === DIMMED)) continue;
        const [x, y] = this.place(ranges, points[k]!, points[count + k]!);
        pen.fillStyle = css(dimmed ? ground.dimmed : colours[colouring.codes[row]!]!);
        pen.beginPath();
        pen.arc(x, y, row === pinned ? 8 : 4, 0, 2 * Math.PI);
        pen.fill();
      }
    }
    const range = (k: 0 | 1): string => `${shorten(names[k], 30)} from ${formatShort(ranges[k][0], 3)} to ${formatShort(ranges[k][1], 3)}`;
    this.canvas.setAttribute("aria-label", `Level sets of ${header["axis"]}: ${range(0)}, ${range(1)}`);
    this.told.textContent = `→ ${range(0)}; ↑ ${range(1)}. ${header["axis"]} from ${formatShort(low, 3)} to ${formatShort(high, 3)}${low < 0 && high > 0 ? ", zero on the thick line" : ""}. Other variables are those of ${this.base.checked && pinned >= 0 ? "the pinned row" : "the mean row"}.`;
  }

  /** Pins the row that is pressed. */
  private press(event: MouseEvent): void {
    if (!this.drawn) return;
    const { header, points } = this.drawn;
    const box = this.canvas.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * 2 * SIDE, py = ((event.clientY - box.top) / box.height) * 2 * SIDE;
    const count = points.length / 2, stride = header["stride"] as number;
    let best = -1, least = 24;
    for (let k = 0; k < count; k++) {
      const [x, y] = this.place(header["ranges"] as [[number, number], [number, number]], points[k]!, points[count + k]!);
      const away = Math.hypot(x - px, y - py);
      if (away < least && this.store.isVisible(k * stride)) [best, least] = [k * stride, away];
    }
    if (best >= 0) this.store.pin(best);
  }
}
