"""A plan tells what a fit does and takes, before it starts; a fit refuses by the same plan."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from mercer import (
    PCA,
    SNE,
    TSNE,
    ClassicalMDS,
    Isomap,
    KernelCCA,
    KernelDiscriminantAnalysis,
    Kernelized,
    KernelMap,
    KernelPCA,
    NoveltyDetector,
)
from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF
from mercer.planning import KEPT_MOST, KEPT_SHARE, Alternative, Footprint, Plan, limit_of

N, D = 3_000_000, 30
HUGE = np.broadcast_to(np.float64(0), (N, D))  # the shape of 720 MB, in eight bytes
CLASSES = np.broadcast_to(np.int64(0), (N,))

ESTIMATORS = {
    "PCA": (PCA(2), (HUGE,)),
    "KernelPCA": (KernelPCA(2, kernel="rbf"), (HUGE,)),
    "KernelDiscriminantAnalysis": (KernelDiscriminantAnalysis(), (HUGE, CLASSES)),
    "KernelCCA": (KernelCCA(2), (HUGE, HUGE)),
    "KernelMap": (KernelMap(), (HUGE,)),
    "Kernelized": (Kernelized(Ridge()), (HUGE, CLASSES)),
    "NoveltyDetector": (NoveltyDetector(KernelPCA(2, kernel="rbf")), (HUGE,)),
    "Isomap": (Isomap(), (HUGE,)),
    "ClassicalMDS": (ClassicalMDS(), (HUGE,)),
    "SNE": (SNE(), (HUGE,)),
    "TSNE": (TSNE(), (HUGE,)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_plan_allocates_nothing_and_never_raises(name):
    model, data = ESTIMATORS[name]
    tracemalloc.start()
    plan = model.plan(*data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < HUGE.nbytes / 10
    assert plan.estimator == name and plan.rows == N and plan.method and plan.reason
    assert plan.peak_bytes >= plan.needed_bytes == sum(plan.parts.values()) + plan.code_bytes > 0
    assert plan.fits == (plan.needed_bytes <= plan.limit)
    assert plan.method in str(plan) and "<table>" in plan._repr_html_()
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(None, kernel="rbf"),
        KernelPCA(5, kernel="rbf", eigen_solver="dense"),
        KernelDiscriminantAnalysis(memory_limit="500MB"),
        KernelMap(rank=None),
        Kernelized(Ridge(), rank=None),
        NoveltyDetector(KernelPCA(None, kernel="rbf")),
        Isomap(),
        ClassicalMDS(eigen_solver="dense"),
        TSNE(method="exact"),
        SNE(method="exact"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_alternatives_fit_and_name_parameters_that_the_estimator_has(model):
    rows = HUGE[:200_000]
    plan = model.plan(rows, CLASSES[:200_000])
    assert not plan.fits
    with pytest.raises(MemoryLimitError, match="Nothing was allocated") as refused:
        plan.refuse()
    for alternative in plan.alternatives:
        assert set(alternative.parameters) <= set(model.get_params(deep=False))
        assert alternative.needed_bytes <= plan.limit and str(alternative) in str(refused.value)
        changed = type(model)(**(model.get_params(deep=False) | dict(alternative.parameters)))
        assert changed.plan(rows, CLASSES[:200_000]).needed_bytes == alternative.needed_bytes


def test_where_nothing_else_helps_a_refusal_asks_for_memory():
    given = KernelPCA(2, kernel="rbf", memory_limit=1).plan(HUGE)
    assert not given.alternatives
    with pytest.raises(MemoryLimitError, match=r"memory_limit of 1 B.*Try a larger memory_limit\."):
        given.refuse()


@pytest.mark.parametrize("name", ["KernelPCA", "KernelDiscriminantAnalysis", "KernelMap", "ClassicalMDS", "Isomap"])
@pytest.mark.filterwarnings("ignore")
def test_a_fit_is_refused_exactly_where_its_plan_does_not_fit(name):
    model, _ = ESTIMATORS[name]
    rows = np.random.default_rng(0).standard_normal((120, 3))
    y = (rows[:, 0] > 0).astype(int)
    model = type(model)(**model.get_params())
    needed = model.plan(rows, y).needed_bytes
    model.set_params(memory_limit=needed).fit(rows, y)
    again = model.plan(rows, y).needed_bytes  # the first fit may have loaded compiled code
    assert again <= needed
    with pytest.raises(MemoryLimitError):
        model.set_params(memory_limit=again - 1).fit(rows, y)


def test_the_peak_counts_the_tiles_that_a_fit_keeps():
    rows = HUGE[:10_000]
    tight, roomy = (KernelPCA(5, kernel="rbf", memory_limit=limit).plan(rows) for limit in ("200MB", "4GB"))
    assert tight.needed_bytes == roomy.needed_bytes
    assert tight.peak_bytes <= 200e6
    assert roomy.keep_bytes >= 8 * 10_000**2 / 2  # half of a float64 matrix
    float32 = KernelPCA(5, kernel="rbf", memory_limit="4GB").plan(rows.astype(np.float32))
    assert float32.keep_bytes == pytest.approx(
        roomy.keep_bytes / 2
    )  # float32 tiles reach the tolerance of float32 data


def test_without_a_limit_kept_tiles_are_a_small_part_of_the_free_memory():
    plan = Plan("KernelPCA", 10**5, "krylov", "many rows", Footprint({"basis": 10**8}), limit=5 * 10**9)
    assert plan.keeping(10**6, free=10**10).keep_bytes == 10**6
    assert plan.keeping(10**12, free=10**10).keep_bytes == KEPT_MOST
    assert plan.keeping(10**12, free=10**9).keep_bytes == KEPT_SHARE * 10**9
    given = replace(plan, limit_given=True)
    assert given.keeping(10**12, free=0).keep_bytes == given.room_bytes == given.limit - 10**8


def test_a_large_fit_without_a_limit_leaves_a_shared_machine_its_memory():
    """A batch queue ends jobs that take half of its machine's memory for tiles that they could do without."""
    plan = KernelPCA(5, kernel="rbf").plan(HUGE[:100_000])
    assert 0 < plan.keep_bytes <= 2 * 10**9


@pytest.mark.parametrize("name", ["KernelPCA", "KernelDiscriminantAnalysis", "KernelMap", "KernelCCA"])
def test_a_refusal_comes_before_the_search_for_a_width(name, monkeypatch):
    """gamma="median" reads pairs of rows, which takes memory and time."""
    rows = np.random.default_rng(0).standard_normal((300, 3))
    y = rows if name == "KernelCCA" else (rows[:, 0] > 0).astype(int)
    model = type(ESTIMATORS[name][0])(kernel=RBF("median"), memory_limit=1000)
    monkeypatch.setattr(RBF, "bind", lambda *_: pytest.fail("the width was looked for"))
    with pytest.raises(MemoryLimitError):
        model.fit(rows, y)


def test_a_limit_on_addresses_refuses(monkeypatch):
    plan = Plan("PCA", 10, "full", "asked for", Footprint({"rows": 1000}), 10**6, limit_given=True)
    plan.refuse()
    monkeypatch.setattr("mercer.planning.address_bytes", lambda: 999)
    with pytest.raises(MemoryError, match="999 B that the limit on addresses"):
        plan.refuse()


def test_frames_integers_and_strings_are_planned_by_their_shape():
    frame = pd.DataFrame(np.zeros((50, 3)))
    dense = KernelPCA(2).plan(np.zeros((50, 3)))
    assert KernelPCA(2).plan(frame).needed_bytes == dense.needed_bytes
    assert KernelPCA(2).plan(np.zeros((50, 3), int)).needed_bytes == dense.needed_bytes
    assert KernelPCA(2, kernel="spectrum").plan(["a", "b", "ab"]).rows == 3
    assert KernelPCA(2).plan(sp.csr_array(np.eye(50))).needed_bytes < KernelPCA(2).plan(np.eye(50)).needed_bytes


def test_a_footprint_is_what_is_held_and_the_largest_step():
    inner = Footprint({"a": 1}, {"x": {"b": 5}, "y": {"c": 2, "d": 4}})
    assert inner.peak == 7 and inner.parts == {"a": 1, "c": 2, "d": 4}
    outer = Footprint({"e": 10}, {**inner.as_steps("in"), "z": {"f": 3}})
    assert outer.peak == 17 and set(outer.steps) == {"in: x", "in: y", "z"}
    assert Footprint({"a": 1}).as_steps("in") == {"in": {"a": 1}}


def test_a_plan_in_words():
    plan = Plan("KernelPCA", 5000, "dense", "many pairs", Footprint({"K": 200}), 100, True, keep_bytes=20)
    assert not plan.fits and plan.room_bytes == 0
    words = str(Plan(*[*vars(plan).values()][:7], alternatives=(Alternative({"rank": 5, "method": "a"}, 50),)))
    assert words.splitlines() == [
        "KernelPCA of 5,000 rows by dense: many pairs",
        "peak 200 B",
        "DOES NOT FIT the memory_limit of 100 B",
        "instead: rank=5, method='a' (50 B)",
    ]


def test_limits():
    assert limit_of(None, 1000) == 500 and limit_of("2kB", 1000) == 2000 and limit_of(None, 1000, 0.8) == 800
