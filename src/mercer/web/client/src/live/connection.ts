// The socket of a live page. It comes back by itself when the server does, and says when it is gone.

import { type Message, readMessage } from "./message";

const FIRST_WAIT = 500, LONGEST_WAIT = 8000; // milliseconds between two attempts

export class Connection {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;

  constructor(private readonly onOpen: () => void, private readonly onMessage: (message: Message) => void, private readonly onLost: () => void) {
    this.open();
  }

  private open(): void {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => {
      this.socket = socket;
      this.wait = FIRST_WAIT;
      this.onOpen();
    });
    socket.addEventListener("message", (event) => this.onMessage(readMessage(event.data as ArrayBuffer)));
    socket.addEventListener("close", () => {
      this.socket = null;
      this.onLost();
      window.setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
    });
  }

  get isOpen(): boolean {
    return this.socket !== null;
  }

  send(message: Record<string, unknown>): void {
    this.socket?.send(JSON.stringify(message));
  }
}
