"""The table: what is in it, what is left out and said so, and how it reads."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import quality
from mercer.exceptions import MemoryLimitError
from mercer.quality import pairs

RNG = np.random.default_rng(2)
X = RNG.standard_normal((120, 6))
Y = X[:, :2] + 0.2 * RNG.standard_normal((120, 2))
LABELS = np.where(X[:, 0] > 0, "right", "left")
NAMES = [
    "trustworthiness",
    "continuity",
    "neighbor_recall",
    "class_purity",
    "class_purity_of_data",
    "triplet_accuracy",
    "shepard_correlation",
    "residual_variance",
    "kl_divergence",
]


def test_a_report_has_every_score_as_its_function_gives_it():
    found = quality.report(X, Y, labels=LABELS, n_neighbors=9, perplexity=12)
    assert [score.name for score in found.scores] == NAMES
    for name, given in (
        ("trustworthiness", {"n_neighbors": 9}),
        ("continuity", {"n_neighbors": 9}),
        ("neighbor_recall", {"n_neighbors": 9}),
        ("triplet_accuracy", {}),
        ("shepard_correlation", {}),
        ("residual_variance", {}),
        ("kl_divergence", {"perplexity": 12}),
    ):
        assert found[name].value == pytest.approx(getattr(quality, name)(X, Y, **given).value, abs=1e-9)
    assert found["class_purity"] == quality.class_purity(Y, LABELS, n_neighbors=9)
    assert found["class_purity_of_data"].value == quality.class_purity(X, LABELS, n_neighbors=9).value
    assert not found.notes and "class_purity" in found and "stress" not in found


def test_a_report_of_samples_is_reproducible_and_near_the_exact_one():
    exact = quality.report(X, Y, labels=LABELS)
    first, again = (quality.report(X, Y, labels=LABELS, sample=60, random_state=3) for _ in range(2))
    assert first == again != quality.report(X, Y, labels=LABELS, sample=60, random_state=4)
    for one, true in zip(first.scores, exact.scores, strict=True):
        assert one.error > 0 and abs(one.value - true.value) < 5 * one.error


@pytest.mark.parametrize("kind", ["sparse", "precomputed", "float32", "list"])
def test_reports_of_other_inputs(kind):
    whole = quality.report(X, Y)
    given = {
        "sparse": lambda: quality.report(sp.csr_array(X), Y),
        "precomputed": lambda: quality.report(cdist(X, X), Y, metric="precomputed"),
        "float32": lambda: quality.report(X.astype(np.float32), Y.astype(np.float32)),
        "list": lambda: quality.report(X.tolist(), Y.tolist()),
    }[kind]()
    for one, true in zip(given.scores, whole.scores, strict=True):
        assert one.value == pytest.approx(true.value, abs=2e-3)


def test_small_data_lowers_k_and_perplexity_and_says_so():
    found = quality.report(X[:8], Y[:8], n_neighbors=15)
    assert found.n_neighbors == 3
    assert any("lowered from 15 to 3" in note for note in found.notes)
    assert any("perplexity was lowered from 30 to 2.33" in note for note in found.notes)
    assert all(np.isfinite(score.value) for score in found.scores)
    assert all(
        0 <= score.value <= 1 for score in found.scores if score.name not in ("kl_divergence", "shepard_correlation")
    )


def test_the_smallest_report():
    assert quality.report(X[:4], Y[:4]).n_neighbors == 1
    for n in (1, 3):
        with pytest.raises(ValueError, match="at least 4 rows"):
            quality.report(X[:n], Y[:n])


def test_what_is_left_out_is_said():
    wide = quality.report(X, X[:, :5])
    assert "kl_divergence" not in wide and any("KL is left out" in note for note in wide.notes)
    scale = quality.report(X, Y, labels=X[:, 0])
    assert "class_purity" not in scale and any("numbers on a scale" in note for note in scale.notes)
    nobody = quality.report(X, Y, labels=np.array([None] * 120, object))
    assert "class_purity" not in nobody and any("no row has a label" in note for note in nobody.notes)


def test_rows_without_a_label_do_not_count_for_purity():
    labels = np.where(np.arange(120) % 4 == 0, None, LABELS.astype(object))
    known = np.arange(120) % 4 != 0
    found = quality.report(X, Y, labels=labels, n_neighbors=6)
    assert found["class_purity"].value == quality.class_purity(Y[known], LABELS[known], n_neighbors=6).value
    assert found["class_purity_of_data"].value == quality.class_purity(X[known], LABELS[known], n_neighbors=6).value
    assert any(note.startswith("30 rows have no label") for note in found.notes)


def test_labels_of_pandas_may_be_missing():
    pandas = pytest.importorskip("pandas")
    labels = np.where(np.arange(120) % 4 == 0, None, LABELS.astype(object))
    expected = quality.report(X, Y, labels=labels, n_neighbors=6)
    for dtype in ("string", "category", object):
        found = quality.report(X, Y, labels=pandas.Series(labels, dtype=dtype), n_neighbors=6)
        assert found == expected
    days = np.where(LABELS == "left", np.datetime64("2024-01-01"), np.datetime64("2024-01-02"))
    days[::4] = np.datetime64("NaT")
    assert quality.class_purity(Y, days, n_neighbors=6).value == expected["class_purity"].value


def test_few_labels_are_said():
    few = np.array(["a", "b"] + [None] * 118, object)
    found = quality.report(X, Y, labels=few)
    assert "class_purity" not in found
    assert "class purity is left out: 118 rows have no label, and the 2 others are too few." in found.notes
    some = np.array(["a", "b"] * 4 + [None] * 112, object)
    assert any(
        note.endswith("among themselves, with 3 neighbours.") for note in quality.report(X, Y, labels=some).notes
    )


@pytest.mark.parametrize("perplexity", ["a", None, 0, -1, np.nan, np.inf, True])
def test_a_wrong_perplexity_is_refused_before_any_work(perplexity, monkeypatch):
    monkeypatch.setattr(quality.neighborhoods.Neighborhoods, "score", None)
    for score in (quality.report, quality.kl_divergence):
        with pytest.raises(ValueError, match="must be a positive number"):
            score(X, Y, perplexity=perplexity)


def test_no_error_is_written_as_zero():
    assert quality.Score("a", 0.5, 2e-5, 3, 1.0, "").spread == "± 2e-05"
    assert quality.Score("a", 0.5, 0.001, 3, 1.0, "").spread == "± 0.0010"
    assert quality.Score("a", 0.5, 0.0, 3, 1.0, "").spread == "exact"


def test_the_text_is_an_aligned_table():
    found = quality.report(X, Y, labels=LABELS, sample=60)
    head, *lines = str(found).splitlines()
    assert head == "120 rows, 15 neighbours"
    assert len(lines) == 1 + len(found.scores)
    ends = {
        line.index(cell) + len(cell)
        for line, cell in zip(lines[1:], [f"{s.value:.4f}" for s in found.scores], strict=True)
    }
    assert len(ends) == 1
    assert "exact" not in str(found) and "exact" in str(quality.report(X, Y))


def test_html_is_escaped_and_json_is_json():
    score = quality.Score("<b>", 0.5, 0.1, 3, 1.0, "<script>", note="a & b")
    page = quality.QualityReport([score], 3, 1, ["<i>"])._repr_html_()
    assert "<b>" not in page and "<script>" not in page and "<i>" not in page and "a &amp; b" in page
    found = quality.report(X, Y, labels=LABELS).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert set(found["scores"][0]) >= {"name", "value", "error", "rows", "best", "meaning"}


def test_a_score_by_a_name_that_is_not_there():
    with pytest.raises(KeyError, match="it has: trustworthiness"):
        quality.report(X, Y)["stress"]


def test_all_pairs_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(pairs, "available_bytes", lambda: 1000)
    monkeypatch.setattr(quality.neighborhoods.Neighborhoods, "score", None)
    with pytest.raises(MemoryLimitError):
        quality.report(X, Y, sample=None)


def test_wrong_labels_are_refused():
    with pytest.raises(ValueError, match="one label per row"):
        quality.report(X, Y, labels=LABELS[:-1])


def test_quality_is_loaded_when_it_is_asked_for():
    code = (
        "import sys, mercer; early = 'mercer.quality' in sys.modules; from mercer import quality;"
        "sys.exit(early or mercer.quality is not quality or not callable(quality.report))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.torch
@pytest.mark.parametrize("sample", [None, 60])
def test_the_scores_of_tensors_are_those_of_arrays(sample):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    there = [torch.as_tensor(part, device=device) for part in (X, Y)]
    settings = {"labels": LABELS, "n_neighbors": 7, "perplexity": 10, "sample": sample}
    found, expected = quality.report(*there, **settings), quality.report(X, Y, **settings)
    assert [score.name for score in found.scores] == [score.name for score in expected.scores]
    for one, other in zip(found.scores, expected.scores, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-6)  # weights of neighbours are in float32
        assert one.error == pytest.approx(other.error, abs=1e-6)
    mixed = quality.trustworthiness(there[0], Y, n_neighbors=7)
    assert mixed.value == pytest.approx(quality.trustworthiness(X, Y, n_neighbors=7).value, abs=1e-12)
