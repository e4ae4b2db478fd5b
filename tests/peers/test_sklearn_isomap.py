"""scikit-learn's own tests of Isomap, run on Mercer's."""

from types import SimpleNamespace

from sklearn import manifold
from swapped import collected, load_swapped

from mercer import Isomap

EXCEPTIONS: dict[str, str] = {}

_swapped = SimpleNamespace(**{**vars(manifold), "Isomap": Isomap})
_module = load_swapped("sklearn.manifold.tests.test_isomap", {"manifold": _swapped})
globals().update(collected(_module, EXCEPTIONS))
