// What a live page works out by itself: messages, undo, sliders.

import assert from "node:assert/strict";
import { test } from "node:test";
import { read, written } from "../src/address";
import { Column } from "../src/columns";
import { levelLines } from "../src/contours";
import { Connection, type LineEnds, carryBy } from "../src/live/connection";
import { type ControlAbout, type MethodAbout, completed, placeOf, shownOf, valueAt } from "../src/live/controls";
import { toSegment } from "../src/live/graph";
import { History } from "../src/live/history";
import { packedRows, readMessage } from "../src/live/message";

/** A message as the server writes it. */
function message(header: Record<string, unknown>, arrays: [string, Float32Array | Uint8Array][]): ArrayBuffer {
  const buffers = arrays.map(([name, array]) => [name, array.length, array instanceof Uint8Array ? "u1" : "f4"]);
  let text = new TextEncoder().encode(JSON.stringify({ ...header, buffers }));
  const padded = new Uint8Array(text.length + ((8 - ((text.length + 4) % 8)) % 8)).fill(32);
  padded.set(text);
  const parts = [new Uint8Array(Uint32Array.of(padded.length).buffer), padded];
  for (const [, array] of arrays) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const filled = new Uint8Array(bytes.length + ((8 - (bytes.length % 8)) % 8));
    filled.set(bytes);
    parts.push(filled);
  }
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out.buffer;
}

test("arrays come out of a message as they went in", () => {
  for (const words of ["", "é", "three words here"]) {
    const found = readMessage(message({ type: "map", words }, [["file", Uint8Array.of(1, 2, 3)], ["x", Float32Array.of(1.5, -2, 7)], ["none", new Float32Array(0)], ["y", Float32Array.of(9)]]));
    assert.equal(found.header["words"], words);
    assert.deepEqual([...found.bytes["file"]!], [1, 2, 3]);
    assert.deepEqual([...found.floats["x"]!], [1.5, -2, 7]);
    assert.deepEqual([...found.floats["y"]!], [9]);
  }
});

test("a set of rows has a bit per row, the first in the highest", () => {
  assert.equal(packedRows([0, 2], 4), btoa(String.fromCharCode(0b10100000)));
  assert.equal(packedRows([8], 9), btoa(String.fromCharCode(0, 128)));
});

test("undo and redo walk through what a person stayed at", () => {
  const history = new History({ method: "a" });
  history.add({ method: "b" });
  history.add({ method: "b" }); // nothing new
  history.add({ method: "c" });
  assert.deepEqual([history.undo(), history.undo(), history.undo()].map((each) => each["method"]), ["b", "a", "a"]);
  assert.equal(history.canUndo, false);
  assert.equal(history.redo()["method"], "b");
  history.add({ method: "d" });
  assert.equal(history.canRedo, false);
  assert.equal(history.undo()["method"], "b");
});

const control = (name: string, more: Partial<ControlAbout>): ControlAbout => ({ name, label: name, kind: "log", help: "", first: 1, low: 0.1, high: 10, choices: [], ranges: {}, only: {}, ...more });
const kpca: MethodAbout = {
  name: "kpca", title: "Kernel PCA", controls: [
    control("kernel", { kind: "choice", choices: ["rbf", "poly", "linear"], first: "rbf" }),
    control("gamma", { ranges: { rbf: [0.001, 0.01, 0.1], poly: [1, 2, 3] }, only: { kernel: ["rbf", "poly"] } }),
    control("degree", { kind: "whole", first: 3, low: 1, high: 9, only: { kernel: ["poly"] } }),
  ],
};

test("settings are completed within their ranges", () => {
  assert.deepEqual(completed(kpca, {}), { method: "kpca", kernel: "rbf", gamma: 0.01 });
  assert.deepEqual(completed(kpca, { kernel: "poly", gamma: 0.01, degree: 5 }), { method: "kpca", kernel: "poly", gamma: 2, degree: 5 });
  assert.deepEqual(completed(kpca, { kernel: "linear", gamma: 0.01 }), { method: "kpca", kernel: "linear" });
  assert.deepEqual(completed(kpca, { kernel: "none of these" }), { method: "kpca", kernel: "rbf", gamma: 0.01 });
  assert.deepEqual(shownOf(kpca, { kernel: "linear" }).map((each) => each.name), ["kernel"]);
});

test("a slider's value is where it was put, and its ends are its ends", () => {
  for (const [low, high] of [[1e-7, 0.1], [1.5, 500], [1, 12], [2, 2]] as const) {
    assert.equal(valueAt(0, low, high), low);
    assert.equal(valueAt(1000, low, high), high);
    for (const place of [1, 137, 500, 999]) if (high > low) assert.ok(Math.abs(placeOf(valueAt(place, low, high), low, high) - place) <= 1);
  }
});

test("settings of a live page stand in the address", () => {
  const state = { ...read(""), live: { method: "kpca", kernel: "rbf", gamma: 0.00125, n_components: 5 } };
  assert.deepEqual(read(`#${written(state)}`).live, state.live);
  assert.equal(read("#theme=dark").live, undefined);
});

test("cut edges are carried along as they are, and only by a method that has them", () => {
  const isomap: MethodAbout = { name: "isomap", title: "Isomap", controls: [control("n_neighbors", { kind: "whole", first: 10, low: 1, high: 50 }), control("cut", { kind: "edges", first: "" })] };
  const pca: MethodAbout = { name: "pca", title: "PCA", controls: [control("n_components", { kind: "whole", first: 2, low: 1, high: 5 })] };
  assert.deepEqual(completed(isomap, { n_neighbors: 8, cut: "1-2 3-9" }), { method: "isomap", n_neighbors: 8, cut: "1-2 3-9" });
  assert.deepEqual(completed(isomap, { n_neighbors: 8, cut: "" }), { method: "isomap", n_neighbors: 8 });
  assert.equal("cut" in completed(pca, { cut: "1-2" }), false);
  assert.deepEqual(shownOf(isomap, { method: "isomap" }).map((each) => each.name), ["n_neighbors"]);
  assert.equal(read(`#${written({ ...read(""), live: { cut: "1-2 3-9" } })}`).live!["cut"], "1-2 3-9");
});

test("a press is as far from an edge as from its nearest place", () => {
  assert.equal(toSegment(5, 3, [0, 0], [10, 0]), 3);
  assert.equal(toSegment(13, 4, [0, 0], [10, 0]), 5); // beyond an end
  assert.equal(toSegment(3, 4, [0, 0], [0, 0]), 5);
});

test("level lines of a plane are straight, and of a hill closed", () => {
  const side = 21, at = (c: number, r: number): [number, number] => [c, r];
  const plane = levelLines(Float32Array.from({ length: side * side }, (_, k) => k % side), side, side, 7.5, at);
  for (let k = 0; k < plane.length; k += 2) assert.equal(plane[k], 7.5);
  assert.equal(plane.length, 4 * (side - 1));
  const hill = levelLines(Float32Array.from({ length: side * side }, (_, k) => Math.hypot((k % side) - 10, Math.floor(k / side) - 10)), side, side, 6, at);
  const ends = new Map<string, number>(); // a closed line has each of its corners twice
  for (let k = 0; k < hill.length; k += 2) ends.set(`${hill[k]!.toFixed(4)} ${hill[k + 1]!.toFixed(4)}`, (ends.get(`${hill[k]!.toFixed(4)} ${hill[k + 1]!.toFixed(4)}`) ?? 0) + 1);
  assert.ok([...ends.values()].every((count) => count === 2));
  for (let k = 0; k < hill.length; k += 2) assert.ok(Math.abs(Math.hypot(hill[k]! - 10, hill[k + 1]! - 10) - 6) < 0.1);
});

test("a column can be made of numbers that came later", () => {
  const column = new Column(Float32Array.of(0.5, NaN, 1), { name: "kept", kind: "number", at: 0, count: 3 }, "PCA");
  assert.equal(column.title, "kept · PCA");
  assert.deepEqual([column.text(0), column.text(1), column.extent()], ["0.5", null, { low: 0.5, high: 1 }]);
});

test("a line that is lost comes back, and one that was silent asks again", () => {
  (globalThis as unknown as { window: unknown }).window = globalThis;
  const told: string[] = [], ends: LineEnds[] = [];
  carryBy({ lost: "gone", open: (each) => { ends.push(each); return { send: (text) => told.push(text) }; } });
  const timers: (() => void)[] = [], later = globalThis.setTimeout;
  globalThis.setTimeout = ((call: () => void) => timers.push(call)) as never;
  try {
    const connection = new Connection(() => told.push("opened"), () => told.push("message"), (why) => told.push(why));
    connection.send({ type: "settings" }); // nobody is there yet
    assert.deepEqual([told, connection.isOpen], [[], false]);
    ends[0]!.opened();
    connection.send({ type: "settings" });
    ends[0]!.silent();
    connection.send({ type: "stop" });
    assert.deepEqual([told.splice(0), connection.isOpen], [["opened", '{"type":"settings"}', "gone"], false]);
    ends[0]!.received(message({ type: "working" }, []));
    assert.deepEqual([told.splice(0), connection.isOpen], [["opened", "message"], true]);
    ends[0]!.closed();
    assert.deepEqual([told.splice(0), ends.length, connection.isOpen], [["gone"], 1, false]);
    timers.pop()!();
    ends[1]!.opened();
    assert.deepEqual([told, connection.isOpen], [["opened"], true]);
  } finally {
    globalThis.setTimeout = later;
  }
});
