"""What --help says about an option of a method: the estimator's docstring, in words that one can type in a shell."""

from __future__ import annotations

import re

from mercer.cli.parameters import Parameter, parameters_of

KERNELS = (  # not imported from the kernels, so that --help loads nothing heavy
    *("additive_chi2", "arc_cosine", "chi2", "cosine", "hamming", "intersection", "laplacian", "linear", "matern"),
    *("poly", "polynomial", "precomputed", "rational_quadratic", "rbf", "sigmoid", "spectrum", "tanimoto"),
)
METRICS = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming"),
    *("jaccard", "l1", "l2", "manhattan", "minkowski", "precomputed", "rogerstanimoto", "russellrao", "sokalsneath"),
    *("sqeuclidean", "yule"),
)
_LANDMARKS = "Keep distances to these points only: n log n work and memory n × landmarks, instead of n²."
# Of docstrings that speak of objects, of attributes and of other functions. Method, or "" for all → parameter → text.
_TEXTS = {
    "": {
        "kernel": f"How alike two rows are: {', '.join(KERNELS)}. precomputed: the table is the kernel matrix.",
        "kernel_y": "The kernel of --second; none takes that of the table.",
        "gamma_y": "The width for --second; none takes the rule of --gamma, worked out on --second.",
        "degree_y": "--degree for --second; none takes that of the table.",
        "coef0_y": "--coef0 for --second; none takes that of the table.",
        "metric": f"How far two rows are apart: {', '.join(METRICS)}. precomputed: the table holds the distances.",
        "affinities": "precomputed: the table holds affinities, one row and one column for each row.",
        "memory_limit": "Bytes that a fit may add to the process, or a size such as 4GB. A fit that needs more is "
        "refused before it starts. none: half of the free memory.",
        "n_neighbors": "Neighbours of each point in the graph.",
        "neighbors": 'The search for neighbours. "auto" is exact up to n²d = 1e11, and approximate beyond; the summary '
        "tells the share of true neighbours that it found.",
        "neighbors_algorithm": '"auto" is exact unless the data is both large and wide; the summary tells the share of '
        "true neighbours that it found.",
        "normalized_stress": '"auto": the stress that is told is Stress-1, √(Σ w(d̂ − d)² / Σ w d²), for non-metric '
        "scaling, and the sum Σ w(d̂ − d)² otherwise.",
    },
    "kpca": {
        "eigen_solver": '"krylov" streams the kernel matrix K in tiles. "lanczos" stores K and multiplies it with '
        'single vectors. "rpcholesky" works on a factor of --rank columns, for tables whose K does not fit, and '
        'tells how far it can be off. "auto" takes "dense" for many components, "lanczos" for few of up to '
        '2048 rows, else "krylov"; '
        "--dry-run tells which.",
        "inverse_method": "How scores become rows: by regression, by the nearest φ(x), by distances to neighbours, or "
        "by regression with the numbers of scikit-learn.",
    },
    "kda": {
        "priors": "The shares of the classes where predictions will be made; none takes those of the labels.",
    },
    "kcca": {
        "memory_limit": "Bytes that a fit may take, or a size such as 4GB. A fit that needs more is refused before it "
        "starts. none: half of the free memory.",
    },
    "isomap": {
        "landmarks": f"{_LANDMARKS} A number is chosen by max–min: each is the farthest along the graph from those "
        "before it.",
        "memory_limit": "Bytes that the distances may take, or a size such as 4GB. If they need more, the fit is "
        "refused before it looks for neighbours. none: half of the free memory.",
    },
    "mds": {
        "memory_limit": "Bytes that the fit may take, or a size such as 2GB. If the dissimilarities do not fit, "
        "every step computes them again.",
        "metric_mds": "Whether the distances count, or only their order.",
    },
}
_FOR_MAPS = {
    "landmarks": "Number of rows, drawn at random, that the map is made of; every other row is placed in it. For "
    "tables of more rows than a descent can take.",
}
_TEXTS |= {"sne": _FOR_MAPS, "tsne": _FOR_MAPS}


def help_text(method: str, parameter: Parameter) -> str:
    """The help of an option of a method."""
    text = _TEXTS.get(method, {}).get(parameter.name) or _TEXTS[""].get(parameter.name)
    if text is None:
        text = re.sub(r" \(\w+Warning\)", "", parameter.text.replace("None", "none").replace("`", ""))
        text = re.sub(r"\b[A-Z]\w+Warning\b", "warning", text)
        options = {each.name: each.option for each in parameters_of(method)}
        text = re.sub(rf'\b({"|".join(options)})="(\w+)"', lambda found: f"{options[found[1]]} {found[2]}", text)
        long = "|".join(name for name in options if "_" in name)  # other names are also words
        text = re.sub(rf"\b({long})\b", lambda found: options[found[1]], text)
    if parameter.default is None:
        return text
    return f"{text}  [default: {str(parameter.default).lower() if parameter.is_flag else parameter.default}]"
