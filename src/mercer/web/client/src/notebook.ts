// The page in the output of a notebook: a frame of its own, which speaks through a port with the widget's script, and
// through that with the kernel. Arrays pass as buffers, which are handed over and not copied.

import { type About, gunzip } from "./data";
import { type Carrier, type Line, type LineEnds, carryBy } from "./live/connection";
import type { Shell } from "./shell";
import type { Store } from "./store";

/** From the widget, with the port that everything else passes through. */
export interface Opening { mercer: "open"; about: string; block: ArrayBuffer; chosen: string; dark: boolean; selected: ArrayBuffer }
export type ToPage = { kind: "selected"; rows: ArrayBuffer } | { kind: "dark"; dark: boolean } | { kind: "line"; message: ArrayBuffer } | { kind: "here" } | { kind: "ended" };
export type FromPage = { kind: "selected"; rows: ArrayBuffer } | { kind: "chosen"; text: string } | { kind: "line"; text: string } | { kind: "hello" };

const PATIENCE = 8000; // milliseconds in which a kernel answers that is not at work on a cell

export class NotebookShell implements Shell {
  readonly computes = "the kernel of this notebook";
  readonly dark: boolean;
  readonly chosen: string;
  private store: Store | null = null;
  private setDark: (dark: boolean) => void = () => {};
  private heard: Uint32Array; // the selection that the kernel knows

  private constructor(readonly about: About, readonly block: Uint8Array<ArrayBuffer>, opening: Opening, private readonly port: MessagePort) {
    this.dark = opening.dark;
    this.chosen = opening.chosen;
    this.heard = new Uint32Array(opening.selected);
    const line = new KernelLine(port);
    carryBy(line);
    port.onmessage = ({ data }: MessageEvent<ToPage>) => {
      if (data.kind === "selected") this.select(new Uint32Array(data.rows));
      else if (data.kind === "dark") this.setDark(data.dark);
      else line.hear(data);
    };
  }

  /** Waits for the widget to hand over the description, the bytes and a port. */
  static async open(): Promise<NotebookShell> {
    const { data, ports } = await new Promise<MessageEvent<Opening>>((resolve) => {
      addEventListener("message", function listener(event: MessageEvent) {
        if (event.source !== window.parent || (event.data as Opening | null)?.mercer !== "open" || !event.ports.length) return;
        removeEventListener("message", listener);
        resolve(event);
      });
    });
    const about = JSON.parse(data.about) as About;
    const block = await gunzip(new Uint8Array(data.block));
    if (block.length !== about.bytes) throw new Error("The data of this widget is incomplete. Run its cell again.");
    return new NotebookShell(about, block, data, ports[0]!);
  }

  keep(chosen: string): void {
    const kept = new URLSearchParams(chosen);
    kept.delete("rows"); // the kernel has the selection
    this.tell({ kind: "chosen", text: kept.toString() });
  }

  onChosen(): void {}

  join(store: Store, setDark: (dark: boolean) => void): void {
    this.store = store;
    this.setDark = setDark;
    store.on("selection", () => {
      const rows = store.selected ?? new Uint32Array(0);
      if (sameRows(rows, this.heard)) return;
      this.heard = rows.slice();
      const { buffer } = rows.slice();
      this.tell({ kind: "selected", rows: buffer }, [buffer]);
    });
    if (this.heard.length) this.select(this.heard);
  }

  private select(rows: Uint32Array): void {
    this.heard = rows;
    const { store } = this;
    if (store && !sameRows(rows, store.selected ?? new Uint32Array(0))) store.select(rows.length ? store.combined(rows, "replace") : null);
  }

  private tell(message: FromPage, handed: Transferable[] = []): void {
    this.port.postMessage(message, handed);
  }
}

const sameRows = (a: Uint32Array, b: Uint32Array): boolean => a.length === b.length && a.every((row, k) => row === b[k]);

/** The line to the kernel. It is open once the kernel has answered, and lost if the kernel keeps silent. */
class KernelLine implements Carrier {
  readonly lost = "The kernel does not answer. It is at work on a cell, or it has ended: then run the cell of this map again. The page goes on by itself when the kernel answers; everything that needs no computation still works.";
  private ends: LineEnds | null = null;
  private timer = 0;

  constructor(private readonly port: MessagePort) {}

  open(ends: LineEnds): Line {
    this.ends = ends;
    this.post({ kind: "hello" });
    this.expect();
    return { send: (text) => {
      this.post({ kind: "line", text });
      if (!this.timer && expectsAnswer(text)) this.expect();
    } };
  }

  hear(told: ToPage): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    if (told.kind === "here") this.ends?.opened();
    else if (told.kind === "line") this.ends?.received(told.message);
    else if (told.kind === "ended") this.close();
  }

  private expect(): void {
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.ends?.silent();
    }, PATIENCE);
  }

  private close(): void {
    const { ends } = this;
    this.ends = null;
    ends?.closed();
  }

  private post(message: FromPage): void {
    this.port.postMessage(message);
  }
}

const expectsAnswer = (text: string): boolean => !/^\{"type":"(taken|stop)"/.test(text);
