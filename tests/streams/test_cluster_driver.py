"""A pass on workers gives the bits of a pass in this process: over any source, and when a worker is lost."""

import os
import signal
import time
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import mercer
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered
from mercer.streams import ArraySource, ListSource, checkpoints, cluster
from mercer.streams.dask_rows import DaskRows
from mercer.streams.local_driver import folded
from mercer.streams.mapped_rows import MappedRows

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = (RNG.standard_normal((2500, 4)) * [3, 2, 1, 0.5] + 10).astype(np.float32)


@pytest.fixture(scope="module")
def client():
    """Two processes. They know nothing of this one, as those of another machine would."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started,
        distributed.Client(started, set_as_default=False) as found,
    ):
        yield found


def bits(model):
    arrays = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    return {name: value.tobytes() for name, value in arrays.items() if value.dtype != object}


def made():
    return mercer.PCA(2), mercer.KernelPCA(2, kernel="rbf", gamma="median", rank=40)


@cache
def fitted_here():
    return [bits(model.fit(ArraySource(X, chunk_rows=300))) for model in made()]


class Again:
    """An iterable that starts again each time."""

    def __iter__(self):
        return (ArraySource(X, chunk_rows=300).chunk(i) for i in range(9))


class Slow(ArraySource):
    """Rows that take a while to read, so that a worker can be lost meanwhile."""

    def chunk(self, i):
        time.sleep(0.05)
        return super().chunk(i)


def doubled(rows):
    return 2 * rows


@pytest.mark.parametrize("kind", ["parquet", "array", "iterable", "dask"])
def test_a_fit_on_workers_has_the_bits_of_a_fit_here(client, kind, tmp_path):
    path = tmp_path / "rows.parquet"
    mercer.write_rows(ArraySource(X, chunk_rows=300), path)
    lengths = ArraySource(X, chunk_rows=300).lengths
    rows = {
        "parquet": lambda: mercer.open_rows(path, chunk_rows=300),
        "array": lambda: ArraySource(X, chunk_rows=300),
        "iterable": lambda: mercer.open_rows(Again()),
        "dask": lambda: da.from_array(X, chunks=(tuple(lengths), 2)),
    }[kind]()
    with cluster(client):
        for model, expected in zip(made(), fitted_here(), strict=True):
            assert bits(model.fit(rows)) == expected
        assert f"on 2 workers of {client.scheduler.address}" in model.plan(rows).reason
        scores = model.transform(rows)
        here = model.transform(ArraySource(X, chunk_rows=300)).to_array()
        on_workers = scores.compute() if kind == "dask" else scores.to_array()
    # BLAS may add in another order with one thread. A score is a sum over 40 landmarks of terms of the size of √γ.
    np.testing.assert_allclose(on_workers, here, atol=1e-5 * np.abs(here).max())


def test_a_dask_array_finds_the_current_client(client):
    lengths = tuple(ArraySource(X, chunk_rows=300).lengths)
    array = da.from_array(X, chunks=(lengths, 4))
    with client.as_current():
        assert "on 2 workers" in mercer.PCA(2).plan(array).reason
        assert bits(mercer.PCA(2).fit(client.persist(array))) == fitted_here()[0]
    assert "workers" not in mercer.PCA(2).plan(array).reason


def test_views_of_several_kinds_go_together(client):
    """Mapped rows of files, sparse rows and a dask array: whoever holds them, the step sees the same chunks."""
    dense, lengths = ArraySource(X, chunk_rows=500), (500,) * 5
    views = [MappedRows(dense, doubled, 4), ArraySource(sp.csr_array(X), chunk_rows=500)]
    views.append(mercer.open_rows(da.from_array(X, chunks=(lengths, 4))))
    views.append(MappedRows(views[-1], doubled, 4))
    expected = [list(folded(summed, views[:n], [[0, 1], [3], [4]])) for n in (2, 4)]
    with cluster(client):
        assert [list(folded(summed, views[:n], [[0, 1], [3], [4]])) for n in (2, 4)] == expected


def summed(state, number, views):
    return (state or []) + [(number, type(view).__name__, float(view.sum(dtype=np.float64))) for view in views]


@pytest.fixture
def graph_stays(monkeypatch):
    """dask arrays are neither pickled into the tasks nor brought here chunk by chunk: they are parts of the graph."""

    def refuse(*_):
        raise AssertionError("the graph went to a task, or the chunk came here")

    monkeypatch.setattr(DaskRows, "__getstate__", refuse)
    monkeypatch.setattr(DaskRows, "chunk", refuse)


@pytest.mark.parametrize("how", ["cluster", "current client"])
def test_a_named_target_of_a_frame_is_a_part_of_its_graph(client, graph_stays, how):
    """The rows and the column of the target share what they are computed from."""
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    kind = (X[:, 0] > 10).astype(np.float32)
    frame = dd.from_pandas(pd.DataFrame(np.column_stack([X, kind]), columns=list("abcde")), npartitions=5)
    make = lambda: mercer.KernelDiscriminantAnalysis(gamma=0.02, rank=40, reg=1e-2)  # noqa: E731
    with client.as_current():
        lengths = frame.map_partitions(len).compute().tolist()
    expected = make().fit(ListSource(np.split(X, np.cumsum(lengths)[:-1])), ArraySource(kind[:, None]))
    with cluster(client) if how == "cluster" else client.as_current():
        assert bits(make().fit(frame, "e")) == bits(expected)


def test_labels_and_parts_of_a_list_that_dask_has_are_parts_of_its_graph(client, graph_stays):
    kind = (X[:, 0] > 10).astype(np.float32)
    make = lambda: mercer.KernelDiscriminantAnalysis(gamma=0.02, rank=40, reg=1e-2)  # noqa: E731
    expected = make().fit(ListSource(np.split(X, 5)), ArraySource(kind[:, None]))
    with cluster(client):
        assert bits(make().fit(da.from_array(X, chunks=(500, 2)), da.from_array(kind, chunks=250))) == bits(expected)
        parts = [da.from_array(X[:1000], chunks=(500, 4)), ArraySource(X[1000:], chunk_rows=500)]
        assert bits(mercer.PCA(2).fit(mercer.open_rows(parts))) == bits(mercer.PCA(2).fit(ListSource(np.split(X, 5))))


def test_scores_are_counted_where_the_rows_are(client, graph_stays):
    """Only sums come back, of classes and of numbers."""
    kind = (X[:, 0] > 10).astype(np.float32)
    rows = da.from_array(X, chunks=(500, 2))
    kda = mercer.KernelDiscriminantAnalysis(gamma=0.02, rank=40, reg=1e-2).fit(X, kind)
    ridge = mercer.Kernelized(Ridge(), gamma=0.02, rank=40).fit(X, X[:, 1])
    with client.as_current():
        for y in (kind, da.from_array(kind, chunks=250)):
            assert kda.score(rows, y) == kda.score(X, kind)
        assert ridge.score(rows, X[:, 1]) == pytest.approx(ridge.score(X, X[:, 1]), abs=1e-5)


def test_rows_of_dask_that_are_cut_again_are_brought_here(client):
    kind = (X[:, 0] > 10).astype(np.float32)[:, None]
    make = lambda: mercer.KernelDiscriminantAnalysis(gamma=0.02, rank=40, reg=1e-2)  # noqa: E731
    rows = ArraySource(X, chunk_rows=300)
    with cluster(client):
        found = make().fit(rows, mercer.open_rows(da.from_array(kind, chunks=(250, 1))))
    assert bits(found) == bits(make().fit(rows, ArraySource(kind)))


def test_a_gap_in_one_chunk_is_named(client):
    rows = X.copy()
    rows[1720, 2] = np.nan
    said = r"Chunk 17: row 20, which is row 1720 of all, is missing \(NaN\) in column 2"
    with cluster(client):
        with pytest.raises(ValueError, match=said):
            mercer.PCA(2).fit(ArraySource(rows, chunk_rows=100))
        with pytest.raises(ValueError, match=said):
            mercer.PCA(2).fit(da.from_array(rows, chunks=(100, 4)))


def test_a_fit_that_was_interrupted_on_workers_resumes_here(client, tmp_path):
    rows, file = X.copy(), tmp_path / "fit.part"
    rows[2000] = np.inf
    with pytest.raises(ValueError, match="infinite"), cluster(client), checkpoints(file, every=0):
        mercer.PCA(2).fit(ListSource(np.split(rows, 25)))
    assert file.exists()
    seen = []
    whole = ListSource(np.split(X, 25))
    with checkpoints(file, every=0), mercer.progress.listening(lambda *told: seen.append(told)):
        model = mercer.PCA(2).fit(whole)
    assert {count for name, _, count, _ in seen if name.startswith("the covariance") and count} <= set(range(1, 25))
    assert bits(model) == bits(mercer.PCA(2).fit(whole))


def test_exact_kernel_pca_multiplies_on_workers(client):
    """Above 8192 rows. The certificate that came from the workers holds for the matrix that is computed here."""
    rows = X[RNG.integers(0, len(X), 8200), :2] + RNG.standard_normal((8200, 2)).astype(np.float32)
    seen = []
    with cluster(client), mercer.progress.listening(lambda *told: seen.append(told)):
        model = mercer.KernelPCA(1, kernel="rbf", gamma=0.02, eigen_solver="krylov", tol=1e-3).fit(rows)
    # Two runs of rows make three blocks per pass.
    assert max(done for name, done, *_ in seen if name.startswith("pass 1 over all pairs")) == 3
    A, v = Centered(Gram(model.kernel_, rows, precision=np.float64)), model.eigenvectors_.astype(np.float64)
    missed = np.linalg.norm(A.matmat(v) - v * model.eigenvalues_)
    # The vector is stored in float32, for which the certificate allows.
    assert missed <= 1.01 * model.residuals_[0] <= 1.02e-3 * model.eigenvalues_[0]


def test_a_lost_worker_changes_no_bit(client):
    source = Slow(X, chunk_rows=100)
    expected = bits(mercer.PCA(2).fit(ArraySource(X, chunk_rows=100)))
    killed = []

    def kill(name, done, count, note):
        if done == 3 and not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    with cluster(client), mercer.progress.listening(kill):
        assert bits(mercer.PCA(2).fit(source)) == expected
    assert killed
