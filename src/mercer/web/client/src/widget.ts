// The widget of a notebook: gives the page a frame of its own and carries what is said between it and the kernel.
//
// The page believes that it owns its document: its style, its shortcuts, its names of elements. A frame keeps all that
// from the notebook, and the notebook's from the page. The frame is sandboxed without an origin, so that nothing in it
// can reach the notebook, whatever the data say.

import type { FromPage, Opening, ToPage } from "./notebook";

declare const PAGE: string; // the page without data, put before this script by mercer/live/map_widget.py

/** What anywidget gives of a model. Bytes come as views. */
interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: (...given: never[]) => void): void;
  off(event: string, listener: (...given: never[]) => void): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}
interface Heard { view: string; here?: boolean; ended?: boolean }

/** Bytes that can be handed over: a copy, because the model keeps its own. */
const bytesOf = (value: unknown): ArrayBuffer => {
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (!ArrayBuffer.isView(value)) return new ArrayBuffer(0);
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice().buffer as ArrayBuffer;
};

/** Whether the notebook is dark where the widget stands: the first ground that is not transparent. */
function isDark(element: Element): boolean {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!; // reads all ways to write a colour
  for (let each: Element | null = element; each; each = each.parentElement ?? (each.getRootNode() as Partial<ShadowRoot>).host ?? null) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = getComputedStyle(each).backgroundColor;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    if (alpha! > 127) return 0.299 * red! + 0.587 * green! + 0.114 * blue! < 128;
  }
  return false;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  let port: MessagePort | null = null, view = "", dark = isDark(el);
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
  frame.setAttribute("allow", "clipboard-write *");
  frame.style.cssText = "display:block;width:100%;box-sizing:border-box;border:1px solid rgb(128 128 128 / 30%);border-radius:12px;background:transparent";

  const tell = (message: ToPage, handed: Transferable[] = []): void => port?.postMessage(message, handed);
  const leave = (): void => {
    if (!port) return;
    model.send({ view, what: "left" });
    port.close();
    port = null;
  };
  const heardFromPage = ({ data }: MessageEvent<FromPage>): void => {
    if (data.kind === "line") model.send({ view, text: data.text });
    else if (data.kind === "hello") model.send({ view, what: "hello" });
    else {
      if (data.kind === "selected") model.set("selected", new DataView(data.rows));
      else model.set("_chosen", data.text);
      model.save_changes();
    }
  };
  // A frame that is moved within the document, as notebooks do, loads again. It then goes on where it was.
  const loaded = (): void => {
    leave();
    const channel = new MessageChannel(), block = bytesOf(model.get("_block")), selected = bytesOf(model.get("selected"));
    view = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
    port = channel.port1;
    port.onmessage = heardFromPage;
    dark = isDark(el);
    const opening: Opening = { mercer: "open", about: model.get("_about") as string, block, chosen: model.get("_chosen") as string, dark, selected };
    frame.contentWindow!.postMessage(opening, "*", [channel.port2, block, selected]);
  };
  const heardFromKernel = (content: Heard, buffers: unknown[] = []): void => {
    if (content.view !== view) return;
    if (content.here) tell({ kind: "here" });
    else if (content.ended) tell({ kind: "ended" });
    for (const buffer of buffers) {
      const message = bytesOf(buffer);
      tell({ kind: "line", message }, [message]);
    }
  };
  const selected = (): void => {
    const rows = bytesOf(model.get("selected"));
    tell({ kind: "selected", rows }, [rows]);
  };
  const sized = (): void => void (frame.style.height = `${Number(model.get("height"))}px`);
  const titled = (): void => void (frame.title = String(model.get("title")));
  const themes = new MutationObserver(() => {
    if (isDark(el) === dark) return;
    dark = !dark;
    tell({ kind: "dark", dark });
  });

  sized();
  titled();
  frame.addEventListener("load", loaded);
  frame.srcdoc = PAGE;
  el.append(frame);
  for (const each of [document.documentElement, document.body]) themes.observe(each, { attributes: true });
  model.on("msg:custom", heardFromKernel);
  model.on("change:selected", selected);
  model.on("change:height", sized);
  return () => {
    leave();
    themes.disconnect();
    model.off("msg:custom", heardFromKernel);
    model.off("change:selected", selected);
    model.off("change:height", sized);
    frame.remove();
  };
}

export default { render };
