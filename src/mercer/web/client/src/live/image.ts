// A row of a table of grey images, drawn.

import { h } from "../dom";

/** Dark on light, between the least and the greatest of `range`, or of the row itself. */
export function greyImage(values: Float32Array, [height, width]: [number, number], range: [number, number] | null, label: string): HTMLCanvasElement {
  const canvas = h("canvas", { class: "grey pixels", width: String(width), height: String(height), role: "img", "aria-label": label });
  const low = range ? range[0] : Math.min(...values), high = range ? range[1] : Math.max(...values);
  const picture = new ImageData(width, height);
  for (let i = 0; i < values.length; i++) {
    const grey = 255 - 255 * Math.min(1, Math.max(0, (values[i]! - low) / (high - low || 1)));
    picture.data.set([grey, grey, grey, 255], 4 * i);
  }
  canvas.getContext("2d")!.putImageData(picture, 0, 0);
  return canvas;
}
