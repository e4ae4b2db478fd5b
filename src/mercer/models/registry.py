"""Which module declares which class: the list that a model file chooses from, and `load_model`, which reads it.

A name in a file that is not on this list is refused, and only modules on this list are imported. The list is in the
registry and not in `model_file` so that it stands above all the classes it names. `tests/models/test_registry.py`
compares it with the declarations in the package.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from mercer.models.fields import DECLARED, Declaration, Mismatch
from mercer.models.model_file import read_model
from mercer.models.sklearn_classes import SKLEARN

# module → the names, in files, of the classes that it declares
MODULES: dict[str, tuple[str, ...]] = {
    "mercer.embedding.affinities": ("Affinities",),
    "mercer.embedding.weighting": ("law.Perplexity", "law.FixedWidth", "law.Uniform"),
    "mercer.embedding.descent": ("Map",),
    "mercer.embedding.similarity": ("similarity.Student", "similarity.Gaussian"),
    "mercer.estimators.classical_mds": ("ClassicalMDS",),
    "mercer.estimators.isomap": ("Isomap",),
    "mercer.estimators.kernel_cca": ("KernelCCA", "SecondView"),
    "mercer.estimators.kernel_discriminant": ("KernelDiscriminantAnalysis",),
    "mercer.estimators.kernel_map": ("KernelMap",),
    "mercer.estimators.kernel_pca": ("KernelPCA",),
    "mercer.estimators.kernelized": ("Kernelized",),
    "mercer.estimators.mds": ("MDS",),
    "mercer.estimators.novelty": ("NoveltyDetector",),
    "mercer.estimators.pca": ("PCA",),
    "mercer.estimators.tsne": ("TSNE", "SNE"),
    "mercer.expansion": ("KernelExpansion",),
    "mercer.fit_report": ("SolverReport", "EmbeddingReport"),
    "mercer.graph.approximate_index": ("index.ApproximateIndex",),
    "mercer.graph.kmeans_cells": ("Cells",),
    "mercer.graph.geodesics": ("Geodesics",),
    "mercer.graph.metric_index": ("index.MetricIndex", "index.KernelIndex"),
    "mercer.graph.precomputed_index": ("index.MatrixIndex", "index.GraphIndex"),
    "mercer.graph.tile_index": ("index.TileIndex",),
    "mercer.graph.tree_index": ("index.KDTreeIndex", "index.BallTreeIndex"),
    "mercer.kernels.adapters": ("kernel.GaussianProcessKernel",),
    "mercer.kernels.kernel": (
        "kernel.Sum",
        "kernel.Product",
        "kernel.Scaled",
        "kernel.Power",
        "kernel.Normalized",
        "kernel.OnColumns",
        "kernel.WeightedColumns",
        "kernel.Constant",
    ),
    "mercer.kernels.discrete": ("kernel.Spectrum", "kernel.Precomputed"),
    "mercer.kernels.distances": ("kernel.RBF", "kernel.Laplacian", "kernel.Matern", "kernel.RationalQuadratic"),
    "mercer.kernels.histograms": ("kernel.Chi2", "kernel.AdditiveChi2", "kernel.Intersection", "kernel.Hamming"),
    "mercer.kernels.metric": ("kernel.HalfSquaredDistance",),
    "mercer.kernels.products": (
        "kernel.Linear",
        "kernel.LinearAbout",
        "kernel.Polynomial",
        "kernel.Sigmoid",
        "kernel.Cosine",
        "kernel.ArcCosine",
        "kernel.Tanimoto",
    ),
    "mercer.spectral.class_rule": ("Rule",),
    "mercer.linalg.lowrank": ("FourierFeatures",),
    "mercer.preimage.target": ("Fitted", "FeatureNeighbors"),
    "mercer.preimage.fixed_point": ("method.FixedPoint", "preimage.FixedPointMap"),
    "mercer.preimage.local_mds": ("method.LocalMDS", "preimage.LocalMDSMap", "InverseProfile"),
    "mercer.preimage.ridge": ("method.Ridge", "preimage.RidgeMap"),
    "mercer.preimage.sklearn_ridge": ("method.SklearnRidge",),
}
_HOMES = {name: module for module, names in MODULES.items() for name in names}


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator of a file and the notes that were saved with it; see `mercer.load`.

    `path` is the file.

    >>> from tempfile import TemporaryDirectory
    >>> from mercer import PCA
    >>> with TemporaryDirectory() as folder:
    ...     PCA(3).save(f"{folder}/m.mercer")
    ...     model, notes = load_model(f"{folder}/m.mercer")
    >>> model.n_components, notes
    (3, {})
    """
    return read_model(path, find_declaration)


def find_declaration(name: Any) -> Declaration:
    """The declaration of a class by its name in files; Mismatch if it is not on the list."""
    if isinstance(name, str) and name in SKLEARN:
        return SKLEARN[name]
    if not isinstance(name, str) or name not in _HOMES:
        raise Mismatch(f"{str(name)[:60]!r} is not a class that this Mercer knows")
    import_module(_HOMES[name])
    return DECLARED[name]


def known_names() -> list[str]:
    """All names that a file may use."""
    return [*_HOMES, *SKLEARN]
