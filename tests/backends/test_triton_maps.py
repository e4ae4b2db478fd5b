"""The kernels of a step are the same sums in torch: on a card where there is one, else through Triton's interpreter."""

import numpy as np
import pytest

from card import DEVICE, MARKS, torch
from mercer.backends import torch_maps, triton_maps
from mercer.backends.torch_neighbors import csr_tensor

pytestmark = MARKS
RNG = np.random.default_rng(0)


def tensor(A):
    return torch.as_tensor(A, device=DEVICE)


def example(c, n=70):
    Y = tensor((2 * RNG.standard_normal((n, c))).astype(np.float32))
    low = Y.amin(0)
    nodes = tuple(int(width / 0.5) + torch_maps.ORDER for width in (Y.amax(0) - low).tolist())
    return Y, low, nodes


def in_torch(monkeypatch, function, *args):
    """The sum without kernels, also where there is a card."""
    monkeypatch.setattr(torch_maps, "has_kernels", lambda Y: False)
    return function(*args)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_points_to_nodes(c, monkeypatch):
    Y, low, nodes = example(c)
    found = triton_maps.spread(Y, low, 2.0, nodes)
    expected = in_torch(monkeypatch, torch_maps.spread, Y, low, 0.5, nodes)
    # A weight in float32 is a product of up to three, each right to some 1e-7; a node has those of up to 70 points.
    assert float((found - expected).abs().max()) / torch_maps.FIXED < 70 * 1e-6
    assert float(found.sum()) / torch_maps.FIXED == pytest.approx(
        len(Y), rel=1e-6
    )  # the weights of a point add up to 1
    assert torch.equal(triton_maps.spread(Y, low, 2.0, nodes), found)
    order = torch.randperm(len(Y), device=DEVICE)
    assert torch.equal(triton_maps.spread(Y[order].contiguous(), low, 2.0, nodes), found)  # bits, in any order


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_nodes_to_points(c, own, monkeypatch):
    Y, low, nodes = example(c)
    padded = tensor(RNG.standard_normal((*nodes[:-1], nodes[-1] + 3)).astype(np.float32))
    field = padded[..., : nodes[-1]]  # not contiguous, as what the inverse transform leaves is not
    tables = [tensor(RNG.standard_normal(129).astype(np.float32)) for _ in range(2)] if own else [None, None]
    found = triton_maps.gather(Y, low, 2.0, field, *tables)
    expected = in_torch(monkeypatch, torch_maps.gather, Y, low, 0.5, field, *tables)
    for one, other in zip(found, expected, strict=True):
        assert float((one - other).abs().max()) < 1e-5


@pytest.mark.parametrize("form", [(1.0, 1.0, 1.0), (1.5, 2.0, 1.0), (1.0, 1.0, 0.0)])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_attraction(c, form, monkeypatch):
    Y, _, _ = example(c)
    lengths = RNG.integers(0, 50, len(Y))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns, weights = RNG.integers(0, len(Y), starts[-1]), RNG.random(starts[-1]).astype(np.float32)
    P = csr_tensor(tensor(starts), tensor(columns), tensor(weights), (len(Y), len(Y)))
    found = triton_maps.attract(P, Y, Y, *form)
    expected = in_torch(monkeypatch, torch_maps.attract, P, Y, Y, *form)
    assert float((found - expected).norm() / expected.norm()) < 1e-5
    assert torch.equal(triton_maps.attract(P, Y, Y, *form), found)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_a_step(held, each, monkeypatch):
    """One weight for all rows, as in a descent, or one each, as in placing new rows."""
    shape = 700, 2
    parts = [tensor(RNG.standard_normal(shape).astype(np.float32)) for _ in range(4)]
    gains = tensor(RNG.uniform(0.005, 2, shape).astype(np.float32))
    weights = tensor(RNG.uniform(0.1, 1, (700, 1) if each else ()).astype(np.float32))
    free = tensor(RNG.random(700) < 0.7) if held else None

    def stepped():
        Y, update, own = parts[0].clone(), parts[1].clone(), gains.clone()
        return Y, update, own, torch_maps.step(Y, update, own, *parts[2:], 4.0, weights, 50.0, 0.8, 5.0, free)

    monkeypatch.setattr(torch_maps, "has_kernels", lambda Y: True)
    found, again = stepped(), stepped()
    monkeypatch.setattr(torch_maps, "has_kernels", lambda Y: False)
    expected = stepped()
    size = 50 * 3 * (4 + 1) * 4  # of the largest product that is added: rate × gain × slope
    for one, other, same in zip(found, expected, again, strict=True):
        assert torch.equal(one, same)
        torch.testing.assert_close(one, other, rtol=1e-5, atol=4 * size * np.finfo(np.float32).eps)


def test_a_step_keeps_what_is_not_finite(monkeypatch):
    monkeypatch.setattr(torch_maps, "has_kernels", lambda Y: True)
    Y, zeros, ones = (
        tensor(part.astype(np.float32)) for part in (RNG.random((9, 2)), np.zeros((9, 2)), np.ones((9, 2)))
    )
    pull = zeros.clone()
    pull[4, 1] = torch.nan
    squares = torch_maps.step(Y, zeros.clone(), ones, pull, zeros, 4.0, ones.sum(), 50.0, 0.8, 5.0, None)
    assert torch.isnan(Y[4, 1]) and torch.isnan(squares) and int(torch.isnan(Y).sum()) == 1


def test_points_beyond_the_grid_touch_no_other_memory():
    """A map that has outgrown its grid gives sums without a meaning, which the descent takes again."""
    Y, low, nodes = example(2)
    far = torch.cat([1e6 * Y, Y.new_full((2, 2), torch.nan)]).contiguous()
    found = triton_maps.spread(far, low, 2.0, nodes)
    assert found.shape == nodes and float(found.sum()) / torch_maps.FIXED <= len(far) + 1e-3
