// What a map shows beside its points: names, lines of equal density, the neighbours of a row, images in place of points.

import { css } from "./colours";
import type { Column } from "./columns";
import { Density, classPeaks } from "./density";
import { rowsOf } from "./format";
import { type Name, type Placed, placed } from "./labels";
import type { Panel } from "./panel";
import type { Pen } from "./pen";
import { shorten, shortenAll } from "./text";
import { Thumbnails } from "./thumbnails";
import { toScreenX, toScreenY } from "./view";

const SHARES = [0.25, 0.5, 0.75, 0.95]; // of the points, within each of the lines
const NAME_FONT = "600 12.5px system-ui, sans-serif";

export class Marks {
  private density: Density | null = null;
  private lines: Float32Array[] | null = null;
  private names: Name[] | null = null;
  searched = 0; // milliseconds that finding the names took
  private made: { filtered: number; classes: Column | null } = { filtered: 0, classes: null };
  private readonly images: Thumbnails;
  private readonly widths = new Map<string, number>(); // of names, in pixels

  constructor(private readonly panel: Panel) {
    this.images = new Thumbnails(panel);
  }

  /** Forgets what the classes or the filters have changed; a selection changes nothing here. */
  update(): void {
    const { filtered, classes } = this.panel.store;
    if (this.made.filtered === filtered && this.made.classes === classes) return;
    this.made = { filtered, classes };
    this.forget();
  }

  /** Places or what is to be shown have changed. */
  forget(): void {
    this.density = this.lines = this.names = null;
  }

  draw(context: Pen): void {
    if (this.panel.store.contours) this.drawLines(context);
    this.images.draw(context);
    if (this.panel.store.pinned >= 0) this.drawNeighbors(context, this.panel.store.pinned);
    for (const drawing of this.panel.store.drawings) drawing(context, this.panel);
    for (const name of this.shownNames(context)) this.drawName(context, name);
  }

  // --- names ---

  /** The names that have room in the present view. */
  shownNames(context: Pen): Placed[] {
    const { panel } = this;
    if (!this.names) {
      const began = performance.now();
      this.names = this.findNames();
      this.searched = performance.now() - began;
    }
    context.font = NAME_FONT;
    const measure = (text: string): number => {
      if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
      return this.widths.get(text)!;
    };
    return placed(this.names, panel.view, panel.size, panel.style().size / 2, measure);
  }

  private findNames(): Name[] {
    const { store, x, y, box } = this.panel;
    if (store.naming === "none" || !store.shown) return [];
    if (store.naming === "clusters") return this.clusterNames();
    const { classes } = store;
    if (!classes) return [];
    const names = shortenAll(classes.names, 28);
    return classPeaks(x, y, classes.codes!, classes.names.length, box, store.isVisible)
      .map((peak) => ({ text: names[peak.code] || "(empty)", x: peak.x, y: peak.y, same: peak.code, reach: peak.reach }));
  }

  /** Clusters are numbered from the largest; where rows have classes, the most frequent one is named with its share. */
  private clusterNames(): Name[] {
    const { store } = this.panel;
    const { classes } = store;
    const density = (this.density ??= this.findDensity());
    const { peaks, of } = density.clusters();
    const counts = peaks.map(() => new Map<number, number>());
    if (classes) {
      for (let row = 0; row < store.rows; row++) {
        const own = store.isVisible(row) ? counts[of[density.cellOf(row)]!] : undefined;
        if (own) own.set(classes.codes![row]!, (own.get(classes.codes![row]!) ?? 0) + 1);
      }
    }
    return peaks.map((peak, k) => {
      const [code, count] = [...counts[k]!].sort((a, b) => b[1] - a[1])[0] ?? [-1, 0];
      const what = code < 0 ? rowsOf(peak.count) : `${Math.round((100 * count) / peak.count)} % ${shorten(classes!.names[code] ?? "missing", 20)}`;
      return { text: `${k + 1}: ${what}`, x: peak.x, y: peak.y, same: k, reach: Infinity };
    });
  }

  private drawName(context: Pen, name: Placed): void {
    const { ground } = this.panel.store;
    context.font = NAME_FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    // A rim of paper keeps the text legible and hides less of the points than a plate would.
    context.strokeStyle = `rgb(${ground.paper.join(" ")} / 0.9)`;
    context.lineWidth = 4.5;
    context.lineJoin = "round";
    context.strokeText(name.text, name.x, name.y + 0.5);
    context.fillStyle = ground.ink;
    context.fillText(name.text, name.x, name.y + 0.5);
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
  }

  // --- density ---

  private findDensity(): Density {
    const { x, y, box, store } = this.panel;
    return new Density(x, y, box, store.isVisible);
  }

  /** Segments of the lines in units of the map, the innermost first. */
  segments(): Float32Array[] {
    const density = (this.density ??= this.findDensity());
    return (this.lines ??= density.total ? SHARES.map((share) => density.contour(density.level(share))) : []);
  }

  private drawLines(context: Pen): void {
    const { view, size, store } = this.panel;
    context.strokeStyle = store.ground.ink;
    context.lineWidth = 1;
    for (const [k, line] of this.segments().entries()) {
      context.globalAlpha = 0.75 - 0.13 * k;
      context.beginPath();
      for (let i = 0; i < line.length; i += 4) {
        context.moveTo(toScreenX(view, size, line[i]!), toScreenY(view, size, line[i + 1]!));
        context.lineTo(toScreenX(view, size, line[i + 2]!), toScreenY(view, size, line[i + 3]!));
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  // --- neighbours ---

  /** Lines to the nearest rows in the data, and rings around the nearest points of the map. */
  private drawNeighbors(context: Pen, row: number): void {
    const { panel } = this;
    const near = panel.store.near?.of(row);
    if (!near) return;
    const { ground, colours, colouring } = panel.store;
    const [x0, y0] = panel.screen(row);
    context.strokeStyle = ground.accent;
    context.lineWidth = 1.25;
    context.beginPath();
    for (const other of near) {
      context.moveTo(x0, y0);
      context.lineTo(...panel.screen(other));
    }
    context.stroke();
    const radius = Math.max(4, panel.style().size / 2 + 1);
    for (const other of near) {
      context.beginPath();
      context.arc(...panel.screen(other), radius, 0, 2 * Math.PI);
      context.fillStyle = css(colours[colouring.codes[other]!]!);
      context.fill();
      context.strokeStyle = ground.accent;
      context.lineWidth = 2;
      context.stroke();
    }
    context.setLineDash([3, 2]);
    for (const other of panel.moving ? [] : panel.neighbors(row, near.length)) {
      context.beginPath();
      context.arc(...panel.screen(other), radius + 3.5, 0, 2 * Math.PI);
      context.strokeStyle = ground.ink;
      context.lineWidth = 1.25;
      context.stroke();
    }
    context.setLineDash([]);
  }
}
