// Drawing with WebGL: one disc per point. Places go to the graphics card once; colours and states when they change.
// The shaders are fixed texts, so that the page's policy need not allow code made from strings.

import { DIMMED, type Renderer, SHOWN, type Scene, type Style } from "./renderer";
import type { Size, View } from "./view";

const VERTEX = `
attribute vec2 place;
attribute vec4 look; // red, green, blue and the state
uniform vec2 middle, scale;
uniform float state, size, opacity;
uniform vec3 dimmed;
varying vec4 colour;
varying float radius;
void main() {
  float own = floor(look.a * 255.0 + 0.5);
  // What another pass draws, or none, lies outside of everything that is seen.
  gl_Position = own == state ? vec4((place - middle) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size + 1.0;
  radius = 0.5 * size;
  colour = vec4(own == ${DIMMED}.0 ? dimmed : look.rgb, opacity);
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 colour;
varying float radius;
void main() {
  float away = length(gl_PointCoord - 0.5) * (2.0 * radius + 1.0);
  float cover = clamp(radius - away + 0.5, 0.0, 1.0) * colour.a;
  if (cover < 0.004) discard;
  gl_FragColor = vec4(colour.rgb * cover, cover);
}`;

export class WebGLRenderer implements Renderer {
  readonly kind = "webgl";
  readonly canvas = document.createElement("canvas");
  private readonly gl: WebGLRenderingContext;
  private readonly uniforms: Record<string, WebGLUniformLocation | null> = {};
  private readonly places: WebGLBuffer;
  private readonly looks: WebGLBuffer;
  private scene: Scene | null = null;
  private placed: Float32Array | null = null;
  private ordered: Uint32Array | null = null;
  private stale = false;
  private view: { view: View; size: Size; style: Style } | null = null;
  private frame = 0;
  private waiting: (() => void)[] = [];
  private gone = false;

  /** Throws where there is no WebGL that works. */
  constructor(onLost: () => void) {
    const gl = this.canvas.getContext("webgl", { alpha: false, antialias: false, depth: false, stencil: false });
    if (!gl) throw new Error("WebGL is not available");
    this.gl = gl;
    const program = programOf(gl);
    gl.useProgram(program);
    for (const name of ["middle", "scale", "state", "size", "opacity", "dimmed"]) this.uniforms[name] = gl.getUniformLocation(program, name);
    this.places = gl.createBuffer()!;
    this.looks = gl.createBuffer()!;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    this.attribute(program, "place", 2, gl.FLOAT, false);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    this.attribute(program, "look", 4, gl.UNSIGNED_BYTE, true);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.canvas.addEventListener("webglcontextlost", () => {
      if (!this.gone) onLost();
    }, { once: true });
  }

  private attribute(program: WebGLProgram, name: string, width: number, type: number, normalised: boolean): void {
    const at = this.gl.getAttribLocation(program, name);
    this.gl.enableVertexAttribArray(at);
    this.gl.vertexAttribPointer(at, width, type, normalised, 0, 0);
  }

  setScene(scene: Scene): void {
    this.scene = scene;
    this.stale = true;
    this.schedule();
  }

  setPlaces(x: Float32Array, y: Float32Array): void {
    if (!this.scene) return;
    this.scene = { ...this.scene, x, y };
    this.schedule();
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
    this.gone = true;
    cancelAnimationFrame(this.frame);
    this.canvas.remove();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext(); // browsers keep few contexts; give this one back
  }

  private schedule(): void {
    if (!this.frame && !this.gone) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    if (this.gl.isContextLost()) return;
    if (this.scene && this.view) {
      this.handPlaces(this.scene);
      if (this.stale) this.handLooks(this.scene);
      this.stale = false;
      const { view, size, style } = this.view;
      this.render(this.scene, view, size, style);
      if (this.waiting.length) this.gl.finish(); // "drawn" means seen, not merely asked for
    }
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Places in the order in which points are drawn. */
  private handPlaces({ x, y, order }: Scene): void {
    const { gl } = this;
    if (this.placed !== x || this.ordered !== order) {
      const places = new Float32Array(2 * order.length);
      for (let k = 0; k < order.length; k++) {
        places[2 * k] = x[order[k]!]!;
        places[2 * k + 1] = y[order[k]!]!;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
      gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
      this.placed = x;
      this.ordered = order;
    }
  }

  private handLooks({ codes, colours, states, order }: Scene): void {
    const { gl } = this;
    const flat = Uint8Array.from(colours.flatMap((colour) => [...colour]));
    const looks = new Uint8Array(4 * order.length);
    for (let k = 0; k < order.length; k++) {
      const row = order[k]!, at = 3 * codes[row]!;
      looks[4 * k] = flat[at]!;
      looks[4 * k + 1] = flat[at + 1]!;
      looks[4 * k + 2] = flat[at + 2]!;
      looks[4 * k + 3] = states[row]!;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.bufferData(gl.ARRAY_BUFFER, looks, gl.DYNAMIC_DRAW);
  }

  private render(scene: Scene, view: View, size: Size, style: Style): void {
    const { gl, uniforms } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.floor(size.width * ratio)), height = Math.max(1, Math.floor(size.height * ratio));
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    gl.viewport(0, 0, width, height);
    const [r, g, b] = scene.ground.paper.map((part) => part / 255) as [number, number, number];
    gl.clearColor(r, g, b, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniforms.middle!, view.x, view.y);
    gl.uniform2f(uniforms.scale!, (2 * view.scale) / size.width, (2 * view.scale) / size.height);
    gl.uniform3f(uniforms.dimmed!, ...(scene.ground.dimmed.map((part) => part / 255) as [number, number, number]));
    const pass = (state: number, points: number, opacity: number): void => {
      gl.uniform1f(uniforms.state!, state);
      gl.uniform1f(uniforms.size!, points * ratio);
      gl.uniform1f(uniforms.opacity!, opacity);
      gl.drawArrays(gl.POINTS, 0, scene.order.length);
    };
    if (style.dimmed) pass(DIMMED, style.dimmed.size, style.dimmed.opacity);
    pass(SHOWN, style.size, style.opacity);
  }
}

function programOf(gl: WebGLRenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program!, shader);
  }
  gl.linkProgram(program!);
  if (!gl.getProgramParameter(program!, gl.LINK_STATUS)) throw new Error("WebGL cannot compile the shaders of this page");
  return program!;
}

