// What the colours mean, and the filter of the column that they show.

import { ClassFilter } from "./classes";
import { h } from "./dom";
import { formatCount } from "./format";
import { RangeFilter } from "./range";
import type { Store } from "./store";

/** What each score of a row says; a page may have others. */
const MEANINGS: Record<string, string> = {
  "neighbours kept": "Share of a row's nearest in the data that are among its nearest in the map. Dark points have lost their neighbours: the map lies there.",
  trustworthiness: "Whether the nearest in the map are near in the data. Dark points stand among strangers.",
  continuity: "Whether the nearest in the data are near in the map. Dark points were torn from their neighbours.",
};

export class Legend {
  readonly element = h("div", { class: "legend" });
  private filtered = 0;
  private part: ClassFilter | RangeFilter | null = null;

  constructor(private readonly store: Store, private readonly announce: (text: string) => void) {
    store.on("colour", () => this.build());
    store.on("ground", () => this.build());
    store.on("states", () => {
      if (this.filtered !== store.filtered) this.part?.refresh(); // a selection is no filter
      this.filtered = store.filtered;
    });
    this.build();
  }

  private build(): void {
    const { store } = this;
    const { column } = store.colouring;
    this.part = !column ? null : column.codes ? new ClassFilter(store, column, true, this.announce) : new RangeFilter(store, column, true);
    const hints: string[] = [];
    if (column?.map && MEANINGS[column.name]) hints.push(MEANINGS[column.name]!);
    if (column?.map && store.near?.sampled) hints.push(`${formatCount(store.near.sampled)} of ${formatCount(store.rows)} rows scored, chosen at random; the others are small and grey.`);
    this.element.replaceChildren(this.part?.element ?? h("p", { class: "quiet" }, "All points have one colour."), ...hints.map((hint) => h("p", { class: "hint" }, hint)));
  }
}
