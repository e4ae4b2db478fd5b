// Undo and redo: the settings that a person stayed at, one after the other.

import type { Settings } from "./message";

const MOST = 200;

export const same = (a: Settings, b: Settings): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};

export class History {
  private states: Settings[];
  private at = 0;

  constructor(first: Settings) {
    this.states = [first];
  }

  get current(): Settings {
    return this.states[this.at]!;
  }

  get canUndo(): boolean {
    return this.at > 0;
  }

  get canRedo(): boolean {
    return this.at + 1 < this.states.length;
  }

  /** Settings that a person has arrived at; what was undone before is forgotten. */
  add(settings: Settings): void {
    if (same(settings, this.current)) return;
    this.states = [...this.states.slice(0, this.at + 1), settings].slice(-MOST);
    this.at = this.states.length - 1;
  }

  undo(): Settings {
    if (this.canUndo) this.at--;
    return this.current;
  }

  redo(): Settings {
    if (this.canRedo) this.at++;
    return this.current;
  }
}
