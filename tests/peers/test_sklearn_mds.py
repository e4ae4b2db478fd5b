"""scikit-learn's own tests of MDS and smacof, run on Mercer's, where the installed scikit-learn has their interface."""

import importlib.util
from types import SimpleNamespace

from swapped import collected, load_swapped

from mercer import MDS, ClassicalMDS, smacof

EXCEPTIONS: dict[str, str] = {
    "test_normalized_stress_auto": "It replaces a private function of scikit-learn's. estimators/test_mds.py tests it.",
    "test_future_warning_init_and_metric": (
        "Its first parts are in estimators/test_mds.py. The last asks for a warning that the default of init will "
        "change to 'classical_mds'; here it is that already."
    ),
}


def started_at_random(*args, **params):
    """MDS with the default start for which the tests were written. Classical scaling would fit their points at once."""
    return MDS(*args, **{"init": "random"} | params)


if importlib.util.find_spec("sklearn.manifold._classical_mds"):
    _module = load_swapped(
        "sklearn.manifold.tests.test_mds",
        {"mds": SimpleNamespace(MDS=started_at_random, smacof=smacof), "ClassicalMDS": ClassicalMDS},
    )
    globals().update(collected(_module, EXCEPTIONS))
