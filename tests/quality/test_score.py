"""A score as a number, as text and as JSON."""

import json

import pytest

from mercer.quality import Score


def test_a_score_is_a_number_with_an_interval():
    score = Score("kl_divergence", 0.5, 0.01, 1000, 0.0, "t-SNE's loss", note="at scale 2")
    assert float(score) == 0.5
    assert score.interval == pytest.approx((0.5 - 0.0196, 0.5 + 0.0196))
    assert score.title == "KL divergence"
    assert json.loads(json.dumps(score.to_dict()))["note"] == "at scale 2"


@pytest.mark.parametrize(("error", "spread"), [(0.0, "exact"), (0.001, "± 0.0010"), (3e-5, "± 3e-05")])
def test_an_error_is_never_written_as_zero(error, spread):
    score = Score("shepard_correlation", 1.0, error, 10, 1.0, "", unit="pairs")
    assert score.spread == spread
    assert str(score) == "Shepard correlation 1.0000" + (f" {spread}" if error else "") + " (10 pairs)"
