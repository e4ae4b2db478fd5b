"""Reader of a folder of images, and thumbnails. Rows are images, columns are pixels between 0 and 1.

Sub-folders are labels and file names are ids. All images are resized to the most common size, at most 128 pixels per
side. They are grey if all of them are, otherwise in colour.
"""

from __future__ import annotations

import hashlib
import io
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from mercer.amounts import amount
from mercer.tables.arrays import MatrixSource
from mercer.tables.source import TableError, check_room, digest_of, listed, readable

_T = TypeVar("_T")

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")  # Pillow knows more, but some of them run other programs
LONGEST_SIDE = 128  # pixels; in colour that is already 49,152 columns
THUMBNAIL_SIDE = 48  # pixels; such a picture takes at most 7 kB, and a page shows thousands of them
_MOST_PIXELS = 50_000_000  # per image; a few bytes of a hostile file can claim any size
_GREY = ("1", "L", "LA", "I", "I;16", "F")

logging.getLogger("PIL").addHandler(logging.NullHandler())  # the TableError says what is wrong with an image


@dataclass(frozen=True)
class _Look:
    size: tuple[int, int]
    grey: bool


def open_folder(path: Path, image: Sequence[int] | None = None) -> MatrixSource:
    """Open a folder. `image` (width, height, channels) overrides the most common size and colour."""
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    files = [file for file in files if not _is_hidden(file.relative_to(path))]
    if not files:
        raise TableError(f"{path} is a folder without images. Known suffixes: {', '.join(SUFFIXES)}.")
    broken: dict[Path, TableError] = {}
    looks = {file: look for file in files if (look := _unless_broken(_look, file, broken)) is not None}
    notes: list[str] = []
    shape = image or (_shape(list(looks.values()), notes) if looks else (1, 1, 1))
    width, height, channels = shape
    check_room(path, len(looks), width * height * channels)
    pixels = np.empty((len(looks), height * width * channels), np.float32)
    thumbnails: list[bytes] = []
    names: list[Path] = []
    for file in looks:
        opened = _unless_broken(lambda file: _opened(file, "L" if channels == 1 else "RGB"), file, broken)
        if opened is None:
            continue
        row = pixels[len(names)]
        names.append(file.relative_to(path))
        thumbnails.append(thumbnail(opened))
        if opened.size != (width, height):
            shrinks = opened.width >= width  # averaging pixels is right when shrinking, and blocky when enlarging
            opened = opened.resize((width, height), Image.Resampling.BOX if shrinks else None)
        row[:] = np.asarray(opened, np.float32).ravel() / np.float32(255)
    pixels = pixels[: len(names)]
    _tell_broken(path, broken, len(files), notes)
    labels = np.array([name.parts[0] if len(name.parts) > 1 else None for name in names], object)
    columns = {"file": np.array([name.as_posix() for name in names], object)}
    if any(label is not None for label in labels):
        columns["folder"] = labels
    return MatrixSource(
        str(path),
        _digest(files, [file.relative_to(path) for file in files]),
        _pixel_names(width, height, channels),
        extras=list(columns),
        id="file",
        label="folder" if "folder" in columns else None,
        images=thumbnails,
        image=[width, height, channels],
        notes=notes,
        load=lambda: pixels,
        columns=columns,
    )


def _unless_broken(read: Callable[[Path], _T], file: Path, broken: dict[Path, TableError]) -> _T | None:
    """What `read` makes of an image; None, and an entry in `broken`, if it cannot be read."""
    try:
        return read(file)
    except TableError as error:
        broken[file] = error
        return None


def _tell_broken(path: Path, broken: dict[Path, TableError], count: int, notes: list[str]) -> None:
    """Name the images that were left out; TableError if no image is left."""
    if len(broken) == count:
        raise TableError(f"{path}: none of its {amount(count, 'image')} can be read: {next(iter(broken.values()))}")
    if broken:
        names = listed(file.relative_to(path).as_posix() for file in sorted(broken))
        were = "was" if len(broken) == 1 else "were"
        notes.append(f"{len(broken)} of {count} images cannot be read and {were} left out: {names}.")


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _look(file: Path) -> _Look:
    """Size and colour, from the first bytes of the file."""
    with readable(file, "an image"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(file, formats=FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise TableError(
                    f"{file} has {image.width} × {image.height} pixels, more than {_MOST_PIXELS}. Resize it."
                )
            return _Look(image.size, image.mode in _GREY)


def _opened(file: Path, mode: str) -> Image.Image:
    """The image in grey or colour; transparent parts are white."""
    with readable(file, "an image"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(file, formats=FORMATS) as image:
            if image.mode.startswith("I") or image.mode == "F":
                return _deep(image, mode)
            if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
                clear = image.convert("RGBA")
                return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert(mode)
            return image.convert(mode)


def _deep(image: Image.Image, mode: str) -> Image.Image:
    """Convert 16-bit grey to 8 bits. Pillow's own conversion would clip everything above 255."""
    values = np.asarray(image, np.float64)
    most = 65535 if image.mode.startswith("I") else max(float(np.nanmax(values)), 1.0)
    return Image.fromarray(np.clip(np.nan_to_num(values) / most * 255, 0, 255).astype(np.uint8)).convert(mode)


def _shape(looks: list[_Look], notes: list[str]) -> tuple[int, int, int]:
    sizes = Counter(look.size for look in looks)
    (width, height), count = sizes.most_common(1)[0]  # among equally common sizes, the first
    factor = min(1.0, LONGEST_SIDE / max(width, height))
    size = max(1, round(width * factor)), max(1, round(height * factor))
    if count < len(looks) or factor < 1:
        other = len(looks) - sizes[size]
        were = "was" if other == 1 else "were"
        notes.append(
            f"{other} of {len(looks)} images {were} resized to {size[0]} × {size[1]} pixels, as all need one size."
        )
    return *size, 1 if all(look.grey for look in looks) else 3


def _pixel_names(width: int, height: int, channels: int) -> list[str]:
    ends = [""] if channels == 1 else ["r", "g", "b"]
    return [f"y{y}x{x}{end}" for y in range(height) for x in range(width) for end in ends]


def _digest(files: list[Path], names: list[Path]) -> str:
    """SHA-256 of the names and digests of all files, in order."""
    found = hashlib.sha256()
    for file, name in zip(files, names, strict=True):
        found.update(name.as_posix().encode("utf-8", "surrogateescape") + b"\0" + digest_of(file).encode())
    return found.hexdigest()


def thumbnail(image: Image.Image) -> bytes:
    """The image as PNG, with sides of at most THUMBNAIL_SIDE pixels."""
    small = image.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    file = io.BytesIO()
    small.save(file, "PNG")
    return file.getvalue()


def thumbnail_of_array(pixels: np.ndarray) -> bytes:
    """The thumbnail of an (h, w) or (h, w, c) array of bytes."""
    return thumbnail(Image.fromarray(pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels))
