// The page: reads its data, builds its parts, chooses what draws, and is never blank.

import { read } from "./address";
import { CanvasRenderer } from "./canvas";
import { Cards } from "./card";
import { chooser } from "./chooser";
import { DARK, LIGHT } from "./colours";
import { h, icon, iconButton } from "./dom";
import { Drawer, fileName, save } from "./drawer";
import { quality, runs } from "./facts";
import { formatCount, rowsOf } from "./format";
import type { Tool } from "./gestures";
import { Filters } from "./filters";
import { helpDialog } from "./help";
import { Legend } from "./legend";
import { Live, type LiveAbout } from "./live/live";
import { Memory } from "./memory";
import { NotebookShell } from "./notebook";
import { overlays } from "./overlays";
import { Panel } from "./panel";
import { type Shell, WindowShell } from "./shell";
import { shorten } from "./text";
import { png, vectorPicture } from "./picture";
import { Store, autoOpacity, autoSize, rowsIn } from "./store";
import { toolbar } from "./toolbar";
import { WebGLRenderer } from "./webgl";

const root = document.getElementById("page")!;

class Page {
  private readonly spoken = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  private readonly notice = h("p", { class: "notice", role: "status", hidden: true });
  private readonly stage = h("div", { class: "stage" });
  private readonly maps = h("div", { class: "maps" });
  private readonly help: HTMLDialogElement;
  private shown: Panel[] = []; // those on the page
  theme: "light" | "dark" | null = null;
  private readonly made: Panel[] = [];
  readonly live: Live | null;
  private webgl = false;

  constructor(private readonly store: Store, live: LiveAbout | null, private readonly shell: Shell) {
    this.help = helpDialog(live !== null);
    const seen = matchMedia("(prefers-color-scheme: dark)");
    this.setDark(shell.dark ?? seen.matches, false);
    seen.addEventListener("change", () => {
      if (!this.theme && shell.dark === null) this.setDark(seen.matches, false);
    });
    const drawer = new Drawer(store, this.panels, this.announce);
    this.stage.append(this.maps);
    const work = h("main", { class: "work" }, this.stage, drawer.element);
    document.title = shorten(store.title, 200) || "Map";
    const host = { panels: this.panels, setPanels: (count: number) => this.setPanels(count), announce: this.announce, notify: (text: string | null) => this.notify(text) };
    this.live = live && new Live(store, live, host, read(shell.chosen).live ?? null);
    const sidebar = this.sidebar();
    new Cards(store, this.stage, sidebar, this.panels);
    root.replaceChildren(this.header(), this.notice, h("div", { class: "columns" }, work, sidebar), this.spoken, this.help);
    this.setPanels(Math.min(2, store.maps.length));
    document.addEventListener("keydown", (event) => this.key(event));
    new Memory(store, this, shell);
    shell.join(store, (dark) => {
      if (!this.theme) this.setDark(dark, false);
    });
  }

  private readonly announce = (text: string): void => {
    this.spoken.textContent = text;
  };

  private header(): HTMLElement {
    const { store } = this;
    const count = h("output", { class: "found", for: "search" });
    const input = h("input", { type: "search", id: "search", placeholder: "Search ids and text", autocomplete: "off", "aria-label": "Search ids and text; Enter zooms to what is found" });
    let timer = 0;
    input.addEventListener("input", () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => store.search(input.value), store.rows > 100_000 ? 350 : 120);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        window.clearTimeout(timer);
        if (store.matches?.query !== input.value.trim().toLowerCase()) store.search(input.value);
        if (store.matches?.count) {
          const rows = rowsIn(store.matches.mask);
          this.shown.forEach((panel) => panel.zoomTo(rows));
        }
      } else if (event.key === "Escape") {
        input.value = "";
        store.search("");
      } else return;
      event.stopPropagation();
    });
    store.on("search", () => {
      const { matches } = store;
      if (matches && input.value.trim().toLowerCase() !== matches.query) input.value = matches.query;
      count.textContent = matches ? found(matches) : "";
      count.title = matches?.hidden ? `${rowsOf(matches.hidden)} found, but hidden by a filter` : "";
      input.classList.toggle("telling", matches !== null && matches.hidden > 0);
      input.classList.toggle("empty", matches !== null && matches.count === 0);
      if (matches) this.announce(`${rowsOf(matches.count)} found${matches.hidden ? `, ${formatCount(matches.hidden)} of them hidden by a filter` : ""}`);
    });
    store.on("states", () => (count.textContent = store.matches ? found(store.matches) : ""));
    const theme = iconButton(store.ground.dark ? "sun" : "moon", "Dark or light", () => this.setDark(document.documentElement.dataset.theme !== "dark"), { id: "theme" });
    const views = store.maps.length > 1 || this.live ? [this.viewSwitch()] : [];
    const facts = h("p", { class: "facts" });
    const tell = (): void => {
      const rows = store.shown < store.rows ? `${formatCount(store.shown)} of ${rowsOf(store.rows)} shown` : rowsOf(store.rows);
      facts.textContent = [rows, ...(store.maps.length > 1 ? [`${store.maps.length} maps`] : [])].join(" · ");
    };
    store.on("states", tell);
    tell();
    return h("header", { class: "top" },
      h("div", { class: "titles" }, h("h1", { dir: "auto", title: shorten(store.title, 300) }, shorten(store.title, 140) || "Map"), facts),
      h("div", { class: "search", role: "search" }, icon("search"), input, count),
      h("div", { class: "tools" }, ...views,
        this.tableSwitch(), iconButton("picture", "Save as PNG", () => void this.savePicture("png")),
        iconButton("vector", "Save as SVG", () => void this.savePicture("svg")), theme,
        iconButton("help", "Help and shortcuts (?)", () => this.help.showModal())),
    );
  }

  private tableSwitch(): HTMLElement {
    const { store } = this;
    const button = iconButton("table", "Table of all rows (T)", () => this.openTable(!store.table));
    const show = (): void => button.setAttribute("aria-pressed", String(store.table));
    store.on("table", show);
    store.on("selection", show);
    show();
    return button;
  }

  private openTable(open: boolean): void {
    this.store.table = open;
    this.store.emit("table");
  }

  private viewSwitch(): HTMLElement {
    const button = (name: string, label: string, count: number): HTMLButtonElement =>
      iconButton(name, label, () => this.setPanels(count), { "data-panels": String(count) });
    return h("div", { class: "segmented", role: "group", "aria-label": "Maps shown" }, button("one", "One map", 1), button("two", "Two maps side by side", 2));
  }

  private sidebar(): HTMLElement {
    const { store } = this;
    const chosen = h("div", {});
    let show = (): void => {};
    const build = (): void => {
      const { colourable } = store;
      const { element, select } = chooser(colourable, colourable.map((_, k) => String(k)), ["-1", "one colour"], false, { id: "colour", label: "Colour by" });
      show = () => void (select.value = String(colourable.indexOf(store.colouring.column!)));
      select.addEventListener("change", () => {
        store.colourBy(colourable[Number(select.value)] ?? null);
        this.announce(`Coloured by ${store.colouring.column?.title ?? "nothing"}`);
      });
      chosen.replaceChildren(element);
      show();
    };
    build();
    store.on("colour", () => show());
    store.on("scores", build);
    const legend = new Legend(store, this.announce);
    const colour = h("section", { class: "block", hidden: !store.colourable.length && !this.live }, h("h2", {}, h("label", { for: "colour" }, "Colour")), chosen, legend.element);
    const filters = new Filters(store, this.announce);
    return h("aside", { class: "sidebar", "aria-label": "Colours, quality and settings" }, this.live?.element ?? null, colour, filters.element, quality(store.maps), overlays(store), this.points(), runs(store.maps), this.footnote());
  }

  private points(): HTMLElement {
    const { store } = this;
    const slider = (label: string, least: number, most: number, value: () => number, set: (value: number) => void): HTMLElement => {
      const input = h("input", { type: "range", min: "0", max: "100", step: "1", "aria-label": label });
      const show = (): void => {
        input.value = String(Math.round((100 * Math.log(value() / least)) / Math.log(most / least)));
      };
      input.addEventListener("input", () => {
        set(least * (most / least) ** (Number(input.value) / 100));
        store.emit("style");
      });
      store.on("style", show);
      show();
      return h("label", { class: "slider" }, h("span", {}, label), input);
    };
    const back = (): void => {
      store.size = autoSize(store.rows);
      store.opacity = autoOpacity(store.rows);
      store.emit("style");
    };
    return h("section", { class: "block" },
      h("h2", {}, "Points", h("button", { type: "button", class: "link", onclick: back }, "Automatic")),
      slider("Size", 0.8, 24, () => store.size, (value) => (store.size = value)),
      slider("Opacity", 0.03, 1, () => store.opacity, (value) => (store.opacity = value)));
  }

  private footnote(): HTMLElement {
    const rounded = this.store.maps.some((map) => map.axes.some((axis) => axis.error > 0));
    return h("footer", { class: "quiet" },
      rounded ? "Coordinates are kept to 1/65,535 of their range. " : "", this.live ? `Made with Mercer, which computes on ${this.shell.computes}.` : "Made with Mercer. This file is complete: it asks nothing of the network.");
  }

  setPanels(count: number): void {
    while (this.made.length < count) {
      const panel = new Panel(this.store, this.made.length, this.announce);
      panel.element.prepend(toolbar(panel, this.store, this.live !== null));
      this.live?.wire(panel);
      this.made.push(panel);
    }
    this.shown = this.made.slice(0, count);
    for (const panel of this.made.slice(count)) panel.setRenderer(null);
    this.maps.dataset.count = String(count);
    this.maps.replaceChildren(...this.shown.map((panel) => panel.element));
    document.querySelectorAll<HTMLElement>("[data-panels]").forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.panels) === count)));
    for (const panel of this.shown) {
      panel.resize();
      if (!panel.renderer && this.chosen) panel.setRenderer(this.newRenderer());
    }
  }

  // --- what draws ---

  private chosen = false;

  private newRenderer() {
    return this.webgl ? new WebGLRenderer(() => this.fallBack("WebGL was lost; the maps are drawn without it now.")) : new CanvasRenderer();
  }

  async begin(): Promise<void> {
    if (!this.shell.chosen.split("&").includes("canvas")) {
      try {
        new WebGLRenderer(() => {}).destroy();
        this.webgl = true;
      } catch {
        this.webgl = false; // no graphics card, a blocked one, or too old: Canvas 2D does it
      }
    }
    performance.mark("mercer-webgl");
    this.chosen = true;
    await new Promise(requestAnimationFrame); // a page that is not seen, in another tab or far down a notebook, draws once it is
    try {
      await this.drawAll();
    } catch (error) {
      if (!this.webgl) throw error;
      this.fallBack("WebGL failed here; the maps are drawn without it.");
      await this.drawAll();
    }
    document.documentElement.dataset.drawn = this.webgl ? "webgl" : "canvas";
    performance.mark("mercer-drawn");
  }

  private async drawAll(): Promise<void> {
    for (const panel of this.shown) {
      if (!panel.renderer) panel.setRenderer(this.newRenderer());
      panel.resize();
    }
    await Promise.all(this.shown.map((panel) => within(panel.renderer!.drawn(), 30_000)));
  }

  private fallBack(text: string): void {
    this.webgl = false;
    for (const panel of this.shown) panel.setRenderer(new CanvasRenderer());
    document.documentElement.dataset.drawn = "canvas";
    this.notice.textContent = text;
    this.notice.hidden = false;
    setTimeout(() => (this.notice.hidden = true), 8000);
  }

  // --- the rest ---

  readonly panels = (): Panel[] => this.shown;

  /** chosen: by a person, not by the system. */
  setDark(dark: boolean, chosen = true): void {
    if (chosen) this.theme = dark ? "dark" : "light";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.store.setGround(dark ? DARK : LIGHT);
    document.querySelector("#theme")?.replaceChildren(icon(dark ? "sun" : "moon"));
  }

  /** A line above the maps that stays until it is taken away. */
  private notify(text: string | null): void {
    this.notice.textContent = text;
    this.notice.hidden = text === null;
  }

  private async savePicture(kind: "png" | "svg"): Promise<void> {
    try {
      save(await (kind === "png" ? png : vectorPicture)(this.store, this.shown), `${fileName(this.store.title)}.${kind}`);
      this.announce("Picture saved");
    } catch (error) {
      this.notice.textContent = error instanceof Error ? error.message : String(error);
      this.notice.hidden = false;
    }
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape" && !this.help.open) {
      if (this.store.pinned >= 0) this.store.pin(-1);
      else if (this.store.selected) this.store.select(null);
      else if (this.store.table) this.openTable(false);
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")!.focus();
    } else if (event.key === "?") {
      this.help.showModal();
    } else if (event.key.toLowerCase() === "t") {
      this.openTable(!this.store.table);
    } else {
      const tool = ({ l: "lasso", b: "box", p: "pan", ...(this.live?.pulls ? { d: "drag" } : {}) } as Record<string, Tool | undefined>)[event.key.toLowerCase()];
      if (tool) this.shown.forEach((panel) => panel.setTool(tool));
    }
  }

  /** For tests and the curious. */
  get state() {
    const { store } = this;
    const panels = this.panels;
    return {
      selected: () => (store.selected ? Array.from(store.selected) : null),
      states: () => Array.from(store.states),
      shown: () => store.shown,
      found: () => store.matches?.count ?? null,
      hovered: () => store.hovered,
      pinned: () => store.pinned,
      panels: () => panels().map((panel) => ({ name: panel.map.name, view: panel.view, size: panel.size, kind: panel.renderer?.kind })),
      drawn: () => Promise.all(panels().map((panel) => panel.renderer?.drawn())).then(() => undefined),
      screen: (panel: number, row: number) => panels()[panel]!.screen(row),
      names: (panel: number) => panels()[panel]!.names(),
      live: this.live?.state ?? null,
    };
  }
}

/** How many rows a search found, in a few words. */
const found = (matches: { count: number; hidden: number }): string => {
  if (!matches.count) return "none";
  if (matches.hidden === matches.count) return `${formatCount(matches.count)}, hidden by a filter`;
  return matches.hidden ? `${formatCount(matches.count)}, ${formatCount(matches.hidden)} hidden` : formatCount(matches.count);
};

const within = (promise: Promise<void>, milliseconds: number): Promise<void> =>
  Promise.race([promise, new Promise<void>((_, reject) => setTimeout(() => reject(new Error("Drawing took too long.")), milliseconds))]);

function trouble(error: unknown): void {
  const what = error instanceof Error ? error.message : String(error);
  root.replaceChildren(h("div", { class: "waiting" }, h("h1", {}, "This page could not be shown"), h("p", {}, what),
    h("p", {}, "Try a current version of Firefox, Chrome, Edge or Safari. The data is in this file, unharmed.")));
}

async function open(): Promise<void> {
  const shell = await (document.getElementById("about") ? WindowShell.open() : NotebookShell.open());
  const { about, block } = shell;
  performance.mark("mercer-read");
  const page = new Page(new Store(about, block), about.live ?? null, shell);
  (window as unknown as { mercer: unknown }).mercer = page.state;
  performance.mark("mercer-built");
  await page.begin();
}

open().catch((error: unknown) => {
  console.error(error);
  trouble(error);
});
