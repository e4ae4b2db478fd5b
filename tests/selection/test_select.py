"""select_kernel: rings want a Gaussian, whatever the criterion that can see them; the result is read in many ways."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine, make_circles
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.exceptions import FailedCandidateWarning, MemoryLimitError
from mercer.kernels import RBF, Linear, Sigmoid, Spectrum
from mercer.selection import (
    CRITERIA,
    alignment,
    leave_one_out,
    median_gamma,
    parallel_analysis,
    reconstruction_error,
    select_kernel,
)

RINGS, RING = make_circles(200, factor=0.3, noise=0.04, random_state=0)
WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = scale(WINE)
WORDS = ["banana", "bandana", "cabana", "havana", "kernel", "colonel", "channel", "funnel"]
KIND = [0, 0, 0, 0, 1, 1, 1, 1]
T = np.linspace(0, np.pi, 90)
ARC = np.column_stack([np.cos(T), np.sin(T)]) + 0.03 * np.random.default_rng(0).standard_normal((90, 2))


@pytest.mark.parametrize("criterion", ["alignment", "loo", "parallel"])
def test_rings_want_a_gaussian(criterion):
    gaussians = [RBF(w * median_gamma(RINGS)) for w in (1 / 4, 1.0, 4.0, 16.0)]
    found = select_kernel(RINGS, RING, [Linear(), *gaussians], criterion=criterion)
    assert isinstance(found.best, RBF)
    assert found.ranking[0].score > found.scores["Linear()"] + 0.01


def test_an_arc_wants_a_gaussian_for_the_way_back():
    found = select_kernel(ARC, candidates=["linear", RBF(median_gamma(ARC) / 4)], criterion="reconstruction")
    assert isinstance(found.best, RBF) and found.n_components == 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_default_candidates_on_a_real_table(criterion):
    found = select_kernel(WINE, CULTIVAR, criterion=criterion, n_permutations=5, n_components=[2, 8], cv=3)
    assert len(found.ranking) == 14 and not found.failed
    scores = [entry.score for entry in found.ranking]
    assert scores == sorted(scores, reverse=True) and np.all(np.isfinite(scores))
    model = KernelPCA(found.n_components or 2, kernel=found.best).fit(WINE)
    assert model.kernel_ == found.best == found.best_


def test_scores_are_those_of_the_functions():
    kernel = RBF(0.1)
    one = {c: select_kernel(WINE, CULTIVAR, [kernel], criterion=c).ranking[0] for c in CRITERIA}
    assert one["alignment"].score == alignment(kernel, WINE, CULTIVAR)
    loo = leave_one_out(kernel, WINE, CULTIVAR)
    assert (one["loo"].score, one["loo"].standard_error) == (loo.r2, loo.standard_error)
    assert one["loo"].details["error_rate"] == loo.error_rate
    back = reconstruction_error(kernel, WINE)
    assert one["reconstruction"].score == 1 - back.error
    assert one["reconstruction"].n_components == back.n_components[back.best]
    null = parallel_analysis(kernel, WINE)
    assert (one["parallel"].score, one["parallel"].n_components) == (null.share, null.n_components)


def test_the_default_criterion_follows_y():
    assert select_kernel(WINE, CULTIVAR, ["linear"]).criterion == "loo"
    assert select_kernel(WINE, candidates=["linear"]).criterion == "parallel"


def test_numbers_as_targets():
    y = np.sin(2 * WINE[:, 0])
    found = select_kernel(WINE[:, :1], y, ["linear", ("rbf", {"gamma": 1.0})])
    assert isinstance(found.best, RBF) and found.score > 0.99
    assert "error_rate" not in found.table()


def test_strings():
    found = select_kernel(WORDS, KIND, criterion="alignment")
    assert {type(e.kernel) for e in found.ranking} == {Spectrum} and len(found.ranking) == 4
    assert select_kernel(np.array(WORDS), KIND, ["spectrum"], criterion="loo").best == Spectrum(3)


def test_a_given_matrix():
    found = select_kernel(WINE @ WINE.T, CULTIVAR, ["precomputed"], criterion="alignment")
    assert_allclose(found.score, alignment("linear", WINE, CULTIVAR))
    part = select_kernel(WINE @ WINE.T, CULTIVAR, ["precomputed"], criterion="alignment", max_rows=100)
    rows = select_kernel(WINE, CULTIVAR, ["linear"], criterion="alignment", max_rows=100)
    assert_allclose(part.score, rows.score)


def test_csr_float32_frames_and_array_api():
    kernels = [Linear(), RBF(0.05)]
    plain = select_kernel(WINE, CULTIVAR, kernels, criterion="loo")
    for rows in (sp.csr_array(WINE), WINE.astype(np.float32), pd.DataFrame(WINE)):
        found = select_kernel(rows, CULTIVAR, kernels, criterion="loo")
        assert found.best == plain.best
        assert_allclose(found.score, plain.score, atol=1e-2)
    strict = pytest.importorskip("array_api_strict")
    assert select_kernel(strict.asarray(WINE), CULTIVAR, kernels, criterion="alignment").best == RBF(0.05)


def test_large_data_goes_through_factors_or_a_sample():
    many, y = make_circles(2500, factor=0.3, noise=0.04, random_state=0)
    kernels = ["linear", ("rbf", {"gamma": 2.0})]
    rough = select_kernel(many, y, kernels, criterion="alignment")
    exact = select_kernel(many, y, kernels, criterion="alignment", rank=None)
    assert rough.best == exact.best == RBF(2.0)
    assert rough.score != exact.score and abs(rough.score - exact.score) < 1e-3
    sample = select_kernel(many, y, kernels, criterion="loo", max_rows=200)
    assert sample.best == RBF(2.0)


def test_the_seed_fixes_it():
    narrow = ("rbf", {"gamma": 8.0})
    runs = [select_kernel(RINGS, candidates=[narrow], random_state=s, max_rows=100).score for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    first, again = (select_kernel(RINGS, candidates=[narrow, "linear"]) for _ in range(2))
    assert first.scores == again.scores and first.score > 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_every_candidate_draws_the_same(criterion, make):
    options = {"criterion": criterion, "rank": 20, "max_rows": 100, "n_permutations": 3, "cv": 2, "n_components": 2}
    twice = select_kernel(WINE, CULTIVAR, [RBF(0.1), Linear(), RBF(0.1)], random_state=make(3), **options)
    scores = [entry.score for entry in twice.ranking if isinstance(entry.kernel, RBF)]
    assert scores[0] == scores[1]
    other = select_kernel(WINE, CULTIVAR, [RBF(0.1)], random_state=make(4), **options)
    assert other.score != scores[0]


def test_reconstruction_with_a_generator():
    first, again = (reconstruction_error("rbf", ARC, cv=2, random_state=np.random.default_rng(0)) for _ in range(2))
    assert_array_equal(first.errors, again.errors)


# --- what is refused ----------------------------------------------------------------------------------------


def test_a_kernel_that_fails_is_left_out_with_a_warning():
    with pytest.warns(FailedCandidateWarning, match="1 of 3"):
        found = select_kernel(WINE, CULTIVAR, ["linear", "chi2", "rbf"], criterion="alignment")
    assert len(found.ranking) == 2
    assert "needs entries ≥ 0" in found.failed["Chi2(gamma=None)"] and "Chi2" in str(found)


def test_all_kernels_failing_is_an_error():
    with pytest.raises(ValueError, match=r"No candidate.*semidefinite"):
        select_kernel(3 * WINE, CULTIVAR, [Sigmoid(gamma=1.0)], criterion="loo")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "best"}, "Unknown criterion 'best'"),
        ({"y": None, "criterion": "loo"}, "needs y"),
        ({"y": None, "criterion": "alignment"}, "reconstruction, parallel"),
        ({"y": np.zeros(178, int)}, "one class"),
        ({"y": CULTIVAR[:-1]}, "178 samples"),
        ({"candidates": []}, "empty"),
        ({"candidates": ["gauss"]}, "'gauss'"),
        ({"candidates": [("rbf", {"width": 1.0})]}, "width"),
        ({"candidates": ["rbf", "spectrum"]}, "different kinds"),
        ({"X": np.ones((178, 3))}, "All samples are the same"),
        ({"X": sp.csr_array(np.ones((178, 3)))}, "All samples are the same"),
        ({"X": np.full((178, 3), np.nan)}, "NaN"),
        ({"X": WINE[:1], "y": CULTIVAR[:1]}, "at least 2"),
        ({"criterion": "reconstruction", "cv": 100}, "^cv=100 must be"),
        ({"criterion": "reconstruction", "cv": 2.5}, "^cv=2.5"),
        ({"criterion": "reconstruction", "n_components": 0}, "^n_components=0"),
        ({"criterion": "reconstruction", "kernel_pca": {"alpha": -1.0}}, "^The 'alpha' parameter"),
        ({"criterion": "parallel", "n_permutations": 0}, "^n_permutations=0"),
        ({"criterion": "parallel", "X": WINE[:, :1]}, r"^X has 1 feature\(s\)"),
        ({"y": None, "X": WINE[:, :1]}, r"^X has 1 feature\(s\)"),
        ({"max_rows": 0}, "^max_rows=0"),
        ({"rank": -3}, "^rank=-3"),
        ({"rank": "most"}, "^rank='most'"),
        ({"random_state": -1}, "^random_state=-1"),
        ({"memory_limit": "much"}, "^memory_limit='much'"),
    ],
)
def test_bad_input(options, words):
    options = {"X": WINE, "y": CULTIVAR, "candidates": ["linear", "rbf"]} | options
    with pytest.raises(ValueError, match=words):
        select_kernel(**options)


@pytest.mark.parametrize("criterion", ["reconstruction", "parallel"])
def test_criteria_of_vectors_refuse_the_rest(criterion):
    with pytest.raises(TypeError, match="Choose one of: alignment, loo"):
        select_kernel(WORDS, candidates=["spectrum"], criterion=criterion)
    with pytest.raises(TypeError, match="Choose one of: alignment, loo"):
        select_kernel(WINE @ WINE.T, candidates=["precomputed"], criterion=criterion)


def test_memory_is_asked_for():
    with pytest.raises(MemoryLimitError):
        select_kernel(WINE, CULTIVAR, ["rbf"], criterion="loo", memory_limit=1000)


@pytest.mark.parametrize("rows", [WINE, RINGS, WINE[:, :3]], ids=["wine", "rings", "few columns"])
def test_candidates_that_cannot_win_are_left_early_and_the_choice_stays(rows):
    """The best has all permutations and the score of the function; the others' scores are upper bounds of theirs."""
    found = select_kernel(rows, n_permutations=12)
    exact = {entry.name: parallel_analysis(entry.kernel, rows, n_permutations=12) for entry in found.ranking}
    best = found.ranking[0]
    assert best.details["permutations"] == 12
    assert best.score == pytest.approx(exact[best.name].share, abs=1e-9)
    assert best.score == pytest.approx(max(one.share for one in exact.values()), abs=1e-9)
    assert best.n_components == exact[best.name].n_components
    for entry in found.ranking:
        assert entry.score >= exact[entry.name].share - 1e-9
        assert entry.details["permutations"] in (4, 12)


@pytest.mark.parametrize("criterion", ["parallel", "alignment"])
def test_progress_is_told_only_when_asked(criterion, capsys):
    candidates = ["linear", ("rbf", {"gamma": 0.1})]
    select_kernel(WINE, CULTIVAR, candidates, criterion=criterion, n_permutations=2)
    assert capsys.readouterr().err == ""
    select_kernel(WINE, CULTIVAR, candidates, criterion=criterion, n_permutations=2, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(line.startswith("select_kernel: ") for line in lines)


@pytest.mark.parametrize("criterion", ["loo", "alignment", "parallel"])
def test_candidates_can_name_columns_of_a_frame(criterion):
    frame = pd.DataFrame(WINE[:, :4], columns=["a", "b", "c", "d"])
    named = select_kernel(frame, CULTIVAR, [RBF(0.5).on(["d", "a"]), "linear"], criterion=criterion, n_permutations=3)
    numbered = select_kernel(
        WINE[:, :4], CULTIVAR, [RBF(0.5).on([3, 0]), "linear"], criterion=criterion, n_permutations=3
    )
    # Columns are summed in another memory layout, so the last bits may differ.
    assert_allclose([e.score for e in named.ranking], [e.score for e in numbered.ranking], rtol=1e-10)
    with pytest.raises(ValueError, match="no column named 'e'"):
        select_kernel(frame, CULTIVAR, [RBF(0.5).on(["e"])])
