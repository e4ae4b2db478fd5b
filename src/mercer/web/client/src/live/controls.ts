// The settings of a live page: a method, and a slider or a list for each of its parameters.

import { h } from "../dom";
import { formatCount } from "../format";
import type { Settings, Value } from "./message";

export interface ControlAbout {
  name: string; label: string; kind: "choice" | "whole" | "log" | "edges"; help: string; first: Value; low: number; high: number;
  choices: string[]; ranges: Record<string, [number, number, number]>; only: Record<string, string[]>;
}
export interface MethodAbout { name: string; title: string; controls: ControlAbout[] }

const STEPS = 1000; // of a logarithmic slider
const DIGITS = 4; // of a number on one

/** Where a value stands on a slider, and the value at a place: whole numbers as they are, others by logarithm. */
export const placeOf = (value: number, low: number, high: number): number => (high > low ? Math.round((STEPS * Math.log(value / low)) / Math.log(high / low)) : 0);
export const valueAt = (place: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, Number((low * (high / low) ** (place / STEPS)).toPrecision(DIGITS))));

/** The controls that have an effect with these settings. */
export const shownOf = (method: MethodAbout, settings: Settings): ControlAbout[] =>
  method.controls.filter((control) => control.kind !== "edges" && Object.entries(control.only).every(([name, values]) => values.includes(String(settings[name]))));

export const rangeOf = (control: ControlAbout, settings: Settings): [number, number, number] =>
  control.ranges[String(settings["kernel"])] ?? [control.low, Number(control.first), control.high];

/** The settings of a method with what others have of the same name, as far as its range allows. */
export function completed(method: MethodAbout, settings: Settings): Settings {
  const out: Settings = { method: method.name };
  for (const control of method.controls) {
    if (!Object.entries(control.only).every(([name, values]) => values.includes(String(out[name])))) continue;
    const given = settings[control.name];
    if (control.kind === "edges") {
      if (typeof given === "string" && given) out[control.name] = given; // the server knows which edges there are
    } else if (control.kind === "choice") out[control.name] = typeof given === "string" && control.choices.includes(given) ? given : control.first;
    else {
      const [low, first, high] = rangeOf(control, out);
      out[control.name] = typeof given === "number" && given >= low && given <= high ? given : first;
    }
  }
  return out;
}

export class ControlPanel {
  readonly element = h("div", { class: "controls" });
  private readonly method: HTMLSelectElement;
  private readonly rows = h("div", {});
  private settings: Settings;

  /** change: called at every move, with true when a person has arrived. */
  constructor(private readonly methods: MethodAbout[], first: Settings, private readonly change: (settings: Settings, arrived: boolean) => void) {
    this.settings = first;
    this.method = h("select", { id: "live-method" }, ...methods.map((method) => h("option", { value: method.name }, method.title)));
    this.method.addEventListener("change", () => this.put({ method: this.method.value }, true));
    this.element.append(h("label", { class: "control choice" }, h("span", {}, "method"), this.method), this.rows);
    this.show(first);
  }

  /** Shows settings without telling anyone. */
  show(settings: Settings): void {
    const rebuild = this.rows.childElementCount === 0 || this.keyOf(settings) !== this.keyOf(this.settings);
    this.settings = settings;
    this.method.value = String(settings["method"]);
    if (rebuild) this.rows.replaceChildren(...shownOf(this.current, settings).map((control) => this.row(control)));
    else this.rows.querySelectorAll("label").forEach((row) => row.dispatchEvent(new Event("refresh")));
  }

  /** Settings that a person has chosen elsewhere on the page. */
  set(change: Settings): void {
    this.put(change, true);
  }

  private get current(): MethodAbout {
    return this.methods.find((method) => method.name === this.settings["method"])!;
  }

  /** What decides which rows there are, and their ranges. */
  private keyOf(settings: Settings): string {
    return `${settings["method"]} ${settings["kernel"] ?? ""}`;
  }

  private put(change: Settings, arrived: boolean): void {
    const wanted = { ...this.settings, ...change };
    const before = this.settings;
    const method = this.methods.find((each) => each.name === wanted["method"])!;
    if (change["kernel"] !== undefined && typeof before["gamma"] === "number") {
      // A width means something else for another kernel: keep how far it is from where its slider begins.
      const gamma = method.controls.find((control) => control.name === "gamma")!;
      const ranges = gamma.ranges, [from, to] = [ranges[String(before["kernel"])], ranges[String(change["kernel"])]];
      if (from && to) wanted["gamma"] = Number((to[1] * (before["gamma"] / from[1])).toPrecision(DIGITS));
    }
    const next = completed(method, wanted);
    this.show(next);
    this.change(next, arrived);
  }

  private row(control: ControlAbout): HTMLElement {
    const label = h("span", {}, control.kind === "choice" && control.high ? `${control.label} (${formatCount(control.high)})` : control.label);
    if (control.kind === "choice") {
      const select = h("select", { "data-control": control.name }, ...control.choices.map((choice) => h("option", { value: choice }, choice.replaceAll("_", " "))));
      const row = h("label", { class: "control choice", title: control.help }, label, select);
      const refresh = (): void => void (select.value = String(this.settings[control.name]));
      row.addEventListener("refresh", refresh);
      refresh();
      select.addEventListener("change", () => this.put({ [control.name]: select.value }, true));
      return row;
    }
    const [low, , high] = rangeOf(control, this.settings);
    const whole = control.kind === "whole";
    const slider = h("input", { type: "range", "data-control": control.name, min: whole ? String(low) : "0", max: whole ? String(high) : String(STEPS), step: "1", "aria-label": control.label });
    const typed = h("input", { type: "text", inputmode: "decimal", class: "typed", "aria-label": `${control.label}, as a number` });
    const refresh = (): void => {
      const value = Number(this.settings[control.name]);
      slider.value = String(whole ? value : placeOf(value, low, high));
      slider.setAttribute("aria-valuetext", String(value));
      if (document.activeElement !== typed) typed.value = String(Number(value.toPrecision(DIGITS)));
    };
    const value = (): number => (whole ? Number(slider.value) : valueAt(Number(slider.value), low, high));
    slider.addEventListener("input", () => this.put({ [control.name]: value() }, false));
    slider.addEventListener("change", () => this.put({ [control.name]: value() }, true));
    typed.addEventListener("change", () => {
      const given = Number(typed.value.trim().replace(",", ".").replace("−", "-"));
      if (typed.value.trim() && Number.isFinite(given)) this.put({ [control.name]: Math.min(high, Math.max(low, whole ? Math.round(given) : given)) }, true);
      typed.value = String(Number(Number(this.settings[control.name]).toPrecision(DIGITS)));
    });
    const row = h("label", { class: "control", title: control.help }, label, slider, typed);
    row.addEventListener("refresh", refresh);
    refresh();
    return row;
  }
}
