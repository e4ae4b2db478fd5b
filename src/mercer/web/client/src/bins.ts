// The bars of a histogram: whole numbers get whole bars, dates get days, weeks, months or years.

import type { Column } from "./columns";

const BARS = 42; // about as many as can be told apart in the sidebar
const MOST = 60; // bars up to which every whole number, or every unit of the calendar, gets its own

export interface Bins {
  edges: number[]; // one more than there are bars
  whole: boolean;
  place(value: number): number; // 0 … 1 along the histogram
  value(place: number): number; // its inverse
}

export function binsOf(column: Column): Bins {
  const { low, high } = column.extent();
  const scale = column.scale();
  const whole = column.kind === "number" && isWhole(column);
  let edges = Array.from({ length: BARS + 1 }, (_, k) => scale.value(k / BARS));
  if (column.kind === "date" && high > low) edges = calendarEdges(low, high);
  else if (whole) edges = scale.kind === "linear" ? wholeEdges(low, high) : apart([low - 0.5, ...edges.map((edge) => Math.floor(edge) + 0.5)]);
  if (scale.kind !== "linear") return { edges, whole, place: scale.place, value: scale.value };
  const from = edges[0]!, span = edges.at(-1)! - from || 1;
  return { edges, whole, place: (value) => Math.min(1, Math.max(0, (value - from) / span)), value: (place) => from + place * span };
}

function isWhole(column: Column): boolean {
  for (const value of column.numbers!) if (Number.isFinite(value) && !Number.isInteger(value)) return false;
  return true;
}

/** A bar per number, or per 2, 5, 10, 20, … numbers. */
function wholeEdges(low: number, high: number): number[] {
  let width = 1;
  for (let k = 0; (high - low + 1) / width > MOST; k++) width = [1, 2, 5][(k + 1) % 3]! * 10 ** Math.floor((k + 1) / 3);
  const start = width === 1 ? low : Math.floor(low / width) * width;
  const edges = [start - 0.5];
  while (edges.at(-1)! < high) edges.push(edges.at(-1)! + width);
  return edges;
}

const apart = (edges: number[]): number[] => edges.filter((edge, k) => k === 0 || edge > edges[k - 1]!);

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const MONDAY = 4 * DAY; // 1970-01-05: weeks begin on Mondays

/** Edges of the calendar's units, in UTC: the shortest unit of which at most MOST cover the range. */
export function calendarEdges(low: number, high: number): number[] {
  for (const [length, offset] of [[1, 0], [SECOND, 0], [MINUTE, 0], [10 * MINUTE, 0], [HOUR, 0], [6 * HOUR, 0], [DAY, 0], [7 * DAY, MONDAY]] as const) {
    if ((high - low) / length > MOST - 1) continue;
    const edges = [Math.floor((low - offset) / length) * length + offset];
    while (edges.at(-1)! <= high) edges.push(edges.at(-1)! + length);
    return edges;
  }
  const from = new Date(low), to = new Date(high);
  const months = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth() + 1;
  const step = [1, 3, 12, 60, 120, 600, 1200, 12_000, 120_000].find((each) => months / each <= MOST) ?? 1_200_000;
  const start = Math.floor((12 * from.getUTCFullYear() + from.getUTCMonth()) / step) * step;
  const edges: number[] = [];
  for (let month = start; edges.length === 0 || edges.at(-1)! <= high; month += step) {
    const edge = new Date(0);
    edge.setUTCFullYear(Math.floor(month / 12), month - 12 * Math.floor(month / 12), 1);
    if (Number.isNaN(edge.getTime())) break; // the end of what dates can be
    edges.push(edge.getTime());
  }
  return edges;
}

/** The bar of every row; the number of bars where the value is missing. */
export function barsOf(column: Column, edges: number[]): Uint8Array {
  const bars = edges.length - 1;
  const out = new Uint8Array(column.numbers!.length);
  for (let i = 0; i < out.length; i++) {
    const value = column.numbers![i]!;
    if (Number.isNaN(value)) {
      out[i] = bars;
      continue;
    }
    let from = 0, to = bars - 1;
    while (from < to) {
      const middle = (from + to + 1) >> 1;
      if (edges[middle]! <= value) from = middle;
      else to = middle - 1;
    }
    out[i] = from;
  }
  return out;
}
