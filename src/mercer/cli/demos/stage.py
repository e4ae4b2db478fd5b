"""Where a demo shows its results: sentences and tables on stdout, pictures and pages in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from mercer.amounts import amount
from mercer.cli.console import Console, print_table, print_text, spoken
from mercer.cli.outputs import OutputFiles
from mercer.plots import INK


class MissingData(Exception):
    """The data of a demo is not on this machine."""


class Stage:
    """Where one run of demos goes.

    folder : for the pictures; it exists
    pages : whether to write pages, too
    """

    def __init__(self, folder: Path, console: Console, *, pages: bool = True) -> None:
        self.folder, self.console, self.pages = folder, console, pages

    def say(self, text: str = "", *, bold: bool = False) -> None:
        """Print a sentence in lines of at most 80 columns."""
        if not self.console.quiet:
            for line in wrap(text, 80, subsequent_indent="  ") or [""]:
                print_text(line, bold=bold)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], **settings: Any) -> None:
        if not self.console.quiet:
            print_table(headings, rows, **settings)

    def picture(self, name: str, figure: Figure) -> None:
        """Write a PNG with a palette. It has a quarter of the bytes and looks the same."""
        drawn = BytesIO()
        figure.savefig(drawn, format="png")
        image = Image.open(drawn).convert("RGB").quantize(192, dither=Image.Dither.NONE)
        self._write(f"{name}.png", lambda path: image.save(path, format="png", optimize=True), "picture")

    def page(self, name: str, write: Callable[[Path], Any]) -> None:
        if self.pages:
            self._write(f"{name}.html", write, "page")

    def _write(self, name: str, write: Callable[[Path], Any], what: str) -> None:
        path = self.folder / name
        with OutputFiles() as files:
            files.add(path, write)
        self.console.field(what, str(path))

    def spectrum(self, title: str, kpca: Any, rows: int | None = None) -> None:
        """Print the eigenvalues of a kernel PCA with their error bounds, and how they were found."""
        shares = kpca.explained_variance_ratio_
        columns = (kpca.eigenvalues_, shares, np.cumsum(shares), kpca.residuals_, kpca.eigenvalue_error_)
        lines = [
            [str(i), f"{value:.6g}", f"{share:.2%}", f"{total:.2%}", f"{residual:.1e}", f"{error:.1e}"]
            for i, (value, share, total, residual, error) in enumerate(zip(*columns, strict=True), start=1)
        ]
        report = kpca.solver_
        rule = f" ({kpca.gamma})" if isinstance(kpca.gamma, str) else ""
        self.say(title, bold=True)
        self.table(["#", "eigenvalue", "share", "cumulative", "residual", "error bound"], lines[:rows], left=())
        self.say(f"kernel  {kpca.kernel}, gamma = {kpca.gamma_:.4g}{rule}")
        for line in wrap(f"solver  {report.name}: {report.reason}", 78, subsequent_indent=" " * 8):
            self.say(line)
        self.say(f"time    {spoken(report.seconds)}, {amount(report.passes, 'pass', 'passes')} over the kernel matrix")


def title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=10)
