"""The kernel for cells leaves every distance where relaxing all edges leaves it, however the cells are cut."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
CARD = torch.cuda.is_available()
if not CARD:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton")
pytestmark = [pytest.mark.torch, *([pytest.mark.cuda] if CARD else [])]

from mercer.backends import torch_paths, triton_paths  # noqa: E402

DEVICE = "cuda" if CARD else "cpu"
RNG = np.random.default_rng(0)


def random_edges(n, m):
    """The edges of a connected random graph: a path through all vertices, and m edges anywhere."""
    rows = torch.as_tensor(np.concatenate([np.arange(n - 1), RNG.integers(0, n, m)]), device=DEVICE)
    columns = torch.as_tensor(np.concatenate([np.arange(1, n), RNG.integers(0, n, m)]), device=DEVICE)
    lengths = torch.as_tensor(RNG.random(n - 1 + m), dtype=torch.float32, device=DEVICE)
    return torch_paths.edges_of(*torch_paths.undirected(rows, columns, lengths, n))


@pytest.mark.parametrize(("cell", "lanes", "rounds"), [(8, 2, 1), (32, 4, 16)])
def test_it_ends_where_relaxing_all_edges_ends(monkeypatch, cell, lanes, rounds):
    monkeypatch.setattr(torch_paths, "CELL", cell)
    for name, value in (("LANES_AT_MOST", lanes), ("ROUNDS", rounds), ("BURST", 1)):
        monkeypatch.setattr(triton_paths, name, value)
    edges = random_edges(20, 10)
    D = torch.full((20, 3), torch.inf, device=DEVICE)
    sources = torch.as_tensor([4, 19, 0], device=DEVICE)
    D[sources, torch.arange(3, device=DEVICE)] = 0
    expected = D.clone()
    monkeypatch.setattr(torch_paths, "fuses", lambda D: False)
    torch_paths.relax(edges, expected, sources)
    triton_paths.relax(edges, D, sources)
    assert torch.equal(D, expected) and bool(torch.isfinite(D).all())


def test_distances_that_cannot_fall_stay():
    edges = random_edges(12, 0)
    D = torch.zeros((12, 1), device=DEVICE)
    triton_paths.relax(edges, D, torch.as_tensor([3], device=DEVICE))
    assert not bool(D.any())
