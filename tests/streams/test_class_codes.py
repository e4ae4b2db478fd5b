"""Classes of streamed rows: their names, their counts, and the code of every row."""

import numpy as np
import pytest

from mercer.streams import ArraySource
from mercer.streams.class_codes import class_codes, with_target

X = np.random.default_rng(0).standard_normal((40, 2))
SOURCE = ArraySource(X, chunk_rows=15)
CODES = np.arange(40) % 3


def all_codes(found):
    return np.concatenate([found.chunk(i)[:, 0] for i in range(len(found.lengths))])


@pytest.mark.parametrize("labels", [CODES, np.array(["x", "y", "z"])[CODES], CODES * 10 - 5.0, CODES > 0])
def test_an_array_of_labels(labels):
    found = class_codes(SOURCE, labels)
    assert list(found.lengths) == SOURCE.lengths
    assert np.array_equal(found.classes[all_codes(found).astype(int)], labels)
    assert np.array_equal(found.counts, np.unique(labels, return_counts=True)[1])


def test_a_source_of_labels_in_other_chunks():
    found = class_codes(SOURCE, ArraySource((7.0 - CODES)[:, None], chunk_rows=4))
    assert found.classes.tolist() == [5, 6, 7] and found.classes.dtype == np.int64
    assert np.array_equal(all_codes(found), 2 - CODES)
    assert found.counts.sum() == 40


def test_labels_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="40 rows and y has 39"):
        class_codes(SOURCE, CODES[1:])
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        class_codes(SOURCE, ArraySource(X[:, :1]))
    with pytest.raises(ValueError, match="2 columns"):
        class_codes(SOURCE, SOURCE)
    many = np.arange(20_000.0)[:, None]
    with pytest.raises(ValueError, match="measurements"):
        class_codes(ArraySource(many), ArraySource(many))


def test_labels_that_change_between_passes_are_refused():
    labels = CODES[:, None].astype(float)
    found = class_codes(SOURCE, ArraySource(labels))
    labels[0] = 9
    with pytest.raises(ValueError, match="when they were counted"):
        found.chunk(0)


def test_a_column_may_be_the_target():
    source = ArraySource(X, feature_names=["a", "b"])
    rows, target = with_target(source, "a")
    assert rows.feature_names == ["b"] and target.feature_names == ["a"]
    assert with_target(source, CODES)[1] is CODES
