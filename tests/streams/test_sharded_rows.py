"""Two real processes, each with a shard of the rows, fit the model that one process would fit."""

import os
import queue
import signal
from datetime import timedelta

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from mercer import PCA, TSNE, KernelDiscriminantAnalysis, Kernelized, KernelPCA
from mercer.streams.row_source import ArraySource

torch = pytest.importorskip("torch")
mp = torch.multiprocessing
pytestmark = [pytest.mark.torch, pytest.mark.timeout(300)]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 4)) * [3.0, 2.0, 1.0, 0.5] + 100.0


def _process(rank, shards, meeting, task, answers):
    """One process of the group: meets the others by a file, runs the task on its shard, and tells what came of it."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=len(shards), timeout=timedelta(seconds=60)
    )
    try:
        answers.put((rank, task(rank, shards[rank])))
    except Exception as error:
        answers.put((rank, f"{type(error).__name__}: {error}"))
    torch.distributed.destroy_process_group()


def run(task, shards, tmp_path):
    """What each process answers, by rank; processes that end without a word are missing."""
    context = mp.get_context("spawn")
    answers = context.Queue()
    processes = [
        context.Process(target=_process, args=(rank, shards, tmp_path / "meeting", task, answers))
        for rank in range(len(shards))
    ]
    for process in processes:
        process.start()
    said = {}
    while len(said) < len(shards) and (any(p.is_alive() for p in processes) or not answers.empty()):
        try:
            rank, answer = answers.get(timeout=1)
            said[rank] = answer
        except queue.Empty:
            continue
    for process in processes:
        process.join()
    return said


def source_of(shard):
    from mercer.streams.sharded_rows import ShardedRows

    return ShardedRows(ArraySource(shard, chunk_rows=64))


def components(rank, shard):
    model = PCA(3).fit(source_of(shard))
    return model.mean_, model.components_, model.explained_variance_


def kernel_components(rank, shard):
    model = KernelPCA(3, kernel="rbf", gamma=0.02, rank=60).fit(source_of(shard))
    return model.eigenvalues_, model.eigenvalue_error_, model.transform(X[:5])


@pytest.mark.parametrize("cut", [100, 700])
def test_pca_of_uneven_shards_is_that_of_all_rows(cut, tmp_path):
    """The last cut leaves the second process without a row."""
    said = run(components, [X[:cut], X[cut:]], tmp_path)
    for ours, theirs in zip(said[0], said[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    peer = PCA(3).fit(X)
    np.testing.assert_allclose(said[0][0], peer.mean_, rtol=1e-13)
    np.testing.assert_allclose(said[0][2], peer.explained_variance_, rtol=1e-11)
    np.testing.assert_allclose(said[0][1], peer.components_, atol=1e-9)


def test_kernel_pca_of_two_shards_is_that_of_one_process(tmp_path):
    """Both take the same sample and landmarks, so only the order of sums differs: n ε relative to the trace, n."""
    said = run(kernel_components, [X[:256], X[256:]], tmp_path)
    for ours, theirs in zip(said[0], said[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    alone = KernelPCA(3, kernel="rbf", gamma=0.02, rank=60).fit(ArraySource(X, chunk_rows=64))
    np.testing.assert_allclose(said[0][0], alone.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(said[0][2], alone.transform(X[:5]), atol=1e-6)


LABELS = (X[:, 0] > 100).astype(int) + (X[:, 1] > 100)


def discriminants(rank, shard):
    """Labels of all rows in every process, and labels in shards."""
    cut = slice(0, 256) if rank == 0 else slice(256, None)
    rows, labels = source_of(shard), source_of(LABELS[cut, None].astype(float))
    found = [KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(rows, y) for y in (LABELS, labels)]
    return tuple(model.transform(X[:5]) for model in found)


def test_labels_of_shards_and_labels_of_all_rows_give_the_same_directions(tmp_path):
    said = run(discriminants, [X[:256], X[256:]], tmp_path)
    alone = KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(ArraySource(X, chunk_rows=64), LABELS)
    for found in (*said[0], *said[1]):
        np.testing.assert_allclose(found, alone.transform(X[:5]), atol=1e-6)


def discriminants_of_a_column(rank, shard):
    """The labels are a column of every shard. Also how many passes were summed where the rows are."""
    from mercer.streams.sharded_rows import ShardedRows

    passes, original = [], ShardedRows.sum_chunks
    ShardedRows.sum_chunks = lambda *given: passes.append(rank) or original(*given)
    table = ArraySource(shard, chunk_rows=64, feature_names=["a", "b", "c", "d", "class"])
    model = KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(ShardedRows(table), "class")
    return model.transform(X[:5]), len(passes)


def test_labels_may_be_a_column_of_the_shards(tmp_path):
    table = np.column_stack([X, LABELS])
    said = run(discriminants_of_a_column, [table[:256], table[256:]], tmp_path)
    alone = KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(ArraySource(X, chunk_rows=64), LABELS)
    for found, passes in said.values():
        np.testing.assert_allclose(found, alone.transform(X[:5]), atol=1e-6)
        assert passes > 0


def with_a_gap(rank, shard):
    if rank == 1:
        shard = shard.copy()
        shard[17, 2] = np.nan
    return PCA(2).fit(source_of(shard)).n_components_


def test_a_failing_process_ends_the_others(tmp_path):
    said = run(with_a_gap, [X[:350], X[350:]], tmp_path)
    assert said[1].startswith("ValueError: ") and "NaN" in said[1]
    assert said[0].startswith("RuntimeError: Process 1 of 2 failed.") and "NaN" in said[0]


def that_dies(rank, shard):
    rows = source_of(shard)
    if rank == 1:
        os._exit(3)
    return PCA(2).fit(rows).n_components_


def test_a_process_that_dies_leaves_nobody_waiting(tmp_path):
    said = run(that_dies, [X[:350], X[350:]], tmp_path)
    assert set(said) == {0} and isinstance(said[0], str)


class Deadly(ArraySource):
    """A shard whose process is killed while it reads chunk 3."""

    def chunk(self, i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().chunk(i)


def that_is_killed_in_the_pass(rank, shard):
    from mercer.streams.chunk_statistics import ChunkWork
    from mercer.streams.local_driver import total_statistics
    from mercer.streams.row_maps import ShiftedRows
    from mercer.streams.sharded_rows import ShardedRows

    rows = ShardedRows((Deadly if rank == 1 else ArraySource)(shard, chunk_rows=64))
    return total_statistics(ChunkWork((ShiftedRows(np.zeros(4)),)), [rows]).n


def test_a_process_that_is_killed_in_a_pass_leaves_nobody_waiting(tmp_path):
    """Within a minute at most, which is the timeout of the group; gloo notices at once."""
    said = run(that_is_killed_in_the_pass, [X[:350], X[350:]], tmp_path)
    assert set(said) == {0} and said[0].startswith("RuntimeError: ")


def test_three_processes_of_uneven_and_empty_shards(tmp_path):
    said = run(components, [X[:0], X[:613], X[613:]], tmp_path)
    peer = PCA(3).fit(X)
    for rank in range(3):
        np.testing.assert_array_equal(said[rank][1], said[0][1])
    np.testing.assert_allclose(said[0][2], peer.explained_variance_, rtol=1e-11)


def of_other_width(rank, shard):
    return PCA(2).fit(source_of(shard[:, : 4 - rank])).n_components_


def test_shards_of_other_columns_are_refused_by_all(tmp_path):
    said = run(of_other_width, [X[:350], X[350:]], tmp_path)
    assert all(text.startswith("ValueError: Process 1 has 3 columns") for text in said.values()) and len(said) == 2


def with_a_seed_of_its_own(rank, shard):
    return KernelPCA(2, kernel="rbf", gamma=0.02, rank=40, random_state=rank).fit(source_of(shard)).n_features_in_


def test_processes_that_chose_other_landmarks_are_refused_by_all(tmp_path):
    said = run(with_a_seed_of_its_own, [X[:350], X[350:]], tmp_path)
    assert len(said) == 2
    assert all("Process 1 did not choose what process 0 chose" in text for text in said.values())


def map_with_a_seed_of_its_own(rank, shard):
    return TSNE(landmarks=40, max_iter=250, random_state=rank).fit(source_of(shard)).source_rows_


def map_of_the_same_landmarks_with_a_seed_of_its_own(rank, shard):
    return TSNE(landmarks=np.arange(0, 700, 10), max_iter=250, random_state=rank).fit(source_of(shard)).embedding_


def with_parameters_of_its_own(rank, shard):
    return KernelPCA(2 + rank, kernel="rbf", gamma=0.02, rank=40).fit(source_of(shard)).n_features_in_


@pytest.mark.parametrize(
    "task",
    [map_with_a_seed_of_its_own, map_of_the_same_landmarks_with_a_seed_of_its_own, with_parameters_of_its_own],
)
def test_parameters_that_differ_between_processes_are_refused_by_all(task, tmp_path):
    said = run(task, [X[:350], X[350:]], tmp_path)
    assert len(said) == 2
    assert all("Process 1 did not choose what process 0 chose" in str(text) for text in said.values())


def other_rows_of_a_sample(rank, shard):
    from mercer.streams.row_sample import rows_at

    return rows_at(source_of(shard), np.arange(rank, 700, 100))


def test_processes_that_ask_for_other_rows_are_refused_by_all(tmp_path):
    said = run(other_rows_of_a_sample, [X[:350], X[350:]], tmp_path)
    assert len(said) == 2
    assert all("Process 1 did not choose what process 0 chose" in str(text) for text in said.values())


def chunks_that_travel(rank, shard):
    """How many chunks are sent whole while a model of the labels is fitted, whose column is one of the shard."""
    from mercer.backends.process_group import ProcessGroup

    sent, original = [], ProcessGroup.from_rank
    ProcessGroup.from_rank = lambda group, value, owner: sent.append(owner) or original(group, value, owner)
    from mercer.streams.sharded_rows import ShardedRows

    table = ArraySource(shard, chunk_rows=64, feature_names=["a", "b", "c", "d", "class"])
    model = KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(ShardedRows(table), "class")
    return len(sent), model.transform(X[:5])


def test_samples_travel_and_chunks_do_not(tmp_path):
    table = np.column_stack([X, LABELS])
    said = run(chunks_that_travel, [table[:256], table[256:]], tmp_path)
    alone = KernelDiscriminantAnalysis(gamma=0.02, rank=60, reg=1e-2).fit(ArraySource(X, chunk_rows=64), LABELS)
    for sent, found in said.values():
        assert sent == 0
        np.testing.assert_allclose(found, alone.transform(X[:5]), atol=1e-6)


def descent_left_to_chance(rank, shard):
    """An estimator that shuffles each chunk with a seed that nobody chose."""
    cut = slice(0, 256) if rank == 0 else slice(256, None)
    labels = source_of(LABELS[cut, None].astype(float))
    model = Kernelized(SGDClassifier(), gamma=0.02, rank=20).fit(source_of(shard), labels)
    return model.estimator_.coef_


def test_an_estimator_left_to_chance_is_the_same_in_every_process(tmp_path):
    said = run(descent_left_to_chance, [X[:256], X[256:]], tmp_path)
    np.testing.assert_array_equal(said[0], said[1])


class Counted(ArraySource):
    """A shard that counts the chunks that were read, and fails once it is asked for one too often."""

    reads, most = 0, 10**9

    def chunk(self, i):
        self.reads += 1
        if self.reads > self.most:
            raise OSError("The disk went away.")
        return super().chunk(i)


def with_checkpoints(rank, given):
    from mercer.streams import checkpoints
    from mercer.streams.sharded_rows import ShardedRows

    shard, path, most = given
    source = Counted(shard, chunk_rows=32)
    source.most = most
    with checkpoints(path, every=0):
        model = PCA(3).fit(ShardedRows(source))
    return source.reads, model.components_, model.explained_variance_


@pytest.mark.parametrize("most", [4, 7, 10])
def test_an_interrupted_fit_resumes_in_every_process(most, tmp_path):
    """Process 1 fails in the middle; then both continue where they were, and end with the bits of a whole fit."""
    path = tmp_path / "fit.part"
    whole = run(with_checkpoints, [(X[:350], path, 10**9), (X[350:], path, 10**9)], tmp_path)
    (tmp_path / "meeting").unlink(missing_ok=True)
    failed = run(with_checkpoints, [(X[:350], path, 10**9), (X[350:], path, most)], tmp_path)
    assert "The disk went away" in failed[0] and "The disk went away" in failed[1]
    assert {each.name for each in tmp_path.glob("fit.part*")} >= {"fit.part.0"}
    (tmp_path / "meeting").unlink(missing_ok=True)
    again = run(with_checkpoints, [(X[:350], path, 10**9), (X[350:], path, 10**9)], tmp_path)
    for rank in range(2):
        np.testing.assert_array_equal(again[rank][1], whole[rank][1])
        np.testing.assert_array_equal(again[rank][2], whole[rank][2])
    assert again[0][0] < whole[0][0]
    assert not list(tmp_path.glob("fit.part*"))
