// Two lassos, one answer: what separates two selections, or a selection from all other rows.

import { h } from "../dom";
import { Column } from "../columns";
import { formatCount, formatShort } from "../format";
import { type Store, rowsIn } from "../store";
import { shorten } from "../text";
import { greyImage } from "./image";
import type { Ask, LiveAbout } from "./live";
import { type Header, packedRows } from "./message";
import { type Step, strip } from "./strip";

const MOST_CLASSES = 3, LEAST_APART = 0.1; // classes that are named, and how much their shares must differ
// What the rows along the direction are, by how they were found.
const LINE = "places on the line through the means of both groups in the map.";
const ALONG: Record<string, string> = { "pre-image": `Pre-images of ${LINE}`, inverse: `The inverse of PCA at ${LINE}`, interpolated: "This map has no inverse: each row is the mean of the compared rows nearest in the direction." };

export class Groups {
  readonly element: HTMLElement;
  private readonly first = h("button", { type: "button", class: "button", id: "group-first", onclick: () => this.keepFirst() }, "Keep as group 1");
  private readonly compare = h("button", { type: "button", class: "button", id: "group-compare", onclick: () => this.go() });
  private readonly shown = h("div", { class: "groups", "aria-live": "polite" });
  private kept: Uint32Array | null = null;
  private asked = 0;
  private compared: [Uint32Array, Uint32Array] | null = null;

  constructor(private readonly store: Store, private readonly about: LiveAbout, private readonly ask: Ask) {
    this.element = h("details", { class: "take", id: "groups" }, h("summary", {}, "What separates them?"),
      h("p", { class: "hint" }, "Select points with a lasso and compare them with all others. Or keep them as group 1, and select a second group."),
      h("div", { class: "descent" }, this.first, this.compare), this.shown);
    store.on("selection", () => this.refresh());
    this.refresh();
  }

  private refresh(): void {
    this.first.disabled = !this.store.selected && !this.kept;
    this.first.textContent = this.kept ? `Forget group 1 (${formatCount(this.kept.length)})` : "Keep as group 1";
    this.compare.disabled = !this.store.selected;
    this.compare.textContent = this.kept ? "Compare with group 1" : "Compare with the rest";
  }

  private keepFirst(): void {
    this.kept = this.kept ? null : this.store.selected;
    if (this.kept) this.store.select(null);
    this.refresh();
  }

  private go(): void {
    const { store } = this, { selected, rows } = store;
    if (!selected) return;
    const mine = packedRows(selected, rows);
    this.compared = this.kept ? [this.kept, selected] : [selected, rowsIn(store.combined(selected, "replace").map((each, row) => Number(!each && row < store.placed)))];
    this.asked = this.ask("groups", this.kept ? { first: packedRows(this.kept, rows), second: mine } : { first: mine });
    this.shown.replaceChildren(h("p", { class: "hint" }, "comparing …"));
  }

  private colourBy(direction: Column): void {
    this.store.setScore(direction);
    this.store.colourBy(direction);
  }

  /** Of each column of classes, the one whose shares in the two groups differ most. */
  private classes(names: string[]): HTMLElement[] {
    const { compared, store } = this;
    if (!compared) return [];
    const [first, second] = compared;
    const percent = (share: number): string => `${formatShort(100 * share, 2)} %`;
    const found = store.columns.filter((column) => column.codes && column.names.length > 1).map((column) => {
      const shares = [first, second].map((rows) => {
        const counts = new Float64Array(column.names.length + 1);
        for (const row of rows) counts[Math.min(column.codes![row]!, column.names.length)]! += 1 / rows.length;
        return counts;
      });
      const most = column.names.map((_, code) => code).reduce((a, b) => (apart(b) > apart(a) ? b : a));
      function apart(code: number): number {
        return Math.abs(shares[0]![code]! - shares[1]![code]!);
      }
      return { column, most, apart: apart(most), shares };
    });
    return found.filter((each) => each.apart >= LEAST_APART).sort((a, b) => b.apart - a.apart).slice(0, MOST_CLASSES).map(({ column, most, shares }) =>
      h("p", {}, h("strong", {}, `${shorten(column.name, 30)} ${shorten(column.names[most]!, 30)}`), `: ${percent(shares[0]![most]!)} of ${names[0]}, ${percent(shares[1]![most]!)} of ${names[1]}`));
  }

  show(header: Header, floats: Record<string, Float32Array>): void {
    if (header.id !== this.asked) return;
    if (header["trouble"]) {
      this.shown.replaceChildren(h("p", { class: "trouble" }, String(header["trouble"])));
      return;
    }
    const percent = (share: number): string => `${formatShort(100 * share, 3)} %`;
    const round = (share: number): string => `${Math.round(100 * share).toString().replace("-", "−")} %`;
    const [n, m] = header["rows"] as [number, number];
    const names = this.kept ? ["group 1", "group 2"] : ["selected", "others"];
    const verdict = `A kernel discriminant of ${formatCount(n)} and ${formatCount(m)} rows is wrong for ${percent(header["loo_error"] as number)} ± ${formatShort(100 * (header["loo_error_se"] as number), 2)} % of the rows left out; always naming the larger group, for ${percent(header["chance"] as number)}.`;
    const rows = (header["variables"] as [string, number | null, number | null, number, number][]).map(([name, share, apart, one, other]) =>
      h("tr", {}, h("th", { scope: "row", title: name }, shorten(name, 24)), h("td", {}, share === null ? "–" : percent(share)), h("td", {}, apart === null ? "∞" : formatShort(apart, 2)), h("td", {}, formatShort(one, 3)), h("td", {}, formatShort(other, 3))));
    const head = h("tr", {}, h("td"), h("th", { scope: "col", title: "The share of the direction that depends on the variable" }, "share"), h("th", { scope: "col", title: "The difference of the means, in standard deviations within the groups" }, "apart"), h("th", { scope: "col" }, names[0]!), h("th", { scope: "col" }, names[1]!));
    const { image, range } = this.about;
    const images = image && floats["first"] && floats["second"] ? h("div", { class: "means" }, ...(["first", "second"] as const).map((which, k) =>
      h("figure", {}, greyImage(floats[which]!, image, range, `Mean of ${names[k]}`), h("figcaption", {}, `mean of ${names[k]}`)))) : null;
    const labels = `${names[0]} → ${names[1]}`;
    const direction = new Column(floats["scores"]!, { name: `direction from ${names[1]} to ${names[0]}`, kind: "number", at: 0, count: this.store.rows });
    const colour = h("button", { type: "button", class: "button", id: "direction-colour", onclick: () => this.colourBy(direction) }, "Colour by the direction");
    const steps = header["steps"] as Step[], reached = (header["reached"] as (number | null)[]).map((share) => share ?? 0);
    const way = `By the discriminant they go from ${round(reached[0]!)} to ${round(reached.at(-1)!)} of the way.`;
    const along = h("div", {}, h("h3", {}, `Along the direction, ${labels}`), strip(header, floats, this.about, `Rows along the direction, ${labels}`),
      h("p", { class: "hint" }, `${ALONG[steps[0]!.how ?? ""] ?? ""} ${way}`), h("div", { class: "descent" }, colour));
    this.shown.replaceChildren(h("p", {}, verdict), ...this.classes(names), ...(images ? [images] : []), h("div", { class: "across", tabindex: "0", role: "region", "aria-label": "Variables that separate the groups" }, h("table", { class: "separating" }, h("thead", {}, head), h("tbody", {}, ...rows))), along);
  }
}
