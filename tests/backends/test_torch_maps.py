"""Weights, attraction, repulsion and steps of tensors are those of NumPy arrays, on every device."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.embedding.affinities import Affinities, device_matrix
from mercer.embedding.descent import DescentState, move
from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.grid_field import NodeGrid, grid_over, soft_spacing
from mercer.embedding.loss import Loss, attraction_of
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.short_range import ShortRangeCells, add_short_range
from mercer.embedding.similarity import Gaussian, Similarity, Student
from mercer.embedding.weighting import FixedWidth, Perplexity, Uniform
from mercer.embedding.z_order import reordered, z_order

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((300, 5))
WEIGHTINGS = [Perplexity((20.0,)), Perplexity((5.0, 40.0)), FixedWidth(1.0, 30), Uniform(15)]


class Heavy(Similarity):
    """1/(1 + d), without a compiled form and with a slope that is finite at 0."""

    def __repr__(self):  # names its tests, which must be alike in all processes that run them
        return "Heavy()"

    def weight(self, d2):
        return 1 / (1 + d2) ** 0.5

    def slope(self, d2):
        return 0.5 / (1 + d2) ** 1.5

    def log_slope(self, d2):
        return 0.5 / (1 + d2)


SIMILARITIES = [Student(), Student(2.5), Gaussian(), Heavy()]


def tensor(A, device="cpu"):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.as_tensor(A, device=device)


def example(c, n=300, scale=2.0):
    return (scale * RNG.standard_normal((n, c))).astype(np.float32)


def relative(found, true):
    return np.linalg.norm(found.cpu().numpy() - true) / np.linalg.norm(true)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighting", WEIGHTINGS, ids=repr)
def test_affinities(weighting, device):
    here, there = Affinities.of(ROWS, weighting), Affinities.of(tensor(ROWS, device), weighting)
    assert there.P.device.type == device and there.P.values().dtype == torch.float32
    host = there.on_host()
    np.testing.assert_array_equal(host.P.indptr, here.P.indptr)
    np.testing.assert_array_equal(host.P.indices, here.P.indices)
    # An entry is a sum of two float32 weights, which calibration to 1e-7 of the entropy decides.
    np.testing.assert_allclose(host.P.data, here.P.data, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(host.widths, here.widths, rtol=1e-6)
    assert there.entropy == pytest.approx(here.entropy, rel=1e-6)


def test_affinities_in_pieces(monkeypatch):
    """What is computed a few rows at a time, for memory, is the same."""
    whole = Affinities.of(tensor(ROWS), 20.0)
    monkeypatch.setattr("mercer.backends.torch_maps.entries_on", lambda X: 5000)
    parts = Affinities.of(tensor(ROWS), 20.0)
    assert torch.equal(whole.P.values(), parts.P.values()) and torch.equal(whole.P.col_indices(), parts.P.col_indices())
    assert torch.equal(whole.widths, parts.widths)


def test_weights_of_ties_and_copies():
    """Rows that coincide, and more ties than the perplexity counts, have no width: the limits are taken."""
    D = np.array([[0.0, 0, 0, 0], [1, 1, 1, 5], [1, 2, 3, 4]])
    weighting = Perplexity((2.0,))
    here, there = weighting.weights(D), weighting.weights(tensor(D))
    np.testing.assert_allclose(there.P.numpy(), here.P, rtol=1e-5, atol=1e-7)
    assert np.isfinite(there.widths.numpy()).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_attraction(similarity, c, device):
    P, Y = Affinities.of(ROWS, 20.0).P, example(c)
    here = attraction_of(P, similarity)
    there = attraction_of(device_matrix(P, tensor(ROWS, device)), similarity)
    # Sums of some 80 float32 terms.
    assert relative(there(tensor(Y, device)), here(Y)) < 1e-5
    assert relative(there.log_similarity(tensor(Y, device)), here.log_similarity(Y)) < 1e-6


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_pairs(similarity, device):
    Y, Z = example(2).astype(np.float64), example(2, 40).astype(np.float64)
    for new, fixed, same in ((Y, Y, True), (Z, Y, False)):
        here = pair_sums(similarity, new, fixed, same=same)
        there = pair_sums(similarity, tensor(new, device), tensor(fixed, device), same=same)
        assert all(relative(a, b) < 1e-12 for a, b in zip(there, here, strict=True))


@pytest.mark.parametrize("c", [2, 3])
def test_short_range_pairs(c):
    Y, softness, accuracy = example(c, 500, 3.0), 0.5, 1e-3
    low, high = Y.min(axis=0).astype(np.float64), Y.max(axis=0).astype(np.float64)
    grid = grid_over(low, high, soft_spacing(accuracy, softness), softness)
    assert isinstance(grid, NodeGrid)
    cells = ShortRangeCells.under(grid, accuracy)
    G, Z, there = np.zeros((500, c)), np.zeros(500), [tensor(np.zeros((500, c))), tensor(np.zeros(500))]
    add_short_range(Y, cells, softness, G, Z)
    add_short_range(tensor(Y), cells, softness, *there)
    assert relative(there[0], G) < 1e-5 and relative(there[1], Z) < 1e-5  # NumPy's is summed in float32


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_order_in_memory(c):
    Y, P = example(c), Affinities.of(ROWS, 20.0).P
    order = z_order(Y)
    np.testing.assert_array_equal(z_order(tensor(Y)).numpy(), order)
    there = reordered(device_matrix(P, tensor(Y)), tensor(order))
    here = reordered(P, order)
    np.testing.assert_array_equal(there.col_indices().numpy(), here.indices)
    np.testing.assert_array_equal(there.values().numpy(), here.data)
    same = torch.ones(5, 2)
    assert z_order(same).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("similarity", [Student(), Gaussian()], ids=repr)
def test_the_gradient_is_that_of_the_loss(similarity, device):
    """Against the exact gradient of NumPy, and against differences of the loss along a direction."""
    P, Y = Affinities.of(ROWS, 20.0), example(2).astype(np.float64)
    exact = Loss(P.P, P.entropy, similarity, make_repulsion(similarity, 2, n=300, method="exact"))
    there = Loss(
        device_matrix(P.P, tensor(Y, device)),
        P.entropy,
        similarity,
        make_repulsion(similarity, 2, n=300, method="grid"),
    )
    T = tensor(Y, device)
    gradient = there.gradient(T, 1.0)
    assert relative(gradient, exact.gradient(Y)) < 2e-3  # the accuracy of the grid, of a difference of two forces
    assert there.value(T) == pytest.approx(exact.value(Y), rel=1e-5)
    away, h = RNG.standard_normal(Y.shape), 1e-4
    change = (exact.value(Y + h * away) - exact.value(Y - h * away)) / (2 * h)
    size = np.linalg.norm(away) * float(gradient.norm())
    assert abs(float((gradient.cpu() * torch.as_tensor(away)).sum()) - change) < 2e-3 * size


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("held", [False, True])
def test_steps(held, device):
    Y, pull, push = (example(2, 50) for _ in range(3))
    free = RNG.random(50) < 0.7 if held else None
    here, there = DescentState.at(Y), DescentState.at(tensor(Y, device))
    weights = np.array([0.3])
    for _ in range(5):
        one = move(here, pull, push, 2.0, weights, 0.5, 0.8, free)
        moved = None if free is None else tensor(free, device)
        other = move(there, tensor(pull, device), tensor(push, device), 2.0, weights, 0.5, 0.8, moved)
        assert other == pytest.approx(one, rel=1e-5)
    for name in ("Y", "update", "gains"):
        np.testing.assert_allclose(getattr(there, name).cpu().numpy(), getattr(here, name), rtol=1e-5, atol=1e-6)


def test_a_matrix_of_the_host_and_back():
    P = Affinities.of(ROWS, 20.0)
    assert P.on_host() is P
    there = device_matrix(P.P, tensor(ROWS))
    assert isinstance(there, torch.Tensor) and there.col_indices().dtype == torch.int32
    assert sp.issparse(P.P) and len(there.values()) == P.P.nnz
