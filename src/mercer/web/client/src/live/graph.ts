// Isomap's graph of neighbours: drawn, with edges that look like shortcuts, which can be cut; and numbers of neighbours compared.

import { h } from "../dom";
import { formatCount, formatShort } from "../format";
import type { Panel } from "../panel";
import type { Pen } from "../pen";
import type { Store } from "../store";
import { shorten } from "../text";
import type { Ask } from "./live";
import type { Header, Settings } from "./message";

const NEAR = 6; // pixels from an edge within which a press means it
const LISTED = 8; // suspected edges in the list
const FEW = 3_000; // edges; of more, each is fainter, so that the points are seen
const MANY = 15_000; // edges that are too many to draw while the points move

type Edge = [number, number];

export class Graph {
  readonly element: HTMLDetailsElement;
  private readonly wanted = h("input", { type: "checkbox", id: "graph-edges" });
  private readonly list = h("div", { "aria-live": "polite" });
  private readonly compare = h("button", { type: "button", class: "button", id: "graph-compare", onclick: () => this.diagnose() }, "Compare numbers of neighbours");
  private readonly chart = h("div", { "aria-live": "polite" });
  private edges: Float32Array = new Float32Array(0);
  private suspected: [number, number, number, number | null, number][] = [];
  private cut: Edge[] = [];
  private current: Settings = {};
  private asked = 0;
  private diagnosed = 0;

  constructor(private readonly store: Store, private readonly ask: Ask, private readonly set: (change: Settings) => void) {
    this.wanted.checked = true;
    this.wanted.addEventListener("change", () => store.emit("marks"));
    this.element = h("details", { class: "take", id: "graph", hidden: true }, h("summary", {}, "The graph of neighbours"),
      h("label", { class: "check" }, this.wanted, h("span", {}, "Draw its edges")), this.list, h("div", { class: "descent" }, this.compare), this.chart);
    this.element.addEventListener("toggle", () => this.go());
    store.drawings.push((pen, panel) => this.draw(pen, panel));
  }

  /** Another map is shown. */
  follow(settings: Settings): void {
    const other = settings["method"] !== "isomap";
    this.element.hidden = other;
    this.current = settings;
    if (other) this.forget();
    this.store.emit("marks");
    this.mark();
  }

  private forget(): void {
    this.edges = new Float32Array(0);
    this.suspected = [];
    this.cut = [];
    this.list.replaceChildren();
  }

  /** Asks for the graph, if it is looked at. */
  go(): void {
    this.store.emit("marks");
    if (!this.element.open || this.element.hidden) return;
    this.asked = this.ask("graph", {});
    if (!this.list.childElementCount) this.list.replaceChildren(h("p", { class: "hint" }, "looking for shortcuts …"));
  }

  private diagnose(): void {
    this.diagnosed = this.ask("diagnosis", {});
    this.chart.replaceChildren(h("p", { class: "hint" }, "comparing …"));
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.what === "diagnosis") return this.showDiagnosis(header);
    if (header.id !== this.asked) return;
    if (header["trouble"]) {
      this.forget();
      this.list.replaceChildren(h("p", { class: "hint" }, String(header["trouble"])));
    } else {
      this.edges = floats["edges"]!;
      this.suspected = header["suspected"] as typeof this.suspected;
      this.cut = header["cut"] as Edge[];
      this.tell(header["count"] as number);
    }
    this.store.emit("marks");
  }

  private tell(count: number): void {
    const name = (row: number): string => shorten(this.store.idOf(row), 14);
    const button = (text: string, about: string, press: () => void): HTMLElement => h("button", { type: "button", class: "link", "aria-label": about, onclick: press }, text);
    const found = this.suspected.slice(0, LISTED).map(([i, j, , detour, share]) =>
      h("tr", {}, h("th", { scope: "row" }, `${name(i)} – ${name(j)}`), h("td", {}, detour === null ? "no other way" : `${formatShort(detour, 2)} ×`), h("td", {}, `${formatShort(100 * share, 2)} %`), h("td", {}, button("Cut", `Cut the edge between ${name(i)} and ${name(j)}`, () => this.change([...this.cut, [i, j]])))));
    const gone = this.cut.map(([i, j]) => h("tr", {}, h("th", { scope: "row" }, `${name(i)} – ${name(j)}`), h("td", {}, "cut"), h("td"), h("td", {}, button("Put back", `Put back the edge between ${name(i)} and ${name(j)}`, () => this.change(this.cut.filter((edge) => edge[0] !== i || edge[1] !== j))))));
    const drawn = count && !this.edges.length ? " They are too many to draw." : "";
    const text = this.suspected.length ? `${formatCount(this.suspected.length)} of ${formatCount(count)} edges look like shortcuts: their ends are far apart along the rest of the data.${drawn} Click one on the map, or cut it here.` : `None of ${formatCount(count)} edges looks like a shortcut.${drawn}`;
    const head = h("tr", {}, h("td"), h("th", { scope: "col", title: "The way along the other edges, over the length of the edge" }, "way round"), h("th", { scope: "col", title: "Share of all distance that runs over the edge" }, "carries"), h("td"));
    const table = found.length + gone.length ? [h("div", { class: "across", tabindex: "0", role: "region", "aria-label": "Suspected shortcuts" }, h("table", { class: "separating" }, h("thead", {}, head), h("tbody", {}, ...found, ...gone)))] : [];
    const all = this.suspected.length > 1 ? [h("div", { class: "descent" }, h("button", { type: "button", class: "button", id: "cut-all", onclick: () => this.change([...this.cut, ...this.suspected.map(([i, j]): Edge => [i, j])]) }, `Cut all ${formatCount(this.suspected.length)}`))] : [];
    this.list.replaceChildren(h("p", { class: "hint" }, text), ...table, ...all);
  }

  private change(cut: Edge[]): void {
    this.set({ cut: cut.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((edge) => edge.join("-")).join(" ") });
  }

  private showDiagnosis(header: Header): void {
    if (header.id !== this.diagnosed) return;
    if (header["trouble"]) {
      this.chart.replaceChildren(h("p", { class: "trouble" }, String(header["trouble"])));
      return;
    }
    const graphs = header["graphs"] as [number, number, number, number, number][], recommended = header["recommended"] as number;
    const most = Math.max(...graphs.map(([, , left]) => left), 1e-300);
    const bars = graphs.map(([k, parts, left, cuts, share]) => {
      const sound = parts === 1 && cuts === 0;
      const text = `${k} neighbours: ${parts === 1 ? "one part" : `${formatCount(parts)} parts`}, ${formatCount(cuts)} shortcuts${cuts ? ` with ${formatShort(100 * share, 2)} % of all distance` : ""}, ${formatShort(100 * left, 3)} % of the variance of distances unexplained${k === recommended ? "; recommended" : ""}`;
      const body = h("span", { class: sound ? "bar-body" : "bar-body unsound" });
      body.style.height = `${(100 * left) / most}%`;
      const button = h("button", { type: "button", class: "bar-button", "data-neighbors": String(k), title: `${text}. Click to take it.`, "aria-label": text, onclick: () => this.set({ method: "isomap", n_neighbors: k }) },
        h("span", { class: "bar-room" }, body, sound ? null : h("span", { class: "bar-flag", "aria-hidden": "true" }, parts > 1 ? "∥" : "✂")), h("span", { class: "bar-name" }, `${k}${k === recommended ? "★" : ""}`));
      return button;
    });
    this.chart.replaceChildren(h("div", { class: "spectrum", role: "group", "aria-label": "Unexplained variance by number of neighbours" }, ...bars),
      h("p", { class: "hint" }, `Bars: unexplained variance of distances. ✂ shortcuts, ∥ several parts, ★ recommended. ${header["reason"]}`));
    this.mark();
  }

  /** The number of neighbours that is set stands out in the chart. */
  private mark(): void {
    this.chart.querySelectorAll<HTMLElement>("[data-neighbors]").forEach((bar) => {
      const own = this.current["method"] === "isomap" && Number(bar.dataset.neighbors) === this.current["n_neighbors"];
      bar.classList.toggle("axis-bar", own);
      bar.setAttribute("aria-pressed", String(own));
    });
  }

  private get drawing(): boolean {
    return this.wanted.checked && this.element.open && !this.element.hidden;
  }

  private draw(pen: Pen, panel: Panel): void {
    if (!this.drawing || panel.map !== this.store.maps[0] || panel.snapshot >= 0) return;
    const { edges, store } = this;
    const count = edges.length / 2;
    if (count && !(panel.moving && count > MANY)) this.lines(pen, panel, count, (k) => [edges[k]!, edges[count + k]!], store.ground.faint, 0.75, 0.35 * Math.min(1, Math.sqrt(FEW / count)));
    this.lines(pen, panel, this.suspected.length, (k) => [this.suspected[k]![0], this.suspected[k]![1]], store.ground.bad, 2.5, 1);
    pen.setLineDash([4, 4]);
    this.lines(pen, panel, this.cut.length, (k) => this.cut[k]!, store.ground.bad, 1.25, 0.8);
    pen.setLineDash([]);
  }

  private lines(pen: Pen, panel: Panel, count: number, edge: (k: number) => Edge, colour: string, width: number, alpha: number): void {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.globalAlpha = alpha;
    pen.beginPath();
    for (let k = 0; k < count; k++) {
      const [i, j] = edge(k);
      pen.moveTo(...panel.screen(i));
      pen.lineTo(...panel.screen(j));
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** Cuts the suspected edge, or puts back the cut one, that a press on the map is nearest to; false if there is none. */
  press(panel: Panel, px: number, py: number): boolean {
    if (!this.drawing || panel.map !== this.store.maps[0]) return false;
    const away = ([i, j]: Edge): number => toSegment(px, py, panel.screen(i), panel.screen(j));
    const near = (edges: Edge[]): Edge | undefined => edges.filter((edge) => away(edge) < NEAR).sort((a, b) => away(a) - away(b))[0];
    const suspected = near(this.suspected.map(([i, j]): Edge => [i, j])), gone = near(this.cut);
    if (suspected) this.change([...this.cut, suspected]);
    else if (gone) this.change(this.cut.filter((edge) => edge !== gone));
    return Boolean(suspected ?? gone);
  }
}

/** How far a place is from a segment. */
export function toSegment(px: number, py: number, [x0, y0]: [number, number], [x1, y1]: [number, number]): number {
  const [dx, dy] = [x1 - x0, y1 - y0], length = dx * dx + dy * dy;
  const share = length > 0 ? Math.min(1, Math.max(0, ((px - x0) * dx + (py - y0) * dy) / length)) : 0;
  return Math.hypot(px - x0 - share * dx, py - y0 - share * dy);
}
