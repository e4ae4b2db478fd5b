"""Declarations of what model files hold are complete: every class is on the list, every attribute has a line."""

import inspect
import pkgutil
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import mercer
from mercer.embedding.weighting import Uniform
from mercer.kernels import RBF, Spectrum
from mercer.models.fields import DECLARED, SavedRecord, declaration_of
from mercer.models.registry import MODULES

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X[:, :2] ** 2
CLASSES = np.arange(40) % 3
WORDS = ["abcabc", "bcbcaa", "cabcab", "aaabbb", "abab", "bbaa", "cccab", "acac"]

pytestmark = pytest.mark.filterwarnings("ignore")


def ours():
    """The declarations in the package, all of it imported. Other tests declare classes of their own."""
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if module.name.endswith("__main__"):
            continue
        try:
            import_module(module.name)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":  # which is optional, and no class that needs it is saved
                raise
    return {name: each for name, each in DECLARED.items() if each.owner.__module__.startswith("mercer.")}


def test_the_list_names_every_declared_class_and_its_module():
    declared: dict[str, set[str]] = {}
    for name, declaration in ours().items():
        declared.setdefault(declaration.owner.__module__, set()).add(name)
    listed = {module: set(names) for module, names in MODULES.items()}
    for module in sorted({*declared, *listed}):
        assert declared.get(module, set()) == listed.get(module, set()), (
            f"{module} declares {sorted(declared.get(module, set()))}, and MODULES in mercer/models/registry.py lists "
            f"{sorted(listed.get(module, set()))} for it: correct the list."
        )


CASES = {
    "PCA": lambda: mercer.PCA(2).fit(X),
    "PCA, float32": lambda: mercer.PCA().fit(X.astype(np.float32)),
    "KernelPCA": lambda: mercer.KernelPCA(2, kernel="rbf").fit(X),
    "KernelPCA, all components": lambda: mercer.KernelPCA(kernel="poly").fit(X),
    "KernelPCA, landmarks": lambda: mercer.KernelPCA(2, kernel="rbf", eigen_solver="rpcholesky", rank=9).fit(X),
    "KernelPCA, ridge": lambda: mercer.KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X),
    "KernelPCA, fixed point": lambda: mercer.KernelPCA(
        2, kernel="rbf", fit_inverse_transform=True, inverse_method="fixed_point"
    ).fit(X),
    "KernelPCA, fit_transform": lambda: _after(mercer.KernelPCA(2, kernel="rbf", fit_inverse_transform=True)),
    "KernelPCA, parallel": lambda: mercer.KernelPCA("parallel", kernel="rbf").fit(X),
    "KernelPCA, strings": lambda: mercer.KernelPCA(2, kernel=Spectrum(2)).fit(WORDS),
    "KernelPCA, precomputed": lambda: mercer.KernelPCA(2, kernel="precomputed").fit(X @ X.T),
    "KernelPCA, used": lambda: _used(mercer.KernelPCA(2, kernel="rbf").fit(X)),
    "KernelDiscriminantAnalysis": lambda: mercer.KernelDiscriminantAnalysis().fit(X, CLASSES),
    "KernelDiscriminantAnalysis, rank": lambda: mercer.KernelDiscriminantAnalysis(rank=9, reg=0.1).fit(X, CLASSES),
    "KernelCCA": lambda: mercer.KernelCCA(2, rank=9).fit(X, Y),
    "KernelMap": lambda: mercer.KernelMap(rank=9).fit(X),
    "KernelMap, Fourier": lambda: mercer.KernelMap(rank=8, method="fourier").fit(X),
    "Kernelized": lambda: mercer.Kernelized(Ridge(), rank=9).fit(X, Y[:, 0]),
    "NoveltyDetector": lambda: mercer.NoveltyDetector().fit(X),
    "ClassicalMDS": lambda: mercer.ClassicalMDS().fit(X),
    "ClassicalMDS, precomputed": lambda: mercer.ClassicalMDS(metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0])),
    "MDS": lambda: mercer.MDS().fit(X),
    "MDS, non-metric": lambda: mercer.MDS(metric_mds=False, metric="manhattan").fit(X),
    "MDS, precomputed": lambda: mercer.MDS(metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0])),
    "MDS, used": lambda: _used(mercer.MDS().fit(X)),
    "Isomap": lambda: mercer.Isomap().fit(X),
    "Isomap, landmarks": lambda: mercer.Isomap(landmarks=9).fit(X),
    "Isomap, largest part": lambda: mercer.Isomap(n_neighbors=3, disconnected="largest").fit(np.r_[X, X[:9] + 99]),
    "Isomap, CSR": lambda: mercer.Isomap().fit(sp.csr_array(X)),
    "Isomap, used": lambda: _used(mercer.Isomap().fit(X)),
    "TSNE": lambda: mercer.TSNE(perplexity=5, max_iter=20).fit(X),
    "TSNE, continued": lambda: mercer.TSNE(perplexity=5, max_iter=20).fit(X).optimize(5),
    "TSNE, used": lambda: _used(mercer.TSNE(perplexity=5, max_iter=20).fit(X)),
    "SNE": lambda: mercer.SNE(affinities=Uniform(5), max_iter=20, snapshots=10).fit(X),
    "SNE, kernel": lambda: mercer.SNE(metric=RBF(0.5), perplexity=5, max_iter=20).fit(X),
}


def _after(model):
    model.fit_transform(X)
    return model


def _used(model):
    """After its methods: caches that they leave need a line too."""
    model.transform(X[:5])
    for name in ("score", "reconstruction_error"):
        if hasattr(model, name):
            getattr(model, name)(*([X[:5]] if name == "score" else []))
    return model


@pytest.mark.parametrize("case", CASES)
def test_a_fit_sets_the_attributes_that_its_class_declares(case):
    model = CASES[case]()
    lines, set_here = declaration_of(model).lines(), set(vars(model)) - set(model.get_params(deep=False))
    name, home = type(model).__name__, f"{type(model).__module__.replace('.', '/')}.py"
    for attribute in sorted(set_here - set(lines)):
        pytest.fail(
            f"{name} sets `{attribute}` in fit but does not declare it: add a line for it to `{name}._saved` in {home}."
        )
    for attribute, line in lines.items():
        assert attribute in set_here or not line.needed, (
            f"{name} declares `{attribute}` but does not set it in fit: delete its line from `{name}._saved` in "
            f"{home}, or wrap its check in if_set(…)."
        )


def test_every_estimator_is_among_the_cases():
    tried = {case.partition(",")[0] for case in CASES}
    assert tried == {name for name, declaration in ours().items() if declaration.root}


@pytest.mark.parametrize("case", CASES)
def test_every_object_inside_a_model_can_be_taken_apart(case):
    """A class that is reached but not declared makes `save` fail: here its name is in the message."""
    model = CASES[case]()
    seen: set[int] = set()
    _visit(model, case, seen)


def _visit(value, place, seen):
    declaration = declaration_of(value)
    if declaration is None or id(value) in seen:
        module = type(value).__module__
        assert declaration is not None or not module.startswith("mercer."), (
            f"{place} is a {type(value).__name__} of {module}: add a declaration, `_saved = …`, to that class."
        )
        return
    seen.add(id(value))
    for part in declaration.take_apart(value):
        for name, entry in part.items():
            for inner in entry if isinstance(entry, (list, tuple)) else [entry]:
                _visit(inner, f"{place}.{name}", seen)


def test_records_declare_every_argument_of_their_constructor():
    """An argument without a line would be lost in a file: the loaded object would have its default."""
    records = [each for each in ours().values() if isinstance(each, SavedRecord) and each.build is None]
    assert len(records) > 40
    for record in records:
        name, home = record.owner.__name__, f"{record.owner.__module__.replace('.', '/')}.py"
        declared = {attribute.lstrip("_") for attribute in record.lines()}
        taken = set(inspect.signature(record.owner).parameters)
        assert declared == taken, (
            f"The constructor of {name} takes {sorted(taken)}, and `{name}._saved` in {home} declares "
            f"{sorted(declared)}: add or delete lines there."
        )
