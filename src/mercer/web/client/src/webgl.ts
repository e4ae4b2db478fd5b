// Drawing with regl-scatterplot. It only draws here: its camera stands still, its canvas gets no events, and in place of
// its index of points it is handed an empty one, for building that of a million points takes seconds.

import createScatterplot, { checkSupport, createRenderer, createSpatialIndex } from "regl-scatterplot";
import { DIMMED, HIDDEN, type Renderer, type Scene, type Style } from "./renderer";
import type { Size, View } from "./view";

type Scatterplot = ReturnType<typeof createScatterplot>;
type Shared = ReturnType<typeof createRenderer>;

const NORMAL = 0, PALE = 1; // the fourth value of a point: which size and opacity it has
const FAR = 1e9;

/** One WebGL context for all maps of the page; throws where there is none that is good enough. */
export class WebGL {
  private constructor(private readonly shared: Shared, private readonly nothing: ArrayBuffer) {}

  static async open(onLost: () => void): Promise<WebGL> {
    const probe = document.createElement("canvas").getContext("webgl");
    if (!probe) throw new Error("WebGL is not available");
    for (const name of ["OES_texture_float", "OES_element_index_uint", "WEBGL_color_buffer_float", "EXT_float_blend"]) {
      if (!probe.getExtension(name)) throw new Error(`WebGL has no ${name}`);
    }
    probe.getExtension("WEBGL_lose_context")?.loseContext(); // browsers keep few contexts; give this one back
    const shared = createRenderer();
    if (!checkSupport(shared.regl, true)) throw new Error("WebGL lacks an extension");
    shared.canvas.addEventListener("webglcontextlost", onLost, { once: true });
    return new WebGL(shared, await createSpatialIndex([[FAR, FAR]]));
  }

  renderer(): Renderer {
    return new WebGLRenderer(this.shared, this.nothing);
  }

  destroy(): void {
    try {
      this.shared.destroy();
    } catch {
      // a lost context cannot be tidied up
    }
  }
}

class WebGLRenderer implements Renderer {
  readonly kind = "webgl";
  readonly canvas = document.createElement("canvas");
  private readonly plot: Scatterplot;
  private scene: Scene | null = null;
  private points: number[][] = [];
  private source: Float32Array | null = null;
  private busy: Promise<void> | null = null;
  private stale = false;
  private size: Size = { width: 1, height: 1 };
  private gone = false;
  private look = ""; // size, opacity and colours that were set last: setting them again would draw once more
  private colours: Scene["colours"] | null = null;

  constructor(shared: Shared, private readonly nothing: ArrayBuffer) {
    this.plot = createScatterplot({
      renderer: shared,
      canvas: this.canvas,
      cameraIsFixed: true,
      colorBy: "valueZ",
      opacityBy: "valueW",
      sizeBy: "valueW",
      pointScaleMode: "constant",
      deselectOnDblClick: false,
      deselectOnEscape: false,
      width: 1,
      height: 1,
    } as Parameters<typeof createScatterplot>[0]);
  }

  setScene(scene: Scene): void {
    this.scene = scene;
    this.stale = true;
    void this.update();
  }

  setView(view: View, size: Size, style: Style): void {
    if (size.width !== this.size.width || size.height !== this.size.height) {
      this.size = { ...size };
      void this.plot.set({ width: size.width, height: size.height });
    }
    const look = `${style.size} ${style.opacity}`;
    if (look !== this.look) {
      this.look = look;
      void this.plot.set({
        pointSize: [style.size, 0.85 * style.size],
        opacity: [style.opacity, 0.6 * style.opacity],
      });
    }
    const k = (2 * view.scale) / size.height;
    this.plot.view(Float32Array.of(k, 0, 0, 0, 0, k, 0, 0, 0, 0, 1, 0, -view.x * k, -view.y * k, 0, 1) as unknown as number[]);
  }

  async drawn(): Promise<void> {
    if (this.busy || this.stale) return this.update();
    await new Promise<void>((resolve) => {
      this.plot.subscribe("draw", () => resolve(), 1);
      this.plot.redraw();
    });
  }

  destroy(): void {
    this.gone = true;
    try {
      this.plot.destroy();
    } catch {
      // as above
    }
    this.canvas.remove();
  }

  /** Hands the points over; calls that come while one is being drawn are answered by one more at the end. */
  private update(): Promise<void> {
    if (this.busy) return this.busy;
    this.busy = (async () => {
      while (this.stale && !this.gone) {
        this.stale = false;
        await this.hand(this.scene!);
      }
    })().finally(() => {
      this.busy = null;
    });
    return this.busy;
  }

  private async hand(scene: Scene): Promise<void> {
    const { colours, ground } = scene;
    if (this.colours !== colours) {
      this.colours = colours;
      const shares = [...colours, ground.dimmed].map((colour) => [...colour.map((part) => part / 255), 1]);
      void this.plot.set({ pointColor: shares as [number, number, number, number][] });
    }
    const options = { spatialIndex: this.nothing, zDataType: "categorical", wDataType: "categorical" } as const;
    await this.plot.draw(this.arranged(scene), options);
  }

  /** The points that are to be seen, in the order in which they are drawn. */
  private arranged(scene: Scene): number[][] {
    const { x, y, codes, states, order, colours } = scene;
    if (this.source !== x) {
      this.points = new Array<number[]>(x.length);
      for (let i = 0; i < x.length; i++) this.points[i] = [x[i]!, y[i]!, 0.5, 0.5];
      this.source = x;
    }
    const pale: number[][] = [], bright: number[][] = [];
    for (const i of order) {
      const state = states[i]!;
      if (state === HIDDEN) continue;
      const point = this.points[i]!;
      point[2] = state === DIMMED ? colours.length : codes[i]!;
      point[3] = state === DIMMED ? PALE : NORMAL;
      (state === DIMMED ? pale : bright).push(point);
    }
    const all = pale.length ? pale.concat(bright) : bright;
    return all.length ? all : [[FAR, FAR, 0, 0]];
  }
}
