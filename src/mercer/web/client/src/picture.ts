// The maps as a file, PNG or SVG, with title, names and legend.

import { css, ramp } from "./colours";
import { formatCount, formatDate, formatShort, rowsOf } from "./format";
import type { Panel } from "./panel";
import { type Pen, SvgPen } from "./pen";
import { DIMMED, SHOWN } from "./renderer";
import type { Store } from "./store";
import { shorten, shortenAll } from "./text";

const RATIO = 2;
const MARGIN = 28, HEAD = 64, LEGEND = 210, LINE = 20;
const FONT = "system-ui, sans-serif";
const MOST_DISCS = 20_000; // points that an SVG has as shapes; the points of more are an image in it

interface Sheet { width: number; height: number }

function sheetOf(store: Store, panels: Panel[]): Sheet {
  const width = panels.reduce((sum, panel) => sum + panel.size.width + MARGIN, MARGIN) + (store.colouring.column ? LEGEND : 0);
  return { width, height: HEAD + 26 + Math.max(...panels.map((panel) => panel.size.height)) + MARGIN };
}

export async function png(store: Store, panels: Panel[]): Promise<Blob> {
  const sheet = sheetOf(store, panels);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(sheet.width * RATIO);
  canvas.height = Math.round(sheet.height * RATIO);
  const context = canvas.getContext("2d")!;
  context.scale(RATIO, RATIO);
  lay(context, store, panels, sheet, (panel, left, top) => context.drawImage(panel.picture(RATIO, true), left, top, panel.size.width, panel.size.height));
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"));
}

export async function vectorPicture(store: Store, panels: Panel[]): Promise<Blob> {
  const sheet = sheetOf(store, panels);
  const ruler = document.createElement("canvas").getContext("2d")!;
  const pen = new SvgPen(sheet.width, sheet.height, (text, font) => {
    ruler.font = font;
    return ruler.measureText(text).width;
  });
  lay(pen, store, panels, sheet, (panel, left, top) => {
    pen.within(left, top, panel.size.width, panel.size.height, () => {
      drawPoints(pen, store, panel);
      panel.drawAround(pen, true);
    });
  });
  return new Blob([pen.toString()], { type: "image/svg+xml" });
}

function drawPoints(pen: SvgPen, store: Store, panel: Panel): void {
  const style = panel.style();
  if (store.shown > MOST_DISCS) {
    pen.drawImage(panel.picture(RATIO, false), 0, 0, panel.size.width, panel.size.height);
    return;
  }
  for (const [state, look] of [[DIMMED, style.dimmed], [SHOWN, style]] as const) {
    if (!look) continue;
    const radius = look.size / 2, { opacity } = look;
    let colour = -1, places: [number, number][] = []; // runs of one colour share a group; the order of drawing stays
    const flush = (): void => {
      if (places.length) pen.discs(places, radius, css(colour < 0 ? store.ground.dimmed : store.colours[colour]!), opacity);
      places = [];
    };
    for (const row of store.order) {
      if (store.states[row] !== state) continue;
      const [x, y] = panel.screen(row);
      if (x < -radius || y < -radius || x > panel.size.width + radius || y > panel.size.height + radius) continue;
      const own = state === DIMMED ? -1 : store.colouring.codes[row]!;
      if (own !== colour) flush();
      colour = own;
      places.push([x, y]);
    }
    flush();
  }
}

function lay(pen: Pen, store: Store, panels: Panel[], sheet: Sheet, draw: (panel: Panel, left: number, top: number) => void): void {
  pen.fillStyle = css(store.ground.paper);
  pen.fillRect(0, 0, sheet.width, sheet.height);
  write(pen, shorten(store.title, 90), MARGIN, 40, `600 20px ${FONT}`, store.ground.ink);
  if (store.shown < store.rows) write(pen, `${formatCount(store.shown)} of ${rowsOf(store.rows)} shown`, MARGIN, 57, `12px ${FONT}`, store.ground.faint);
  let left = MARGIN;
  for (const panel of panels) {
    write(pen, shorten(panel.map.name, 60), left, HEAD + 16, `600 13px ${FONT}`, store.ground.ink);
    draw(panel, left, HEAD + 26);
    left += panel.size.width + MARGIN;
  }
  legend(pen, store, left, HEAD + 16, sheet.height - MARGIN);
}

function write(pen: Pen, text: string, x: number, y: number, font: string, colour: string): void {
  pen.font = font;
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

function legend(pen: Pen, store: Store, x: number, top: number, bottom: number): void {
  const { column, codes } = store.colouring;
  if (!column) return;
  write(pen, shorten(column.title, 26), x, top, `600 13px ${FONT}`, store.ground.ink);
  let y = top + 26;
  if (!column.codes) {
    let missing = 0;
    for (let i = 0; i < store.rows; i++) missing += Number(store.isVisible(i) && Number.isNaN(column.numbers![i]!));
    if (missing) entry(pen, store, "missing", store.colours.length - 1, x, missing < store.shown ? y + 50 : y);
    if (missing === store.shown) return;
    const say = column.kind === "date" ? formatDate : formatShort;
    for (let k = 0; k < 160; k++) {
      pen.fillStyle = css(ramp(k / 159, store.ground));
      pen.fillRect(x + k, y - 8, 1.5, 12);
    }
    write(pen, say(column.extent().low), x, y + 22, `12px ${FONT}`, store.ground.faint);
    pen.textAlign = "right";
    write(pen, say(column.extent().high), x + 160, y + 22, `12px ${FONT}`, store.ground.faint);
    pen.textAlign = "left";
    return;
  }
  const counts = new Array<number>(column.names.length + 1).fill(0);
  for (let i = 0; i < store.rows; i++) if (store.isVisible(i)) counts[codes[i]!]!++;
  const names = shortenAll(column.names, 24);
  const present = counts.map((count, code) => ({ count, code })).filter((each) => each.count > 0);
  for (const [k, { code }] of present.entries()) {
    if (y + 2 * LINE > bottom && k < present.length - 1) {
      write(pen, `and ${formatCount(present.length - k)} more`, x, y, `12px ${FONT}`, store.ground.faint);
      break;
    }
    entry(pen, store, column.names[code] === undefined ? "missing" : names[code] || "(empty)", code, x, y);
    y += LINE;
  }
}

/** A colour and what it stands for. */
function entry(pen: Pen, store: Store, text: string, code: number, x: number, y: number): void {
  pen.fillStyle = css(store.colours[code]!);
  pen.beginPath();
  pen.arc(x + 5, y - 4, 5, 0, 2 * Math.PI);
  pen.fill();
  write(pen, text, x + 18, y, `13px ${FONT}`, store.ground.ink);
}
