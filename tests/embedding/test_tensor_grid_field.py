"""The grid of a map of tensors gives the sums of all pairs, to the accuracy that the grid of NumPy arrays has."""

import numpy as np
import pytest
from example_maps import SIMILARITIES, close, exact, points, relative

from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.similarity import Gaussian, Student

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
SIZES = [1e-4, 0.1, 5.0, 40.0]


def tensor(A, device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.as_tensor(np.asarray(A, np.float32), device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("c", [1, 2, 3])
def test_sums_of_all_pairs(c, size, device):
    Y = points("clusters", 600, c, size).astype(np.float32)
    reference, Z = exact(Student(), Y)
    repulsion = GridRepulsion(Student(), c)
    G, total = repulsion(tensor(Y, device))
    assert G.dtype == torch.float32 and G.device.type == device
    assert relative(G.cpu().numpy(), reference) < 1e-3 and close(total, Z, 1e-4)
    again = repulsion(tensor(Y, device))
    assert torch.equal(again[0], G) and again[1] == total


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_every_similarity(similarity):
    Y = points("uniform", 800, 2, 20.0).astype(np.float32)
    reference, Z = exact(similarity, Y)
    G, total = GridRepulsion(similarity, 2)(tensor(Y, "cpu"))
    assert relative(G.numpy(), reference) < 1e-3 and close(total, Z, 1e-4)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-5])
def test_the_stated_accuracy(accuracy):
    """Uniform in a square is the hardest map: see `grid_field`. Below 1e-4 the transforms are in float64."""
    Y = points("uniform", 1500, 2, 60.0)
    reference, _ = exact(Student(), Y)
    G, _ = GridRepulsion(Student(), 2, accuracy)(torch.as_tensor(Y))
    assert relative(G.numpy(), reference) < accuracy


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("c", [1, 2, 3])
def test_a_plan_gives_the_same_sums_while_the_map_grows(c, size, device):
    Y = points("clusters", 600, c, size).astype(np.float32)
    plan = GridRepulsion(Student(), c).planned(tensor(Y, device), 1.5)
    if plan is None:
        pytest.skip("so few points, so far apart, that pairs cost less than nodes")
    for growth in (1.0, 1.2, 1.45):
        reference, Z = exact(Student(), growth * Y)
        G, total = plan(tensor(growth * Y, device))
        assert relative(G.cpu().numpy(), reference) < 1e-3 and close(float(total), Z, 1e-4)
        assert plan.used() <= 1
    plan(tensor(3 * Y, device))
    assert plan.used() > 1


def test_a_plan_sees_a_map_that_is_no_longer_finite():
    Y = tensor(points("uniform", 200, 2, 5.0), "cpu")
    plan = GridRepulsion(Student(), 2).planned(Y, 1.5)
    Y[3, 1] = torch.nan
    plan(Y)
    assert not plan.used() <= 1


@pytest.mark.parametrize("similarity", [Student(), Gaussian()], ids=repr)
def test_a_map_that_does_not_move(similarity):
    Y, new = points("clusters", 500, 2, 20.0).astype(np.float32), points("uniform", 60, 2, 40.0).astype(np.float32)
    new[:3] += 500  # far outside
    repulsion = GridRepulsion(similarity, 2)
    here, there = repulsion.frozen(Y)(new), repulsion.frozen(tensor(Y, "cpu"))(tensor(new, "cpu"))
    for one, other in zip(there, here, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-3, atol=2e-3 * np.abs(other).max())
    # What a point feels does not depend on the others, but torch rounds otherwise at the ends of its vector loops.
    alone = repulsion.frozen(tensor(Y, "cpu"))(tensor(new[10:12], "cpu"))[0]
    nodes = 36  # of the spline around a point
    room = nodes * np.finfo(np.float64).eps * float(there[0].abs().max())
    np.testing.assert_allclose(there[0][10:12].numpy(), alone.numpy(), rtol=0, atol=room)


def test_points_far_from_the_rest():
    """The grid is laid over the others; the pairs of the far points are summed one by one."""
    Y = points("clusters", 900, 2, 20.0).astype(np.float32)
    Y[:3] *= 1e5
    reference, Z = exact(Student(), Y)
    repulsion = GridRepulsion(Student(), 2, largest=2**18)
    G, total = repulsion(tensor(Y, "cpu"))
    assert relative(G.numpy(), reference) < 1e-3 and close(total, Z, 1e-4)
    assert repulsion.planned(tensor(Y, "cpu"), 1.5) is None


def test_a_map_too_wide_for_its_grid_is_split():
    """A coarser grid and the short-range pairs keep the accuracy."""
    Y = points("uniform", 3000, 2, 150.0).astype(np.float32)
    reference, Z = exact(Student(), Y)
    repulsion = GridRepulsion(Student(), 2, largest=2**20, most_pairs=0)
    G, total = repulsion(tensor(Y, "cpu"))
    assert relative(G.numpy(), reference) < 1e-3 and close(total, Z, 1e-3)
    assert repulsion.expected_error <= 1e-3 and repulsion.spacing > repulsion.finest
