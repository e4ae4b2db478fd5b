"""Progress: every job is counted once, by the phase that it belongs to, and only while someone listens."""

import threading

import numpy as np
import pytest

from mercer import Isomap, KernelCCA, KernelPCA
from mercer.backends import cpu
from mercer.progress import counter, in_phase, listening, phase
from mercer.quality import report


def test_every_job_is_counted_once_in_every_number_of_threads():
    for threads in (1, 2, 3):
        seen = []
        with listening(lambda *told: seen.append(told)), phase("jobs"):  # noqa: B023  called within this loop
            cpu.for_each(range(40), lambda job, slot: None, threads)
        assert seen[0] == ("jobs", 0, 0, "")
        assert [done for _, done, _, _ in seen[1:]] == list(range(41))
        assert {(name, total) for name, _, total, _ in seen[1:]} == {("jobs", 40)}


def test_jobs_within_a_job_are_not_counted():
    seen = []
    with listening(lambda *told: seen.append(told)), phase("outer"):
        cpu.for_each(range(4), lambda job, slot: cpu.for_each(range(9), lambda *_: None), 2)
    assert [total for _, _, total, _ in seen] == [0, 4, 4, 4, 4, 4]


def test_nothing_is_counted_without_a_listener_or_a_name():
    assert counter(3) is None
    with phase("alone"):
        assert counter(3) is None
    with listening(lambda *_: None):
        assert counter(3) is None


def test_the_innermost_phase_counts_and_ends_with_an_error():
    seen = []

    @in_phase("inner")
    def fails():
        cpu.for_each([1], lambda job, slot: 1 // 0, 1)

    with listening(lambda *told: seen.append(told[0])), phase("outer"):
        with pytest.raises(ZeroDivisionError):
            fails()
        cpu.for_each([1], lambda job, slot: None, 1)
    assert seen == ["outer", "inner", "inner", "outer", "outer", "outer"]  # the outer phase goes on after the inner one


def test_a_phase_is_named_before_its_first_job_and_if_it_has_none():
    seen = []
    with listening(lambda *told: seen.append(told)), phase("factor"):
        assert seen == [("factor", 0, 0, "")]


def test_exact_fits_and_scores_name_their_phases():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 4))
    y = rng.integers(0, 3, 700)
    for compute, expected in (
        (lambda: KernelCCA(1, kernel="rbf", reg=0.1).fit(X, X[:, :2]), {"Cholesky factor", "canonical pairs"}),
        (lambda: KernelPCA(2, kernel="rbf", gamma="median").fit(X), {"width of the kernel", "eigenpairs"}),
        (lambda: report(X, X[:, :2], labels=y), {"trustworthiness", "class purity", "triplets", "pairs", "divergence"}),
    ):
        seen = set()
        with listening(lambda name, *_: seen.add(name)):  # noqa: B023  called within this loop
            compute()
        assert expected <= seen


@pytest.mark.parametrize(
    ("estimator", "phases"),
    [
        (KernelPCA(2, kernel="rbf", gamma=0.05, eigen_solver="krylov"), {"pass 1 over all pairs"}),
        (Isomap(n_neighbors=8), {"neighbours", "shortest paths"}),
    ],
)
def test_fits_name_their_phases_and_do_not_change(estimator, phases):
    X = np.random.default_rng(0).standard_normal((2200, 5))
    plain = estimator.fit_transform(X)
    seen = []
    with listening(lambda *told: seen.append(told)):
        assert np.array_equal(estimator.fit_transform(X), plain)
    assert phases <= {name for name, *_ in seen}
    ends = {name: done == total for name, done, total, _ in seen}  # the last word on each phase
    assert all(ends.values())


def test_a_listener_hears_its_own_thread_alone():
    seen = []

    def elsewhere():
        with phase("elsewhere"):
            cpu.for_each(range(3), lambda job, slot: None, 2)

    with listening(lambda *told: seen.append(told[0])), phase("here"):
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join(60)
        cpu.for_each(range(2), lambda job, slot: None, 2)
    assert seen == ["here"] * 4


def test_a_listener_that_ends_a_computation_leaves_no_phase_behind():
    def refuse(*_):
        raise KeyboardInterrupt

    with listening(refuse), pytest.raises(KeyboardInterrupt), phase("given up"):
        pass
    with listening(lambda *_: None):
        assert counter(3) is None
