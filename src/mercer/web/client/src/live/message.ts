// What the server of a live page says: a header and arrays, as mercer/live/messages.py writes them.

export type Value = string | number;
export type Settings = Record<string, Value>;
export interface Header {
  type: "map" | "working" | "trouble" | "answer"; number?: number; map?: number; settings?: Settings; stage?: "quick" | "steps" | "settled";
  axes?: string[]; facts?: [string, string][]; step?: number | null; divergence?: number | null; phase?: string; done?: number; total?: number;
  message?: string; what?: string; id?: number; error?: string; [other: string]: unknown;
}
export interface Message { header: Header; floats: Record<string, Float32Array>; bytes: Record<string, Uint8Array<ArrayBuffer>> }

export function readMessage(data: ArrayBuffer): Message {
  const length = new DataView(data).getUint32(0, true);
  const { buffers, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Header & { buffers: [string, number, string][] };
  const floats: Message["floats"] = {}, bytes: Message["bytes"] = {};
  let at = 4 + length;
  for (const [name, count, type] of buffers) {
    if (type === "u1") bytes[name] = new Uint8Array(data, at, count);
    else floats[name] = new Float32Array(data, at, count);
    const size = type === "u1" ? count : 4 * count;
    at += size + ((8 - (size % 8)) % 8); // every array begins at a multiple of 8
  }
  return { header: header as Header, floats, bytes };
}

/** A set of rows as the server reads it: a bit per row, the first in the highest, in base64. */
export function packedRows(rows: ArrayLike<number>, count: number): string {
  const bytes = new Uint8Array(Math.ceil(count / 8));
  for (let k = 0; k < rows.length; k++) bytes[rows[k]! >> 3]! |= 128 >> (rows[k]! & 7);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
