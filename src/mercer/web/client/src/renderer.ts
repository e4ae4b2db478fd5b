// What is drawn, and what draws it. Everything a person does is handled elsewhere; a renderer only draws.

import type { Ground, RGB } from "./colours";
import type { Size, View } from "./view";

export const HIDDEN = 0, DIMMED = 1, SHOWN = 2;

export interface Scene {
  x: Float32Array;
  y: Float32Array;
  codes: Uint16Array; // index into colours
  colours: RGB[];
  states: Uint8Array; // HIDDEN, DIMMED or SHOWN
  order: Uint32Array; // in which points are drawn, so that no class hides another by coming later
  ground: Ground;
}

export interface Look { size: number; opacity: number } // size in CSS pixels
/** dimmed: how points look that others stand out from, null where none are dimmed. */
export interface Style extends Look { dimmed: Look | null }

export interface Renderer {
  readonly kind: "webgl" | "canvas";
  readonly canvas: HTMLCanvasElement;
  setScene(scene: Scene): void;
  /** Other places of the same points, as often as they move. */
  setPlaces(x: Float32Array, y: Float32Array): void;
  setView(view: View, size: Size, style: Style): void;
  /** Resolves when what was set last is on the canvas. */
  drawn(): Promise<void>;
  destroy(): void;
}

/** A fixed order that mixes all rows: steps of about the golden ratio, coprime to their number. */
export function mixedOrder(rows: number): Uint32Array {
  const order = new Uint32Array(rows);
  let step = Math.max(1, Math.round(rows * 0.6180339887));
  while (gcd(step, rows) !== 1) step++;
  for (let i = 0, at = 0; i < rows; i++, at = (at + step) % rows) order[i] = at;
  return order;
}

function gcd(a: number, b: number): number {
  while (b) [a, b] = [b, a % b];
  return a;
}
