"""The statistics of a chunk are its sums, with the same bits for any number of threads."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import RBF
from mercer.streams.chunk_statistics import RUN_ROWS, ChunkWork, run_rows
from mercer.streams.row_maps import ClassIndicators, ShiftedRows
from mercer.streams.streamed_features import features_of

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(0)
X = RNG.standard_normal((3 * RUN_ROWS + 17, 3))


def test_the_sums_are_those_of_the_map():
    shift = X.mean(axis=0)
    found = ChunkWork((ShiftedRows(shift),))(0, 0, [X])
    F = X - shift
    room = len(X) * EPS * (np.abs(F).T @ np.abs(F))
    assert np.all(np.abs(found.products - F.T @ F) <= room) and found.n == len(X)


def test_sparse_rows_have_the_sums_of_dense_ones():
    rows = sp.random_array((500, 6), density=0.3, rng=RNG, format="csr")
    found = ChunkWork((ShiftedRows(np.zeros(6)),))(0, 0, [rows])
    dense = rows.toarray()
    assert np.allclose(found.products, dense.T @ dense, rtol=0, atol=500 * EPS * (dense**2).sum())


def test_every_number_of_threads_gives_the_same_bits():
    features = features_of(RBF(0.3), X[:20], X)
    found = [ChunkWork((features,), 5, (3, 0), n_jobs)(2, 100, [X]) for n_jobs in (1, 2, None)]
    for other in found[1:]:
        assert np.array_equal(found[0].products, other.products) and np.array_equal(found[0].left, other.left)
        assert np.array_equal(found[0].draws[0].places, other.draws[0].places)


def test_indicators_beside_features_give_the_sums_of_classes():
    codes = (np.arange(len(X)) % 3)[:, None]
    found = ChunkWork((ShiftedRows(np.zeros(3)), ClassIndicators(3)))(0, 0, [X, codes])
    assert found.sums[3:].tolist() == np.bincount(codes[:, 0]).tolist()
    of_first = X[codes[:, 0] == 0].sum(axis=0)
    assert np.allclose(found.products[:3, 3], of_first, rtol=0, atol=len(X) * EPS * np.abs(X).sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_of_classes_weigh_sums_and_products(dtype):
    codes = (np.arange(len(X)) % 3)[:, None]
    rows, weights = X.astype(dtype), (0.5, 2.0, 0.25)
    for views in ([rows, codes], [sp.csr_array(rows), codes]):
        found = ChunkWork((ShiftedRows(np.zeros(3)), ClassIndicators(3)), weights=weights)(0, 0, views)
        w = np.asarray(weights)[codes[:, 0]]
        F = np.column_stack([rows, codes == np.arange(3)]).astype(np.float64)
        room = len(X) * np.finfo(dtype).eps * (np.abs(F).T @ (w[:, None] * np.abs(F)))
        assert np.all(np.abs(found.products - F.T @ (w[:, None] * F)) <= room)
        assert np.all(np.abs(found.sums - w @ F) <= len(X) * np.finfo(dtype).eps * (w @ np.abs(F)))


def test_overflow_names_the_chunk_and_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ValueError, match="chunk 7, which starts with row 99"):
        ChunkWork((ShiftedRows(np.zeros(3)),))(7, 99, [np.full((5000, 3), 1e200)])
    with pytest.raises(ValueError):
        ChunkWork((ShiftedRows(np.zeros(2)),), n_jobs=2)(0, 0, [X])


def test_wide_maps_have_shorter_runs():
    assert run_rows(500) == RUN_ROWS and 64 <= run_rows(100_000) < RUN_ROWS


def test_passes_in_two_threads_do_not_wait_for_each_other(monkeypatch):
    """Runs are added in order, so a job waits for others of its pass. Those must not queue behind another pass."""
    plain = ThreadPoolExecutor.submit

    def slow(self, *args):
        future = plain(self, *args)
        time.sleep(0.02)  # time for the other thread to put a job in between
        return future

    monkeypatch.setattr(ThreadPoolExecutor, "submit", slow)
    rows, work, found = np.ones((4 * RUN_ROWS, 1)), ChunkWork((ShiftedRows(np.zeros(1)),), n_jobs=2), []
    passes = [Thread(target=lambda: found.append(work(0, 0, [rows]).n), daemon=True) for _ in range(2)]
    for each in passes:
        each.start()
    for each in passes:
        each.join(timeout=100)
    assert found == [len(rows)] * 2
