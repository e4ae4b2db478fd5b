// The line between a live page and what computes for it: a socket to a server, or whatever the page's shell gives
// instead. It comes back by itself when the other end does, and says when that is gone.

import { type Message, readMessage } from "./message";

/** What a line tells. silent: nothing has been lost, but the other end keeps a page waiting. */
export interface LineEnds { opened(): void; received(data: ArrayBuffer): void; closed(): void; silent(): void }
export interface Line { send(text: string): void }
/** Opens lines, and knows what to tell a person when one is lost. */
export interface Carrier { readonly lost: string; open(ends: LineEnds): Line }

const FIRST_WAIT = 500, LONGEST_WAIT = 8000; // milliseconds between two attempts

const toServer: Carrier = {
  lost: "The server does not answer. It has ended, or the network is gone. The page goes on by itself when it is back; everything that needs no computation still works.",
  open(ends) {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => ends.opened());
    socket.addEventListener("message", (event) => ends.received(event.data as ArrayBuffer));
    socket.addEventListener("close", () => ends.closed());
    return { send: (text) => socket.send(text) };
  },
};

let carrier = toServer;
/** Another way to what computes than a socket to the page's server. */
export const carryBy = (other: Carrier): void => void (carrier = other);

export class Connection {
  private line: Line | null = null;
  private wait = FIRST_WAIT;
  private isLost = false;

  constructor(private readonly onOpen: () => void, private readonly onMessage: (message: Message) => void, private readonly onLost: (why: string) => void) {
    this.open();
  }

  private open(): void {
    const line = carrier.open({
      opened: () => {
        this.line = line;
        this.wait = FIRST_WAIT;
        this.isLost = false;
        this.onOpen();
      },
      received: (data) => {
        if (this.isLost) { // it was only silent: what was asked meanwhile is asked again
          this.isLost = false;
          this.onOpen();
        }
        this.onMessage(readMessage(data));
      },
      silent: () => this.lose(),
      closed: () => {
        this.line = null;
        this.lose();
        window.setTimeout(() => this.open(), this.wait);
        this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
      },
    });
  }

  private lose(): void {
    this.isLost = true;
    this.onLost(carrier.lost);
  }

  get isOpen(): boolean {
    return this.line !== null && !this.isLost;
  }

  send(message: Record<string, unknown>): void {
    if (this.isOpen) this.line!.send(JSON.stringify(message));
  }
}
