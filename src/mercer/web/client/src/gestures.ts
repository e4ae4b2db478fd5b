// Pointers and keys on a map: moving, zooming, pinching, lassos, boxes, hovering, pinning.

import type { Panel } from "./panel";

export type Tool = "pan" | "lasso" | "box" | "drag";

const LEAST_STEP = 3; // pixels between two corners of a lasso
const CLICK = 4; // pixels that a click may move

export class Gestures {
  private readonly fingers = new Map<number, [number, number]>();
  private start: [number, number] | null = null;
  private last: [number, number] = [0, 0];
  private drawing: Tool | null = null;
  private travelled = 0;
  private dragged: ArrayLike<number> | null = null; // rows that go with the pointer

  constructor(private readonly panel: Panel) {
    const { surface } = panel;
    surface.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    surface.addEventListener("pointerdown", (event) => this.down(event));
    surface.addEventListener("pointermove", (event) => this.move(event));
    surface.addEventListener("pointerup", (event) => this.up(event));
    surface.addEventListener("pointercancel", (event) => this.cancel(event));
    surface.addEventListener("pointerleave", () => panel.store.hover(-1, panel));
    surface.addEventListener("dblclick", () => panel.reset());
    surface.addEventListener("keydown", (event) => this.key(event));
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.panel.surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    this.panel.zoom(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0022)), ...this.place(event));
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const at = this.place(event);
    const { panel } = this;
    panel.surface.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, at);
    if (this.fingers.size === 2) { // a pinch ends whatever one finger began
      this.drawing = null;
      panel.trace = null;
      this.travelled = CLICK + 1;
    }
    if (this.fingers.size > 1) return;
    this.start = this.last = at;
    this.travelled = 0;
    this.drawing = event.shiftKey && panel.tool === "pan" ? "lasso" : panel.tool;
    panel.trace = this.drawing === "lasso" || this.drawing === "box" ? [...at] : null;
    if (this.drawing === "drag") {
      this.dragged = panel.grab(...at);
      panel.store.hover(-1, panel); // its card would stay where the point was
      if (!this.dragged) this.drawing = "pan"; // beside the points, the map moves
    }
  }

  private move(event: PointerEvent): void {
    const at = this.place(event);
    const { panel } = this;
    if (this.fingers.size === 2 && this.fingers.has(event.pointerId)) return this.pinch(event.pointerId, at);
    if (!this.start) {
      if (event.pointerType !== "touch") panel.store.hover(panel.nearest(...at), panel);
      return;
    }
    this.travelled = Math.max(this.travelled, distance(at, this.start));
    if (this.dragged) {
      if (this.travelled > CLICK) panel.drag(this.dragged, at[0] - this.last[0], at[1] - this.last[1]);
      this.last = this.travelled > CLICK ? at : this.last;
    } else if (this.drawing === "pan" && this.travelled > CLICK) {
      panel.surface.classList.add("moving");
      panel.store.hover(-1, panel);
      panel.pan(at[0] - this.last[0], at[1] - this.last[1]);
      this.last = at;
    } else if (panel.trace) {
      this.extend(at);
    }
  }

  private extend(at: [number, number]): void {
    const trace = this.panel.trace!;
    if (this.drawing === "box") {
      const [x, y] = this.start!;
      this.panel.trace = [x, y, at[0], y, at[0], at[1], x, at[1]];
    } else if (distance(at, [trace.at(-2)!, trace.at(-1)!]) >= LEAST_STEP) {
      trace.push(...at);
    }
    this.panel.redraw(false);
  }

  private pinch(id: number, at: [number, number]): void {
    const [other] = [...this.fingers].filter(([each]) => each !== id).map(([, place]) => place);
    const before = this.fingers.get(id)!;
    const middle = (a: [number, number]): [number, number] => [(a[0] + other![0]) / 2, (a[1] + other![1]) / 2];
    const [from, to] = [middle(before), middle(at)];
    this.fingers.set(id, at);
    this.panel.pan(to[0] - from[0], to[1] - from[1]);
    this.panel.zoom(distance(at, other!) / Math.max(1, distance(before, other!)), ...to);
  }

  private up(event: PointerEvent): void {
    const { panel } = this;
    const at = this.place(event);
    this.fingers.delete(event.pointerId);
    panel.surface.classList.remove("moving");
    if (!this.start || this.fingers.size > 0) return;
    const { trace } = panel, { start, dragged } = this;
    panel.trace = null;
    this.start = this.dragged = null;
    if (dragged) {
      const far = this.travelled > CLICK;
      panel.letGo(dragged, far ? at[0] - start[0] : 0, far ? at[1] - start[1] : 0);
      if (far) return panel.redraw(false);
    }
    if (this.travelled <= CLICK) {
      const row = panel.nearest(...at);
      if (!panel.onPress(...at)) panel.store.pin(row === panel.store.pinned ? -1 : row, panel);
    } else if (trace && trace.length >= 6) {
      panel.store.hover(-1, panel);
      panel.selectWithin(trace, event.ctrlKey || event.metaKey ? "add" : event.altKey ? "remove" : "replace");
    }
    panel.redraw(false);
  }

  private cancel(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    this.start = this.dragged = null;
    this.panel.letGo(null, 0, 0);
    this.panel.trace = null;
    this.panel.surface.classList.remove("moving");
    this.panel.redraw(false);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { panel } = this;
    const far = event.shiftKey ? 160 : 48;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => panel.pan(far, 0),
      ArrowRight: () => panel.pan(-far, 0),
      ArrowUp: () => panel.pan(0, far),
      ArrowDown: () => panel.pan(0, -far),
      "+": () => panel.zoom(1.4),
      "=": () => panel.zoom(1.4),
      "-": () => panel.zoom(1 / 1.4),
      "0": () => panel.reset(),
      s: () => panel.selectInView(event.shiftKey ? "add" : "replace"),
      x: () => panel.selectInView("remove"),
      Enter: () => this.pinMiddle(),
    };
    const action = actions[event.key.length > 1 ? event.key : event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** The point nearest to the middle of what is seen. */
  private pinMiddle(): void {
    const { panel } = this;
    const { x, y, scale } = panel.view;
    const row = panel.index().nearest(x, y, Math.max(panel.size.width, panel.size.height) / scale, panel.store.isVisible);
    panel.store.pin(row, panel);
    if (row >= 0) panel.announce(`Row ${panel.store.idOf(row)}`);
  }
}

const distance = (a: [number, number], b: [number, number]): number => Math.hypot(a[0] - b[0], a[1] - b[1]);
