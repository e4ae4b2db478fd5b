"""Strings, and matrices that are given."""

import numpy as np
import pandas as pd
import pytest

from mercer.kernels import RBF, Precomputed, Spectrum
from mercer.kernels.discrete import symmetric_part

WORDS = ["abcab", "cabca", "bbb", "ab"]


def shared(x, y, length):
    cut = lambda s: [s[i : i + length] for i in range(len(s) - length + 1)]  # noqa: E731
    return sum(a == b for a in cut(x) for b in cut(y))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_spectrum_counts_shared_words(length):
    expected = [[shared(x, y, length) for y in WORDS] for x in WORDS]
    np.testing.assert_array_equal(Spectrum(length)(WORDS), expected)
    np.testing.assert_array_equal(Spectrum(length)(WORDS, ["zzz", "ab"]), [[0, r[3]] for r in expected])


def test_words_never_seen_count_in_the_diagonal():
    kernel = Spectrum(2)
    new = kernel.points(["zzzz", "abz"], like=kernel.points(WORDS))
    np.testing.assert_array_equal(kernel.diagonal(new), [9, 2])


@pytest.mark.parametrize(
    "samples", [WORDS, np.array(WORDS), np.array(WORDS)[:, None], pd.Series(WORDS), pd.DataFrame({"s": WORDS})]
)
def test_what_counts_as_strings(samples):
    np.testing.assert_array_equal(Spectrum(2)(samples), Spectrum(2)(WORDS))


@pytest.mark.parametrize("samples", [[1, 2], [["a", "b"], ["c", "d"]], np.ones((3, 2)), ["a", None]])
def test_what_does_not(samples):
    with pytest.raises(TypeError, match="string"):
        Spectrum(2)(samples)


@pytest.mark.parametrize("length", [0, -1, 1.5])
def test_bad_length(length):
    with pytest.raises(ValueError, match="length"):
        Spectrum(length)(WORDS)


def test_strings_shorter_than_a_word():
    np.testing.assert_array_equal(Spectrum(3)(["a", "ab"]), np.zeros((2, 2)))


def test_precomputed_takes_any_places():
    K = RBF(gamma=0.5)(np.random.default_rng(0).standard_normal((8, 2)))
    points = Precomputed().points(K)
    for index in ([3, 0, 5], [2, 3, 4], [5, 4, 3], [1, 1, 3]):
        taken = points.take(np.array(index))
        np.testing.assert_array_equal(Precomputed().tile(taken), K[np.ix_(index, index)])
        np.testing.assert_array_equal(Precomputed().diagonal(taken), np.diag(K)[index])


def test_symmetric_part():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((6, 6))
    S = S + S.T
    same, skew = symmetric_part(S)
    assert same is S and skew == 0.0
    offsets = S + rng.standard_normal(6)[:, None]  # a1ᵀ: centring removes it
    assert symmetric_part(offsets)[1] < 1e-15
    K = S + np.triu(np.ones((6, 6)), 1)
    part, skew = symmetric_part(K)
    np.testing.assert_allclose(part, (K + K.T) / 2)
    H = np.eye(6) - 1 / 6
    np.testing.assert_allclose(skew, np.abs(H @ (K - K.T) @ H / 2).max() / np.abs(K).max())
