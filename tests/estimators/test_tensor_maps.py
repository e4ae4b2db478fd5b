"""SNE and t-SNE of tensors: maps as good as those of NumPy arrays, on the device of the rows, the same in every run."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer
from mercer import SNE, TSNE
from mercer.embedding import Affinities, Uniform
from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
X = load_digits().data[:260]
QUICK = {"max_iter": 60, "perplexity": 10, "method": "grid"}


def tensor(A, device="cpu"):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.as_tensor(A, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("make", [TSNE, SNE])
def test_a_map_as_good_as_that_of_numpy(make, device):
    """Two descents part after some hundred steps, because sums are rounded differently; the divergence does not."""
    settings = {"perplexity": 10, "max_iter": 500, "method": "grid"}
    there, here = make(**settings).fit(tensor(X, device)), make(**settings).fit(X)
    assert there.kl_divergence_ <= 1.05 * here.kl_divergence_  # 260 points: maps of other seeds differ as much
    Y = there.embedding_
    assert Y.device.type == device and Y.dtype == torch.float32 and Y.shape == (260, 2)
    again = make(**settings).fit_transform(tensor(X, device))
    assert torch.equal(again, Y)
    assert there.report_.repulsion.startswith("grid") and there.report_.steps == here.report_.steps


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("c", [1, 2, 3, 4])
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_the_first_steps_are_those_of_numpy(method, c, device):
    settings = {"n_components": c, "max_iter": 15, "perplexity": 10, "method": method}
    there, here = TSNE(**settings).fit(tensor(X, device)), TSNE(**settings).fit(X)
    # Principal components have an arbitrary sign, but the same rule for it; rounding grows by a factor per step.
    np.testing.assert_allclose(
        there.embedding_.cpu().numpy(), here.embedding_, atol=0.02 * np.abs(here.embedding_).max()
    )
    assert there.kl_divergence_ == pytest.approx(here.kl_divergence_, rel=1e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_new_rows(device):
    tsne = TSNE(**QUICK).fit(tensor(X, device))
    assert torch.equal(tsne.transform(tensor(X[:9], device)), tsne.embedding_[:9])
    new = tensor(X[:6] + 0.5, device)
    placed = tsne.transform(new)
    assert placed.device.type == device and torch.equal(tsne.transform(new[2:4]), placed[2:4])
    for init in ("mean", np.zeros((6, 2)), torch.zeros(6, 2)):
        assert bool(torch.isfinite(tsne.transform(new, init=init, n_iter=3)).all())
    with pytest.raises(ValueError, match="was fitted on torch arrays"):
        tsne.transform(X[:3])
    with pytest.raises(ValueError, match="was fitted on numpy arrays"):
        TSNE(**QUICK).fit(X).transform(tensor(X[:3]))


def test_new_rows_are_placed_as_in_numpy():
    """In one and the same map, that of the tensors read back from a file."""
    there = TSNE(**QUICK).fit(tensor(X))
    here = TSNE(**QUICK, init=there.embedding_.numpy()).set_params(max_iter=0).fit(X)
    there.optimize(1, learning_rate=1e-30)
    new = X[:20] + 0.5
    difference = np.abs(there.transform(tensor(new)).numpy() - here.transform(new)).max()
    assert difference < 0.02 * np.abs(here.embedding_).max()


def test_callbacks_snapshots_and_more_steps():
    seen = []
    tsne = TSNE(
        **QUICK,
        snapshots=20,
        callbacks=lambda steps, kl, Y: seen.append((steps, float(kl), type(Y))),
        callback_every=30,
    ).fit(tensor(X))
    assert [steps for steps, _, _ in seen] == [30, 60] and seen[0][2] is torch.Tensor
    assert [steps for steps, _ in tsne.snapshots_] == [20, 40, 60]
    assert torch.equal(tsne.snapshots_[-1][1], tsne.embedding_)
    stopped = TSNE(**QUICK, callbacks=lambda steps, kl, Y: True, callback_every=25).fit(tensor(X))
    assert stopped.report_.steps == 25
    stopped.optimize(10, callbacks=[])
    assert stopped.report_.steps == 35


def test_fixed_points_and_given_starts():
    start = torch.as_tensor(np.random.default_rng(0).standard_normal((260, 2)))
    tsne = TSNE(**QUICK, init=start, fixed=np.arange(100)).fit(tensor(X))
    assert torch.equal(tsne.embedding_[:100], start[:100].float())
    assert not torch.equal(tsne.embedding_[100:], start[100:].float())
    for init in ("random", "spectral"):
        assert np.isfinite(TSNE(**QUICK, init=init).fit(tensor(X)).kl_divergence_)


def test_landmarks():
    tsne = TSNE(landmarks=150, **QUICK).fit(tensor(X))
    assert tsne.embedding_.shape == (260, 2) and isinstance(tsne.embedding_, torch.Tensor)
    assert bool(torch.isfinite(tsne.embedding_).all()) and len(tsne.landmarks_) == 150


@pytest.mark.parametrize(
    "settings", [{"metric": "cosine"}, {"metric": "manhattan"}, {"metric": RBF(1e-3)}, {"affinities": Uniform(12)}]
)
def test_other_metrics_and_weights(settings):
    settings = {"max_iter": 10, "perplexity": 10, **settings}
    there, here = TSNE(**settings).fit(tensor(X)), TSNE(**settings).fit(X)
    assert there.kl_divergence_ == pytest.approx(here.kl_divergence_, rel=1e-2)


def test_given_distances_and_affinities():
    D = np.sqrt(np.square(X[:, None, :3] - X[None, :, :3]).sum(axis=2))
    there = TSNE(metric="precomputed", max_iter=10, perplexity=10).fit(tensor(D))
    assert there.embedding_.shape == (260, 2)
    P = Affinities.of(tensor(X), 10.0)
    shared = TSNE(affinities=P, max_iter=10).fit(tensor(X))
    assert shared.affinities_ is P and np.isfinite(TSNE(affinities=P, max_iter=5).fit().kl_divergence_)
    given = TSNE(affinities="precomputed", max_iter=10).fit(P.P.to_dense())
    assert given.kl_divergence_ > 0 and isinstance(given.affinities_.P, torch.Tensor)
    with pytest.raises(ValueError, match="both be tensors"):
        TSNE(affinities=P).fit(X)
    with pytest.raises(ValueError, match="positive"):
        TSNE(metric="precomputed").fit(-tensor(D))


def test_a_saved_map_is_one_of_numpy_arrays(tmp_path):
    tsne = TSNE(**QUICK, snapshots=30).fit(tensor(X))
    tsne.save(tmp_path / "map.mercer")
    loaded = mercer.load(tmp_path / "map.mercer")
    np.testing.assert_array_equal(loaded.embedding_, tsne.embedding_.numpy())
    assert loaded.transform(X[:5]).shape == (5, 2) and isinstance(tsne.embedding_, torch.Tensor)
    np.testing.assert_array_equal(loaded.transform(X[:5]), loaded.embedding_[:5])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64])
def test_other_numbers(dtype):
    settings = {"max_iter": 5, "perplexity": 10}
    found = TSNE(**settings).fit(tensor(X).to(dtype)).kl_divergence_
    assert found == pytest.approx(TSNE(**settings).fit(X).kl_divergence_, rel=1e-3)  # whole numbers below 17


def test_gradients_are_left_out():
    rows = tensor(X).requires_grad_()
    tsne = TSNE(max_iter=3, perplexity=10).fit(rows)
    assert not tsne.embedding_.requires_grad and not tsne.transform(rows[:3]).requires_grad


def test_bad_tensors(monkeypatch):
    wide = torch.full((12, 2), 1e308, dtype=torch.float64)
    wide[::2] *= -1
    for wrong, words in [
        (torch.full((50, 2), torch.nan), "NaN"),
        (torch.ones(50), "2D"),
        (torch.ones(1, 3), "minimum of 2"),
        (wide, "overflow"),
    ]:
        with pytest.raises(ValueError, match=words):
            TSNE(perplexity=5, max_iter=2).fit(wrong)
    monkeypatch.setattr("mercer.backends.torch.free_bytes", lambda A: 10_000)
    with pytest.raises(MemoryLimitError):
        TSNE(**QUICK).fit(tensor(X))


@pytest.mark.cuda
def test_nothing_stays_on_the_card():
    rows = tensor(X, "cuda")
    TSNE(**QUICK).fit(rows)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(2):
        TSNE(**QUICK).fit(rows)
    assert torch.cuda.memory_allocated() <= before
