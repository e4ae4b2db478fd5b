// Points in cells of a uniform grid: the nearest point and the points in a polygon, without looking at all of them.

export type Polygon = ArrayLike<number>; // x0, y0, x1, y1, …

/** Whether a point lies in a polygon, by the number of edges to its right. */
export function inside(x: number, y: number, polygon: Polygon): boolean {
  let odd = false;
  const end = polygon.length;
  let px = polygon[end - 2]!, py = polygon[end - 1]!;
  for (let i = 0; i < end; i += 2) {
    const qx = polygon[i]!, qy = polygon[i + 1]!;
    if (qy > y !== py > y && x < ((px - qx) * (y - qy)) / (py - qy) + qx) odd = !odd;
    px = qx;
    py = qy;
  }
  return odd;
}

export class Grid {
  private readonly size: number; // cells along each side
  private readonly starts: Uint32Array;
  private readonly items: Uint32Array;
  private readonly low: [number, number];
  private readonly scale: [number, number]; // cells per unit

  constructor(private readonly x: Float32Array, private readonly y: Float32Array) {
    const n = x.length;
    this.size = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(n / 4))));
    const [lowX, highX] = extent(x), [lowY, highY] = extent(y);
    this.low = [lowX, lowY];
    this.scale = [highX > lowX ? this.size / (highX - lowX) : 0, highY > lowY ? this.size / (highY - lowY) : 0];
    const cells = new Uint32Array(n);
    this.starts = new Uint32Array(this.size * this.size + 1);
    for (let i = 0; i < n; i++) {
      const cell = this.row(y[i]!) * this.size + this.column(x[i]!);
      cells[i] = cell;
      this.starts[cell + 1]!++;
    }
    for (let c = 0; c < this.size * this.size; c++) this.starts[c + 1]! += this.starts[c]!;
    const next = this.starts.slice(0, -1);
    this.items = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.items[next[cells[i]!]!++] = i;
  }

  private clamp(cell: number): number {
    return cell < 0 ? 0 : cell >= this.size ? this.size - 1 : cell;
  }

  private column(x: number): number {
    return this.clamp(Math.floor((x - this.low[0]) * this.scale[0]));
  }

  private row(y: number): number {
    return this.clamp(Math.floor((y - this.low[1]) * this.scale[1]));
  }

  /** The accepted point nearest to (x, y) within `radius`, or −1. */
  nearest(x: number, y: number, radius: number, accept: (row: number) => boolean): number {
    let best = -1, least = radius * radius;
    const last = this.column(x + radius);
    for (let r = this.row(y - radius), end = this.row(y + radius); r <= end; r++) {
      for (let c = this.column(x - radius); c <= last; c++) {
        const cell = r * this.size + c;
        for (let k = this.starts[cell]!; k < this.starts[cell + 1]!; k++) {
          const i = this.items[k]!;
          const d = (this.x[i]! - x) ** 2 + (this.y[i]! - y) ** 2;
          if (d <= least && accept(i)) {
            least = d;
            best = i;
          }
        }
      }
    }
    return best;
  }

  /** The k points nearest to a row, without it, nearest first; of two at one distance, the smaller number. */
  neighbors(row: number, k: number): number[] {
    const n = this.x.length, wanted = Math.min(k, n - 1);
    const [x, y] = [this.x[row]!, this.y[row]!];
    const widest = Math.max(...this.scale.map((each) => (each > 0 ? this.size / each : 0))) * 2 || 1;
    let radius = widest / this.size;
    for (;;) {
      const found: [number, number][] = [];
      const last = this.column(x + radius);
      for (let r = this.row(y - radius), end = this.row(y + radius); r <= end; r++) {
        for (let c = this.column(x - radius); c <= last; c++) {
          const cell = r * this.size + c;
          for (let i = this.starts[cell]!; i < this.starts[cell + 1]!; i++) {
            const other = this.items[i]!;
            const d = (this.x[other]! - x) ** 2 + (this.y[other]! - y) ** 2;
            if (other !== row && (d <= radius * radius || radius >= widest)) found.push([d, other]);
          }
        }
      }
      if (found.length >= wanted) return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, wanted).map(([, other]) => other);
      radius *= 2;
    }
  }

  /** Calls `take` for every point in the polygon. Cells that no edge crosses are in or out as a whole. */
  within(polygon: Polygon, take: (row: number) => void): void {
    if (polygon.length < 6) return;
    let lowX = Infinity, highX = -Infinity, lowY = Infinity, highY = -Infinity;
    for (let i = 0; i < polygon.length; i += 2) {
      lowX = Math.min(lowX, polygon[i]!);
      highX = Math.max(highX, polygon[i]!);
      lowY = Math.min(lowY, polygon[i + 1]!);
      highY = Math.max(highY, polygon[i + 1]!);
    }
    const crossed = this.crossed(polygon);
    for (let r = this.row(lowY); r <= this.row(highY); r++) {
      for (let c = this.column(lowX); c <= this.column(highX); c++) {
        const cell = r * this.size + c;
        const from = this.starts[cell]!, to = this.starts[cell + 1]!;
        if (from === to) continue;
        const mixed = crossed[cell] === 1;
        if (!mixed && !inside(this.x[this.items[from]!]!, this.y[this.items[from]!]!, polygon)) continue;
        for (let k = from; k < to; k++) {
          const i = this.items[k]!;
          if (!mixed || inside(this.x[i]!, this.y[i]!, polygon)) take(i);
        }
      }
    }
  }

  /** The cells that edges may cross, with a cell to spare on either side against rounding. */
  private crossed(polygon: Polygon): Uint8Array {
    const marks = new Uint8Array(this.size * this.size);
    const end = polygon.length;
    let px = (polygon[end - 2]! - this.low[0]) * this.scale[0], py = (polygon[end - 1]! - this.low[1]) * this.scale[1];
    for (let i = 0; i < end; i += 2) {
      const qx = (polygon[i]! - this.low[0]) * this.scale[0], qy = (polygon[i + 1]! - this.low[1]) * this.scale[1];
      this.markEdge(marks, px, py, qx, qy);
      px = qx;
      py = qy;
    }
    return marks;
  }

  private markEdge(marks: Uint8Array, px: number, py: number, qx: number, qy: number): void {
    const top = this.clamp(Math.floor(Math.max(py, qy)) + 1);
    for (let r = this.clamp(Math.floor(Math.min(py, qy)) - 1); r <= top; r++) {
      let from = Math.min(px, qx), to = Math.max(px, qx);
      if (Math.abs(qy - py) > 1) { // the part of the edge in the rows r − 1 to r + 2
        const a = px + ((qx - px) * (r - 1 - py)) / (qy - py), b = px + ((qx - px) * (r + 2 - py)) / (qy - py);
        from = Math.max(from, Math.min(a, b));
        to = Math.min(to, Math.max(a, b));
      }
      if (to < from) continue;
      const last = this.clamp(Math.floor(to) + 1);
      for (let c = this.clamp(Math.floor(from) - 1); c <= last; c++) marks[r * this.size + c] = 1;
    }
  }
}

function extent(values: Float32Array): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
