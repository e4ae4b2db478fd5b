// Lines of equal value on a grid, by marching squares.

/** Segments x0, y0, x1, y1, … on which values on a grid of `width` by `height` are `level`; `at` places a column and a row, which may lie between two. */
export function levelLines(values: ArrayLike<number>, width: number, height: number, level: number, at: (column: number, row: number) => [number, number]): Float32Array {
  const out: number[] = [];
  for (let r = 0; r + 1 < height; r++) {
    for (let c = 0; c + 1 < width; c++) {
      const k = r * width + c;
      const corners = [values[k]!, values[k + 1]!, values[k + width + 1]!, values[k + width]!] as const;
      const code = corners.reduce((sum, value, bit) => sum | (value >= level ? 1 << bit : 0), 0);
      if (code === 0 || code === 15) continue;
      const cut = (edge: number): [number, number] => {
        const a = corners[edge]!, b = corners[(edge + 1) % 4]!, t = (level - a) / (b - a);
        return edge === 0 ? at(c + t, r) : edge === 1 ? at(c + 1, r + t) : edge === 2 ? at(c + 1 - t, r + 1) : at(c, r + 1 - t);
      };
      const crossed = [0, 1, 2, 3].filter((edge) => corners[edge]! >= level !== corners[(edge + 1) % 4]! >= level);
      // Four crossings: the middle of the cell decides which corners belong together.
      const turned = crossed.length === 4 && (corners.reduce((sum, value) => sum + value, 0) / 4 >= level) === (corners[0] >= level);
      const pairs = crossed.length === 2 ? [crossed] : turned ? [[0, 1], [2, 3]] : [[3, 0], [1, 2]];
      for (const [a, b] of pairs) out.push(...cut(a!), ...cut(b!));
    }
  }
  return Float32Array.from(out);
}
