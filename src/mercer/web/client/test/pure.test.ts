// The parts of the page that need no browser.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { csv, field, inert } from "../src/csv";
import { Texts, fromBase64, gunzip, unpack } from "../src/data";
import { Axis, Column } from "../src/columns";
import { formatDate, formatExact, formatShort, formatTicks, parsed, ticks } from "../src/format";
import { Grid, inside } from "../src/grid";
import { mixedOrder } from "../src/renderer";
import { scaleOf } from "../src/scale";
import { between, fit, fromScreenX, fromScreenY, toScreenX, toScreenY, zoomed } from "../src/view";
import { DARK, DISTINCT, LIGHT, type RGB, classColours } from "../src/colours";

const random = (seed: number): (() => number) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;

test("planes are put together again", () => {
  const block = Uint8Array.from([9, 1, 2, 0, 1]); // one byte before; 1 and 258 as two planes
  assert.deepEqual([...unpack(block, { at: 1, count: 2, type: "u2" })], [1, 258]);
  assert.throws(() => unpack(block, { at: 1, count: 3, type: "u2" }), /incomplete/);
});

test("texts: missing, empty, and letters of several bytes", () => {
  const words = ["é", "", "🦊b"].map((word) => new TextEncoder().encode(word));
  const lengths = [words[0]!.length + 1, 0, words[1]!.length + 1, words[2]!.length + 1];
  const block = Uint8Array.from([...lengths, ...words.flatMap((word) => [...word])]);
  const texts = new Texts(block, { at: 4, count: 7, lengths: { at: 0, count: 4, type: "u1" } });
  assert.deepEqual([0, 1, 2, 3].map((row) => texts.get(row)), ["é", null, "", "🦊b"]);
});

test("base64 and gzip", async () => {
  const packed = gzipSync(Buffer.from([1, 2, 3]));
  assert.deepEqual([...(await gunzip(fromBase64(packed.toString("base64"))))], [1, 2, 3]);
});

test("fields of csv are quoted where they must be", () => {
  assert.deepEqual(["a", "a,b", 'say "x"', "two\nlines", " x", "", null].map(field), ["a", '"a,b"', '"say ""x"""', '"two\nlines"', '" x"', '""', ""]);
  assert.equal(csv(["n,1", "b"], [2, 5], (row, column) => `${row}${column}`).join(""), '"n,1",b\n20,21\n50,51\n');
});

test("text that a spreadsheet would run becomes text again", () => {
  assert.deepEqual(["=1+1", "@x", "+49", "-1", "\tx", "'=x", "x=1", "'x", null].map(inert), ["'=1+1", "'@x", "'+49", "'-1", "'\tx", "''=x", "x=1", "'x", null]);
  assert.equal(csv(["=a"], [0], () => "-1").join(""), "'=a\n-1\n");
});

test("what was fitted is told beside the value", () => {
  const block = new Uint8Array(new Float32Array([5.336, NaN]).buffer);
  const planes = Uint8Array.from([0, 4, 1, 5, 2, 6, 3, 7].map((i) => block[i]!)); // byte plane after byte plane
  const place = { name: "price", kind: "number" as const, at: 0, count: 2, type: "f4" as const };
  const column = new Column(planes, { ...place, fitted: { fill: 4, centre: 4, spread: 2 } });
  assert.deepEqual([0, 1].map((row) => column.text(row)), ["5.336", null]);
  assert.deepEqual([0, 1].map((row) => column.given(row)), ["fitted as 0.668", "filled in: 4, fitted as 0"]);
  assert.equal(new Column(planes, place).given(1), null);
});

test("numbers are written so that they read back", () => {
  for (const value of [0.1, 1 / 3, 1e-30, 123456.789, -2.5e20]) {
    const single = Math.fround(value);
    assert.equal(Math.fround(Number(formatExact(single, true))), single);
    assert.equal(Number(formatExact(value, false)), value);
  }
  assert.equal(formatExact(Math.fround(0.1), true), "0.1");
  assert.equal(formatDate(0), "1970-01-01");
});

test("ticks are round and within", () => {
  assert.deepEqual(ticks(-0.2, 1.1, 5), [0, 0.5, 1]);
  assert.deepEqual(ticks(3, 3, 5), []);
});

test("ticks far from zero are told apart", () => {
  assert.deepEqual(formatTicks([5412345, 5412345.5, 5412346]), ["5412345", "5412345.5", "5412346"]);
  assert.deepEqual(formatTicks([-0.5, 0, 0.5]), ["−0.5", "0", "0.5"]);
  assert.deepEqual(formatTicks([2.555e7, 2.556e7]), ["2.555e7", "2.556e7"]);
  assert.equal(formatShort(-1.5e-7), "−1.5e−7");
});

test("what was written is read, minus signs and times of day, too", () => {
  for (const value of [-1.25e-7, -3.5, 0, 12345]) assert.equal(parsed(formatShort(value), false), value);
  for (const value of [0, Date.UTC(2024, 1, 3, 4, 5, 6), Date.UTC(2024, 1, 3, 4, 5, 6, 70)]) assert.equal(parsed(formatDate(value), true), value);
  assert.equal(parsed("2,5", false), 2.5);
  for (const text of ["", " ", "soon"]) assert.ok(Number.isNaN(parsed(text, false)) && Number.isNaN(parsed(text, true)));
});

test("coordinates are written with the digits that are kept, however far from zero", () => {
  const far = new Axis("far", Float32Array.of(0, 0.25, 1), 5e6, 2);
  assert.deepEqual([0, 1, 2].map((row) => far.text(row)), ["5000000", "5000000.5", "5000002"]);
  const small = new Axis("small", Float32Array.of(0, Math.fround(0.1), 1), 0, 1);
  assert.equal(small.text(1), "0.1");
  assert.equal(new Axis("one", Float32Array.of(0), 1 / 3, 1).text(0), String(1 / 3));
});

test("the grid finds what looking at all points finds", () => {
  const next = random(7), n = 3000;
  const x = Float32Array.from({ length: n }, () => next() ** 3), y = Float32Array.from({ length: n }, () => next() - 0.5);
  const grid = new Grid(x, y);
  for (let trial = 0; trial < 60; trial++) {
    const corners = 3 + Math.floor(next() * 40), polygon = Array.from({ length: 2 * corners }, (_, k) => (k % 2 ? next() * 1.6 - 0.8 : next() * 1.6 - 0.3));
    const found: number[] = [];
    grid.within(polygon, (row) => found.push(row));
    const all = [...x.keys()].filter((i) => inside(x[i]!, y[i]!, polygon));
    assert.deepEqual(found.sort((a, b) => a - b), all);
    const [px, py, radius] = [next(), next() - 0.5, 0.2 * next()];
    const near = grid.nearest(px, py, radius, (row) => row % 3 > 0);
    let best = -1, least = radius ** 2;
    for (let i = 0; i < n; i++) {
      const d = (x[i]! - px) ** 2 + (y[i]! - py) ** 2;
      if (i % 3 > 0 && d <= least) [best, least] = [i, d];
    }
    assert.equal(near, best);
  }
});

test("a grid of one place", () => {
  const grid = new Grid(new Float32Array(5), new Float32Array(5));
  const found: number[] = [];
  grid.within([-1, -1, 1, -1, 1, 1, -1, 1], (row) => found.push(row));
  assert.equal(found.length, 5);
});

test("views: there and back, zoom keeps the place, movement ends where it should", () => {
  const size = { width: 800, height: 500 };
  const view = fit({ lowX: -1, highX: 3, lowY: 0, highY: 1 }, size);
  assert.ok(Math.abs(fromScreenX(view, size, toScreenX(view, size, 0.3)) - 0.3) < 1e-12);
  const closer = zoomed(view, size, 3, 123, 45);
  assert.ok(Math.abs(fromScreenX(closer, size, 123) - fromScreenX(view, size, 123)) < 1e-12);
  assert.ok(Math.abs(fromScreenY(closer, size, 45) - fromScreenY(view, size, 45)) < 1e-12);
  assert.ok(Math.abs(between(view, closer, 1).x - closer.x) < 1e-9);
  assert.ok(toScreenY(view, size, 1) >= 0 && toScreenX(view, size, 3) <= 800);
  assert.ok(Number.isFinite(fit({ lowX: 0, highX: 0, lowY: 0, highY: 0 }, size).scale));
});

test("the order of drawing names every row once", () => {
  for (const n of [1, 2, 10, 999, 1000]) assert.deepEqual([...mixedOrder(n)].sort((a, b) => a - b), [...Array(n).keys()]);
});

test("scales go there and back; long tails are bent", () => {
  const next = random(3);
  const normal = Array.from({ length: 500 }, () => next() + next() + next());
  const wide = normal.map((value) => Math.exp(6 * (value - 1.5)));
  const tails = normal.map((value, i) => (i % 100 ? value : -900 * value));
  for (const [numbers, kind] of [[normal, "linear"], [wide, "log"], [tails, "asinh"]] as const) {
    const scale = scaleOf(numbers, Math.min(...numbers), Math.max(...numbers));
    assert.equal(scale.kind, kind);
    for (const value of numbers.slice(0, 20)) assert.ok(Math.abs(scale.value(scale.place(value)) - value) < 1e-9 * (1 + Math.abs(value)));
    assert.deepEqual([scale.place(scale.low), scale.place(scale.high)].map((p) => Math.round(1e9 * p) / 1e9), [0, 1]);
  }
});

const linear = (part: number): number => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]: RGB): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const contrast = (a: RGB, b: RGB): number => {
  const [high, low] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (high + 0.05) / (low + 0.05);
};

/** Ottosson's OKLab, in which distances are about as large as they look; 0.02 is just seen. */
function oklab(colour: RGB): number[] {
  const [r, g, b] = colour.map(linear) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

test("thirty classes have thirty colours that are told apart, on a light ground and on a dark one", () => {
  for (const ground of [LIGHT, DARK]) {
    const places = [...classColours(DISTINCT, ground), ground.missing].map(oklab);
    places.forEach((a, i) => places.slice(0, i).forEach((b, j) => {
      const away = Math.hypot(...a.map((part, k) => part - b[k]!));
      assert.ok(away > 0.05, `${i} and ${j} are ${away} apart`);
    }));
    assert.deepEqual(classColours(DISTINCT + 1, ground).at(-1), classColours(DISTINCT + 1, ground)[0]);
  }
});

test("colours are seen on their ground", () => {
  for (const ground of [LIGHT, DARK]) {
    for (const colour of classColours(30, ground)) assert.ok(contrast(colour, ground.paper) >= (ground.dark ? 3 : 1.5));
  }
});
