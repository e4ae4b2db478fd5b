// What the page draws with: a canvas, or a pen that writes the same strokes as SVG.

export interface Pen {
  font: string;
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  imageSmoothingEnabled: boolean;
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  fill(): void;
  stroke(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  strokeText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
  setLineDash(segments: number[]): void;
  drawImage(image: CanvasImageSource, x: number, y: number, width: number, height: number): void;
}

const round = (value: number): string => String(Math.round(100 * value) / 100);
const escaped = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Writes SVG. `measure` tells how wide text is. */
export class SvgPen implements Pen {
  font = "12px sans-serif";
  fillStyle: Pen["fillStyle"] = "#000";
  strokeStyle: Pen["strokeStyle"] = "#000";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  globalAlpha = 1;
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  imageSmoothingEnabled = true;
  private readonly parts: string[] = [];
  private path = "";
  private dash: number[] = [];
  private clips = 0;

  constructor(private readonly width: number, private readonly height: number, private readonly measure: (text: string, font: string) => number) {}

  beginPath(): void {
    this.path = "";
  }

  closePath(): void {
    this.path += "Z";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path ? "L" : "M"}${round(x)} ${round(y)}`;
  }

  /** A whole circle: the page draws no other arcs. */
  arc(x: number, y: number, radius: number): void {
    const r = round(radius);
    this.path += `M${round(x - radius)} ${round(y)}a${r} ${r} 0 1 0 ${round(2 * radius)} 0a${r} ${r} 0 1 0 ${round(-2 * radius)} 0Z`;
  }

  fill(): void {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha}/>`);
  }

  stroke(): void {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    if (this.path) this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}${this.alpha}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this.alpha}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"`);
  }

  measureText(text: string): { width: number } {
    return { width: this.measure(text, this.font) };
  }

  setLineDash(segments: number[]): void {
    this.dash = segments;
  }

  drawImage(image: CanvasImageSource, x: number, y: number, width: number, height: number): void {
    const canvas = document.createElement("canvas");
    const { width: w, height: h } = image as { width: number; height: number };
    [canvas.width, canvas.height] = [w, h];
    canvas.getContext("2d")!.drawImage(image, 0, 0);
    const crisp = this.imageSmoothingEnabled ? "" : ' style="image-rendering:pixelated"';
    this.parts.push(`<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"${crisp}${this.alpha} href="${canvas.toDataURL("image/png")}"/>`);
  }

  /** Discs of one radius and colour. */
  discs(places: [number, number][], radius: number, colour: string, opacity: number): void {
    const circles = places.map(([x, y]) => `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}"/>`);
    this.parts.push(`<g fill="${colour}" fill-opacity="${round(opacity)}">${circles.join("")}</g>`);
  }

  /** What `draw` draws is moved to (x, y) and cut off at the size. */
  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip-${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><rect width="${round(width)}" height="${round(height)}"/></clipPath><g transform="translate(${round(x)} ${round(y)})" clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  toString(): string {
    const [w, h] = [round(this.width), round(this.height)];
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">${this.parts.join("\n")}</svg>\n`;
  }

  private get alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${round(this.globalAlpha)}"` : "";
  }

  private text(text: string, x: number, y: number, how: string): void {
    const [, weight, size, family] = /^(\d+ )?([\d.]+)px (.*)$/.exec(this.font)!;
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[this.textAlign];
    const lower = this.textBaseline === "middle" ? 0.35 * Number(size) : 0; // half of a small letter
    this.parts.push(`<text x="${round(x)}" y="${round(y + lower)}" font-family="${escaped(family!)}" font-size="${size}"${weight ? ` font-weight="${weight.trim()}"` : ""} text-anchor="${anchor}" ${how}${this.alpha}>${escaped(text)}</text>`);
  }
}
