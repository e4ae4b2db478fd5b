// One map on the page: its points, what is written around them, and what a person does to it.

import { calm, h } from "./dom";
import { formatCount, formatTicks, ticks } from "./format";
import { Grid } from "./grid";
import { Gestures, type Tool } from "./gestures";
import type { Placed } from "./labels";
import { Marks } from "./marks";
import { paint } from "./canvas";
import type { Axis } from "./columns";
import type { Pen } from "./pen";
import type { Look, Renderer, Scene, Style } from "./renderer";
import { type MapData, type Store, autoOpacity, autoSize } from "./store";
import { shorten } from "./text";
import { type Box, PADDING, type Size, type View, between, fit, fromScreenX, fromScreenY, toScreenX, toScreenY, zoomed } from "./view";

const MOST_UNEQUAL = 6; // axes whose ranges differ by more are drawn to a scale each, unless asked otherwise

const PULLED = 34, PULLING = 300; // pixels from the point that others are drawn around, and milliseconds until they are there
const NAMES_STAY = 80; // milliseconds, at least, between two searches for the places of names while points move
const SEARCHING = 0.1; // share of the time that these searches may take

export class Panel {
  readonly element: HTMLElement;
  readonly surface: HTMLElement;
  map!: MapData;
  axes: [number, number] = [0, 1];
  equal = true;
  x!: Float32Array;
  y!: Float32Array;
  view!: View;
  size: Size = { width: 1, height: 1 };
  tool: Tool = "pan";
  renderer: Renderer | null = null;
  onTool: () => void = () => {};
  onMap: () => void = () => {};
  onGrab: () => void = () => {};
  onPress: (px: number, py: number) => boolean = () => false; // whether a press meant something other than a point
  onDrop: (rows: ArrayLike<number>, by: [number, number]) => void = () => {}; // by: in units of the axes
  private grabbed = false; // some points go with the pointer, so that the others stay
  trace: number[] | null = null; // the lasso being drawn, in pixels

  private grid: Grid | null = null;
  private own: { x: Float32Array; y: Float32Array; grid: Grid | null } | null = null; // where points belong while some are drawn elsewhere
  private pull: { to: number; rows: number[] } | null = null;
  private home!: View;
  box!: Box;
  readonly marks: Marks;
  snapshot = -1; // which of the map's snapshots is drawn; −1 for the map itself
  private moved = false;
  private equalAtFirst = true;
  private shape = 1;
  private animation = 0;
  private gliding = 0; // the animation of points that move to new places
  private named = 0; // when the names of a moving map were last found
  private misnamed = false; // whether they are to be found anew when the points have come to their places
  private readonly overlay = h("canvas", { class: "overlay", "aria-hidden": "true" });
  private readonly holder = h("div", { class: "drawing" });
  private readonly empty = h("p", { class: "nothing", hidden: true }, "Every point is filtered out. Press “Show all” in the legend.");

  constructor(readonly store: Store, mapIndex: number, readonly announce: (text: string) => void) {
    this.surface = h("div", { class: "surface", tabindex: "0", role: "application" }, this.holder, this.overlay, this.empty);
    this.element = h("section", { class: "panel" }, this.surface);
    new Gestures(this);
    this.marks = new Marks(this);
    this.setMap(store.maps[Math.min(mapIndex, store.maps.length - 1)]!);
    new ResizeObserver(() => this.resize()).observe(this.surface);
    for (const change of ["colour", "states", "ground"] as const) {
      store.on(change, () => {
        this.resize(); // the table may just have opened: a million points are drawn once, to the new size
        this.refresh();
      });
    }
    for (const change of ["style", "hover", "pin"] as const) store.on(change, () => this.redraw(change === "style"));
    store.on("marks", () => {
      this.marks.forget();
      this.redraw(false);
    });
  }

  setMap(map: MapData): void {
    this.map = map;
    this.snapshot = -1;
    this.element.classList.remove("earlier");
    this.axes = [0, Math.min(1, map.axes.length - 1)];
    const [a, b] = [map.axes[0]!, map.axes[this.axes[1]]!];
    const ratio = a.half / b.half;
    this.equal = this.equalAtFirst = b.ticks && !(ratio > MOST_UNEQUAL || ratio < 1 / MOST_UNEQUAL) && a.half > 0 && b.half > 0;
    this.element.setAttribute("aria-label", `Map: ${map.name}`);
    this.place();
  }

  /** Draws an earlier state of the map, or the map itself. */
  setSnapshot(index: number): void {
    this.snapshot = index;
    this.element.classList.toggle("earlier", index >= 0);
    this.place();
  }

  /** The two axes that are drawn. */
  get drawn(): [Axis, Axis] {
    const earlier = this.map.snapshots[this.snapshot];
    return earlier ? earlier.axes : (this.axes.map((axis) => this.map.axes[axis]!) as [Axis, Axis]);
  }

  setAxes(axes: [number, number]): void {
    this.axes = axes;
    this.place();
  }

  setEqual(equal: boolean): void {
    this.equal = equal;
    this.place();
  }

  /** Half ranges of the two axes that are one unit in x and y. */
  get halves(): [number, number] {
    const [a, b] = this.drawn.map((axis) => axis.half) as [number, number];
    const both = Math.max(a, b) || 1;
    return this.equal ? [both, both] : [a || 1, (b || 1) / this.shape];
  }

  /** Height over width of the room for points: axes with a scale each fill it. */
  private get room(): number {
    const { width, height } = this.size;
    return Math.max(40, height - PADDING.top - PADDING.bottom) / Math.max(40, width - PADDING.left - PADDING.right);
  }

  private place(): void {
    this.measure();
    this.marks.forget();
    this.reset(false);
    this.refresh();
  }

  /**
   * The map has other coordinates: its points move to their new places.
   *
   * renamed: it has other axes, too; settled: it stays like this for a while, so that names are worth finding anew
   */
  follow(milliseconds: number, renamed: boolean, settled: boolean): void {
    if (this.snapshot >= 0 || this.grabbed) return;
    const last = this.map.axes.length - 1;
    if (this.axes.some((axis) => axis > last)) this.axes = [0, Math.min(1, last)];
    if (renamed) {
      this.onMap();
      this.element.setAttribute("aria-label", `Map: ${this.map.name}`);
    }
    const from = { x: this.x, y: this.y };
    this.measure();
    const to = { x: this.x, y: this.y };
    this.home = fit(this.box, this.size);
    if (!this.moved) this.view = this.home;
    const now = performance.now();
    if (this.misnamed) this.marks.forget(); // the next map comes before the points have arrived
    this.misnamed = settled || now - this.named > Math.max(NAMES_STAY, this.marks.searched / SEARCHING);
    if (this.misnamed) this.named = now;
    this.stand();
    if (milliseconds < 20 || calm() || from.x.length !== to.x.length) {
      this.arrive();
      this.renderer?.setPlaces(to.x, to.y);
      this.redraw();
      return;
    }
    const step = (time: number): void => {
      const share = Math.min(1, Math.max(0, (time - now) / milliseconds));
      this.gliding = share < 1 ? requestAnimationFrame(step) : 0;
      const eased = 1 - (1 - share) ** 2;
      this.x = share < 1 ? mixed(from.x, to.x, eased) : to.x;
      this.y = share < 1 ? mixed(from.y, to.y, eased) : to.y;
      this.grid = null;
      if (share === 1) this.arrive();
      this.renderer?.setPlaces(this.x, this.y);
      this.redraw();
    };
    step(now);
  }

  /** Names stand where the points have come to. */
  private arrive(): void {
    if (this.misnamed) this.marks.forget();
    this.misnamed = false;
  }

  private stand(): void {
    cancelAnimationFrame(this.gliding);
    this.gliding = 0;
  }

  /** Where the points belong, in units of the view. */
  private measure(): void {
    this.stand();
    this.shape = this.room;
    const [a, b] = this.drawn;
    const [halfX, halfY] = this.halves;
    this.x = a.scaled(halfX);
    this.y = b.scaled(b.ticks ? halfY : halfY * 2.2);
    this.grid = null; // built when it is first asked
    this.own = null;
    if (this.pull) this.drawPulled(this.pull);
    this.box = { lowX: -a.half / halfX, highX: a.half / halfX, lowY: -b.half / halfY, highY: b.half / halfY };
    const label = `${this.map.name}: ${formatCount(this.store.rows)} points, ${a.name} by ${b.name}.`;
    this.surface.setAttribute("aria-label", `${label} Arrow keys move, plus and minus zoom, 0 shows all, S selects what is in view.`);
  }

  /** Draws some points around another, for a look; null lets them go back. */
  attract(pull: { to: number; rows: number[] } | null): void {
    this.pull = pull;
    this.follow(PULLING, false, true);
  }

  private drawPulled({ to, rows }: { to: number; rows: number[] }): void {
    this.own = { x: this.x, y: this.y, grid: null };
    const x = this.x.slice(), y = this.y.slice(), radius = this.view ? PULLED / this.view.scale : 0;
    rows.forEach((row, k) => {
      const angle = (2 * Math.PI * k) / rows.length;
      x[row] = x[to]! + radius * Math.sin(angle);
      y[row] = y[to]! + radius * Math.cos(angle);
    });
    this.x = x;
    this.y = y;
  }

  /** The nearest points of a row in the map, wherever they are drawn. */
  neighbors(row: number, k: number): number[] {
    if (!this.own) return this.index().neighbors(row, k);
    return (this.own.grid ??= this.gridOf(this.own.x, this.own.y)).neighbors(row, k);
  }

  private gridOf(x: Float32Array, y: Float32Array): Grid {
    const { placed } = this.store;
    return new Grid(x.subarray(0, placed), y.subarray(0, placed));
  }

  /** Whether points are on their way to new places. */
  get moving(): boolean {
    return this.gliding !== 0;
  }

  index(): Grid {
    return (this.grid ??= this.gridOf(this.x, this.y));
  }

  setRenderer(renderer: Renderer | null): void {
    this.renderer?.destroy();
    this.renderer = renderer;
    if (!renderer) return;
    renderer.canvas.className = "points";
    this.holder.replaceChildren(renderer.canvas);
    this.refresh();
  }

  resize(): void {
    const { width, height } = this.surface.getBoundingClientRect();
    if (width < 1 || height < 1 || (width === this.size.width && height === this.size.height)) return;
    const untouched = !this.moved;
    this.size = { width, height };
    if (!this.equal && Math.abs(Math.log(this.room / this.shape)) > 0.05) this.place();
    else if (untouched) this.reset(false);
    else this.home = fit(this.box, this.size);
    this.redraw();
  }

  reset(animated = true): void {
    this.home = fit(this.box, this.size);
    this.go(this.home, animated);
    this.moved = false;
  }

  zoom(factor: number, px = this.size.width / 2, py = this.size.height / 2): void {
    const scale = Math.min(2e4 * this.home.scale, Math.max(0.2 * this.home.scale, this.view.scale * factor));
    this.go(zoomed(this.view, this.size, scale / this.view.scale, px, py));
  }

  pan(dx: number, dy: number): void {
    this.go({ ...this.view, x: this.view.x - dx / this.view.scale, y: this.view.y + dy / this.view.scale });
  }

  /** Shows a set of rows, with some room around them. */
  zoomTo(rows: ArrayLike<number>): void {
    const box: Box = { lowX: Infinity, highX: -Infinity, lowY: Infinity, highY: -Infinity };
    for (let k = 0; k < rows.length; k++) {
      const i = rows[k]!;
      box.lowX = Math.min(box.lowX, this.x[i]!);
      box.highX = Math.max(box.highX, this.x[i]!);
      box.lowY = Math.min(box.lowY, this.y[i]!);
      box.highY = Math.max(box.highY, this.y[i]!);
    }
    if (!rows.length) return;
    const view = fit(box, this.size);
    const scale = Math.min(0.85 * view.scale, 12 * this.home.scale);
    this.go({ x: (box.lowX + box.highX) / 2, y: (box.lowY + box.highY) / 2, scale }, true);
  }

  /** Looks at a place from a closeness, as `view` and `closeness` tell them. */
  look(x: number, y: number, closeness: number): void {
    this.go({ x, y, scale: this.home.scale * Math.min(2e4, Math.max(0.2, closeness)) });
  }

  get isMoved(): boolean {
    return this.moved;
  }

  /** Whether the map is drawn as the page draws it at first. */
  get asOpened(): boolean {
    return !this.moved && this.snapshot < 0 && this.axes[0] === 0 && this.axes[1] === Math.min(1, this.map.axes.length - 1) && this.equal === this.equalAtFirst;
  }

  private go(view: View, animated = false): void {
    cancelAnimationFrame(this.animation);
    this.moved = true;
    this.store.emit("view");
    if (!animated || calm() || this.store.rows > 200_000 || !this.view) {
      this.view = view;
      this.redraw();
      return;
    }
    const from = this.view, start = performance.now();
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, (now - start) / 320));
      this.view = share < 1 ? between(from, view, 1 - (1 - share) ** 3) : view;
      this.redraw();
      if (share < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  /** How far in: 1 when all is shown. */
  get closeness(): number {
    return this.view.scale / this.home.scale;
  }

  style(): Style {
    const { store } = this;
    const room = Math.min(1.25, Math.max(0.7, Math.sqrt((this.size.width * this.size.height) / 400_000)));
    const near = Math.max(0.5, this.closeness);
    const look = (size: number, opacity: number): Look => ({
      size: size * room * Math.min(5, near ** 0.35),
      opacity: Math.min(Math.max(opacity, 0.92), opacity * Math.min(4, Math.max(1, near ** 0.35))),
    });
    const plain = look(store.size, store.opacity);
    if (!store.dimming) return { ...plain, dimmed: null };
    // What stands out is larger, too. Few rows that were scored are as large as if they were the only ones.
    const { scored, rows } = store;
    const bright = scored === null ? look(1.15 * store.size, store.opacity) : look((store.size * autoSize(scored)) / autoSize(rows), (store.opacity * autoOpacity(scored)) / autoOpacity(rows));
    return { ...bright, opacity: Math.min(1, bright.opacity), dimmed: { size: (scored === null ? 0.98 : 1) * plain.size, opacity: 0.6 * plain.opacity } };
  }

  scene(): Scene {
    const { codes } = this.store.colouring;
    const { colours, states, order, ground } = this.store;
    return { x: this.x, y: this.y, codes, colours, states, order, ground };
  }

  /** Colours, states or places have changed. */
  refresh(): void {
    this.empty.hidden = this.store.shown > 0;
    this.marks.update();
    this.renderer?.setScene(this.scene());
    this.redraw();
  }

  /** The view, or what lies over the points, has changed. */
  redraw(points = true): void {
    if (!this.view || !this.element.isConnected) return;
    if (points) this.renderer?.setView(this.view, this.size, this.style());
    this.drawOverlay();
  }

  screen(row: number): [number, number] {
    return [toScreenX(this.view, this.size, this.x[row]!), toScreenY(this.view, this.size, this.y[row]!)];
  }

  nearest(px: number, py: number): number {
    const reach = Math.max(7, this.style().size / 2 + 3) / this.view.scale;
    return this.index().nearest(fromScreenX(this.view, this.size, px), fromScreenY(this.view, this.size, py), reach, this.store.isVisible);
  }

  /** Selects the visible points in a polygon given in pixels. */
  selectWithin(pixels: number[], how: "replace" | "add" | "remove"): void {
    const polygon = pixels.map((value, k) => (k % 2 ? fromScreenY(this.view, this.size, value) : fromScreenX(this.view, this.size, value)));
    const rows: number[] = [];
    this.index().within(polygon, (row) => {
      if (this.store.isVisible(row)) rows.push(row);
    });
    if (rows.length === 0 && how === "replace") this.store.select(null);
    else this.store.select(this.store.combined(rows, how));
  }

  /** The rows that a pointer takes hold of: the point there, with all selected ones if it is one of them; null beside points. */
  grab(px: number, py: number): ArrayLike<number> | null {
    const row = this.nearest(px, py);
    if (row < 0) return null;
    this.stand();
    this.grabbed = true;
    this.onGrab();
    const { selected } = this.store;
    return selected && Array.from(selected).includes(row) ? selected : [row];
  }

  drag(rows: ArrayLike<number>, dx: number, dy: number): void {
    const x = this.x.slice(), y = this.y.slice();
    for (let k = 0; k < rows.length; k++) {
      x[rows[k]!]! += dx / this.view.scale;
      y[rows[k]!]! -= dy / this.view.scale;
    }
    this.x = x;
    this.y = y;
    this.grid = null;
    this.renderer?.setPlaces(x, y);
    this.redraw();
  }

  /** Pixels from where the rows were taken; null if the gesture was broken off. */
  letGo(rows: ArrayLike<number> | null, dx: number, dy: number): void {
    if (!this.grabbed) return;
    this.grabbed = false;
    if (rows && (dx || dy)) this.onDrop(rows, [(dx / this.view.scale) * this.halves[0], (-dy / this.view.scale) * this.halves[1]]);
    else this.follow(0, false, true);
  }

  selectInView(how: "replace" | "add" | "remove" = "replace"): void {
    const { width, height } = this.size;
    this.selectWithin([0, 0, width, 0, width, height, 0, height], how);
  }

  setTool(tool: Tool): void {
    this.tool = tool;
    this.surface.dataset.tool = tool;
    this.onTool();
  }

  // --- what lies over the points ---

  private drawOverlay(): void {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.size;
    const canvas = this.overlay;
    if (canvas.width !== Math.floor(width * ratio)) canvas.width = Math.floor(width * ratio);
    if (canvas.height !== Math.floor(height * ratio)) canvas.height = Math.floor(height * ratio);
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.drawAround(context, this.map.axes.length < 3 || this.snapshot >= 0);
    for (const row of new Set([this.store.pinned, this.store.hovered])) if (row >= 0) this.drawRing(context, row);
    if (this.trace && this.trace.length >= 4) this.drawTrace(context, this.trace);
  }

  /** The names that are on the map. */
  names(): Placed[] {
    return this.marks.shownNames(this.overlay.getContext("2d")!);
  }

  private drawAxes(context: Pen, named: boolean): void {
    const { width, height } = this.size;
    const { ground } = this.store;
    const [a, b] = this.drawn;
    const [halfX, halfY] = this.halves;
    context.font = "11px system-ui, sans-serif";
    const paper = `rgb(${ground.paper.join(" ")} / 0.82)`;
    const write = (text: string, x: number, y: number): void => {
      context.strokeStyle = paper;
      context.lineWidth = 4;
      context.lineJoin = "round";
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    context.fillStyle = ground.faint;
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    const nameX = shorten(a.name, 40), nameY = shorten(b.name, 40);
    const choice = this.element.querySelector<HTMLElement>(".axis.horizontal"); // a list of axes stands where the name would
    const roomX = (named || !choice ? 1.15 * context.measureText(nameX).width : choice.offsetWidth) + 34;
    if (a.ticks) {
      const at = (x: number): number => toScreenX(this.view, this.size, (x - a.middle) / halfX);
      const value = (px: number): number => a.middle + halfX * fromScreenX(this.view, this.size, px);
      const found = ticks(value(PADDING.left), value(width - roomX), width / 110);
      let end = 0; // long numbers leave some out
      formatTicks(found).forEach((text, k) => {
        const x = at(found[k]!), half = context.measureText(text).width / 2;
        if (x - half < end || x + half > width - roomX) return;
        write(text, x, height - 10);
        end = x + half + 8;
      });
    }
    context.textAlign = "left";
    if (b.ticks) {
      const at = (y: number): number => toScreenY(this.view, this.size, (y - b.middle) / halfY);
      const value = (py: number): number => b.middle + halfY * fromScreenY(this.view, this.size, py);
      const found = ticks(value(height - 34), value(34), height / 90);
      formatTicks(found).forEach((text, k) => write(text, 10, at(found[k]!) + 4));
    }
    if (!named) return;
    context.fillStyle = ground.ink;
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "right";
    write(`${nameX} →`, width - 12, height - 10);
    context.textAlign = "left";
    write(b.ticks ? `↑ ${nameY}` : nameY, 10, 18);
  }

  private drawRing(context: CanvasRenderingContext2D, row: number): void {
    const [x, y] = this.screen(row);
    const { ground } = this.store;
    const radius = Math.max(6, this.style().size / 2 + 3);
    for (const [colour, thick] of [[`rgb(${ground.paper.join(" ")})`, 5], [row === this.store.pinned ? ground.accent : ground.ink, 2]] as const) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.stroke();
    }
  }

  private drawTrace(context: CanvasRenderingContext2D, trace: number[]): void {
    context.beginPath();
    for (let k = 0; k < trace.length; k += 2) context.lineTo(trace[k]!, trace[k + 1]!);
    context.closePath();
    context.fillStyle = this.store.ground.accent + "1f";
    context.fill();
    context.strokeStyle = this.store.ground.accent;
    context.lineWidth = 1.75;
    context.lineJoin = "round";
    context.setLineDash([6, 4]);
    context.stroke();
    context.setLineDash([]);
  }

  /** Everything but the points: axes, names, lines. */
  drawAround(pen: Pen, named: boolean): void {
    this.drawAxes(pen, named);
    this.marks.draw(pen);
  }

  /** The map as a picture at `ratio` pixels for one of the screen, with what is around the points or without. */
  picture(ratio: number, around: boolean): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    paint(canvas, this.scene(), this.view, this.size, this.style(), ratio);
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (around) this.drawAround(context, true);
    return canvas;
  }
}

/** Between two places of all points. */
function mixed(from: Float32Array, to: Float32Array, share: number): Float32Array {
  const out = new Float32Array(to.length);
  for (let i = 0; i < out.length; i++) out[i] = from[i]! + (to[i]! - from[i]!) * share;
  return out;
}
