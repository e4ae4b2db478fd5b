"""The CPU's threads: how many, in fresh processes with settings of their own, and how they share jobs."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info

from mercer import KernelPCA
from mercer.backends import cpu

CORES = cpu.workers(-1)
needs_two = pytest.mark.skipif(CORES < 2, reason="one core: every answer is 1")


def answer(code, **settings):
    """What `code` prints in a fresh interpreter without OMP_NUM_THREADS, unless it is set here."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | settings
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


ASK = "from mercer.backends import cpu; print(cpu.workers(), cpu.workers(-1), cpu.workers(2))"


@pytest.mark.parametrize(
    ("setting", "limit"),
    [(None, CORES), ("1", 1), ("2", 2), (" 2 ,1", 2), ("100000", CORES), ("", CORES), ("0", CORES), ("many", CORES)],
)
def test_openmp_limits_what_none_means_and_nothing_else(setting, limit):
    settings = {} if setting is None else {"OMP_NUM_THREADS": setting}
    assert answer(ASK, **settings) == [str(n) for n in (min(limit, CORES), CORES, min(2, CORES))]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_bound_to_one_core_uses_one_thread():
    bind = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
    assert answer(bind + ASK) == ["1", "1", "1"]


@needs_two
def test_a_context_of_joblib_limits_none_and_ends():
    code = """
from joblib import parallel_config
from mercer.backends import cpu
counts = [cpu.workers()]
for n_jobs in (1, 2, -1, 10**6):
    with parallel_config(n_jobs=n_jobs):
        counts.append(cpu.workers())
with parallel_config(backend="threading"):
    counts.append(cpu.workers())
with parallel_config(n_jobs=1):
    counts.append(cpu.workers(2))
print(*counts, cpu.workers())
"""
    assert answer(code) == [str(n) for n in (CORES, 1, 2, CORES, CORES, CORES, 2, CORES)]


@needs_two
@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky"])
def test_a_worker_of_joblib_is_one_thread_where_workers_fill_the_machine(backend):
    code = f"""
from joblib import Parallel, delayed
from mercer.backends import cpu
if __name__ == "__main__":
    print(*Parallel(n_jobs={CORES}, backend={backend!r})(delayed(cpu.workers)() for _ in range(4)))
    print(cpu.workers())
"""
    assert answer(code) == ["1"] * 4 + [str(CORES)]


@needs_two
def test_a_worker_process_has_the_threads_that_joblib_gives_it():
    with parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=2):
        assert Parallel()(delayed(cpu.workers)() for _ in range(2)) == [2, 2]


def test_a_container_that_allows_a_core_and_a_half_counts_as_two(tmp_path):
    limit = tmp_path / "cpu.max"
    for text, cores in (("150000 100000", 2), ("max 100000", None), ("", None)):
        limit.write_text(text)
        cpu.container_cores.cache_clear()
        assert cpu.container_cores(str(limit)) == cores
    cpu.container_cores.cache_clear()
    assert cpu.container_cores(str(tmp_path / "absent")) is None


@pytest.mark.parametrize(("n_jobs", "at_most"), [(1, 1), (2, 2), (10**6, 10**5)])
def test_workers_are_counted_as_scikit_learn_does(n_jobs, at_most):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cpu.workers(n_jobs) == min(n_jobs, cores) <= at_most
    assert cpu.workers(-1) == cores
    assert cpu.workers(None) <= cores
    assert cpu.workers(-(10**6)) == 1


def test_jobs_run_in_threads_and_stop_at_an_error(monkeypatch):
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: 2)
    names, done = set(), []

    def work(job, slot):
        names.add(threading.current_thread().name)
        if job == 3:
            raise KeyboardInterrupt
        done.append(job)

    with pytest.raises(KeyboardInterrupt):
        cpu.for_each(range(1000), work)
    assert all(name.startswith("mercer") for name in names)
    assert 3 not in done and len(done) < 1000


def test_a_tile_is_written_to_its_buffer():
    A, out = np.ones((3, 2)), np.empty((3, 3))
    assert cpu.dot(A, A, out) is out
    np.testing.assert_array_equal(out, 2.0)


@pytest.mark.parametrize("blas", [True, False])
def test_jobs_that_call_blas_find_it_with_one_thread(blas):
    """Jobs that do not call it leave the setting of the process alone."""
    seen, before = [], [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    def look(job, slot):
        seen.append([library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"])

    cpu.for_each(range(4), look, 2, blas=blas)
    assert len(seen) == 4
    if cpu.workers(2) > 1:
        assert all(found == ([1] * len(before) if blas else before) for found in seen)


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def in_a_side_thread(function):
    found = []
    side = threading.Thread(target=lambda: found.append(function()))
    side.start()
    side.join()
    return found[0]


def test_blas_has_one_thread_in_the_context_whichever_thread_opens_it():
    """threadpoolctl listens to the first thread that asks and to no other."""

    def inside():
        with cpu.one_thread():
            return blas_threads()

    before = blas_threads()
    assert set(inside()) == {1} and set(in_a_side_thread(inside)) == {1} and set(inside()) == {1}
    assert blas_threads() == before


def test_contexts_of_two_threads_overlap_and_the_last_restores():
    before, opened, leave = blas_threads(), threading.Event(), threading.Event()

    def stay():
        with cpu.one_thread():
            opened.set()
            leave.wait()

    side = threading.Thread(target=stay)
    with cpu.one_thread():
        side.start()
        opened.wait()
    assert set(blas_threads()) == {1}  # the side thread's context is still open
    leave.set()
    side.join()
    assert blas_threads() == before


def test_the_same_bits_from_a_side_thread():
    X = np.random.default_rng(0).standard_normal((500, 10))

    def vectors():
        return KernelPCA(5, kernel="rbf").fit(X).eigenvectors_

    np.testing.assert_array_equal(in_a_side_thread(vectors), vectors())


def test_in_one_thread_jobs_and_blas_use_no_other():
    seen = set()
    with cpu.in_this_thread():
        cpu.for_each(range(8), lambda job, slot: seen.add(threading.get_ident()), 4)
        with cpu.in_this_thread():
            pass
        cpu.for_each(range(8), lambda job, slot: seen.add(threading.get_ident()), 4)
        assert all(lib["num_threads"] == 1 for lib in threadpool_info() if lib["user_api"] == "blas")
    assert seen == {threading.get_ident()}
