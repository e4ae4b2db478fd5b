"""Images next to their reconstructions from a few components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.backends import to_numpy
from mercer.plots.style import INK, Display, new_figure, readable

_GAP = 0.08  # between two images, as a share of their size
_INCHES = 0.72  # the longer side of an image


class PreimageDisplay(Display):
    """Rows of images, one above the other: the originals, noisy copies, and pre-images from a few components.

    images : the name of each row → its images, (m, height, width), or (m, height, width, 3) for colours

    Attributes after `plot`: ax_, figure_, image_ (all images in one), limits_ (the values drawn as black and white).

    >>> display = PreimageDisplay({"before": np.zeros((3, 4, 5)), "after": np.ones((3, 4, 5))}).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['before', 'after']
    """

    def __init__(self, images: Mapping[str, Any]) -> None:
        self.images = {name: to_numpy(row) for name, row in images.items()}
        if not self.images:
            raise ValueError("There is nothing to draw: give at least one row of images.")
        shapes = {row.shape for row in self.images.values()}
        if len(shapes) != 1:
            raise ValueError(
                f"All rows must have the same number of images of the same size, but they have shapes {sorted(shapes)}."
            )
        (shape,) = shapes
        if not (len(shape) == 3 or (len(shape) == 4 and shape[3] in (3, 4))) or 0 in shape:
            raise ValueError(f"Images have shape (m, height, width) or (m, height, width, 3), not {shape}.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        noisy: Any = None,
        shape: Sequence[int] | None = None,
        ax: Axes | None = None,
        cmap: str = "gray",
    ) -> PreimageDisplay:
        """Draw rows of X, (m, d), and what `estimator` brings back from their scores, or from those of `noisy`.

        shape : (height, width) of an image, or (height, width, 3); None for a square
        """
        X = to_numpy(X)
        if X.ndim != 2:
            raise ValueError(f"X must have one image per row, (m, pixels), not shape {X.shape}.")
        if not hasattr(estimator, "inverse_transform"):
            raise TypeError(f"{type(estimator).__name__} has no inverse_transform. Use a KernelPCA or a PCA.")
        shape = _square(X.shape[1]) if shape is None else tuple(shape)
        if np.prod(shape) != X.shape[1]:
            raise ValueError(
                f"Images of shape {tuple(shape)} have {np.prod(shape)} pixels, but the rows of X have {X.shape[1]}."
            )
        rows = {"original": X}
        if noisy is not None:
            rows["noisy"] = to_numpy(noisy)
            if rows["noisy"].shape != X.shape:
                raise ValueError(f"noisy has shape {rows['noisy'].shape}, but X has shape {X.shape}.")
        back = to_numpy(estimator.inverse_transform(estimator.transform(rows.get("noisy", X))))
        rows["pre-image"] = back
        return cls({name: row.reshape(-1, *shape) for name, row in rows.items()}).plot(ax=ax, cmap=cmap)

    def plot(self, *, ax: Axes | None = None, cmap: str = "gray") -> PreimageDisplay:
        """Draw. The grey scale spans the values of the first row; values beyond them appear black or white."""
        rows = list(self.images.values())
        m, height, width = rows[0].shape[:3]
        if ax is None:
            scale = _INCHES / max(height, width)
            size = (m * width * scale * (1 + _GAP) + 1.0, len(rows) * height * scale * (1 + _GAP) + 0.1)
            ax = new_figure(width=max(size[0], 2.5), height=max(size[1], 1.0))[1][0]
        self._on(ax)
        gap = max(1, round(_GAP * max(height, width)))
        self.limits_ = float(rows[0].min()), float(rows[0].max())
        mosaic = np.concatenate([_line(row, gap) for row in rows])[:-gap]
        colours = {"vmin": self.limits_[0], "vmax": self.limits_[1], "cmap": cmap}
        if mosaic.ndim == 3:
            mosaic, colours = _unit(mosaic, *self.limits_), {}
        self.image_ = self.ax_.imshow(mosaic, interpolation="nearest", **colours)
        middles = [(height + gap) * line + (height - 1) / 2 for line in range(len(rows))]
        self.ax_.set_yticks(middles, [readable(name) for name in self.images])
        self.ax_.set_xticks([])
        self.ax_.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
        self.ax_.spines[:].set_visible(False)
        return self


def _line(images: np.ndarray, gap: int) -> np.ndarray:
    """Images side by side with gaps between them and a gap below."""
    pad = [(0, 0), (0, gap), (0, gap), *[(0, 0)] * (images.ndim - 3)]
    padded = np.pad(images.astype(np.float64), pad, constant_values=np.nan)
    return np.concatenate(list(padded), axis=1)[:, :-gap]


def _unit(mosaic: np.ndarray, low: float, high: float) -> np.ndarray:
    """Colours in [0, 1], gaps white."""
    scaled = (mosaic - low) / ((high - low) or 1.0)
    return np.where(np.isnan(scaled), 1.0, np.clip(scaled, 0, 1))


def _square(pixels: int) -> tuple[int, int]:
    side = round(pixels**0.5)
    if side * side != pixels:
        raise ValueError(f"{pixels} pixels do not form a square. Give shape=(height, width).")
    return side, side
