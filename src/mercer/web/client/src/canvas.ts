// Drawing without WebGL: discs are blended into the pixels of a picture, a million of them in a fraction of a second.

import { DIMMED, HIDDEN, type Renderer, SHOWN, type Scene, type Style } from "./renderer";
import type { Size, View } from "./view";

export class CanvasRenderer implements Renderer {
  readonly kind = "canvas";
  readonly canvas = document.createElement("canvas");
  private scene: Scene | null = null;
  private view: { view: View; size: Size; style: Style } | null = null;
  private frame = 0;
  private waiting: (() => void)[] = [];

  setScene(scene: Scene): void {
    this.scene = scene;
    this.schedule();
  }

  setPlaces(x: Float32Array, y: Float32Array): void {
    if (this.scene) this.setScene({ ...this.scene, x, y });
  }

  setView(view: View, size: Size, style: Style): void {
    this.view = { view, size, style };
    this.schedule();
  }

  drawn(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.schedule();
    });
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.canvas.remove();
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    if (this.scene && this.view) {
      const { view, size, style } = this.view;
      paint(this.canvas, this.scene, view, size, style, window.devicePixelRatio || 1);
    }
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** Paints a scene onto a canvas of size · ratio pixels, dimmed points first. */
export function paint(canvas: HTMLCanvasElement, scene: Scene, view: View, size: Size, style: Style, ratio: number): void {
  const width = Math.max(1, Math.floor(size.width * ratio)), height = Math.max(1, Math.floor(size.height * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d")!;
  const picture = new ImageData(width, height);
  const [r, g, b] = scene.ground.paper;
  new Uint32Array(picture.data.buffer).fill(((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  const place = { scale: view.scale * ratio, x: width / 2 - view.x * view.scale * ratio, y: height / 2 + view.y * view.scale * ratio };
  if (style.dimmed) stampAll(picture, scene, place, DIMMED, style.dimmed.size * ratio, style.dimmed.opacity);
  stampAll(picture, scene, place, SHOWN, style.size * ratio, style.opacity);
  context.putImageData(picture, 0, 0);
}

function stampAll(
  picture: ImageData, scene: Scene, place: { scale: number; x: number; y: number }, state: number, size: number, opacity: number,
): void {
  const { width, height, data } = picture;
  const disc = discOf(size, opacity);
  const { x, y, codes, colours, states, order, ground } = scene;
  const flat = Uint8Array.from(colours.flatMap((colour) => [...colour]));
  const reach = disc.side / 2;
  for (const i of order) {
    if (states[i] !== state || state === HIDDEN) continue;
    const left = Math.round(place.x + x[i]! * place.scale - reach), top = Math.round(place.y - y[i]! * place.scale - reach);
    if (left + disc.side <= 0 || top + disc.side <= 0 || left >= width || top >= height) continue;
    const at = 3 * codes[i]!;
    const r = state === DIMMED ? ground.dimmed[0] : flat[at]!;
    const g = state === DIMMED ? ground.dimmed[1] : flat[at + 1]!;
    const b = state === DIMMED ? ground.dimmed[2] : flat[at + 2]!;
    for (let k = 0; k < disc.shares.length; k++) {
      const px = left + disc.dx[k]!, py = top + disc.dy[k]!;
      if (px < 0 || py < 0 || px >= width || py >= height) continue;
      const share = disc.shares[k]!, to = 4 * (py * width + px);
      data[to] = data[to]! + (r - data[to]!) * share;
      data[to + 1] = data[to + 1]! + (g - data[to + 1]!) * share;
      data[to + 2] = data[to + 2]! + (b - data[to + 2]!) * share;
    }
  }
}

/** The pixels of a disc and how much of each it covers. */
function discOf(size: number, opacity: number): { side: number; dx: Int16Array; dy: Int16Array; shares: Float32Array } {
  const side = Math.max(1, Math.ceil(size)), middle = (side - 1) / 2;
  const dx: number[] = [], dy: number[] = [], shares: number[] = [];
  for (let j = 0; j < side; j++) {
    for (let i = 0; i < side; i++) {
      const cover = Math.min(1, Math.max(0, size / 2 - Math.hypot(i - middle, j - middle) + 0.5));
      if (cover < 0.03) continue;
      dx.push(i);
      dy.push(j);
      shares.push(cover * opacity);
    }
  }
  return { side, dx: Int16Array.from(dx), dy: Int16Array.from(dy), shares: Float32Array.from(shares) };
}
