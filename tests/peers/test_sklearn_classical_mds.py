"""scikit-learn's own tests of ClassicalMDS, run on Mercer's, where the installed scikit-learn has it."""

import importlib.util

from swapped import collected, load_swapped

from mercer import ClassicalMDS

EXCEPTIONS: dict[str, str] = {}

if importlib.util.find_spec("sklearn.manifold._classical_mds"):
    _module = load_swapped("sklearn.manifold.tests.test_classical_mds", {"ClassicalMDS": ClassicalMDS})
    globals().update(collected(_module, EXCEPTIONS))
