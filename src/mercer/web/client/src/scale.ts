// Where a number lies between the least and the greatest: straight, or bent so that a few far values leave room for the rest.

export interface Scale {
  kind: "linear" | "log" | "asinh";
  low: number;
  high: number;
  place(value: number): number; // 0 … 1
  value(place: number): number; // its inverse
}

const LONG = 8; // a range this many times the middle 98 % (or 90 % of 3 decades) is bent

/** The scale of a column: by logarithm where all values are positive and far apart, by asinh where tails are long. */
export function scaleOf(numbers: ArrayLike<number>, low: number, high: number): Scale {
  const sample = sampled(numbers);
  const at = (share: number): number => sample[Math.round(share * (sample.length - 1))] ?? low;
  const [q25, q50, q75] = [at(0.25), at(0.5), at(0.75)];
  const long = sample.length > 20 && q75 > q25 && high - low > LONG * 2 * (q75 - q25);
  if (long && low > 0 && at(0.99) / at(0.01) > 100) return bent("log", low, high, Math.log, Math.exp);
  if (long) {
    const width = q75 - q25;
    return bent("asinh", low, high, (value) => Math.asinh((value - q50) / width), (place) => q50 + width * Math.sinh(place));
  }
  return bent("linear", low, high, (value) => value, (place) => place);
}

function bent(kind: Scale["kind"], low: number, high: number, bend: (value: number) => number, back: (place: number) => number): Scale {
  const from = bend(low), span = bend(high) - from;
  const clamp = (value: number): number => Math.min(high, Math.max(low, value));
  return {
    kind, low, high,
    place: (value) => (span > 0 ? (bend(clamp(value)) - from) / span : 0.5),
    value: (place) => (place <= 0 ? low : place >= 1 ? high : clamp(back(from + place * span))),
  };
}

function sampled(numbers: ArrayLike<number>): number[] {
  const step = Math.max(1, Math.floor(numbers.length / 20_000));
  const sample: number[] = [];
  for (let i = 0; i < numbers.length; i += step) if (Number.isFinite(numbers[i]!)) sample.push(numbers[i]!);
  return sample.sort((a, b) => a - b);
}
