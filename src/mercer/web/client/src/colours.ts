// Colours that are told apart with every common kind of colour blindness, on a light and on a dark ground.

export type RGB = readonly [number, number, number];

// Okabe and Ito's for up to five classes, Tol's "muted" for up to ten; the same as in mercer.plots. On a dark ground four of Tol's are
// lighter. The twenty that follow were chosen one by one, each as far as possible from all before it and from the ground, for common
// sight and for two kinds of colour blindness. In common sight the nearest two of thirty are 0.088 apart in OKLab; 0.02 is just seen.
const FEW = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"];
const MANY_ON_LIGHT = [
  "#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#ddcc77", "#44aa99", "#aa4499", "#999933", "#6b6b6b",
  "#4b78ff", "#3c3c0f", "#d287ff", "#693cc3", "#c32d00", "#69c30f", "#9687c3", "#4b4b78", "#0078b4", "#87d2a5",
  "#ff9669", "#5a1e5a", "#b4d21e", "#ff6969", "#d22d69", "#783c2d", "#b45ad2", "#004ba5", "#a5783c", "#698796",
];
const MANY_ON_DARK = [
  "#7064ac", "#cc6677", "#117733", "#88ccee", "#b23a78", "#ddcc77", "#44aa99", "#cc79c5", "#999933", "#8a8a8a",
  "#00ffd2", "#0087ff", "#c3ff4b", "#c32d00", "#69c30f", "#9696ff", "#f0a5c3", "#3c5ae1", "#ff9669", "#d2f0ff",
  "#b4b496", "#9669e1", "#f0f0a5", "#b4d21e", "#5a875a", "#96e1a5", "#d28769", "#a5782d", "#00a5d2", "#963cc3",
];
const VIRIDIS = [
  "#440154", "#481f70", "#443983", "#3b528b", "#31688e", "#287c8e", "#21918c",
  "#20a486", "#35b779", "#5ec962", "#90d743", "#c8e020", "#fde725",
].map(rgb);

export const RAMP_STEPS = 256;
export const DISTINCT = MANY_ON_LIGHT.length; // classes that have a colour of their own

export interface Ground { dark: boolean; paper: RGB; missing: RGB; dimmed: RGB; ink: string; faint: string; accent: string; bad: string }

export const LIGHT: Ground = {
  dark: false, paper: [255, 255, 255], missing: [173, 178, 186], dimmed: [206, 210, 216],
  ink: "#1b2330", faint: "#667080", accent: "#2456c9", bad: "#b3261e",
};
export const DARK: Ground = {
  dark: true, paper: [22, 26, 33], missing: [112, 120, 132], dimmed: [62, 69, 80],
  ink: "#e8ebf0", faint: "#98a2b3", accent: "#8db4ff", bad: "#ff8a80",
};

export function rgb(hex: string): RGB {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export const css = (colour: RGB): string => `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;

const mix = (a: RGB, b: RGB, share: number): RGB =>
  [0, 1, 2].map((i) => Math.round(a[i]! + (b[i]! - a[i]!) * share)) as unknown as RGB;

/** A colour for each of `count` classes; beyond DISTINCT they begin again. */
export function classColours(count: number, ground: Ground): RGB[] {
  const list = (count <= FEW.length ? FEW : ground.dark ? MANY_ON_DARK : MANY_ON_LIGHT).map(rgb);
  return Array.from({ length: count }, (_, i) => list[i % list.length]!);
}

/** The scale for numbers, from 0 to 1; the end that the ground would swallow is left out. */
export function ramp(share: number, ground: Ground): RGB {
  const place = (ground.dark ? 0.16 + 0.84 * share : 0.95 * share) * (VIRIDIS.length - 1);
  const index = Math.min(VIRIDIS.length - 2, Math.floor(place));
  return mix(VIRIDIS[index]!, VIRIDIS[index + 1]!, place - index);
}
