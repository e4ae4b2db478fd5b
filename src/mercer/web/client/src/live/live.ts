// The live page: what a person sets goes to the server, and the maps that come back move the points.

import { Axis } from "../columns";
import { h, iconButton } from "../dom";
import { save } from "../drawer";
import { fileName } from "../drawer";
import type { Panel } from "../panel";
import type { Store } from "../store";
import { DivergenceChart, SpectrumChart } from "./charts";
import { Connection } from "./connection";
import { ControlPanel, type MethodAbout, completed } from "./controls";
import { Graph } from "./graph";
import { Groups } from "./groups";
import { History } from "./history";
import { LevelSets } from "./levels";
import { type Message, type Settings, packedRows } from "./message";
import { Path } from "./path";
import { UnderPointer } from "./pointer";
import { Quality } from "./quality";

export interface LiveAbout {
  methods: MethodAbout[]; first: Settings; notes: string[]; features: string[]; image: [number, number] | null; range: [number, number] | null;
}
/** Asks the server about the map that is shown; the number of the question. */
export type Ask = (what: string, more: Record<string, unknown>) => number;
export interface LiveHost {
  panels(): Panel[]; setPanels(count: number): void; announce(text: string): void; notify(text: string | null): void;
}

const GLIDE = 260; // milliseconds that points take to a new place
const BETWEEN_SETTINGS = 33, BETWEEN_QUESTIONS = 250; // milliseconds, at least: the server takes 200 messages per second in the long run
const DESCENTS = ["tsne", "sne"];

export class Live {
  readonly element: HTMLElement;
  readonly settings: () => Settings;
  private readonly controls: ControlPanel;
  private readonly history: History;
  private readonly connection: Connection;
  private readonly stageText = h("strong", { class: "stage-name" });
  private readonly facts = h("dl", { class: "facts-list" });
  private readonly trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  private readonly spectrum = new SpectrumChart((component, vertical) => this.chooseAxis(component, vertical));
  private readonly divergence = new DivergenceChart();
  private readonly undoButton = iconButton("undo", "Undo (Ctrl+Z)", () => this.travel("undo"), { id: "undo" });
  private readonly redoButton = iconButton("redo", "Redo (Ctrl+Shift+Z)", () => this.travel("redo"), { id: "redo" });
  private readonly descent = h("div", { class: "descent", role: "group", "aria-label": "Descent", hidden: true });
  private readonly stopButton = h("button", { type: "button", class: "button", id: "stop", onclick: () => this.stopOrGo() }, "Stop");
  private readonly exaggerateButton = h("button", { type: "button", class: "button", id: "exaggerate", title: "500 steps more, in which rows attract each other four times as much", onclick: () => this.go(4) }, "Exaggerate");
  private readonly holdButton = h("button", { type: "button", class: "button", id: "hold", title: "Selected rows stay where they are while the others move", onclick: () => this.hold() }, "Hold selected");
  private readonly saved = h("div", { class: "saved" });
  private readonly pointer: UnderPointer;
  private readonly levels: LevelSets;
  private readonly graph: Graph;
  private readonly path: Path;
  private readonly quality: Quality;
  private readonly answers: Record<string, { show(header: Message["header"], floats: Message["floats"]): void }>;
  private readonly kept = h("div", { class: "kept", hidden: true });
  private held: Uint32Array | null = null;
  private number = 0; // of the settings that were sent last
  private waiting: Settings | null = null; // to be sent soon
  private sending = 0;
  private sentAt = -BETWEEN_SETTINGS;
  private following = 0;
  private lastMap = { number: -1, stage: "", axes: "", at: 0, count: 0 };
  private question = 0;
  private shown: Settings; // of the map that is drawn
  private rest = ""; // what is said of the map that is drawn
  private lost = false;
  onChange: () => void = () => {};

  constructor(private readonly store: Store, private readonly about: LiveAbout, private readonly host: LiveHost, given: Settings | null) {
    const method = about.methods.find((each) => each.name === given?.["method"]);
    const first = method ? completed(method, given!) : about.first;
    this.history = new History(first);
    this.shown = first;
    this.settings = () => this.history.current;
    this.controls = new ControlPanel(about.methods, first, (settings, arrived) => this.changed(settings, arrived));
    const keep = h("button", { type: "button", class: "link", id: "keep", title: "Keep this map as a second one, to compare the next with", onclick: () => this.keepBeside() }, "Keep beside");
    const ask = (what: string, more: Record<string, unknown>): number => this.ask(what, more);
    const groups = new Groups(store, about, ask);
    this.pointer = new UnderPointer(store, about, () => host.panels(), ask);
    this.path = new Path(store, about, ask);
    this.levels = new LevelSets(store, about, ask);
    this.graph = new Graph(store, ask, (change) => this.controls.set(change));
    this.quality = new Quality(store, () => host.panels(), ask);
    this.answers = { cursor: this.pointer, groups, path: this.path, levels: this.levels, graph: this.graph, diagnosis: this.graph, quality: this.quality, near: this.quality };
    this.descent.append(this.stopButton, this.exaggerateButton, this.holdButton);
    this.element = h("section", { class: "block live", "aria-label": "Settings" },
      h("h2", {}, "Settings", h("span", { class: "history" }, keep, this.undoButton, this.redoButton)),
      this.controls.element, this.descent, this.trouble,
      h("div", { class: "answer", "aria-live": "off" }, h("p", {}, this.stageText), this.divergence.element, this.spectrum.element, this.facts),
      this.kept, this.pointer.element, this.path.element, this.levels.element, this.graph.element, this.quality.element, groups.element, this.saving());
    store.on("selection", () => this.showDescent());
    document.addEventListener("keydown", (event) => this.key(event));
    this.showHistory();
    this.tell("connecting …", true);
    if (about.notes.length) host.notify(about.notes.join(" "));
    this.connection = new Connection(() => this.opened(), (message) => this.receive(message), (why) => this.gone(why));
  }

  // --- to the server ---

  private opened(): void {
    if (this.lost) this.host.notify(null);
    this.lost = false;
    this.pointer.reset();
    this.element.classList.remove("lost");
    this.send(this.history.current);
  }

  private gone(why: string): void {
    this.lost = true;
    this.element.classList.add("lost");
    this.tell("not connected", true);
    this.host.notify(why);
  }

  private changed(settings: Settings, arrived: boolean): void {
    if (arrived) this.arrive(settings);
    this.waiting = settings;
    if (!this.sending) {
      this.sending = window.setTimeout(() => {
        this.sending = 0;
        if (this.waiting) this.send(this.waiting);
      }, Math.max(0, BETWEEN_SETTINGS - (performance.now() - this.sentAt)));
    }
  }

  private arrive(settings: Settings): void {
    this.history.add(settings);
    this.showHistory();
    this.onChange();
  }

  private send(settings: Settings): void {
    this.waiting = null;
    this.sentAt = performance.now();
    this.held = null;
    this.connection.send({ type: "settings", number: ++this.number, settings });
    this.showDescent();
  }

  private travel(way: "undo" | "redo"): void {
    const settings = way === "undo" ? this.history.undo() : this.history.redo();
    this.controls.show(settings);
    this.showHistory();
    this.onChange();
    this.send(settings);
  }

  /** Settings from the address. */
  goTo(settings: Settings): void {
    const method = this.about.methods.find((each) => each.name === settings["method"]);
    if (!method) return;
    const wanted = completed(method, settings);
    this.controls.show(wanted);
    this.arrive(wanted);
    this.send(wanted);
  }

  private stopOrGo(): void {
    if (this.running) this.connection.send({ type: "stop" });
    else this.go(null);
  }

  private go(exaggeration: number | null): void {
    const held = this.held ? { held: packedRows(this.held, this.store.rows) } : {};
    this.connection.send({ type: "go", number: ++this.number, ...held, ...(exaggeration ? { exaggeration } : {}) });
  }

  private hold(): void {
    this.held = this.held ? null : this.store.selected;
    this.go(null);
    this.showDescent();
    this.host.announce(this.held ? `${this.held.length} rows are held` : "No row is held");
  }

  /** Panels let points be pulled while a descent is shown. */
  wire(panel: Panel): void {
    panel.onPress = (px, py) => this.graph.press(panel, px, py);
    panel.onGrab = () => this.connection.send({ type: "stop" }); // what is pulled must not move meanwhile
    panel.onDrop = (rows, by) => {
      this.held = Uint32Array.from(new Set([...(this.held ?? []), ...Array.from(rows)])).sort();
      this.connection.send({ type: "go", number: ++this.number, held: packedRows(this.held, this.store.rows), moved: packedRows(rows, this.store.rows), by });
      this.showDescent();
    };
  }

  /** Whether points can be pulled about. */
  get pulls(): boolean {
    return DESCENTS.includes(String(this.shown["method"]));
  }

  private get running(): boolean {
    return this.lastMap.stage === "steps" || this.lastMap.number < this.number;
  }

  // --- from the server ---

  private receive(message: Message): void {
    const { header, floats } = message;
    if (header.type === "map") this.showMap(header, floats);
    else if (header.type === "trouble") this.showTrouble(header.message ?? "", header.number ?? 0);
    else if (header.type === "working") this.showWork(header);
    else if (header.type === "answer") this.showAnswer(message);
  }

  private showMap(header: Message["header"], floats: Message["floats"]): void {
    this.connection.send({ type: "taken", map: header.map });
    const { store } = this;
    const names = header.axes!, coordinates = floats["coordinates"]!, n = store.rows;
    const axes = names.map((name, k) => new Axis(name, coordinates.subarray(k * n, (k + 1) * n), 0, 1));
    const title = this.about.methods.find((method) => method.name === header.settings!["method"])!.title;
    const newRows = this.shown["added"] !== header.settings!["added"];
    this.shown = header.settings!;
    const added = this.about.methods[0]!.controls.find((control) => control.name === "added");
    store.setAbsent(added && this.shown["added"] === added.first ? n - added.high : null);
    const now = performance.now(), since = now - this.lastMap.at;
    const renamed = names.join() !== this.lastMap.axes, other = header.number !== this.lastMap.number;
    store.replaceMap(0, title, axes, { settings: header.settings, ...Object.fromEntries(header.facts ?? []) });
    const glide = header.stage === "steps" ? Math.min(GLIDE, since) : since < GLIDE ? 90 : GLIDE;
    for (const panel of this.host.panels()) if (panel.map === store.maps[0]) panel.follow(store.rows > 100_000 && since < 200 ? 0 : glide, renamed, header.stage !== "steps");
    const shown = this.host.panels().find((panel) => panel.map === store.maps[0]);
    if (header.stage !== "steps") store.hover(-1, shown); // its card would stay where the point was
    else if (store.hovered >= 0 && this.host.panels().length === 1) store.emit("hover", shown);
    this.lastMap = { number: header.number!, stage: header.stage!, axes: names.join(), at: now, count: this.lastMap.count + 1 };
    if (header.number === this.number) this.trouble.hidden = true;
    const drawn = shown?.axes ?? [0, 1];
    this.spectrum.show(floats["spectrum"] ?? null, floats["errors"] ?? null, drawn);
    if (header.step !== null && header.step !== undefined) this.divergence.add(header.step, header.divergence!);
    else this.divergence.clear();
    const settled = header.stage === "settled";
    this.rest = settled ? String(header["rest"] ?? "") : header.stage === "steps" ? "descending …" : "a first look; the exact map follows …";
    this.tell(this.rest, !settled);
    this.facts.replaceChildren(...(header.facts ?? []).flatMap(([name, text]) => [h("dt", {}, name), h("dd", { dir: "auto" }, text)]));
    if (settled) this.host.announce(`${title}: ${(header.facts ?? []).map((fact) => fact.join(" ")).join(", ")}`);
    this.showDescent();
    this.quality.follow(title, newRows);
    if (other) this.pointer.hide();
    this.levels.follow(names, String(this.shown["method"]));
    this.graph.follow(this.shown);
    if (!settled) return;
    if (!this.following) this.following = window.setTimeout(() => this.followUp(), BETWEEN_QUESTIONS);
  }

  /** What is shown beside the map is asked for anew. */
  private followUp(): void {
    this.following = 0;
    if (this.lastMap.stage !== "settled") return; // another map comes, and they with it
    for (const part of [this.pointer, this.path, this.levels, this.graph, this.quality]) part.go();
  }

  private showWork(header: Message["header"]): void {
    if (this.lastMap.stage === "steps" && this.lastMap.number === this.number) return;
    const share = header.total ? ` ${Math.round((100 * header.done!) / header.total)} %` : "";
    this.tell(`${header.phase || "computing"}${share} …`, true);
  }

  private showTrouble(text: string, number: number): void {
    if (number < this.number && number < this.lastMap.number) return;
    this.lastMap.number = Math.max(this.lastMap.number, number);
    this.lastMap.stage = "settled";
    this.trouble.textContent = `${text} The map is still that of the settings before.`;
    this.trouble.hidden = false;
    this.tell("these settings have no map", false);
    this.showDescent();
  }

  private showAnswer({ header, bytes, floats }: Message): void {
    if (this.lastMap.number === this.number && this.trouble.hidden) this.tell(this.rest, this.lastMap.stage !== "settled");
    const part = this.answers[header.what!];
    if (part) part.show(header, floats);
    else if (header["trouble"]) {
      this.saved.replaceChildren(h("p", { class: "trouble" }, String(header["trouble"])));
    } else if (header.what === "text") {
      const code = (name: string, text: string): HTMLElement => {
        const copy = h("button", { type: "button", class: "link", onclick: () => void navigator.clipboard?.writeText(text).then(() => this.host.announce("Copied")) }, "Copy");
        return h("div", { class: "code" }, h("h3", {}, name, copy), h("pre", { tabindex: "0" }, text));
      };
      const command = header["command"] ? [code("Command", String(header["command"]))] : [], note = header["note"] ? [h("p", { class: "hint" }, String(header["note"]))] : [];
      this.saved.replaceChildren(code("Python", String(header["python"])), ...command, ...note);
    } else if (header.what === "model" || header.what === "page") {
      const name = `${fileName(this.store.title)}.${header.what === "model" ? "mercer" : "html"}`;
      save(new Blob([bytes["file"]!], { type: header.what === "model" ? "application/octet-stream" : "text/html" }), name);
      this.saved.replaceChildren(h("p", { class: "hint" }, `${name} has been saved.`));
    }
  }

  // --- what is shown ---

  private tell(text: string, busy: boolean): void {
    this.stageText.textContent = text;
    this.element.classList.toggle("busy", busy);
  }

  private showHistory(): void {
    this.undoButton.disabled = !this.history.canUndo;
    this.redoButton.disabled = !this.history.canRedo;
  }

  private showDescent(): void {
    document.documentElement.dataset.descent = String(this.pulls);
    if (!this.pulls) for (const panel of this.host.panels()) if (panel.tool === "drag") panel.setTool("pan");
    this.descent.hidden = !DESCENTS.includes(String(this.history.current["method"]));
    this.stopButton.textContent = this.running ? "Stop" : "Go on";
    this.holdButton.textContent = this.held ? `Release ${this.held.length.toLocaleString("en")}` : "Hold selected";
    this.holdButton.disabled = !this.held && !this.store.selected;
  }

  private chooseAxis(component: number, vertical: boolean): void {
    const panel = this.host.panels().find((each) => each.map === this.store.maps[0]);
    if (!panel || component >= panel.map.axes.length) return;
    const axes: [number, number] = [...panel.axes];
    const which = vertical ? 1 : 0;
    if (axes[1 - which] === component) axes[1 - which] = axes[which]!; // the two change places
    axes[which] = component;
    panel.setAxes(axes);
    panel.onMap();
    this.host.announce(`${panel.map.axes[component]!.name} is the ${vertical ? "vertical" : "horizontal"} axis`);
    this.onChange();
  }

  /** The map as it is now becomes a second one, which stays. */
  private keepBeside(): void {
    const { store } = this;
    const [map] = store.maps;
    const told = Object.entries(this.shown).filter(([name]) => name !== "method").map(([name, value]) => `${name} ${value}`).join(", ");
    store.keepMap({ ...map!, name: `${map!.name}: ${told}` });
    this.host.setPanels(2);
    const [live, kept] = this.host.panels();
    if (live!.map !== map) live!.setMap(map!);
    kept!.setMap(store.maps.at(-1)!);
    live!.onMap();
    kept!.onMap();
    this.showKept(this.shown, told);
    this.host.announce("The map is kept beside the live one");
  }

  /** What is known of the map that was kept, and a way back to its settings. */
  private showKept(settings: Settings, told: string): void {
    const facts = this.facts.cloneNode(true);
    const back = h("button", { type: "button", class: "link", id: "back-to-kept", onclick: () => this.goTo(settings) }, "Back to its settings");
    this.kept.hidden = false;
    this.kept.replaceChildren(h("h3", {}, `Kept beside: ${told}`, back), facts);
  }

  private ask(what: string, more: Record<string, unknown> = {}): number {
    this.connection.send({ type: "ask", what, id: ++this.question, ...more });
    return this.question;
  }

  private saving(): HTMLElement {
    const button = (what: string, text: string): HTMLElement => h("button", { type: "button", class: "button", id: `save-${what}`, onclick: () => void this.ask(what) }, text);
    return h("details", { class: "take" }, h("summary", {}, "Take it with you"),
      h("div", { class: "descent" }, button("text", "As code"), button("model", "Model"), button("page", "Page")), this.saved);
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "range";
    if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    this.travel(event.shiftKey ? "redo" : "undo");
  }

  /** For tests and the curious. */
  get state() {
    return {
      settings: () => this.history.current, number: () => this.number + Number(this.waiting !== null), map: () => ({ ...this.lastMap }), connected: () => this.connection.isOpen,
      facts: () => Object.fromEntries([...this.facts.querySelectorAll("dt")].map((dt) => [dt.textContent, dt.nextElementSibling!.textContent])),
      values: (axis: number) => Array.from({ length: this.store.rows }, (_, row) => this.store.maps[0]!.axes[axis]!.value(row)),
    };
  }
}
