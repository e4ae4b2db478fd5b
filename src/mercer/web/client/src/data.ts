// What the page carries: its description, and the arrays in one compressed block.

import type { LiveAbout } from "./live/live";

export type TypeCode = "u1" | "u2" | "u4" | "i1" | "i2" | "i4" | "f4" | "f8";
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array | Float32Array | Float64Array;

export interface Place { at: number; count: number; type?: TypeCode; start?: number; step?: number; lengths?: Place }
/** What a method was given in place of a value: (value − centre) / spread, and `fill` where it is missing. */
export interface AsFitted { fill: number | string | null; centre: number; spread: number }
export interface ColumnAbout extends Place {
  name: string; kind: "category" | "number" | "date" | "text"; names?: string[]; fitted?: AsFitted;
}
export interface AxisAbout extends Place { name: string }
export interface Score {
  name: string; value: number | string | null; error: number | string | null;
  rows: number | null; best: number | string | null; meaning: string | null; unit: string | null; note: string | null;
}
export interface MapAbout {
  name: string; axes: AxisAbout[]; quality: Score[] | null; run: Record<string, unknown> | null;
  scores: ColumnAbout[]; snapshots: { steps: number; axes: Place[] }[];
}
export interface NeighborsAbout { k: number; indices: Place; rows: Place | null }
export interface About {
  format: number; title: string; rows: number; maps: MapAbout[]; ids: ColumnAbout | null; columns: ColumnAbout[];
  label: number | null; neighbors: NeighborsAbout | null; images: Place | null; bytes: number; live?: LiveAbout;
}

const TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  f4: Float32Array, f8: Float64Array,
} as const;

/** Base64 to bytes; newer browsers do it natively. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

export async function gunzip(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot unpack the data (it has no DecompressionStream). A version of 2023 or later can.");
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** An array that was stored byte plane after byte plane. */
export function unpack(block: Uint8Array, place: Place): Numbers {
  const type = TYPES[place.type ?? "u1"];
  const width = type.BYTES_PER_ELEMENT;
  const { at, count } = place;
  if (at + count * width > block.length) throw new Error("The data of this page is incomplete; the file may be cut off.");
  if (width === 1) return new type(block.slice(at, at + count).buffer);
  const bytes = new Uint8Array(count * width);
  for (let plane = 0; plane < width; plane++) {
    let from = at + plane * count;
    for (let to = plane; to < bytes.length; to += width) bytes[to] = block[from++]!;
  }
  return new type(bytes.buffer);
}

/** Strings that are decoded when they are asked for. */
export class Texts {
  private readonly starts: Uint32Array;
  private readonly lengths: Numbers;
  private readonly decoder = new TextDecoder();
  private lowered: (string | null)[] | null = null;

  constructor(private readonly block: Uint8Array, place: Place) {
    this.lengths = unpack(block, place.lengths!);
    this.starts = new Uint32Array(this.lengths.length);
    let at = place.at;
    for (let i = 0; i < this.starts.length; i++) {
      this.starts[i] = at;
      at += Math.max(0, this.lengths[i]! - 1);
    }
  }

  get(row: number): string | null {
    const length = this.lengths[row]!;
    if (length === 0) return null;
    const start = this.starts[row]!;
    return this.decoder.decode(this.block.subarray(start, start + length - 1));
  }

  /** In lower case, all of them, kept for the next search. */
  all(): (string | null)[] {
    if (!this.lowered) {
      this.lowered = new Array<string | null>(this.starts.length);
      for (let i = 0; i < this.lowered.length; i++) this.lowered[i] = this.get(i)?.toLowerCase() ?? null;
    }
    return this.lowered;
  }
}

/** The description and the block, out of the document. */
export async function readDocument(): Promise<{ about: About; block: Uint8Array<ArrayBuffer> }> {
  const about = JSON.parse(document.getElementById("about")!.textContent!) as About;
  const holder = document.getElementById("data")!;
  const packed = fromBase64(holder.textContent!);
  holder.remove(); // the text is as large as the file; nothing else needs it
  const block = await gunzip(packed);
  if (block.length !== about.bytes) throw new Error("The data of this page is incomplete; the file may be cut off.");
  return { about, block };
}
