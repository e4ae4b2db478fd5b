"""Samples are the rows that their numbers say, drawn alike from all chunks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

from mercer import PCA
from mercer.streams import ArraySource, ListSource
from mercer.streams.row_sample import middle_of, rows_at, sample_places

X = np.arange(600.0).reshape(300, 2)


def test_rows_are_those_at_their_places():
    for data in (X, sp.csr_array(X)):
        source = ArraySource(data, chunk_rows=70)
        places = sample_places(source, 40, 3)
        assert len(np.unique(places)) == 40 and np.array_equal(places, sample_places(source, 40, 3))
        rows = rows_at(source, places)
        assert np.array_equal(rows.toarray() if sp.issparse(rows) else rows, X[places])
    assert np.array_equal(sample_places(source, 1000, 0), np.arange(300))


def test_every_part_of_the_source_is_sampled_alike():
    source = ArraySource(X, chunk_rows=30)
    counts = sum(np.bincount(sample_places(source, 30, seed) // 30, minlength=10) for seed in range(100))
    # Without replacement the counts vary a little less than a multinomial's.
    assert ((counts - 300) ** 2 / 300).sum() < chi2(9).isf(1e-6)


def test_the_middle_lies_amid_the_rows():
    middle = middle_of(ListSource([X[:0], X[:100], X[100:]]))
    assert np.all((X.min(axis=0) <= middle) & (middle <= X.max(axis=0)))
    assert middle_of(ArraySource(sp.csr_array(X))) is None
    assert np.array_equal(middle_of(ArraySource(np.full((9, 2), 0.1))), [0.1, 0.1])


def test_a_chunk_of_values_that_are_too_large_is_named_itself():
    """Not the first chunk, whose squares about a mean that follows the last chunk would overflow as well."""
    parts = [X.astype(np.float32), np.full((300, X.shape[1]), 3e38, np.float32)]
    with pytest.raises(ValueError, match="The values of chunk 2, which starts with row 600 of all, are too large"):
        PCA(1).fit(ListSource([parts[0], *parts]))
