"""A pass adds chunks in the order of their numbers, reads ahead, tells its progress, and holds two chunks at most."""

import tracemalloc

import numpy as np
import pytest

import mercer
from mercer.progress import listening
from mercer.streams import ArraySource, ListSource
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import chunks, groups_of, is_row_source, read_ahead, total_statistics
from mercer.streams.row_maps import ShiftedRows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 3))
WORK = ChunkWork((ShiftedRows(np.zeros(3)),))


def test_the_total_is_the_sum_of_the_chunks_in_order():
    source = ListSource([X[:50], X[50:50], X[50:60], X[60:]])
    total, by_hand = total_statistics(WORK, [source]), WORK.nothing([source])
    for i, start in ((0, 0), (2, 50), (3, 60)):
        by_hand = by_hand.merge(WORK(i, start, [source.chunk(i)]))
    assert np.array_equal(total.products, by_hand.products) and total.n == 200


def test_many_chunks_are_merged_in_groups():
    """1,030 chunks are merged by twos, so that as few states as that travel when workers compute them."""
    rows = RNG.standard_normal((1030, 3))
    total, by_hand = total_statistics(WORK, [ArraySource(rows, chunk_rows=1)]), WORK.nothing([X])
    for i in range(0, 1030, 2):
        by_hand = by_hand.merge(WORK(i, i, [rows[i : i + 1]]).merge(WORK(i + 1, i + 1, [rows[i + 1 : i + 2]])))
    assert np.array_equal(total.products, by_hand.products) and total.n == 1030


def test_groups_hold_every_chunk_with_rows_once():
    lengths = [i % 3 for i in range(5000)]
    groups = groups_of(lengths)
    assert [i for group in groups for i in group] == [i for i in range(5000) if i % 3]
    assert len(groups) <= 1024 and max(map(len, groups)) <= 5
    assert groups_of([]) == groups_of([0]) == []


def test_empty_chunks_keep_their_places():
    source = ListSource([X[:0], X[:50], X[50:50], X[50:]])
    assert [len(rows) for rows in chunks(source)] == [0, 50, 0, 150]


def test_chunks_that_are_read_ahead_come_in_order_and_errors_come_through():
    source = ListSource([X[:50], X[50:50], X[50:]])
    assert [i for i, _ in read_ahead([source], range(3))] == [0, 2]
    bad = X.copy()
    bad[120, 1] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 2.*row 20, which is row 120 of all"):
        mercer.PCA().fit(ArraySource(bad, chunk_rows=50))


def test_progress_counts_chunks_and_tells_the_time_left():
    seen = []
    with listening(lambda *told: seen.append(told)):
        total_statistics(WORK, [ArraySource(X, chunk_rows=50)], "rows")
    assert [done for name, done, all_told, _ in seen if name == "rows" and all_told] == [0, 1, 2, 3, 4]
    assert seen[-1][3].startswith("200 of 200 rows, 0 s left")


def test_views_that_are_cut_elsewhere_are_refused():
    with pytest.raises(ValueError, match="cut both in the same places"):
        total_statistics(ChunkWork((ShiftedRows(np.zeros(3)),) * 2), [ArraySource(X, chunk_rows=n) for n in (50, 100)])


def test_arrays_are_no_sources():
    assert is_row_source(ArraySource(X)) and not is_row_source(X) and not is_row_source([[1.0]])


class Generated:
    """Rows that are made when they are asked for."""

    n_features, dtype, feature_names = 8, np.dtype(np.float32), None

    def __init__(self, chunks):
        self.lengths = [1000] * chunks

    def chunk(self, i):
        return np.random.default_rng(i).standard_normal((1000, 8), dtype=np.float32)


def test_memory_does_not_grow_with_the_number_of_rows():
    model = mercer.KernelPCA(2, kernel="rbf", rank=30, n_jobs=1)
    model.fit(Generated(3))  # what is loaded once is loaded now
    peaks = []
    for count in (8, 64):
        tracemalloc.start()
        model.fit(Generated(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        plan = model.plan(Generated(count))
        assert peaks[-1] <= plan.peak_bytes
    # The same arrays, but for lists of 56 more lengths and of what is coming.
    assert peaks[1] <= 1.1 * peaks[0]
    assert model.plan(Generated(8)).needed_bytes == model.plan(Generated(10**4)).needed_bytes
