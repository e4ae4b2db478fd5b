"""Workers compute jobs in order, share what is sent once, drop what is no longer wanted, and say what went wrong."""

import subprocess
import sys

import numpy as np
import pytest

from mercer.backends import cpu

distributed = pytest.importorskip("distributed")
from dask import delayed  # noqa: E402

from mercer.backends.dask_workers import (  # noqa: E402
    DaskWorkers,
    current_workers,
    in_graph,
    pickled_bytes,
    workers_at,
)


@pytest.fixture(scope="module")
def workers():
    """Two workers in threads of this process: they start quickly, and know no other process."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as started,
        workers_at(started) as found,
    ):
        yield found


def power(base, exponent):
    return base**exponent


def appended(shared, state, *job):
    return [*(state or [shared]), *job]


def threads_used(shared):
    seen = []
    cpu.for_each(range(8), lambda job, slot: seen.append(slot), 4)
    return set(seen)


def fails(shared, number):
    if number == 3:
        raise ValueError("number 3 is bad")
    return number


def test_results_come_in_the_order_of_the_jobs(workers):
    shared = workers.share(2)
    assert list(workers.each(power, shared, ((k,) for k in range(40)))) == [2**k for k in range(40)]
    assert list(workers.each(power, shared, [])) == []


def test_what_is_shared_arrives_whole_however_large_it_is(workers):
    big = np.random.default_rng(0).standard_normal(1_000_000)  # 8 MB: two pieces
    assert next(workers.each(power, workers.share(big), [(1,)])).tobytes() == big.tobytes()


def test_chains_hand_their_state_on_and_take_parts_of_a_graph(workers):
    parts = [delayed(power)(10, k) for k in range(4)]
    chains = [[(0, parts[0]), (1, [parts[1], 5])], [(2, parts[2])]]
    assert list(workers.chains(appended, workers.share("s"), chains)) == [["s", 0, 1, 1, [10, 5]], ["s", 2, 100]]


def test_a_task_takes_one_thread(workers):
    assert list(workers.each(threads_used, workers.share(None), [()])) == [{0}]


def test_an_error_of_a_task_comes_through_and_ends_the_others(workers):
    results = workers.each(fails, workers.share(None), ((k,) for k in range(20)))
    with pytest.raises(ValueError, match="number 3 is bad"):
        list(results)
    assert list(workers.each(power, workers.share(3), [(2,)])) == [9]


def test_a_scheduler_that_dies_is_named(tmp_path):
    """Whatever the client asks it first: for a result, for the number of threads, or to take a task."""
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", file], stderr=subprocess.DEVNULL)
    try:
        with distributed.Client(scheduler_file=file, set_as_default=False) as client:
            found = DaskWorkers(client)
            results = found.each(power, found.share(2), ((k,) for k in range(40)))
            scheduler.kill()
            scheduler.wait()
            with pytest.raises(RuntimeError, match=r"The scheduler at .* has gone.*resumes from them"):
                list(results)
    finally:
        scheduler.kill()


def test_the_current_client_is_found(workers):
    assert current_workers().name == workers.name
    assert workers.name.startswith("2 workers of ")
    with workers_at(workers.client) as same:
        assert isinstance(same, DaskWorkers) and same.threads == 2


def test_a_pickle_is_measured_without_making_one():
    assert 8_000_000 <= pickled_bytes(np.zeros(1_000_000)) < 8_001_000
    assert pickled_bytes(iter(fails for _ in range(2))) == float("inf")


def test_a_value_is_one_part_of_a_graph():
    value = in_graph({"a": 1})
    assert delayed(dict)(value).compute(scheduler="synchronous") == {"a": 1}


@pytest.mark.parametrize(
    ("place", "error", "text"),
    [
        ("localhost:8786", ValueError, "address of a scheduler"),
        ("local:none", ValueError, "'local:4' starts four"),
        ("local:0", ValueError, "'local:4' starts four"),
        (3, TypeError, "not int"),
    ],
)
def test_places_that_mean_nothing_are_refused(place, error, text):
    with pytest.raises(error, match=text), workers_at(place):
        pass


def test_a_scheduler_that_does_not_answer_is_named():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(ConnectionError, match=r"answers at tcp://127\.0\.0\.1:9"),
        workers_at("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_local_cluster_takes_no_profiles_and_leaves_the_settings_alone():
    """Nobody looks at them: the cluster has no dashboard."""
    import dask

    name = "distributed.worker.profile.enabled"
    before = dask.config.get(name)
    with workers_at("local:1") as workers:
        assert list(workers.client.run(lambda: dask.config.get(name)).values()) == [False]
        assert dask.config.get(name) is before
