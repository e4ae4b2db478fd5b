// Density, names, histograms, sorting and addresses: what the page works out before anything is drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type State, read, readRows, written, writtenRows } from "../src/address";
import { barsOf, binsOf, calendarEdges } from "../src/bins";
import { Column } from "../src/columns";
import { Density, classPeaks, smoothed } from "../src/density";
import { bestOf } from "../src/facts";
import { Grid } from "../src/grid";
import { LABEL_HEIGHT, placed } from "../src/labels";
import { SvgPen } from "../src/pen";
import { sorted } from "../src/sorting";
import { shortenAll } from "../src/text";
import { fit, zoomed } from "../src/view";

const random = (seed: number): (() => number) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const box = { lowX: -1, highX: 1, lowY: -1, highY: 1 };

/** Columns as the page would read them, from values. */
function numbers(values: number[], kind: "number" | "date" = "number"): Column {
  const bytes = new Uint8Array(Float64Array.from(values).buffer);
  const planes = new Uint8Array(bytes.length);
  for (let i = 0; i < values.length; i++) for (let p = 0; p < 8; p++) planes[p * values.length + i] = bytes[8 * i + p]!;
  return new Column(planes, { name: "c", kind, at: 0, count: values.length, type: "f8" });
}
const classes = (codes: number[], names: string[]): Column => new Column(Uint8Array.from(codes), { name: "c", kind: "category", names, at: 0, count: codes.length, type: "u1" });

/** Clouds around given places, so many points each. */
function clouds(middles: [number, number][], each: number, width: number) {
  const next = random(5), n = middles.length * each;
  const bell = (): number => next() + next() + next() - 1.5;
  const x = Float32Array.from({ length: n }, (_, i) => middles[i % middles.length]![0] + width * bell());
  const y = Float32Array.from({ length: n }, (_, i) => middles[i % middles.length]![1] + width * bell());
  return { x, y, codes: Uint8Array.from({ length: n }, (_, i) => i % middles.length) };
}

test("smoothing keeps the sum and the middle", () => {
  const side = 41, values = new Float32Array(side * side);
  values[20 * side + 20] = 7;
  const soft = smoothed(values, side, 2);
  assert.ok(Math.abs(soft.reduce((sum, value) => sum + value, 0) - 7) < 1e-3);
  assert.equal(soft.indexOf(Math.max(...soft)), 20 * side + 20);
});

test("the density finds the clusters that are there, and its lines close around them", () => {
  const middles: [number, number][] = [[-0.6, -0.6], [0.6, -0.4], [0, 0.7]];
  const { x, y } = clouds(middles, 400, 0.12);
  const density = new Density(x, y, box, () => true);
  const { peaks, of } = density.clusters();
  assert.equal(peaks.length, 3);
  for (const [mx, my] of middles) assert.ok(peaks.some((peak) => Math.hypot(peak.x - mx, peak.y - my) < 0.1));
  for (let i = 0; i < 1200; i++) assert.equal(of[density.cellOf(i)], of[density.cellOf(i % 3)]);
  const line = density.contour(density.level(0.5));
  const ends = new Map<string, number>(); // a closed line passes every end twice
  for (let i = 0; i < line.length; i += 2) {
    const key = `${line[i]!.toFixed(5)} ${line[i + 1]!.toFixed(5)}`;
    ends.set(key, (ends.get(key) ?? 0) + 1);
  }
  // The level is the density of a cell, so that some segments shrink to its middle; they are few.
  const points = Array.from({ length: line.length / 4 }, (_, k) => 4 * k).filter((i) => line[i] === line[i + 2] && line[i + 1] === line[i + 3]);
  assert.ok(points.length < line.length / 40);
  assert.ok(line.length > 40 && [...ends.values()].every((count) => count % 2 === 0));
  const inside = [...density.values].filter((value) => value >= density.level(0.5)).reduce((sum, value) => sum + value, 0);
  assert.ok(Math.abs(inside / density.values.reduce((sum, value) => sum + value, 0) - 0.5) < 0.05);
});

test("names stand where their class is densest, the largest class first", () => {
  const { x, y, codes } = clouds([[-0.5, 0], [0.5, 0]], 300, 0.1);
  const peaks = classPeaks(x, y, codes, 2, box, (row) => row % 2 === 0 || row < 300);
  assert.deepEqual(peaks.slice(0, 2).map((peak) => peak.code), [0, 1]);
  assert.ok(Math.abs(peaks[0]!.x + 0.5) < 0.1 && Math.abs(peaks[1]!.x - 0.5) < 0.1 && peaks[0]!.count > peaks[1]!.count);
});

test("names do not overlap, and there are fewer of them from afar", () => {
  const next = random(11), size = { width: 700, height: 500 }, home = fit(box, size);
  const names = Array.from({ length: 300 }, (_, k) => ({ text: `name ${k}`, x: 0.2 * (next() - 0.5), y: 0.2 * (next() - 0.5), same: k, reach: 0.01 }));
  const counts = [1, 3, 9].map((factor) => {
    const out = placed(names, zoomed(home, size, factor, 350, 250), size, 2, (text) => 7 * text.length);
    out.forEach((a, i) => out.slice(0, i).forEach((b) => assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= LABEL_HEIGHT)));
    return out.length;
  });
  assert.ok(counts[0]! < counts[1]! && counts[1]! < counts[2]!, String(counts));
});

test("a class that is one cloud has one name, however few points it has; two clouds have two", () => {
  const next = random(9), bell = (): number => next() + next() + next() - 1.5;
  for (const n of [1, 2, 15, 60, 400]) {
    const x = Float32Array.from({ length: n }, bell), y = Float32Array.from({ length: n }, bell), codes = new Uint8Array(n);
    const own = { lowX: -1.5, highX: 1.5, lowY: -1.5, highY: 1.5 };
    assert.equal(classPeaks(x, y, codes, 1, own, () => true).length, 1, `${n} points`);
  }
  const { x, y } = clouds([[-0.6, 0], [0.6, 0]], 100, 0.1);
  assert.equal(classPeaks(x, y, new Uint8Array(200), 1, box, () => true).length, 2);
});

test("a name stands beside the few points that it would hide, and upon a cloud", () => {
  const size = { width: 700, height: 500 }, view = fit(box, size);
  const at = (reach: number): number => placed([{ text: "name", x: 0.1, y: 0.2, same: 0, reach }], view, size, 4, () => 40)[0]!.y - (250 - (0.2 - view.y) * view.scale);
  assert.ok(Math.abs(at(0)) >= 4 + LABEL_HEIGHT / 2);
  assert.equal(at(0.5), 0);
});

test("no name stands nearer to the place of another than to its own", () => {
  const next = random(21), size = { width: 390, height: 500 }, view = fit(box, size);
  const gap = (name: { x: number; y: number; width: number }, x: number, y: number): number =>
    Math.hypot(Math.max(0, Math.abs(name.x - x) - name.width / 2), Math.max(0, Math.abs(name.y - y) - LABEL_HEIGHT / 2));
  let beside = 0;
  for (let trial = 0; trial < 40; trial++) {
    const names = Array.from({ length: 12 }, (_, k) => ({ text: `class ${k}`, x: 1.2 * next() - 0.6, y: 1.2 * next() - 0.6, same: k, reach: trial % 2 ? 0.15 : 0.01 }));
    const at = names.map((name) => [size.width / 2 + (name.x - view.x) * view.scale, size.height / 2 - (name.y - view.y) * view.scale] as const);
    for (const name of placed(names, view, size, 3, (text) => 7 * text.length)) {
      const own = names.findIndex((each) => each.text === name.text);
      const away = gap(name, ...at[own]!);
      beside += Number(away > 0);
      if (away > 0) at.forEach((other, k) => assert.ok(k === own || gap(name, ...other) >= away, `${name.text} seems to be ${k}`));
    }
  }
  assert.ok(beside > 20);
});

test("two classes in one place both have their names", () => {
  const size = { width: 700, height: 500 }, view = fit(box, size);
  const both = ["a", "b"].map((text, same) => ({ text, x: 0, y: 0, same, reach: 0.3 }));
  const out = placed(both, view, size, 2, () => 10);
  assert.deepEqual(out.map((each) => each.text), ["a", "b"]);
  assert.ok(Math.abs(out[0]!.y - out[1]!.y) > LABEL_HEIGHT);
});

test("names that would read alike once shortened are cut in the middle", () => {
  assert.deepEqual(shortenAll(["kernel pca, gamma 0.01", "kernel pca, gamma 0.1", "pca"], 14), ["kernel …a 0.01", "kernel …ma 0.1", "pca"]);
});

test("the nearest points of a row are those that sorting all of them gives", () => {
  const next = random(3), n = 500;
  const x = Float32Array.from({ length: n }, () => Math.fround(next() ** 2)), y = Float32Array.from({ length: n }, () => Math.fround(0.1 * next()));
  const grid = new Grid(x, y);
  for (const row of [0, 17, 499]) {
    const away = (i: number): number => (x[i]! - x[row]!) ** 2 + (y[i]! - y[row]!) ** 2;
    const all = [...x.keys()].filter((i) => i !== row).sort((a, b) => away(a) - away(b) || a - b);
    for (const k of [1, 10, 499, 600]) assert.deepEqual(grid.neighbors(row, k), all.slice(0, k));
  }
  assert.deepEqual(new Grid(new Float32Array(4), new Float32Array(4)).neighbors(2, 2), [0, 1]);
});

test("a number to look at has seven digits, however large; whole ones have all that are exact", () => {
  const column = numbers([1.2345678e299, 123456789, 0.123456789]);
  assert.deepEqual([0, 1, 2].map((row) => column.shown(row)), ["1.234568e+299", "123456789", "0.1234568"]);
});

test("dates of one column are written alike: all with the time of day, or none", () => {
  const day = 86_400_000;
  assert.deepEqual([0, 1].map((row) => numbers([0, 2 * day], "date").text(row)), ["1970-01-01", "1970-01-03"]);
  assert.deepEqual([0, 1, 2].map((row) => numbers([0, day + 3000, NaN], "date").text(row)), ["1970-01-01 00:00:00", "1970-01-02 00:00:03", null]);
});

test("whole numbers get whole bars", () => {
  const column = numbers([3, 4, 4, 7, 9, NaN]);
  const { edges } = binsOf(column);
  assert.deepEqual(edges, [2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]);
  assert.deepEqual([...barsOf(column, edges)], [0, 1, 1, 4, 6, 7]);
  const wide = binsOf(numbers(Array.from({ length: 1000 }, (_, i) => i))).edges;
  assert.ok(wide.length <= 61 && wide.every((edge, k) => Number.isInteger(edge + 0.5) && (k === 0 || edge - wide[k - 1]! === wide[1]! - wide[0]!)));
});

test("dates get bars of the calendar", () => {
  const day = (text: string): number => Date.parse(`${text}T00:00:00Z`);
  assert.deepEqual(calendarEdges(day("2023-11-15"), day("2024-02-01") + 5).length, 13); // weeks
  const weeks = calendarEdges(day("2023-11-15"), day("2024-02-01"));
  assert.ok(weeks.every((edge) => new Date(edge).getUTCDay() === 1));
  const months = calendarEdges(day("2021-01-20"), day("2024-02-01"));
  assert.ok(months.every((edge) => new Date(edge).getUTCDate() === 1) && months.length === 39);
  const years = calendarEdges(day("1980-05-05"), day("2020-02-01"));
  assert.ok(years.length <= 61 && years.length > 20);
  for (const [low, high] of [[0, 5], [0, 86_400_000], [-8e15, 8e15]] as const) {
    const edges = calendarEdges(low, high);
    assert.ok(edges[0]! <= low && edges.length <= 62 && edges.every((edge, k) => k === 0 || edge > edges[k - 1]!));
  }
});

test("sorting: missing values last in either direction, equal ones as in the file", () => {
  const rows = Uint32Array.from([0, 1, 2, 3, 4]);
  const column = numbers([2, NaN, 1, 2, -5]);
  assert.deepEqual([...sorted(rows, { column, down: false })], [4, 2, 0, 3, 1]);
  assert.deepEqual([...sorted(rows, { column, down: true })], [0, 3, 2, 4, 1]);
  assert.deepEqual([...sorted(rows, { column: classes([1, 2, 0, 2, 1], ["a", "b"]), down: true })], [0, 4, 2, 1, 3]);
  assert.deepEqual([...sorted(rows, { column: null, down: true })], [4, 3, 2, 1, 0]);
  assert.deepEqual([...rows], [0, 1, 2, 3, 4]);
});

test("an address gives back what was chosen, and survives nonsense", () => {
  const state: State = {
    panels: [{ map: 1, axes: [2, 0], equal: false, view: [0.25, -0.5, 3], snapshot: 4 }, { map: 0, axes: [0, 1], equal: null, view: null, snapshot: -1 }], colour: 2, search: "a b&c=#", pinned: 7, selected: [3, 4, 90],
    filters: [{ column: 0, off: [0, 3] }, { column: 4, low: -1.5, high: 2e-7, missing: false }],
    names: "clusters", contours: true, table: true, sort: [-1, true], size: 3.5, opacity: 0.25, theme: "dark",
  };
  assert.deepEqual(read(`#${written(state)}`), state);
  const empty = read("");
  assert.equal(written(empty), "");
  for (const hash of ["#canvas", "#map=x&filter=1_range_a_b_1&rows=..&sort=q&colour=1.5&size=NaN&theme=pink", "#%E0%A4%A"]) {
    assert.deepEqual({ ...read(hash), selected: null }, empty);
  }
});

test("the best map is marked, unless errors say that nobody knows", () => {
  const score = (value: number, error: number) => ({ name: "s", value, error, rows: 1, best: 1, meaning: null, unit: null, note: null });
  assert.deepEqual([...bestOf([score(0.9, 0), score(0.95, 0), undefined])], [1]);
  assert.deepEqual([...bestOf([score(0.9, 0.01), score(0.95, 0.01), score(0.94, 0.01)])], [1, 2]);
  assert.deepEqual([...bestOf([score(0.94, 0.01), score(0.95, 0.01)])], []);
  assert.deepEqual([...bestOf([score(0.94, 0)])], []);
});

test("text in an SVG stays text", () => {
  const pen = new SvgPen(10, 10, (text) => text.length);
  pen.fillText('<script>"&\u0001', 1, 2);
  assert.ok(pen.toString().includes(">&lt;script&gt;&quot;&amp;\ufffd</text>"));
});

test("an address holds any selection: runs of rows, or a bit for each row", () => {
  const every = (step: number, below: number): number[] => Array.from({ length: Math.ceil(below / step) }, (_, k) => k * step);
  const scattered = every(1, 100_000).filter((row) => (row * 2654435761) % 7 < 2);
  for (const rows of [[], [0], [5], [0, 1, 2, 7], every(1, 50_000), every(3, 9_000), scattered]) assert.deepEqual(readRows(writtenRows(rows)), rows);
  assert.ok(writtenRows(every(1, 1_000_000)).length < 10);
  assert.ok(writtenRows(scattered).length < 100_000 / 6 + 2);
  assert.deepEqual(readRows("3.1.2i"), [3, 4, 94]); // as addresses were written before
  assert.ok(readRows("0-zzzzzz").length <= 20_000_000);
  for (const nonsense of ["*$%", "-", "..", "a-", "-5", "1-2-3"]) assert.ok(readRows(nonsense).length <= 1);
});
