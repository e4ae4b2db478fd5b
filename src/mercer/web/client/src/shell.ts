// Where the page stands: in a window of its own, or in the output of a notebook. Both give it the same description and
// bytes. They differ in where choices are kept, who decides whether it is dark, and who else sets the selection.

import type { About } from "./data";
import { readDocument } from "./data";
import type { Store } from "./store";

export interface Shell {
  readonly about: About;
  readonly block: Uint8Array<ArrayBuffer>;
  /** What was chosen before, as `address.ts` writes it. */
  readonly chosen: string;
  /** Whether the surroundings are dark; null if the system decides. */
  readonly dark: boolean | null;
  /** Who computes, for the line below the settings. */
  readonly computes: string;
  keep(chosen: string): void;
  /** Calls back when other choices are to be shown than those of the page. */
  onChosen(listener: (chosen: string) => void): void;
  /** Joins the page to what is around it. */
  join(store: Store, setDark: (dark: boolean) => void): void;
}

/** A browser's window: choices are in the address, so that a reload, a bookmark or a link shows the same. */
export class WindowShell implements Shell {
  readonly dark = null;
  readonly computes = "the machine that this page comes from";

  private constructor(readonly about: About, readonly block: Uint8Array<ArrayBuffer>) {}

  static async open(): Promise<WindowShell> {
    const { about, block } = await readDocument();
    return new WindowShell(about, block);
  }

  get chosen(): string {
    return location.hash.slice(1);
  }

  keep(chosen: string): void {
    try {
      history.replaceState(null, "", chosen ? `#${chosen}` : location.pathname + location.search);
    } catch {
      // a page inside another one may not change its address
    }
  }

  onChosen(listener: (chosen: string) => void): void {
    addEventListener("hashchange", () => listener(this.chosen));
  }

  join(): void {}
}
