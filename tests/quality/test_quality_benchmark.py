"""What the benchmark of scores is judged by."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import judge, targets
from benchmarks.cases import MERCER, SKLEARN
from benchmarks.quality import SCORERS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
Y = X[:, :2] + 0.2 * RNG.standard_normal((90, 2))


def test_judge_of_trustworthiness():
    assert judge.trustworthiness(X, Y, 7) == pytest.approx(trustworthiness(X, Y, n_neighbors=7), abs=1e-13)
    assert judge.trustworthiness(X, RNG.standard_normal((90, 2)), 7) < 0.7


@pytest.mark.parametrize("name, params", [("mercer", {"sample": None}), ("sklearn", {}), ("report", {"sample": 60})])
def test_scorers_give_what_the_page_shows(name, params):
    found = SCORERS[name](X, Y, np.arange(90) % 3, **params)
    assert found["trust"] == pytest.approx(judge.trustworthiness(X, Y, 15), abs=0.1 if name == "report" else 1e-12)
    assert ("widest" in found) == (name == "report")


def row(library, seconds, **more):
    return {"competitor": library, "library": library, "seconds": seconds, "peak_bytes": 8e8, **more}


@pytest.mark.parametrize("seconds, widest, met", [(8.0, 0.0049, "yes"), (12.0, 0.0049, "no"), (8.0, 0.006, "no")])
def test_the_target_asks_for_time_memory_and_precision(seconds, widest, met):
    case = {"group": "quality", "tol": None, "rows": [row(MERCER, seconds, widest=widest)]}
    lines = [line for line in targets.scoreboard({"quality-70000": case}) if "70,000 rows to" in line[1]]
    assert [line[3] for line in lines] == [met]


@pytest.mark.parametrize("residual, met", [(1e-14, "yes"), (1e-6, "no")])
def test_a_fast_wrong_score_wins_nothing(residual, met):
    rows = [row(MERCER, 1.0, residual=residual), row(SKLEARN, 5.0, residual=0.0)]
    case = {"group": "quality", "tol": 1e-12, "rows": rows}
    lines = [line for line in targets.scoreboard({"quality-10000": case}) if "never slower" in line[1]]
    assert [line[3] for line in lines if line[0] == "quality"] == [met]
