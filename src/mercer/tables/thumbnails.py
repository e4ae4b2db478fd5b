"""Small pictures of rows that are images, as PNG."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

SIDE = 48  # pixels of the longer side, at most


def thumbnail(image: Image.Image) -> bytes:
    """The image as PNG, made smaller where it is large."""
    small = image.copy()
    small.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    small.save(file, "PNG")
    return file.getvalue()


def thumbnail_of_array(pixels: np.ndarray) -> bytes:
    """The same of (h, w) or (h, w, c) bytes."""
    return thumbnail(Image.fromarray(pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels))
