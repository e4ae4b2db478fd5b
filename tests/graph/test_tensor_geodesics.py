"""Geodesics of tensors are those of arrays to the last bit: from vertices, from links, for the choice of landmarks."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")
CARD = torch.cuda.is_available()
pytestmark = [pytest.mark.torch, *([pytest.mark.cuda] if CARD else [])]

from mercer.graph import tensor_geodesics  # noqa: E402
from mercer.graph.connectivity import connect  # noqa: E402
from mercer.graph.geodesics import Geodesics  # noqa: E402
from mercer.graph.nearest_neighbors import build_index  # noqa: E402
from mercer.graph.tensor_geodesics import TensorGeodesics, TensorGraph, padded_links  # noqa: E402

DEVICE = "cuda" if CARD else "cpu"
RNG = np.random.default_rng(0)
X = np.round(RNG.random((60, 2)) * 2**20) / 2**20


@pytest.fixture(params=[True, False], ids=["compiled", "on the device"])
def ways(request, monkeypatch):
    monkeypatch.setattr(tensor_geodesics, "COMPILED", request.param)


def both(dtype=np.float64):
    """The same graph, with the same lengths of edges, on the device and on the host."""
    graph = TensorGraph.of_neighbors(build_index(torch.as_tensor(X, device=DEVICE)).neighbors(4), len(X))
    return TensorGeodesics(graph, dtype=dtype), Geodesics(graph.to_scipy(), dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_from_vertices_have_the_same_bits(ways, dtype):
    there, here = both(dtype)
    assert there.unit == here.unit
    found = there.from_nodes([0, 59, 7])
    assert found.device.type == DEVICE
    assert_array_equal(found.cpu().numpy(), here.from_nodes([0, 59, 7]))
    assert_array_equal(there.from_nodes([5], torch.float32).cpu().numpy(), here.from_nodes([5], np.float32))
    assert there.is_uneven() == here.is_uneven()


def test_distances_from_links_have_the_same_bits(ways):
    there, here = both()
    links = build_index(torch.as_tensor(X, device=DEVICE)).query(torch.as_tensor(RNG.random((5, 2)), device=DEVICE), 3)
    found = there.columns(links.indices, links.distances)[there.place].T * there.unit
    nodes, lengths = links.indices.cpu().numpy(), links.distances.cpu().numpy()
    given = sp.csr_array((lengths.ravel(), nodes.ravel(), np.arange(0, 16, 3)), shape=(5, 60))
    assert_array_equal(found.cpu().numpy(), here.from_links(given))


def test_landmarks_are_the_same(ways):
    there, here = both()
    assert_array_equal(there.spread(8, 11), here.spread(8, 11))


def test_other_precisions_and_the_host_have_the_same_graph(ways):
    there, here = both(np.float32)
    wide = there.computed_in(np.float64)
    assert_array_equal(wide.from_nodes([3]).cpu().numpy(), here.computed_in(np.float64).from_nodes([3]))
    assert_array_equal(there.on_host().from_nodes([3]), here.from_nodes([3]))
    assert (there.graph != here.graph).nnz == 0


def test_a_graph_that_falls_apart_is_joined_as_on_the_host():
    rows = torch.as_tensor(np.concatenate([X[:30], X[30:] + 10]), device=DEVICE)
    index = build_index(rows)
    graph = TensorGraph.of_neighbors(index.neighbors(4), 60)
    parts = graph.parts()
    assert parts.max() >= 1 and (parts[:30] != parts[30]).all()
    with pytest.warns(UserWarning, match="connected components"):
        joined = connect(index, graph, "join")
    host = build_index(rows.cpu().numpy())
    with pytest.warns(UserWarning, match="connected components"):
        expected = connect(host, host.neighbors(4).graph(60), "join")
    assert not joined.graph.parts().any()
    assert [edge[:2] for edge in joined.added] == [edge[:2] for edge in expected.added]


def test_links_within_a_radius_are_padded():
    index = build_index(torch.as_tensor(X, device=DEVICE))
    found = index.query_within(torch.as_tensor(X[:4], device=DEVICE), 0.2)
    nodes, lengths = padded_links(found)
    for i, row in enumerate(found.to_dense().cpu().numpy()):
        known = torch.isfinite(lengths[i])
        assert_array_equal(np.sort(lengths[i][known].cpu().numpy()), np.sort([*row[row > 0], 0.0]))
        assert i in nodes[i][known].tolist()
