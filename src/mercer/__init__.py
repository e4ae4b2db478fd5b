"""Kernel PCA and its family: exact to a stated tolerance, without the n × n matrix."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    import os

    from mercer import embedding as embedding
    from mercer import exceptions as exceptions
    from mercer import graph as graph
    from mercer import kernels as kernels
    from mercer import linalg as linalg
    from mercer import live as live
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
    from mercer.live.launch import explore
    from mercer.live.notebook import widget
    from mercer.selection.neighbors_diagnosis import diagnose_neighbors
    from mercer.streams.opening import open_rows
    from mercer.streams.row_writer import write_rows

__version__ = "0.2.0"
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
    "explore",
    "load",
    "open_rows",
    "smacof",
    "widget",
    "write_rows",
]

_HOMES = {
    "PCA": "estimators.pca",
    "ClassicalMDS": "estimators.classical_mds",
    "Isomap": "estimators.isomap",
    "KernelCCA": "estimators.kernel_cca",
    "KernelDiscriminantAnalysis": "estimators.kernel_discriminant",
    "KernelMap": "estimators.kernel_map",
    "KernelPCA": "estimators.kernel_pca",
    "Kernelized": "estimators.kernelized",
    "MDS": "estimators.mds",
    "NoveltyDetector": "estimators.novelty",
    "SNE": "estimators.tsne",
    "TSNE": "estimators.tsne",
    "diagnose_neighbors": "selection.neighbors_diagnosis",
    "explore": "live.launch",
    "open_rows": "streams.opening",
    "smacof": "estimators.mds",
    "widget": "live.notebook",
    "write_rows": "streams.row_writer",
    # public subpackages and modules, attributes of `mercer` from the start
    "embedding": "embedding",
    "exceptions": "exceptions",
    "graph": "graph",
    "kernels": "kernels",
    "linalg": "linalg",
    "live": "live",
    "models": "models",
    "plots": "plots",
    "preimage": "preimage",
    "quality": "quality",
    "selection": "selection",
    "streams": "streams",
    "tables": "tables",
    "testing": "testing",
    "web": "web",
}


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


__getattr__, __dir__ = deferred_names(__name__, _HOMES, (*__all__, "__version__"))
