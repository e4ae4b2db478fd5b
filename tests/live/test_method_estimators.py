"""From settings to estimators."""

import numpy as np

from mercer.live.controls import Controls
from mercer.live.live_table import LiveTable
from mercer.live.method_estimators import estimator_for


def test_large_tables_have_approximate_estimators():
    kpca = estimator_for({"method": "kpca", "kernel": "rbf", "gamma": 1.0, "n_components": 2}, 100_000)
    assert kpca.eigen_solver == "rpcholesky"
    settings = Controls(LiveTable.of(np.random.default_rng(0).normal(size=(7_000, 2)))).checked({"method": "isomap"})
    assert estimator_for(settings, 7_000).landmarks == 1000
    assert estimator_for(settings | {"landmarks": 0}, 7_000).landmarks is None
