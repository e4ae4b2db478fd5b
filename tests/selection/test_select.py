"""select_kernel: rings want a Gaussian, whatever the criterion that can see them; the result is read in many ways."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine, make_circles
from sklearn.gaussian_process import kernels as gp
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.exceptions import DegenerateDataWarning, FailedCandidateWarning, MemoryLimitError
from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial, Sigmoid, Spectrum
from mercer.selection import (
    CRITERIA,
    ContributionsDisplay,
    alignment,
    default_candidates,
    leave_one_out,
    median_gamma,
    parallel_analysis,
    reconstruction_error,
    select_kernel,
)

RINGS, RING = make_circles(200, factor=0.3, noise=0.04, random_state=0)
WINE, CULTIVAR = load_wine(return_X_y=True)
NAMES = load_wine().feature_names
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


def test_candidates_of_every_kind():
    given = [
        "linear",
        Matern(2.5, "median"),
        ("rbf", {"gamma": "median"}),
        ("matern", {"nu": 2.5, "length_scale": 3.0}),
        gp.RBF(2.0),
        lambda A, B: (1 + A @ B.T) ** 2,
    ]
    found = select_kernel(WINE, CULTIVAR, given, criterion="alignment")
    names = set(found.scores)
    assert {"Linear()", "Matern(nu=2.5, length_scale=3)", "RBF(gamma=0.125)"} <= names and len(names) == 6
    assert all("median" not in map(str, e.kernel.get_params().values()) for e in found.ranking)


def test_a_pair_does_not_change_what_it_names():
    kernel = RBF(1.0)
    select_kernel(WINE, CULTIVAR, [(kernel, {"gamma": 2.0})], criterion="alignment")
    assert kernel.gamma == 1.0


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


# --- the result ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def selection():
    return select_kernel(WINE, CULTIVAR, ["linear", ("rbf", {"gamma": 0.04}), ("laplacian", {"gamma": 0.06})])


def test_table_frame_and_text(selection):
    frame = selection.to_frame()
    assert list(frame.columns) == ["kernel", "score", "standard_error", "error_rate", "penalty", "object"]
    assert frame["object"][0] is selection.best and list(frame["kernel"]) == list(selection.scores)
    lines = str(selection).splitlines()
    assert lines[0] == "loo: leave-one-out R² of kernel ridge regression" and len(lines) == 5
    assert lines[2].startswith(selection.ranking[0].name) and f"{selection.score:.4f}" in lines[2]
    assert repr(selection) == str(selection)


def test_picture(selection):
    display = selection.plot()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list(selection.scores)
    points = np.asarray(display.points_.get_offsets())
    assert_allclose(points[:, 0], list(selection.scores.values()))
    assert_array_equal(points[:, 1], [0, 1, 2])
    first = display.bars_.get_segments()[0]
    assert_allclose(first[1, 0] - first[0, 0], 2 * selection.ranking[0].standard_error)
    assert display._repr_png_().startswith(b"\x89PNG") and not display.texts_


def test_picture_with_numbers_of_components():
    found = select_kernel(WINE, candidates=["linear", "rbf"], n_permutations=3)
    first, second = (entry.n_components for entry in found.ranking)
    assert first != second
    assert [text.get_text() for text in found.plot().texts_] == [f"{first} components", str(second)]


def test_picture_of_contributions():
    model = KernelPCA(3, kernel="rbf", gamma="median").fit(pd.DataFrame(WINE, columns=NAMES))
    shares = model.feature_contributions(standardize=True, shares=True)
    display = ContributionsDisplay.from_estimator(model, components=(0, 2), most=5)
    order = np.argsort(-shares[[0, 2]].max(axis=0))[:5]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [NAMES[i] for i in order]
    for bars, row in zip(display.bars_, shares[[0, 2]], strict=True):
        assert_allclose([bar.get_width() for bar in bars], row[order])
    assert [t.get_text() for t in display.legend_.get_texts()] == ["component 1", "component 3"]
    with pytest.raises(ValueError, match="component 3 is none"):
        ContributionsDisplay.from_estimator(model, components=(3,))
    with pytest.raises(ValueError, match="were named"):
        ContributionsDisplay(shares, NAMES, ["component 1"])


def test_names_tell_kernels_apart():
    kernels = [RBF(0.5), RBF(0.5001), RBF(0.5 + 1e-12), RBF(2.0), Linear(), Linear()]
    found = select_kernel(WINE, CULTIVAR, kernels, criterion="alignment")
    assert len(found.scores) == 6 == len(set(found.table()["kernel"]))
    of = {repr(entry.kernel): name for entry, name in zip(found.ranking, found.names, strict=True)}
    assert of["RBF(gamma=0.5001)"] == "RBF(gamma=0.5001)" and of["RBF(gamma=2.0)"] == "RBF(gamma=2)"
    assert {"Linear()", "Linear() (2)", "RBF(gamma=0.500000000001)"} <= set(found.scores)
    assert [t.get_text() for t in found.plot().ax_.get_yticklabels()] == found.names


def test_it_can_be_kept(selection):
    again = pickle.loads(pickle.dumps(selection))
    assert str(again) == str(selection) and again.best == selection.best
    assert repr(clone(selection.best)) == repr(selection.best)


def test_no_component_above_the_null_still_fits():
    noise = np.random.default_rng(0).standard_normal((100, 3))
    with pytest.warns(DegenerateDataWarning, match="parallel score above zero"):
        found = select_kernel(noise, candidates=["linear"])
    assert found.ranking[0].n_components == 0 and found.n_components == 1
    with pytest.warns(DegenerateDataWarning):
        KernelPCA("parallel").fit(noise)


def test_default_candidates_are_what_they_say():
    kernels = default_candidates(WINE)
    assert [type(k) for k in kernels] == [Linear, *[Polynomial] * 2, *[RBF] * 5, *[Laplacian] * 3, *[Matern] * 3]
    assert_allclose([k.gamma / median_gamma(WINE) for k in kernels[3:8]], [1 / 16, 1 / 4, 1, 4, 16])


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
        ({"criterion": "best"}, "criterion='best'"),
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
        ({"criterion": "reconstruction", "cv": 100}, "^cv=100 folds"),
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


@pytest.mark.parametrize("candidates", ["rbf", RBF(), ("rbf", {"gamma": 1.0}), 3, [("rbf", 1.0)], [3]])
def test_candidates_must_be_a_list_of_kernels(candidates):
    with pytest.raises(TypeError):
        select_kernel(WINE, CULTIVAR, candidates)


@pytest.mark.parametrize("criterion", ["reconstruction", "parallel"])
def test_criteria_of_vectors_refuse_the_rest(criterion):
    with pytest.raises(TypeError, match="choose of alignment, loo"):
        select_kernel(WORDS, candidates=["spectrum"], criterion=criterion)
    with pytest.raises(TypeError, match="choose of alignment, loo"):
        select_kernel(WINE @ WINE.T, candidates=["precomputed"], criterion=criterion)


def test_memory_is_asked_for():
    with pytest.raises(MemoryLimitError):
        select_kernel(WINE, CULTIVAR, ["rbf"], criterion="loo", memory_limit=1000)
