"""The fixtures that scikit-learn's tests ask for."""

import numpy as np
import pytest


@pytest.fixture
def global_random_seed() -> int:
    return 42


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request):
    return request.param
