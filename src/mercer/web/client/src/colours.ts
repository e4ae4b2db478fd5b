// Colours that are told apart with every common kind of colour blindness, on a light and on a dark ground.

export type RGB = readonly [number, number, number];

// Okabe and Ito's for up to five classes, Tol's "muted" for up to ten; the same as in mercer.plots.
const FEW = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"];
const MANY = ["#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#DDCC77", "#44AA99", "#AA4499", "#999933", "#6B6B6B"];
const VIRIDIS = [
  "#440154", "#481f70", "#443983", "#3b528b", "#31688e", "#287c8e", "#21918c",
  "#20a486", "#35b779", "#5ec962", "#90d743", "#c8e020", "#fde725",
].map(rgb);

export const RAMP_STEPS = 256;
export const DISTINCT = 3 * MANY.length; // classes that have a colour of their own: ten colours, each in three shades

export interface Ground { dark: boolean; paper: RGB; missing: RGB; dimmed: RGB; ink: string; faint: string; accent: string }

export const LIGHT: Ground = {
  dark: false, paper: [255, 255, 255], missing: [173, 178, 186], dimmed: [206, 210, 216],
  ink: "#1b2330", faint: "#667080", accent: "#2456c9",
};
export const DARK: Ground = {
  dark: true, paper: [22, 26, 33], missing: [112, 120, 132], dimmed: [62, 69, 80],
  ink: "#e8ebf0", faint: "#98a2b3", accent: "#8db4ff",
};

export function rgb(hex: string): RGB {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export const css = (colour: RGB): string => `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;

const mix = (a: RGB, b: RGB, share: number): RGB =>
  [0, 1, 2].map((i) => Math.round(a[i]! + (b[i]! - a[i]!) * share)) as unknown as RGB;

function luminance(colour: RGB): number {
  const [r, g, b] = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4)) as unknown as RGB;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: RGB, b: RGB): number {
  const [high, low] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Moved away from the ground until it can be seen on it. */
function visible(colour: RGB, ground: Ground): RGB {
  const goal: RGB = ground.dark ? [255, 255, 255] : [0, 0, 0];
  const least = ground.dark ? 3 : 1.55;
  let out = colour;
  for (let share = 0.05; contrast(out, ground.paper) < least && share < 1; share += 0.05) out = mix(colour, goal, share);
  return out;
}

/** A colour for each of `count` classes: the two lists, and beyond ten the second in paler and darker shades. */
export function classColours(count: number, ground: Ground): RGB[] {
  const base = (count <= FEW.length ? FEW : MANY).map(rgb);
  return Array.from({ length: count }, (_, i) => {
    const colour = base[i % base.length]!;
    const shade = Math.floor(i / base.length) % 3;
    const varied = shade === 0 ? colour : mix(colour, shade === 1 ? [255, 255, 255] : [0, 0, 0], shade === 1 ? 0.42 : 0.38);
    return visible(varied, ground);
  });
}

/** The scale for numbers, from 0 to 1; the end that the ground would swallow is left out. */
export function ramp(share: number, ground: Ground): RGB {
  const place = (ground.dark ? 0.16 + 0.84 * share : 0.95 * share) * (VIRIDIS.length - 1);
  const index = Math.min(VIRIDIS.length - 2, Math.floor(place));
  return mix(VIRIDIS[index]!, VIRIDIS[index + 1]!, place - index);
}
