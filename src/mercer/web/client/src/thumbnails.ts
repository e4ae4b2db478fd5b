// Images in place of points, once one has come so close that there are few of them and they have room.

import { css } from "./colours";
import type { Panel } from "./panel";
import type { Pen } from "./pen";
import { fromScreenX, fromScreenY } from "./view";

const MOST = 160; // images at a time
const LEAST_SIZE = 18, MOST_SIZE = 56; // pixels along a side
const KEPT = 600; // decoded images that are kept for later

export class Thumbnails {
  private readonly decoded = new Map<number, ImageBitmap | null>(); // null while it is being decoded, or if it cannot be
  private rows: number[] = [];

  constructor(private readonly panel: Panel) {}

  /** The rows whose images are shown, in the present view. */
  get shown(): number[] {
    return this.rows;
  }

  draw(context: Pen): void {
    const { panel } = this;
    const { store, size, view } = panel;
    this.rows = [];
    if (!store.hasImages || panel.closeness < 1.5) return;
    const corners = [[0, 0], [size.width, 0], [size.width, size.height], [0, size.height]].flatMap(([px, py]) => [fromScreenX(view, size, px!), fromScreenY(view, size, py!)]);
    const rows: number[] = [];
    panel.index().within(corners, (row) => {
      if (rows.length <= MOST && store.isVisible(row)) rows.push(row);
    });
    if (!rows.length || rows.length > MOST) return;
    const side = Math.min(MOST_SIZE, Math.max(LEAST_SIZE, 0.55 * Math.sqrt((size.width * size.height) / rows.length)));
    for (const row of rows) this.drawOne(context, row, side);
    this.rows = rows;
  }

  private drawOne(context: Pen, row: number, side: number): void {
    const { panel } = this;
    const image = this.decoded.get(row);
    if (image === undefined) return this.decode(row);
    if (!image) return;
    const [x, y] = panel.screen(row);
    const scale = side / Math.max(image.width, image.height), width = image.width * scale, height = image.height * scale;
    context.imageSmoothingEnabled = scale < 1; // small images keep their pixels
    context.globalAlpha = panel.store.states[row] === 2 ? 1 : 0.35;
    context.fillStyle = css(panel.store.colours[panel.store.colouring.codes[row]!]!);
    context.fillRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4);
    context.drawImage(image, x - width / 2, y - height / 2, width, height);
    context.globalAlpha = 1;
  }

  private decode(row: number): void {
    const blob = this.panel.store.imageOf(row);
    this.decoded.set(row, null);
    if (!blob) return;
    if (this.decoded.size > KEPT) {
      const oldest = this.decoded.keys().next().value!;
      this.decoded.get(oldest)?.close();
      this.decoded.delete(oldest);
    }
    createImageBitmap(blob).then((image) => {
      this.decoded.set(row, image);
      this.panel.redraw(false);
    }, () => {}); // an image that cannot be read stays a point
  }
}
