"""The kernel for cells leaves every distance where relaxing all edges leaves it, however the cells are cut."""

import numpy as np
import pytest

from card import CARD, DEVICE, MARKS, torch
from mercer.backends import torch_paths, triton_paths

pytestmark = MARKS
RNG = np.random.default_rng(0)


def random_edges(n, m, scale=1.0):
    """The edges of a connected random graph: a path through all vertices, and m edges anywhere."""
    rows = torch.as_tensor(np.concatenate([np.arange(n - 1), RNG.integers(0, n, m)]), device=DEVICE)
    columns = torch.as_tensor(np.concatenate([np.arange(1, n), RNG.integers(0, n, m)]), device=DEVICE)
    dtype = torch.float32 if scale == 1 else torch.float64
    lengths = torch.as_tensor(scale * RNG.random(n - 1 + m), dtype=dtype, device=DEVICE)
    return torch_paths.edges_of(*torch_paths.undirected(rows, columns, lengths, n))


@pytest.mark.parametrize("scale", [1.0, 1e300])  # dues are float32, distances need not be
@pytest.mark.parametrize(("cell", "lanes", "rounds", "window"), [(8, 2, 1, 0.5), (8, 4, 1, 0.5), (32, 2, 16, 8.0)])
def test_it_ends_where_relaxing_all_edges_ends(monkeypatch, cell, lanes, rounds, window, scale):
    monkeypatch.setattr(torch_paths, "CELL", cell)
    for name, value in (("LANES_AT_MOST", lanes), ("ROUNDS", rounds), ("WINDOW", window)):
        monkeypatch.setattr(triton_paths, name, value)
    edges = random_edges(20, 10, scale)
    D = torch.full((20, 3), torch.inf, dtype=edges.weights.dtype, device=DEVICE)
    sources = torch.as_tensor([4, 19, 0], device=DEVICE)
    D[sources, torch.arange(3, device=DEVICE)] = 0
    expected = D.clone()
    monkeypatch.setattr(torch_paths, "fuses", lambda D: False)
    torch_paths.relax(edges, expected, sources)
    triton_paths.relax(edges, D, sources)
    assert torch.equal(D, expected) and bool(torch.isfinite(D).all())


@pytest.mark.skipif(not CARD, reason="many programs side by side need a card")
def test_thousands_of_programs_leave_the_least_sums():
    """Twelve thousand cells and groups: warps of a program start at different times."""
    rows = torch.as_tensor(RNG.random((6000, 2)), device=DEVICE)
    found = torch.cdist(rows, rows).topk(9, largest=False)
    edges = torch_paths.edges_of(*torch_paths.of_neighbors(found.indices[:, 1:], found.values[:, 1:], 6000))
    places = torch.arange(2000, device=DEVICE)[:, None]
    D = torch_paths.from_links(edges, places, torch.zeros((2000, 1), dtype=torch.float64, device=DEVICE))
    again = torch.full_like(D, torch.inf)
    again[places[:, 0], torch.arange(2000, device=DEVICE)] = 0
    torch_paths.relax_all(edges, again)
    assert torch.equal(D, again)


def test_distances_that_cannot_fall_stay():
    edges = random_edges(12, 0)
    D = torch.zeros((12, 1), device=DEVICE)
    triton_paths.relax(edges, D, torch.as_tensor([3], device=DEVICE))
    assert not bool(D.any())
