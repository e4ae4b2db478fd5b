"""Landmarks of a source are those of the sample that they come from."""

import numpy as np
import pytest

from mercer.selection import landmark_rows
from mercer.streams import ArraySource, landmark_places
from mercer.streams.source_landmarks import given_or_drawn

X = np.random.default_rng(0).standard_normal((300, 3))
SOURCE = ArraySource(X, chunk_rows=80)


@pytest.mark.parametrize("method", ["random", "maxmin", "rpcholesky"])
def test_a_source_within_the_sample_has_the_landmarks_of_the_array(method):
    found = landmark_places(SOURCE, 40, method, random_state=3)
    assert np.array_equal(found, landmark_rows(X, 40, method, random_state=3))


def test_landmarks_of_a_larger_source_are_rows_of_it():
    found = landmark_places(SOURCE, 5, "maxmin", random_state=0)
    assert len(np.unique(found)) == 5 and found.min() >= 0 and found.max() < 300
    assert given_or_drawn(SOURCE, np.array([7, 2]), None).tolist() == [2, 7]
    with pytest.raises(ValueError, match="positive number"):
        landmark_places(SOURCE, 0)
    with pytest.raises(ValueError, match="Unknown method"):
        landmark_places(SOURCE, 5, "first")
