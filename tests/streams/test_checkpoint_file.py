"""A fit that is interrupted after any chunk resumes and ends with the same bits; foreign checkpoints are refused."""

import numpy as np
import pytest

import mercer
from mercer.streams import ArraySource, checkpoints

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 3)).astype(np.float32)


class Interrupted(Exception):
    pass


class Failing(ArraySource):
    """A source that fails once it is asked for one chunk too often."""

    def __init__(self, X, reads, **settings):
        super().__init__(X, **settings)
        self.reads_left = reads

    def chunk(self, i):
        if self.reads_left == 0:
            raise Interrupted
        self.reads_left -= 1
        return super().chunk(i)


def models():
    yield lambda: mercer.KernelPCA(3, kernel="rbf", rank=20)
    yield lambda: mercer.PCA()
    yield lambda: mercer.KernelMap(rank="auto", gamma=2.0)


@pytest.mark.parametrize("make", models())
def test_a_fit_interrupted_after_any_read_resumes_with_the_same_bits(make, tmp_path):
    whole = make().fit(ArraySource(X, chunk_rows=40))
    path, resumed = tmp_path / "fit.part", 0
    for reads in range(20):
        try:
            with checkpoints(path, every=0):
                make().fit(Failing(X, reads, chunk_rows=40))
        except Interrupted:
            resumed += path.exists()
        with checkpoints(path, every=0):
            again = make().fit(ArraySource(X, chunk_rows=40))
        assert not path.exists()
        assert np.array_equal(again.transform(X), whole.transform(X))
        if isinstance(whole, mercer.KernelPCA):
            assert np.array_equal(again.eigenvalue_error_, whole.eigenvalue_error_)
    assert resumed > 2


def test_a_resumed_fit_does_not_read_what_is_done(tmp_path):
    path = tmp_path / "fit.part"
    with pytest.raises(Interrupted), checkpoints(path, every=0):
        mercer.PCA().fit(Failing(X, 3 + 1 + 5, chunk_rows=40))  # three for the shift, one to know the source by
    source = Failing(X, 3 + 1 + 2, chunk_rows=40)  # chunk 4 may have been computed or not: one or two are left
    with checkpoints(path, every=0):
        mercer.PCA().fit(source)


@pytest.mark.parametrize("other", [X + 1, X[:200]])
def test_a_checkpoint_of_other_rows_is_refused_and_kept(other, tmp_path):
    path = tmp_path / "fit.part"
    with pytest.raises(Interrupted), checkpoints(path, every=0):
        mercer.PCA().fit(Failing(X, 7, chunk_rows=40))
    with pytest.raises(ValueError, match="belongs to other rows"), checkpoints(path):
        mercer.PCA().fit(ArraySource(other, chunk_rows=40))
    assert path.exists()


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "fit.part"
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a checkpoint"), checkpoints(path):
        mercer.PCA().fit(ArraySource(X))
    with pytest.raises(ValueError, match="seconds"), checkpoints(path, every=-1):
        pass
