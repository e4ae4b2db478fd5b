"""What sphinx-gallery has to know of our examples: their arguments, and where they leave pictures."""

import os
import shutil
import tempfile
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

OUT = Path(tempfile.gettempdir()) / f"mercer-gallery-{os.getpid()}"
# Two examples would take more than a minute as they are; another one shows its full size, in seconds.
ARGUMENTS = {"denoise_digits": ["--quick"], "eigenfaces": ["--quick"], "million_rows": ["--rows", "1000000"]}


def fresh_arguments(gallery_conf, script_vars) -> list[str]:
    """The arguments of an example: a folder for its pictures, empty."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    script = Path(script_vars["src_file"])
    takes_a_folder = '"--output"' in script.read_text(encoding="utf-8")
    return [*(["--output", str(OUT)] if takes_a_folder else []), *ARGUMENTS.get(script.stem, [])]


def saved_pictures(block, block_vars, gallery_conf) -> str:
    """Take the pictures that an example has saved since the last look."""
    taken = []
    for picture in sorted(OUT.glob("*.png"), key=lambda path: path.stat().st_mtime_ns):
        target = next(block_vars["image_path_iterator"])
        shutil.move(picture, target)
        taken.append(target)
    return figure_rst(taken, gallery_conf["src_dir"])


def _get_sg_image_scraper():
    """How sphinx-gallery finds the scraper of a module that it is given by name."""
    return saved_pictures
