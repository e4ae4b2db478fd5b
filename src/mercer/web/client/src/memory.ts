// Keeps what is chosen, in the address or in the notebook, and chooses what was kept.

import { type FilterState, type State, read, written } from "./address";
import type { Column } from "./columns";
import type { Live } from "./live/live";
import type { Panel } from "./panel";
import type { Shell } from "./shell";
import { type Change, type Filter, type Naming, type Store, autoOpacity, autoSize } from "./store";

const PAUSE = 300; // milliseconds from a change to the address that tells of it

export interface Host { panels(): Panel[]; setPanels(count: number): void; setDark(dark: boolean): void; theme: "light" | "dark" | null; live: Live | null }

export class Memory {
  private timer = 0;
  private readonly first: { colour: Column | null; naming: Naming };

  constructor(private readonly store: Store, private readonly host: Host, private readonly shell: Shell) {
    this.first = { colour: store.colouring.column, naming: store.naming };
    if (shell.chosen) this.apply(read(shell.chosen));
    const changes: Change[] = ["colour", "states", "selection", "search", "pin", "style", "ground", "marks", "table", "sorting", "view"];
    for (const change of changes) store.on(change, () => this.later());
    shell.onChosen((chosen) => {
      const state = read(chosen);
      this.apply(state);
      if (state.live) host.live?.goTo(state.live);
    });
    if (host.live) host.live.onChange = () => this.later();
  }

  /** Write soon, also while changes keep coming: the frames of a long run must not put it off until the end. */
  private later(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.write();
    }, PAUSE);
  }

  private write(): void {
    const canvas = this.shell.chosen.split("&").includes("canvas") ? ["canvas"] : []; // what draws is no choice of content
    this.shell.keep([...canvas, written(this.state())].filter(Boolean).join("&"));
  }

  private state(): State {
    const { store, host } = this;
    const colourable = store.colourable;
    const panels = host.panels();
    const asOpened = panels.length === Math.min(2, store.maps.length) && panels.every((panel, k) => panel.map === store.maps[k] && panel.asOpened);
    return {
      panels: asOpened ? [] : panels.map((panel) => ({
        map: store.maps.indexOf(panel.map), axes: panel.axes, equal: panel.equal,
        snapshot: panel.snapshot,
        view: panel.isMoved ? [panel.view.x, panel.view.y, panel.closeness] : null,
      })),
      colour: store.colouring.column === this.first.colour || (host.live && store.scores.includes(store.colouring.column!)) ? null : colourable.indexOf(store.colouring.column!),
      filters: [...store.filters].map(([column, filter]): FilterState => {
        const at = colourable.indexOf(column);
        return "off" in filter ? { column: at, off: [...filter.off.keys()].filter((code) => filter.off[code]) } : { column: at, ...filter };
      }),
      search: store.matches?.query ?? "",
      pinned: store.pinned,
      selected: store.selected,
      names: store.naming === this.first.naming ? null : store.naming,
      contours: store.contours,
      table: store.table,
      sort: store.sorting.column || store.sorting.down ? [store.sorting.column === store.ids ? -1 : store.columns.indexOf(store.sorting.column!), store.sorting.down] : null,
      size: store.size === autoSize(store.rows) ? null : store.size,
      opacity: store.opacity === autoOpacity(store.rows) ? null : store.opacity,
      theme: host.theme,
      live: host.live?.settings() ?? null,
    };
  }

  private apply(state: State): void {
    const { store, host } = this;
    const colourable = store.colourable;
    if (state.theme) host.setDark(state.theme === "dark");
    this.applyPanels(state);
    const colour = state.colour === null ? this.first.colour : (colourable[state.colour] ?? null);
    if (colour !== store.colouring.column) store.colourBy(colour);
    store.naming = state.names === "classes" || state.names === "clusters" || state.names === "none" ? state.names : this.first.naming;
    store.contours = state.contours;
    store.emit("marks");
    store.setFilters(new Map(state.filters.flatMap((filter) => filterOf(colourable[filter.column], filter))));
    if (state.size !== null) store.size = Math.min(24, Math.max(0.8, state.size));
    if (state.opacity !== null) store.opacity = Math.min(1, Math.max(0.03, state.opacity));
    if (state.size !== null || state.opacity !== null) store.emit("style");
    if (state.sort) store.sorting = { column: (state.sort[0] < 0 ? store.ids : store.columns[state.sort[0]]) ?? null, down: state.sort[1] };
    store.table = state.table;
    store.emit("table");
    const rows = Array.from(state.selected ?? []).filter((row) => row < store.rows);
    store.select(rows.length ? store.combined(rows, "replace") : null);
    store.search(state.search);
    store.pin(state.pinned < store.rows ? state.pinned : -1, host.panels()[0]);
  }

  private applyPanels(state: State): void {
    const { store, host } = this;
    const wanted = state.panels.filter(({ map }) => map < store.maps.length).slice(0, 2);
    if (!wanted.length) return;
    host.setPanels(wanted.length);
    wanted.forEach(({ map, axes, equal, view, snapshot }, k) => {
      const panel = host.panels()[k]!;
      if (store.maps[map] !== panel.map) panel.setMap(store.maps[map]!);
      const own = panel.map.axes.length;
      if (axes.every((axis) => axis < own) && String(axes) !== String(panel.axes)) panel.setAxes(axes);
      if (equal !== null && equal !== panel.equal) panel.setEqual(equal);
      if (snapshot !== panel.snapshot && snapshot < panel.map.snapshots.length) panel.setSnapshot(snapshot);
      if (view) panel.look(...view);
      panel.onMap();
    });
  }
}

/** A filter of a column, if the column is of the kind that the address says. */
function filterOf(column: Column | undefined, filter: FilterState): [Column, Filter][] {
  if (!column) return [];
  if ("off" in filter) {
    if (!column.codes) return [];
    const off = new Uint8Array(column.names.length + 1);
    for (const code of filter.off) if (code < off.length) off[code] = 1;
    return off.includes(1) ? [[column, { off }]] : [];
  }
  return column.numbers ? [[column, { low: filter.low, high: filter.high, missing: filter.missing }]] : [];
}
