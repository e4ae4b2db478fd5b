"""A fit that is interrupted after any chunk resumes and ends with the same bits; foreign checkpoints are refused."""

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer.streams import ArraySource, checkpoints
from mercer.streams.checkpoint_file import open_checkpoint

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


@pytest.mark.parametrize("make", list(models()))
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


def test_fits_within_one_context_share_no_pass(tmp_path):
    plain = np.tile(X, (3, 1))
    rare = plain.copy()
    rare[10] += 100  # a row that neither the shift nor the fingerprint sees: both look at every third one
    alone = [mercer.PCA().fit(ArraySource(rows)).explained_variance_ for rows in (plain, rare)]
    with checkpoints(tmp_path / "fit.part", every=0):
        together = [mercer.PCA().fit(ArraySource(rows)).explained_variance_ for rows in (plain, rare)]
    assert np.array_equal(alone, together)
    assert not np.allclose(*alone)


def test_a_program_of_several_fits_resumes_each_of_them(tmp_path):
    path, rows = tmp_path / "fit.part", [X, X + 1, X]
    whole = [mercer.PCA().fit(ArraySource(part, chunk_rows=40)).components_ for part in rows]
    with pytest.raises(Interrupted), checkpoints(path, every=0):
        for part in (rows[0], rows[1]):
            mercer.PCA().fit(ArraySource(part, chunk_rows=40))
        mercer.PCA().fit(Failing(rows[2], 7, chunk_rows=40))
    with checkpoints(path, every=0):
        again = [mercer.PCA().fit(ArraySource(part, chunk_rows=40)).components_ for part in rows]
    assert np.array_equal(whole, again)


def test_a_program_of_many_fits_writes_and_holds_one_pass(tmp_path):
    """Passes that have ended are written once, and the resumed program reads them one by one."""
    path, sizes = tmp_path / "fit.part", []
    with pytest.raises(Interrupted), checkpoints(path, every=0):
        for shift in range(4):
            mercer.PCA().fit(ArraySource(X + shift, chunk_rows=40))
            sizes.append((path.stat().st_size, len(pickle.dumps(open_checkpoint()))))
        mercer.PCA().fit(Failing(X, 9, chunk_rows=40))
    assert np.diff(sizes, axis=0).max() < 100  # a name and a count, and no state
    assert len(list(tmp_path.glob("fit.part.pass-*"))) == 4
    next(tmp_path.glob("fit.part.pass-*")).unlink()  # what was lost is computed again
    with checkpoints(path, every=0):
        for shift in range(4):
            whole = mercer.PCA().fit(ArraySource(X + shift, chunk_rows=40)).components_
            assert np.array_equal(whole, mercer.PCA().fit(ArraySource(X + shift, chunk_rows=40)).components_)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_other_labels_is_refused(tmp_path):
    path, labels = tmp_path / "fit.part", np.repeat([0, 1, 2], 80)
    make = lambda: mercer.KernelDiscriminantAnalysis(reg=0.1, gamma=1.0, rank=10, random_state=0)  # noqa: E731
    with pytest.raises(Interrupted), checkpoints(path, every=0):
        make().fit(Failing(X, 12, chunk_rows=40), labels == 1)
    assert path.exists()
    with pytest.raises(ValueError, match="belongs to other rows"), checkpoints(path):
        make().fit(ArraySource(X, chunk_rows=40), labels == 2)  # its first rows have the same labels


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "fit.part"
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a checkpoint"), checkpoints(path):
        mercer.PCA().fit(ArraySource(X))
    with pytest.raises(ValueError, match="seconds"), checkpoints(path, every=-1):
        pass


CHILD = """
import resource, sys, time
import numpy as np
import mercer

class Rows:
    n_features, dtype, feature_names, lengths, reads = 3, np.dtype("float32"), None, (40,) * 6, 0

    def chunk(self, i):
        self.reads += 1  # three reads for a shift, one to know the source by, then the pass
        if self.reads == 8 and sys.argv[2] == "killed":
            time.sleep(600)
        if self.reads == 8 and sys.argv[2] == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # as on a disk with 64 bytes left
        return np.random.default_rng(i).standard_normal((40, 3)).astype("float32")

if __name__ == "__main__":
    with mercer.streams.checkpoints(sys.argv[1], every=0):
        mercer.PCA().fit(Rows())
"""


class Rows:
    n_features, dtype, feature_names, lengths = 3, np.dtype("float32"), None, (40,) * 6

    def chunk(self, i):
        return np.random.default_rng(i).standard_normal((40, 3)).astype("float32")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and limits of POSIX")
@pytest.mark.parametrize("how", ["killed", "full"])
def test_a_killed_process_and_a_full_disk_leave_a_whole_checkpoint(how, tmp_path):
    (tmp_path / "fit.py").write_text(CHILD)
    path = tmp_path / "fit.part"
    child = subprocess.Popen([sys.executable, tmp_path / "fit.py", path, how], stderr=subprocess.PIPE, text=True)
    while how == "killed" and not path.exists() and child.poll() is None:
        time.sleep(0.01)
    if how == "killed":
        child.kill()  # while the eighth chunk is awaited, and while a checkpoint may just be replaced
    _, said = child.communicate()
    assert child.returncode != 0 and path.exists()
    if how == "full":
        assert "OSError" in said and "fit.part" in said and "cannot be written" in said
    reads = []

    class Counted(Rows):
        def chunk(self, i):
            reads.append(i)
            return super().chunk(i)

    with checkpoints(path, every=0):
        again = mercer.PCA().fit(Counted())
    assert len(reads) < 3 + 1 + 6  # what was done is not read again
    assert np.array_equal(again.components_, mercer.PCA().fit(Rows()).components_)


def test_a_fit_of_another_thread_has_no_part_in_a_checkpoint(tmp_path):
    with checkpoints(tmp_path / "part"), ThreadPoolExecutor(1) as other:
        assert open_checkpoint() is not None and other.submit(open_checkpoint).result() is None
    assert open_checkpoint() is None
