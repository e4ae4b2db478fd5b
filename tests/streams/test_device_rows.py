"""Chunks that are tensors are summed where they are, and give the model of the same rows as arrays."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer.kernels import RBF, Laplacian, Linear
from mercer.streams import ArraySource, ListSource
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.device_rows import DeviceRows
from mercer.streams.row_maps import ClassIndicators, ShiftedRows
from mercer.streams.streamed_features import features_of, streamed_features

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 4))


def both(rows, chunk_rows=600):
    source = ArraySource(rows, chunk_rows=chunk_rows)
    return source, DeviceRows(source, "cpu")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [RBF("columns"), Laplacian("median"), RBF(0.3) + Linear()], ids=repr)
def test_sums_of_tensors_are_those_of_arrays(kernel, dtype):
    rows = X.astype(dtype)
    kernel = kernel.bind(rows).centered_form(rows)
    sample = np.arange(300), rows[:300]
    here, there = (streamed_features(kernel, source, sample, rank=30, random_state=0) for source in both(rows))
    assert np.array_equal(here.places, there.places)
    # Both state how far rounding may move them.
    room = here.rounding + there.rounding
    assert np.abs(here.statistics.products - there.statistics.products).max() <= room
    assert abs(here.statistics.left[0] - there.statistics.left[0]) <= room
    assert here.trace == pytest.approx(there.trace, rel=1e-12) and there.negative <= here.negative + 1e-12
    assert isinstance(there.statistics.products, np.ndarray) and there.statistics.products.dtype == np.float64


def test_the_rounding_of_the_device_is_measured_there():
    rows = X.astype(np.float32)
    features = features_of(RBF(0.3), rows[:40], rows, device="cpu")
    assert features.device == "cpu" and features.slack > 0
    _, diagonal, squares = features(torch.as_tensor(rows))
    exact = features_of(RBF(0.3), rows[:40].astype(np.float64), rows.astype(np.float64))
    moved = np.abs((exact(rows.astype(np.float64))[2] - squares.numpy()) / diagonal.numpy())
    assert moved.max() <= features.slack


def test_models_of_tensors_are_those_of_arrays_and_live_on_the_host():
    rows = X.astype(np.float32)
    target, codes = np.sin(X[:, 0]), (X[:, 0] * X[:, 1] > 0).astype(int)
    source, tensors = both(rows)
    for make, y in (
        (lambda: mercer.KernelPCA(3, kernel="rbf", rank=40, random_state=0), None),
        (lambda: mercer.PCA(2), None),
        (lambda: mercer.KernelDiscriminantAnalysis(rank=40, gamma=0.3, reg=1e-3, random_state=0), codes),
        (lambda: mercer.Kernelized(Ridge(), rank=40, random_state=0), target),
        (lambda: mercer.KernelMap(rank="auto", gamma=0.05, kernel="rbf", random_state=0), None),
    ):
        one, other = make().fit(source, y), make().fit(tensors, y)
        use = "predict" if y is target else "transform"
        expected, found = (getattr(model, use)(rows) for model, rows in ((one, source), (other, tensors)))
        expected, found = expected.to_array(), found.to_array()
        # The same rows in float32: a few thousand roundings, amplified by what the kernel's root divides by.
        assert isinstance(found, np.ndarray) and found.dtype == expected.dtype
        scale = np.abs(expected).max()
        assert np.abs(np.abs(expected) - np.abs(found)).max() <= 2e-3 * scale, type(one).__name__


def test_two_views_may_be_tensors():
    rows = X.astype(np.float32)
    (a, ta), (b, tb) = both(rows[:, :2]), both(rows[:, 1:])
    settings = {"rank": 30, "gamma": 0.2, "reg": 0.1, "random_state": 0}
    here, there = mercer.KernelCCA(2, **settings).fit(a, b), mercer.KernelCCA(2, **settings).fit(ta, tb)
    assert np.abs(here.training_correlations_ - there.training_correlations_).max() < 1e-4
    assert there.score(ta, tb) == pytest.approx(here.score(a, b), abs=1e-4)


def test_weighted_classes_beside_tensors():
    codes, weights = (np.arange(len(X)) % 3)[:, None], (0.5, 2.0, 0.25)
    work = ChunkWork((ShiftedRows(np.zeros(4)), ClassIndicators(3)), weights=weights)
    here, there = work(0, 0, [X, codes]), work(0, 0, [torch.as_tensor(X), codes])
    assert np.allclose(here.products, there.products, rtol=1e-12, atol=1e-9) and there.n == here.n


def test_a_list_of_tensors_is_a_source_on_their_device():
    parts = [torch.as_tensor(X[:700]), torch.as_tensor(X[700:])]
    source = mercer.open_rows(parts)
    assert str(source.device) == "cpu" and source.dtype == np.float64 and source.chunk(1) is parts[1]
    found = mercer.PCA(2).fit(source)
    assert np.allclose(found.explained_variance_, mercer.PCA(2).fit(X).explained_variance_, rtol=1e-12)
    cut = mercer.open_rows(torch.as_tensor(X), chunk_rows=900, columns=[2, 0])
    assert cut.lengths == [666, 667, 667] and np.array_equal(cut.chunk(0), X[:666, [2, 0]])
    scores = found.transform(source)
    assert isinstance(scores.chunk(0), np.ndarray) and scores.to_array().shape == (2000, 2)


def test_bad_tensors_name_the_chunk_and_the_row():
    spoilt = torch.as_tensor(X[:700].copy())
    spoilt[3, 1] = float("nan")
    with pytest.raises(ValueError, match=r"Chunk 1: row 3, which is row 703 of all, is missing \(NaN\) in column 1"):
        mercer.PCA(2).fit(ListSource([torch.as_tensor(X[:700]), spoilt]))
    with pytest.raises(ValueError, match="several places"):
        ListSource([X[:700], torch.as_tensor(X[:700])])
    with pytest.raises(TypeError, match="sparse"):
        import scipy.sparse as sp

        DeviceRows(sp.csr_array(X), "cpu").chunk(0)


def test_checkpoints_of_tensors_resume(tmp_path):
    rows = X.astype(np.float32)
    path = tmp_path / "fit.part"

    class Stops(DeviceRows):
        reads = 0

        def chunk(self, i):
            Stops.reads += 1
            if Stops.reads > 8:
                raise RuntimeError("stopped")
            return super().chunk(i)

    whole = mercer.KernelPCA(2, kernel="rbf", rank=20, random_state=0).fit(both(rows, 300)[1])
    model = mercer.KernelPCA(2, kernel="rbf", rank=20, random_state=0)
    with pytest.raises(RuntimeError, match="stopped"), mercer.streams.checkpoints(path, every=0):
        model.fit(Stops(ArraySource(rows, chunk_rows=300), "cpu"))
    Stops.reads = -100
    with mercer.streams.checkpoints(path, every=0):
        model.fit(Stops(ArraySource(rows, chunk_rows=300), "cpu"))
    assert np.array_equal(model.eigenvalues_, whole.eigenvalues_)
