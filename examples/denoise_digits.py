"""How do I denoise images?
========================

To remove noise from handwritten digits, project them onto components and map the scores back to pixels. This example
compares the ways to map them back.

::

    python examples/denoise_digits.py --rows 1000 --output pictures

The components are fitted to clean digits. New digits get noise, are reduced to their scores, and are mapped back. What
the components do not describe, above all the noise, is lost on the way. Each method chooses its settings on one set of
noisy digits, and its error is measured on another. scikit-learn's ridge has the largest grid of settings.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.model_selection import ParameterGrid

from mercer import PCA, KernelPCA
from mercer.preimage import FixedPoint, LocalMDS, Ridge

GAUSSIAN, SPECKLE = "Gaussian noise", "speckle"
WIDTHS = [0.1, 0.3, 1.0, 2.0]  # multiples of 1 / the median of ‖x − y‖²
COMPONENTS = [20, 40, 80, 160]

METHODS = {
    "PCA": (lambda k: PCA(k), {"k": [5, 10, 15, 20, 30, 40]}),
    "scikit-learn's ridge": (
        lambda k, gamma, alpha: SklearnKernelPCA(k, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True),
        {"k": COMPONENTS, "gamma": [0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0], "alpha": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]},
    ),
    "ridge": (
        lambda k, gamma, alpha, width: kernel_pca(k, gamma, Ridge(gamma=width), alpha),
        {"k": COMPONENTS, "gamma": WIDTHS, "alpha": [0.1, 0.3, 1.0], "width": [1.0, 3.0]},
    ),
    "fixed point": (lambda k, gamma: kernel_pca(k, gamma, FixedPoint()), {"k": COMPONENTS, "gamma": WIDTHS}),
    "local MDS": (
        lambda k, gamma, q: kernel_pca(k, gamma, LocalMDS(n_neighbors=q)),
        {"k": COMPONENTS, "gamma": WIDTHS, "q": [6, 10, 20]},
    ),
}
OURS = ["ridge", "fixed point", "local MDS"]


def kernel_pca(k, gamma, method, alpha=1.0):
    return KernelPCA(k, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True, inverse_method=method)


def with_noise(clean: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Gaussian of a quarter of the range, or a fifth of the pixels made black or white."""
    if kind == GAUSSIAN:
        return clean + 0.25 * rng.standard_normal(clean.shape)
    return np.where(rng.random(clean.shape) < 0.2, rng.integers(0, 2, clean.shape), clean)


def squared_error(A: np.ndarray, B: np.ndarray) -> float:
    return float(((A - B) ** 2).mean())


def cleaned(model, rows: np.ndarray) -> np.ndarray:
    return model.inverse_transform(model.transform(rows))


def best_models(name: str, train: np.ndarray, unit: float, clean: np.ndarray, noisy: dict, quick: bool) -> dict:
    """For each kind of noise the settings of least error on the rows to choose by, and the model with them."""
    make, grid = METHODS[name]
    grid = {key: values[1::2] if quick else values for key, values in grid.items()}
    best = {}
    for settings in ParameterGrid(grid):
        scaled = settings | ({"gamma": settings["gamma"] * unit} if "gamma" in settings else {})
        if scaled["k"] >= len(train):
            continue
        model = make(**scaled).fit(train)
        for kind, rows in noisy.items():
            error = squared_error(cleaned(model, rows), clean)
            if kind not in best or error < best[kind][0]:
                best[kind] = error, settings, model
    return best


def picture(rows: dict[str, np.ndarray], title: str) -> Figure:
    """A row of digits for each name."""
    count = len(next(iter(rows.values())))
    figure = Figure(figsize=(0.62 * count + 1.9, 0.62 * len(rows) + 0.4), dpi=110, layout="constrained")
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots(len(rows), count)
    for line, (name, digits) in zip(axes, rows.items(), strict=True):
        for axis, digit in zip(line, digits, strict=True):
            axis.imshow(digit.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_color("0.85")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description="Which pre-image removes noise best?")
    parser.add_argument("--rows", type=int, default=1000, help="clean digits to find components on")
    parser.add_argument("--quick", action="store_true", help="every other setting only")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    rng = np.random.default_rng(0)
    digits = load_digits()
    order = rng.permutation(len(digits.data))
    X, y = digits.data[order] / 16, digits.target[order]
    train, choose, test, labels = X[: given.rows], X[1000:1300], X[1300:], y[1300:]
    unit = 1 / np.median(((train[:200, None] - train[None, :200]) ** 2).sum(axis=2))
    noises = (GAUSSIAN, SPECKLE)
    to_choose = {kind: with_noise(choose, kind, rng) for kind in noises}
    to_test = {kind: with_noise(test, kind, rng) for kind in noises}
    best = {name: best_models(name, train, unit, choose, to_choose, given.quick) for name in METHODS}

    shown = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    for kind, file in zip(noises, ("denoised_digits", "denoised_digits_speckle"), strict=True):
        print(f"{kind}: mean squared error {squared_error(to_test[kind], test):.4f} before")
        rows, errors = {"clean": test[shown], "with noise": to_test[kind][shown]}, {}
        for name in METHODS:
            _, settings, model = best[name][kind]
            found = cleaned(model, to_test[kind])
            rows[name], errors[name] = found[shown], squared_error(found, test)
            print(f"  {name:22} {errors[name]:.4f}   {settings}")
        better = [name for name in OURS if errors[name] < errors["scikit-learn's ridge"]]
        print(f"  better than scikit-learn's ridge at its best: {', '.join(better) or 'none'}")
        picture(rows, kind).savefig(given.output / f"{file}.png")


if __name__ == "__main__":
    main()
