"""Functions that choose kernels, widths and components take tensors, and choose what they choose for arrays."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from mercer import selection
from mercer.kernels import RBF, Linear

torch = pytest.importorskip("torch")
CARD = torch.cuda.is_available()
DEVICE = "cuda" if CARD else "cpu"
pytestmark = [pytest.mark.torch, *([pytest.mark.cuda] if CARD else [])]

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
KERNEL = RBF(0.05)


def tensors():
    return torch.as_tensor(X, device=DEVICE), torch.as_tensor(y, device=DEVICE)


@pytest.mark.parametrize("criterion", [None, "alignment", "reconstruction"])
def test_the_same_kernel_is_chosen(criterion):
    candidates = [Linear(), RBF(0.01), RBF(0.1), RBF(10.0)]
    rows, labels = tensors()
    given = ((X, None), (rows, None)) if criterion == "reconstruction" else ((X, y), (rows, labels))
    ours, theirs = (
        selection.select_kernel(*each, candidates=candidates, criterion=criterion, random_state=0) for each in given
    )
    assert repr(ours.best) == repr(theirs.best)


@pytest.mark.parametrize(
    "figure",
    [
        lambda X, y: selection.alignment(KERNEL, X, y),
        lambda X, y: selection.median_distance(X),
        lambda X, y: selection.median_gamma(X),
        lambda X, y: selection.parallel_analysis(KERNEL, X, random_state=0).n_components,
        lambda X, y: selection.reconstruction_error(KERNEL, X, random_state=0).error,
        lambda X, y: selection.hsic(KERNEL, X[:, :5], KERNEL, X[:, 5:]).value,
        lambda X, y: selection.landmark_rows(X, 20, "rpcholesky", kernel=KERNEL, random_state=0),
        lambda X, y: selection.landmark_rows(X, 20, random_state=0),
    ],
)
def test_figures_are_those_of_arrays(figure):
    # An inner iteration stops at 1e-10 of the largest eigenvalue; the figures are of order one.
    np.testing.assert_allclose(figure(*tensors()), figure(X, y), rtol=1e-7)
