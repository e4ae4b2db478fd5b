// The spectrum with its error bars, and a divergence as it falls: small drawings beside the settings.

import { h, svg } from "../dom";
import { formatShort } from "../format";

const WIDTH = 260, HEIGHT = 84, FOOT = 14;
const MOST_BARS = 40;

/** Eigenvalues as bars with whiskers as long as their error bounds; a press on one makes its component an axis. */
export class SpectrumChart {
  readonly element = h("div", { class: "spectrum", role: "group", "aria-label": "Eigenvalues", hidden: true });

  constructor(private readonly choose: (component: number, vertical: boolean) => void) {}

  show(values: Float32Array | null, errors: Float32Array | null, axes: readonly number[]): void {
    const shown = values ? values.subarray(0, MOST_BARS) : null;
    this.element.hidden = !shown || shown.length < 2;
    if (!shown || this.element.hidden) return;
    const most = Math.max(...shown.map((value, i) => value + Math.min(value, errors?.[i] ?? 0)), 1e-300);
    this.element.replaceChildren(...Array.from(shown, (value, i) => {
      const error = errors?.[i] ?? 0;
      const which = axes[0] === i ? " →" : axes[1] === i ? " ↑" : "";
      const text = `Component ${i + 1}: eigenvalue ${formatShort(value, 4)}${errors ? `, at most ${formatShort(error, 2)} off` : ""}`;
      const bar = h("span", { class: "bar-body" });
      bar.style.height = `${(100 * value) / most}%`;
      const whisker = h("span", { class: "whisker" });
      whisker.style.bottom = `${(100 * Math.max(0, value - error)) / most}%`;
      whisker.style.height = `${Math.max(0, (100 * (Math.min(most, value + error) - Math.max(0, value - error))) / most)}%`;
      const button = h("button", { type: "button", class: which ? "bar-button axis-bar" : "bar-button", title: `${text}. Click: horizontal axis; Shift and click: vertical axis.`, "aria-label": text + (which ? `, ${which === " →" ? "horizontal" : "vertical"} axis` : "") },
        h("span", { class: "bar-room" }, bar, error > 0 ? whisker : null), h("span", { class: "bar-name" }, shown.length <= 20 ? `${i + 1}${which}` : which));
      button.addEventListener("click", (event) => this.choose(i, event.shiftKey));
      return button;
    }));
  }
}

/** A number as it falls from step to step. */
export class DivergenceChart {
  readonly element = h("figure", { class: "divergence", hidden: true });
  private steps: number[] = [];
  private values: number[] = [];

  clear(): void {
    this.steps = [];
    this.values = [];
    this.element.hidden = true;
  }

  add(step: number, value: number): void {
    if (step < (this.steps.at(-1) ?? 0)) this.clear();
    this.steps.push(step);
    this.values.push(value);
    if (this.steps.length > 600) { // every other one is enough
      this.steps = this.steps.filter((_, k) => k % 2 === 0);
      this.values = this.values.filter((_, k) => k % 2 === 0);
    }
    this.draw();
  }

  private draw(): void {
    const { steps, values } = this;
    this.element.hidden = steps.length < 2;
    if (this.element.hidden) return;
    const high = Math.max(...values), low = Math.min(...values), last = steps.at(-1)!;
    const x = (step: number): number => (WIDTH * (step - steps[0]!)) / (last - steps[0]! || 1);
    const y = (value: number): number => 4 + (HEIGHT - FOOT - 8) * (1 - (value - low) / (high - low || 1));
    const line = svg("polyline", { points: steps.map((step, k) => `${x(step).toFixed(1)},${y(values[k]!).toFixed(1)}`).join(" ") });
    this.element.replaceChildren(svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT - FOOT}`, "aria-hidden": "true", preserveAspectRatio: "none" }, line),
      h("figcaption", {}, `divergence ${formatShort(high, 4)} → ${formatShort(values.at(-1)!, 4)} at step ${last.toLocaleString("en")}`));
  }
}
