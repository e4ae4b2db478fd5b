"""The computation behind Isomap gives on tensors what it gives on arrays, in float64 and in float32."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from mercer import Isomap  # noqa: E402
from mercer.graph.nearest_neighbors import build_index  # noqa: E402
from mercer.graph.tensor_geodesics import TensorGeodesics, TensorGraph  # noqa: E402
from mercer.spectral import scaling, tensor_scaling  # noqa: E402
from mercer.spectral.scaling import distance_settings  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RNG = np.random.default_rng(0)
X = RNG.random((150, 2)) @ np.diag([3.0, 1.0])


def paths(dtype):
    index = build_index(torch.as_tensor(X, device=DEVICE))
    there = TensorGeodesics(TensorGraph.of_neighbors(index.neighbors(8), len(X)), dtype=dtype)
    return there, there.on_host()


def compare(there, here, rtol):
    signs = np.sign((there.embedding.cpu().numpy() * here.embedding).sum(axis=0))
    size = abs(here.embedding).max()
    assert_allclose(there.embedding.cpu().numpy() * signs, here.embedding, atol=rtol * size)
    assert_allclose(there.components.values, here.components.values, rtol=rtol)
    assert_allclose(there.residual_variance, here.residual_variance, atol=rtol)
    assert_allclose(there.left_over, here.left_over, rtol=100 * rtol)  # a difference of squares


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("small", [10, 1000])
def test_by_all_distances(monkeypatch, dtype, small):
    for module in (scaling, tensor_scaling):
        monkeypatch.setattr(module, "SMALL", small)
    there, here = paths(dtype)
    settings = distance_settings(2, np.float64, tol=1e-9)
    plan = tensor_scaling.plan_unfolding(150, 2, free=10**9)
    # Rounding of a distance, and of sums of 150² of them, beside a gap of about a tenth between the two eigenvalues.
    rtol = 1e-7 if dtype == np.float64 else 1e-4
    compare(tensor_scaling.unfold(there, plan, settings), scaling.unfold(here, plan, settings), rtol)


def test_by_landmarks_and_new_points():
    there, here = paths(np.float64)
    landmarks, settings = np.arange(0, 150, 5), distance_settings(2, np.float64, tol=1e-9)
    plan = tensor_scaling.plan_unfolding(150, 2, free=10**9, landmarks=30)
    one, other = (
        module.unfold_landmarks(which, landmarks, plan, settings)
        for module, which in ((tensor_scaling, there), (scaling, here))
    )
    compare(one, other, 1e-7)
    nodes = torch.as_tensor(RNG.integers(0, 150, (4, 3)), device=DEVICE)
    lengths = torch.as_tensor(RNG.random((4, 3)), device=DEVICE)
    placed = tensor_scaling.place_links(
        there, (nodes, lengths), one.components.expansion.columns(slice(0, 2)), landmarks
    )
    ptr = np.arange(0, 13, 3)
    links = sp.csr_array((lengths.cpu().numpy().ravel(), nodes.cpu().numpy().ravel(), ptr), shape=(4, 150))
    expected = scaling.place_links(here, links, other.components.expansion.columns(slice(0, 2)), landmarks)
    assert_allclose(abs(placed.cpu().numpy()), abs(expected), atol=1e-7 * float(abs(one.embedding).max()))
    at = torch.arange(150, device=DEVICE)[:, None]
    zero = torch.zeros_like(at, dtype=torch.float64)
    own = tensor_scaling.place_links(there, (at, zero), one.components.expansion.columns(slice(0, 2)), landmarks)
    assert_allclose(own.cpu().numpy(), one.embedding.cpu().numpy(), atol=1e-9 * float(abs(one.embedding).max()))


def test_a_plan_counts_one_matrix_and_refuses_what_does_not_fit():
    small, large = (tensor_scaling.plan_unfolding(n, 2, free=100 * 10**9, edges=10 * n) for n in (20_000, 200_000))
    assert small.fits and 4 * 20_000**2 < small.needed_bytes < 3 * 4 * 20_000**2
    assert not large.fits and tensor_scaling.plan_unfolding(200_000, 2, free=100 * 10**9, landmarks=500).fits


@pytest.mark.parametrize("links", [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 0.4}])
def test_edges_that_are_cut_are_cut_on_tensors_too(links):
    i, j = Isomap(**links).fit(X).graph_.nonzero()
    cut = np.column_stack([i, j])[[0, 200]]
    there = Isomap(**links, cut_edges=cut).fit(torch.as_tensor(X, device=DEVICE))
    here = Isomap(**links, cut_edges=cut).fit(X)
    assert all(there.graph_[a, b] == 0 for a, b in cut.tolist()) and there.graph_.nnz == here.graph_.nnz
    Y, Z = there.embedding_.cpu().numpy(), here.embedding_
    assert_allclose(Y * np.sign((Y * Z).sum(axis=0)), Z, atol=1e-7 * abs(Z).max())
    again = there.transform(torch.as_tensor(X, device=DEVICE)).cpu().numpy()
    assert_allclose(again, Y, atol=1e-7 * abs(Y).max())  # fitted rows keep their places
