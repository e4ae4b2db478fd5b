// The maps as a PNG file, with title, names and legend.

import { css, ramp } from "./colours";
import { formatCount, formatDate, formatShort } from "./format";
import { type Panel, shorten } from "./panel";
import type { Store } from "./store";

const RATIO = 2;
const MARGIN = 28, HEAD = 64, LEGEND = 210, LINE = 20;
const FONT = "system-ui, sans-serif";

export async function png(store: Store, panels: Panel[]): Promise<Blob> {
  const width = panels.reduce((sum, panel) => sum + panel.size.width + MARGIN, MARGIN) + (store.colouring.column ? LEGEND : 0);
  const height = HEAD + 26 + Math.max(...panels.map((panel) => panel.size.height)) + MARGIN;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * RATIO);
  canvas.height = Math.round(height * RATIO);
  const context = canvas.getContext("2d")!;
  context.scale(RATIO, RATIO);
  context.fillStyle = css(store.ground.paper);
  context.fillRect(0, 0, width, height);
  write(context, shorten(store.title, 90), MARGIN, 40, `600 20px ${FONT}`, store.ground.ink);
  let left = MARGIN;
  for (const panel of panels) {
    const about = `${shorten(panel.map.name, 60)}`;
    write(context, about, left, HEAD + 12, `600 13px ${FONT}`, store.ground.ink);
    context.drawImage(panel.picture(RATIO), left, HEAD + 26, panel.size.width, panel.size.height);
    left += panel.size.width + MARGIN;
  }
  legend(context, store, left, HEAD + 12, height - MARGIN);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"));
}

function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, font: string, colour: string): void {
  context.font = font;
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

function legend(context: CanvasRenderingContext2D, store: Store, x: number, top: number, bottom: number): void {
  const { column, codes } = store.colouring;
  if (!column) return;
  write(context, shorten(column.name, 26), x, top, `600 13px ${FONT}`, store.ground.ink);
  let y = top + 26;
  if (!column.codes) {
    const say = column.kind === "date" ? formatDate : formatShort;
    for (let k = 0; k < 160; k++) {
      context.fillStyle = css(ramp(k / 159, store.ground));
      context.fillRect(x + k, y - 8, 1.5, 12);
    }
    write(context, say(column.extent().low), x, y + 22, `12px ${FONT}`, store.ground.faint);
    context.textAlign = "right";
    write(context, say(column.extent().high), x + 160, y + 22, `12px ${FONT}`, store.ground.faint);
    context.textAlign = "left";
    return;
  }
  const counts = new Array<number>(column.names.length + 1).fill(0);
  for (let i = 0; i < store.rows; i++) if (store.isVisible(i)) counts[codes[i]!]!++;
  const present = counts.map((count, code) => ({ count, code })).filter((each) => each.count > 0);
  for (const [k, { code }] of present.entries()) {
    if (y + 2 * LINE > bottom && k < present.length - 1) {
      write(context, `and ${formatCount(present.length - k)} more`, x, y, `12px ${FONT}`, store.ground.faint);
      break;
    }
    context.fillStyle = css(store.colours[code]!);
    context.beginPath();
    context.arc(x + 5, y - 4, 5, 0, 2 * Math.PI);
    context.fill();
    write(context, shorten(column.names[code] ?? "missing", 24) || "(empty)", x + 18, y, `13px ${FONT}`, store.ground.ink);
    y += LINE;
  }
}
