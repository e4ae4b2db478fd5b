"""`mercer demo`: kernel PCA on two rings and on handwritten digits, as tables and pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits, make_circles

from mercer import PCA, KernelPCA
from mercer.plots import FEW, INK, ContourDisplay, EmbeddingDisplay, ScreeDisplay, new_figure, tidy

Pictures = dict[str, Figure]


def run(names: list[str], output: Path, *, quiet: bool = False) -> None:
    """Run the demos in `names`: tables on stdout, pictures into `output`, progress on stderr if that is a terminal."""
    _make_folder(output)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show γ shows a question mark
    console, progress = Console(quiet=quiet, highlight=False), Console(stderr=True, quiet=quiet)
    for name in names:
        with _status(progress, f"{name}: fitting and drawing"):
            pictures = DEMOS[name](console)
            files = [_save(figure, output / f"{file}.png") for file, figure in pictures.items()]
        for file in files:
            console.print(f"wrote {file}", soft_wrap=True, markup=False)
        console.print()


def _status(progress: Console, message: str) -> AbstractContextManager[Any]:
    return progress.status(message) if progress.is_terminal and not progress.quiet else nullcontext()


def _make_folder(folder: Path) -> None:
    """Make the folder and try it, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise click.ClickException(f"cannot write to {folder}: {error.strerror}") from error


def _save(figure: Figure, path: Path) -> Path:
    """Write a PNG with a palette: a quarter of the bytes, and no difference to the eye."""
    page = BytesIO()
    figure.savefig(page, format="png")
    Image.open(page).convert("RGB").quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


# --- the rings of the lecture notes ------------------------------------------------------------------------


def circles(console: Console) -> Pictures:
    """Two rings: their projections on a line overlap in every direction, but not in feature space."""
    X, outside = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    X, rings = 3 * X, np.where(outside == 0, "outer ring", "inner ring")
    pca, kpca = PCA(2).fit(X), KernelPCA(6, kernel="rbf", gamma=0.3).fit(X)
    flat, lifted = pca.transform(X), kpca.transform(X)
    _tell(console, "Concentric circles, 600 points in the plane", kpca)
    shares = [_best_cut(scores[:, 0], outside == 0) for scores in (flat, lifted)]
    console.print(
        f"One cut of the first component sorts {shares[0]:.0%} of the points for PCA, {shares[1]:.0%} for kernel PCA."
    )
    return {
        "circles": _draw_rings(X, rings, flat, kpca),
        "circles-eigenfunctions": _draw_eigenfunctions(X, rings, kpca),
    }


def _best_cut(scores: np.ndarray, members: np.ndarray) -> float:
    """The largest share of points that one threshold puts on the right side."""
    sorted_members = members[np.argsort(scores)]
    right = np.cumsum(~sorted_members) + sorted_members.sum() - np.cumsum(sorted_members)
    return float(max(right.max(), len(right) - right.min()) / len(right))


def _draw_rings(X: np.ndarray, rings: np.ndarray, flat: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, (left, middle, right) = new_figure(3, width=3.9, height=3.9)
    EmbeddingDisplay.from_coordinates(X, rings, names=("x", "y"), ax=left, key=None)
    left.set_aspect("equal", adjustable="datalim")
    for height, ring in ((0.0, "inner"), (1.95, "outer")):
        left.text(0, height, ring, ha="center", va="center", fontsize=9.5, color=INK)
    _title(left, "The data: two rings")
    parts = [flat[rings == ring, 0] for ring in np.unique(rings)]
    middle.hist(parts, bins=30, stacked=True, color=FEW[: len(parts)], alpha=0.85)
    tidy(middle)
    middle.set_xlabel("first component of PCA")
    middle.set_ylabel("points")
    _title(middle, "PCA: the rings merge")
    EmbeddingDisplay.from_estimator(kpca, X, rings, ax=right, key=None)
    _title(right, "Kernel PCA: they come apart")
    return figure


def _draw_eigenfunctions(X: np.ndarray, rings: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, panels = new_figure(4, width=2.9, height=3.1)
    ContourDisplay.from_estimator(kpca, X, rings, components=(0, 1, 3, 5), ax=panels)
    return figure


# --- handwritten digits ------------------------------------------------------------------------------------


def digits(console: Console) -> Pictures:
    """1797 images of 8 × 8 pixels: a map of the first four components, and the spectrum with its certificate."""
    X, y = load_digits(return_X_y=True)
    kpca = KernelPCA(40, kernel="rbf", gamma="median").fit(X)
    _tell(console, "Handwritten digits, 1797 images of 64 pixels", kpca, rows=10)
    return {"digits": _draw_map(X, y, kpca), "digits-scree": _draw_spectrum(kpca)}


def _draw_map(X: np.ndarray, y: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, (left, right) = new_figure(2, width=5.2, height=4.8)
    EmbeddingDisplay.from_estimator(kpca, X, y, ax=left)
    EmbeddingDisplay.from_estimator(kpca, X, y, components=(2, 3), ax=right)
    _title(left, "Handwritten digits, kernel PCA")
    _title(right, "The next two components")
    return figure


def _draw_spectrum(kpca: KernelPCA) -> Figure:
    figure, (left, right) = new_figure(2, width=4.6, height=3.6)
    display = ScreeDisplay.from_estimator(kpca, ax=left)
    display.plot_certificate(ax=right)
    right.axhline(kpca.solver_.tol * kpca.eigenvalues_[0], color=INK, lw=1, ls=(0, (4, 3)), label="asked for: tol · γ₁")
    right.legend(loc=(0.48, 0.64), frameon=False, fontsize=8.5, labelcolor=INK)
    _title(left, "Eigenvalues of the centred kernel matrix")
    _title(right, "How far they can be wrong")
    return figure


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=10)


# --- tables ------------------------------------------------------------------------------------------------


def _tell(console: Console, title: str, kpca: KernelPCA, rows: int | None = None) -> None:
    """The spectrum with its certificate, and what the fit did."""
    console.print(title, style="bold")
    console.print(_table(kpca, rows))
    report = kpca.solver_
    rule = f" ({kpca.gamma})" if isinstance(kpca.gamma, str) else ""
    console.print(f"kernel  {kpca.kernel}, gamma = {kpca.gamma_:.4g}{rule}", markup=False)
    console.print(f"solver  {report.name}: {report.reason}", markup=False)
    console.print(f"time    {report.seconds:.2g} s, {report.passes} passes over the kernel matrix", markup=False)


def _table(kpca: KernelPCA, rows: int | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("#", "eigenvalue", "share", "cumulative", "residual", "error bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    shares = kpca.explained_variance_ratio_
    columns = (kpca.eigenvalues_, shares, np.cumsum(shares), kpca.residuals_, kpca.eigenvalue_error_)
    for i, (value, share, sum_, residual, error) in enumerate(zip(*columns, strict=True), start=1):
        if rows is None or i <= rows:
            table.add_row(str(i), f"{value:.6g}", f"{share:.2%}", f"{sum_:.2%}", f"{residual:.1e}", f"{error:.1e}")
    return table


DEMOS: dict[str, Callable[[Console], Pictures]] = {"circles": circles, "digits": digits}
