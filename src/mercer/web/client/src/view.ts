// Where a map is looked at: the point in the middle, and CSS pixels per unit.

export interface View { x: number; y: number; scale: number }
export interface Size { width: number; height: number }
export interface Box { lowX: number; highX: number; lowY: number; highY: number }

export const PADDING = { left: 46, right: 22, top: 26, bottom: 42 };

export const toScreenX = (view: View, size: Size, x: number): number => size.width / 2 + (x - view.x) * view.scale;
export const toScreenY = (view: View, size: Size, y: number): number => size.height / 2 - (y - view.y) * view.scale;
export const fromScreenX = (view: View, size: Size, px: number): number => view.x + (px - size.width / 2) / view.scale;
export const fromScreenY = (view: View, size: Size, py: number): number => view.y - (py - size.height / 2) / view.scale;

/** The view that shows a box, with room for what is written at the edges. */
export function fit(box: Box, size: Size): View {
  const width = Math.max(40, size.width - PADDING.left - PADDING.right);
  const height = Math.max(40, size.height - PADDING.top - PADDING.bottom);
  const w = box.highX - box.lowX, h = box.highY - box.lowY;
  let scale = Math.min(w > 0 ? width / w : Infinity, h > 0 ? height / h : Infinity);
  if (!Number.isFinite(scale)) scale = Math.min(width, height) / 2; // all points in one place
  const x = (box.lowX + box.highX) / 2 - (PADDING.left - PADDING.right) / 2 / scale;
  const y = (box.lowY + box.highY) / 2 - (PADDING.bottom - PADDING.top) / 2 / scale;
  return { x, y, scale };
}

/** Zoomed by a factor about a place on the screen, which stays where it is. */
export function zoomed(view: View, size: Size, factor: number, px: number, py: number): View {
  const x = fromScreenX(view, size, px), y = fromScreenY(view, size, py);
  const scale = view.scale * factor;
  return { x: x - (px - size.width / 2) / scale, y: y + (py - size.height / 2) / scale, scale };
}

/** Between two views; scales are interpolated by ratio. */
export function between(a: View, b: View, share: number): View {
  const scale = a.scale * (b.scale / a.scale) ** share;
  const t = Math.abs(b.scale - a.scale) < 1e-9 * a.scale ? share : (1 / scale - 1 / a.scale) / (1 / b.scale - 1 / a.scale);
  return { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t, scale };
}
