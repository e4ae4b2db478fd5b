// How dense a map is: counts on a grid, smoothed; its peaks, the clusters around them, and lines of equal density.

import { levelLines } from "./contours";
import type { Box } from "./view";

const SIDE = 128; // cells along each side
const LEAST_WIDTH = 1.2, MOST_WIDTH = 8; // of the smoothing, in cells: less shows the grid, more blurs clusters into one
const MARGIN = 16; // empty cells around the points, so that every line is closed
const LEAST_HUMP = 5; // points around a place that is to have the name of its class a second time; fewer are chance
const PROMINENT = 0.6; // a peak is one of its own if the saddle to a higher one is below this share of it

export interface Peak { x: number; y: number; count: number; cell: number }

export class Density {
  readonly side = SIDE + 2 * MARGIN;
  readonly values: Float32Array;
  readonly total: number;
  private readonly counts: Float32Array;
  private readonly low: [number, number];
  private readonly step: [number, number]; // map units per cell

  constructor(private readonly x: Float32Array, private readonly y: Float32Array, box: Box, accept: (row: number) => boolean) {
    const spanX = box.highX - box.lowX || 1, spanY = box.highY - box.lowY || 1;
    this.step = [spanX / SIDE, spanY / SIDE];
    this.low = [box.lowX - MARGIN * this.step[0], box.lowY - MARGIN * this.step[1]];
    this.counts = new Float32Array(this.side * this.side);
    let total = 0;
    for (let i = 0; i < x.length; i++) {
      if (!accept(i)) continue;
      this.counts[this.cellOf(i)]!++;
      total++;
    }
    this.total = total;
    // Scott's rule for a cloud whose standard deviation is a twelfth of its range: a map of a few clusters.
    const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, (SIDE / 12) * Math.max(1, total) ** (-1 / 6)));
    this.values = smoothed(this.counts, this.side, width);
  }

  cellOf(row: number): number {
    const c = Math.min(SIDE - 1, Math.max(0, Math.floor((this.x[row]! - this.low[0]) / this.step[0] - MARGIN)));
    const r = Math.min(SIDE - 1, Math.max(0, Math.floor((this.y[row]! - this.low[1]) / this.step[1] - MARGIN)));
    return (r + MARGIN) * this.side + c + MARGIN;
  }

  place(cell: number): [number, number] {
    return [this.low[0] + ((cell % this.side) + 0.5) * this.step[0], this.low[1] + (Math.floor(cell / this.side) + 0.5) * this.step[1]];
  }

  /** The density above which `share` of the points lie. */
  level(share: number): number {
    const sorted = this.values.filter((value) => value > 0).sort().reverse();
    const wanted = share * sorted.reduce((sum, value) => sum + value, 0);
    let sum = 0;
    for (const value of sorted) if ((sum += value) >= wanted) return value;
    return sorted.at(-1) ?? 0;
  }

  /** Segments x0, y0, x1, y1, … of the line on which the density is `level`. */
  contour(level: number): Float32Array {
    const at = (c: number, r: number): [number, number] => [this.low[0] + (c + 0.5) * this.step[0], this.low[1] + (r + 0.5) * this.step[1]];
    return levelLines(this.values, this.side, this.side, level, at);
  }

  /** Clusters: every cell climbs to a peak; peaks that hardly stand out from a higher one join it. The largest comes first. */
  clusters(): { peaks: Peak[]; of: Int32Array } {
    const { side, values, counts } = this;
    const cells = Uint32Array.from(values.keys()).filter((cell) => values[cell]! > 0).sort((a, b) => values[b]! - values[a]! || a - b);
    const parent = new Int32Array(values.length).fill(-1); // the peak's cell is its own parent
    const root = (cell: number): number => {
      while (parent[cell] !== cell) cell = parent[cell] = parent[parent[cell]!]!;
      return cell;
    };
    const around = [-side - 1, -side, -side + 1, -1, 1, side - 1, side, side + 1];
    for (const cell of cells) { // from the densest down: a cell that touches two clusters is the saddle between them
      const near = [...new Set(around.map((d) => cell + d).filter((o) => o >= 0 && o < values.length && parent[o]! >= 0).map(root))];
      if (!near.length) {
        parent[cell] = cell;
        continue;
      }
      near.sort((a, b) => values[b]! - values[a]! || a - b);
      parent[cell] = near[0]!;
      for (const lower of near.slice(1)) if (values[cell]! > PROMINENT * values[lower]!) parent[lower] = near[0]!;
    }
    const sizes = new Map<number, number>();
    for (const cell of cells) if (counts[cell]) sizes.set(root(cell), (sizes.get(root(cell)) ?? 0) + counts[cell]!);
    const least = Math.max(3, this.total / 500); // fewer points are no cluster but strays
    const peaks = [...sizes].filter(([, count]) => count >= least).sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .map(([cell, count]) => ({ x: this.place(cell)[0], y: this.place(cell)[1], count, cell }));
    const number = new Map(peaks.map((peak, k) => [peak.cell, k]));
    const of = new Int32Array(values.length).fill(-1);
    for (const cell of cells) of[cell] = number.get(root(cell)) ?? -1;
    return { peaks, of };
  }
}

/** Three running means, one after the other, are close to a Gaussian of standard deviation `width`. */
export function smoothed(values: Float32Array, side: number, width: number): Float32Array {
  const half = Math.max(1, Math.round((Math.sqrt(4 * width * width + 1) - 1) / 2));
  let from = Float32Array.from(values), to = new Float32Array(values.length);
  for (let pass = 0; pass < 3; pass++) {
    for (const [along, across] of [[1, side], [side, 1]] as const) {
      for (let line = 0; line < side; line++) {
        let sum = 0;
        for (let k = -half; k < side; k++) {
          if (k + half < side) sum += from[line * across + (k + half) * along]!;
          if (k - half - 1 >= 0) sum -= from[line * across + (k - half - 1) * along]!;
          if (k >= 0) to[line * across + k * along] = Math.max(0, sum) / (2 * half + 1);
        }
      }
      [from, to] = [to, from];
    }
  }
  return from.map((value) => (value < 1e-6 ? 0 : value)); // what rounding leaves of nothing
}

export interface ClassPeak { code: number; x: number; y: number; count: number; rank: number; reach: number } // reach: half the height of what lies around it

/** Where each class is densest, up to `most` places per class; classes are codes below `classes`. */
export function classPeaks(x: Float32Array, y: Float32Array, codes: ArrayLike<number>, classes: number, box: Box, accept: (row: number) => boolean, most = 3): ClassPeak[] {
  const side = classes > 250 ? 24 : 48, cells = side * side;
  const scaleX = side / (box.highX - box.lowX || 1), scaleY = side / (box.highY - box.lowY || 1);
  const counts = new Float32Array(classes * cells), sumX = new Float32Array(classes * cells), sumY = new Float32Array(classes * cells);
  for (let i = 0; i < x.length; i++) {
    if (codes[i]! >= classes || !accept(i)) continue;
    const c = Math.min(side - 1, Math.max(0, Math.floor((x[i]! - box.lowX) * scaleX)));
    const r = Math.min(side - 1, Math.max(0, Math.floor((y[i]! - box.lowY) * scaleY)));
    const at = codes[i]! * cells + r * side + c;
    counts[at]!++;
    sumX[at]! += x[i]!;
    sumY[at]! += y[i]!;
  }
  const found: ClassPeak[] = [];
  for (let code = 0; code < classes; code++) {
    const own = counts.subarray(code * cells, (code + 1) * cells);
    const count = own.reduce((sum, value) => sum + value, 0);
    if (!count) continue;
    const dense = smoothed(own, side, classWidth(own, side, count));
    const order = Array.from(dense.keys()).filter((cell) => dense[cell]! > 0).sort((a, b) => dense[b]! - dense[a]! || a - b);
    const taken: number[] = [];
    for (const cell of order) {
      if (taken.length === most || dense[cell]! < 0.35 * dense[order[0]!]!) break; // lesser humps are not worth a name
      const apart = (other: number): boolean =>
        Math.max(Math.abs((cell % side) - (other % side)), Math.abs(Math.floor(cell / side) - Math.floor(other / side))) > side / 6 && valley(dense, side, cell, other);
      if (!taken.every(apart)) continue;
      taken.push(cell);
      let [n, sx, sy] = [0, 0, 0]; // the mean of the points around the peak
      const around = block(cell, side, 1);
      for (const at of around.some((each) => own[each]) ? around : [nearestCell(own, side, cell)]) {
        n += own[at]!;
        sx += sumX[code * cells + at]!;
        sy += sumY[code * cells + at]!;
      }
      if (taken.length > 1 && n < LEAST_HUMP) continue;
      found.push({ code, x: sx / n, y: sy / n, count, rank: taken.length - 1, reach: (2 * deviationY(own, side, cell) + 0.5) / scaleY });
    }
  }
  return found.sort((a, b) => a.rank - b.rank || b.count - a.count || a.code - b.code);
}

/** Scott's rule for the deviation of a class, in cells: less shows chance as humps, more than a sixteenth of the map blurs its parts. */
function classWidth(own: Float32Array, side: number, count: number): number {
  let [sc, sr, scc, srr] = [0, 0, 0, 0];
  own.forEach((n, cell) => {
    const c = cell % side, r = Math.floor(cell / side);
    sc += n * c;
    sr += n * r;
    scc += n * c * c;
    srr += n * r * r;
  });
  const variance = (scc + srr - (sc * sc + sr * sr) / count) / (2 * count);
  return Math.min(side / 16, Math.max(1, Math.sqrt(Math.max(0, variance)) * count ** (-1 / 6)));
}

/** Whether the density falls between two cells, below PROMINENT of the lower one: otherwise they are one hump. */
function valley(dense: Float32Array, side: number, a: number, b: number): boolean {
  const [ca, ra, cb, rb] = [a % side, Math.floor(a / side), b % side, Math.floor(b / side)];
  const steps = Math.max(Math.abs(ca - cb), Math.abs(ra - rb));
  const bound = PROMINENT * Math.min(dense[a]!, dense[b]!);
  for (let k = 1; k < steps; k++) if (dense[Math.round(ra + ((rb - ra) * k) / steps) * side + Math.round(ca + ((cb - ca) * k) / steps)]! < bound) return true;
  return false;
}

/** The cells at most `far` from one along either side. */
function block(cell: number, side: number, far: number): number[] {
  const c0 = cell % side, r0 = Math.floor(cell / side), out: number[] = [];
  for (let r = Math.max(0, r0 - far); r <= Math.min(side - 1, r0 + far); r++) {
    for (let c = Math.max(0, c0 - far); c <= Math.min(side - 1, c0 + far); c++) out.push(r * side + c);
  }
  return out;
}

/** The nearest cell that has points, for a peak between them. */
function nearestCell(own: Float32Array, side: number, cell: number): number {
  const away = (at: number): number => Math.hypot((at % side) - (cell % side), Math.floor(at / side) - Math.floor(cell / side));
  let best = -1;
  own.forEach((n, at) => {
    if (n && (best < 0 || away(at) < away(best))) best = at;
  });
  return best;
}

/** The deviation along y of the points around a cell, in cells. */
function deviationY(own: Float32Array, side: number, cell: number): number {
  let [n, sum, squares] = [0, 0, 0];
  for (const at of block(cell, side, Math.floor(side / 6))) {
    const r = Math.floor(at / side) - Math.floor(cell / side);
    n += own[at]!;
    sum += own[at]! * r;
    squares += own[at]! * r * r;
  }
  return n ? Math.sqrt(Math.max(0, squares / n - (sum / n) ** 2)) : 0;
}
