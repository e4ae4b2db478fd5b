"""Kernel PCA and its family: exact to a stated tolerance, without the n × n matrix."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from mercer import embedding as embedding
    from mercer import exceptions as exceptions
    from mercer import graph as graph
    from mercer import kernels as kernels
    from mercer import linalg as linalg
    from mercer import models as models
    from mercer import plots as plots
    from mercer import preimage as preimage
    from mercer import quality as quality
    from mercer import selection as selection
    from mercer import streams as streams
    from mercer import tables as tables
    from mercer import testing as testing
    from mercer import web as web
    from mercer.estimators.classical_mds import ClassicalMDS
    from mercer.estimators.isomap import Isomap
    from mercer.estimators.kernel_cca import KernelCCA
    from mercer.estimators.kernel_discriminant import KernelDiscriminantAnalysis
    from mercer.estimators.kernel_map import KernelMap
    from mercer.estimators.kernel_pca import KernelPCA
    from mercer.estimators.kernelized import Kernelized
    from mercer.estimators.mds import MDS, smacof
    from mercer.estimators.novelty import NoveltyDetector
    from mercer.estimators.pca import PCA
    from mercer.estimators.tsne import SNE, TSNE
    from mercer.selection.neighbors_diagnosis import diagnose_neighbors
    from mercer.streams.opening import open_rows
    from mercer.streams.row_writer import write_rows

__version__ = "0.1.0"
__all__ = [
    "MDS",
    "PCA",
    "SNE",
    "TSNE",
    "ClassicalMDS",
    "Isomap",
    "KernelCCA",
    "KernelDiscriminantAnalysis",
    "KernelMap",
    "KernelPCA",
    "Kernelized",
    "NoveltyDetector",
    "diagnose_neighbors",
    "load",
    "open_rows",
    "smacof",
    "write_rows",
]

_HOMES = {
    "PCA": "mercer.estimators.pca",
    "ClassicalMDS": "mercer.estimators.classical_mds",
    "Isomap": "mercer.estimators.isomap",
    "KernelCCA": "mercer.estimators.kernel_cca",
    "KernelDiscriminantAnalysis": "mercer.estimators.kernel_discriminant",
    "KernelMap": "mercer.estimators.kernel_map",
    "KernelPCA": "mercer.estimators.kernel_pca",
    "Kernelized": "mercer.estimators.kernelized",
    "MDS": "mercer.estimators.mds",
    "NoveltyDetector": "mercer.estimators.novelty",
    "SNE": "mercer.estimators.tsne",
    "TSNE": "mercer.estimators.tsne",
    "diagnose_neighbors": "mercer.selection.neighbors_diagnosis",
    "open_rows": "mercer.streams.opening",
    "smacof": "mercer.estimators.mds",
    "write_rows": "mercer.streams.row_writer",
}
# Public subpackages and modules: attributes of `mercer` from the start, loaded when they are first asked for.
_MODULES = (
    "embedding",
    "exceptions",
    "graph",
    "kernels",
    "linalg",
    "models",
    "plots",
    "preimage",
    "quality",
    "selection",
    "streams",
    "tables",
    "testing",
    "web",
)


def load(path: "str | os.PathLike[str]") -> Any:
    """Read the estimator that `estimator.save(path)` wrote. It gives the same bits, and no code in the file is run.

    `mercer.exceptions.ModelFileError` is raised if the file is not a model, or was cut or altered.

    >>> from tempfile import TemporaryDirectory
    >>> from mercer import PCA
    >>> with TemporaryDirectory() as folder:
    ...     PCA(3).save(f"{folder}/pca.mercer")
    ...     again = load(f"{folder}/pca.mercer")
    >>> again.n_components
    3
    """
    return import_module("mercer.models.registry").load_model(path)[0]


def __getattr__(name: str) -> Any:
    """Load an estimator or a subpackage when it is first asked for, so that `mercer --help` need not wait for it."""
    if name in _MODULES:
        return import_module(f"mercer.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What editors and notebooks offer after `mercer.`: the public names, whether they are loaded or not."""
    return sorted([*__all__, *_MODULES, "__version__"])
