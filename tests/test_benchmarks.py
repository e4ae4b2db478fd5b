"""The parts of the benchmarks that can be checked without running them. No test here looks at a clock."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.metrics.pairwise import rbf_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data, embedding, faces, judge, memory, neighbors, readme, report, run, targets
from benchmarks.cases import GROUPS, MERCER, SKLEARN, Competitor, all_cases, chosen, quick_cases, with_fits

from mercer import KernelPCA


def row(library, seconds, **more):
    """A row of a case: half a gigabyte, and a residual that reaches 1e-6."""
    times = {"seconds": seconds, "fastest": seconds, "slowest": seconds, "measurements": 1}
    return {"competitor": library, "library": library, "peak_bytes": 5e8, "residual": 1e-7, **times, **more}


def figures(*rows, group="kpca-20k", tol=1e-6):
    machine = {"cpu": "C", "cores": 2, "memory": "8 GB", "system": "S", "python": "3", "packages": {"p": "1"}}
    return {"group": group, "settings": "a case", "tol": tol, "rows": list(rows), "machine": machine}


# --- cases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [all_cases, quick_cases])
def test_case_lists_build(build):
    cases = build()
    assert len({case.id for case in cases}) == len(cases)
    assert {case.group for case in cases} == GROUPS.keys() - {"gpu"}
    for case in cases:
        assert case.settings
        assert case.competitors[0].library == MERCER
        assert len({one.name for one in case.competitors}) == len(case.competitors)
        assert 1 <= case.k < case.n


def test_the_grids_are_complete():
    ids = [case.id for case in all_cases()]
    assert sum(name.startswith("kpca-10k") for name in ids) == 9
    assert sum(name.startswith("kpca-small") for name in ids) == 24


def test_cases_are_chosen_by_id_or_group():
    assert len(chosen(all_cases(), ["kpca-10k"])) == 9
    assert [case.id for case in chosen(all_cases(), ["kpca-10k-d50-k10", "kpca-1m"])] == ["kpca-10k-d50-k10", "kpca-1m"]
    assert chosen(all_cases(), []) == all_cases()
    with pytest.raises(ValueError, match="no case 'nothing'"):
        chosen(all_cases(), ["nothing"])


def test_fits_of_memory_cases_are_chosen_by_name_and_the_other_rows_are_kept():
    (case,) = with_fits(chosen(all_cases(), ["memory-30000", "kpca-1m"]), ["and back", "rank auto"])
    assert [one.name for one in case.competitors] == [
        "KernelPCA, k = 10, and back",
        "KernelDiscriminantAnalysis, rank auto",
    ]
    assert with_fits(all_cases(), []) == all_cases()
    with pytest.raises(ValueError, match="only cases of kind memory"):
        with_fits(chosen(all_cases(), ["kpca-1m"]), ["and back"])
    rank, last, back = ({"competitor": name} for name in ("KernelDiscriminantAnalysis, rank auto", "PCA, sparse", ""))
    known = {"rows": [{**rank, "planned_bytes": 1}, last], "n": 0}
    back["competitor"] = "KernelPCA, k = 10, and back"
    made = report.with_other_rows({"rows": [rank, back], "n": 30_000}, known, case.id)
    assert made == {"rows": [back, rank, last], "n": 30_000}
    assert report.with_other_rows({"rows": [rank]}, None, case.id) == {"rows": [rank]}


def test_a_fit_whose_process_compiled_code_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    taken = iter([3, 2, 1])

    def compiles_at_first(one, n, limited):
        found = {"taken_bytes": next(taken)}
        (tmp_path / "loop.nbc").touch(exist_ok=True) if found["taken_bytes"] == 3 else None
        return found

    monkeypatch.setattr(memory, "in_a_process", compiles_at_first)
    assert [memory.when_warm(None, 0, False) for _ in range(2)] == [{"taken_bytes": 2}, {"taken_bytes": 1}]


# --- ratios --------------------------------------------------------------------------------------------


def test_ratios_are_to_the_fastest_that_reaches_the_tolerance():
    case = figures(
        row(MERCER, 2.0, peak_bytes=3e8),
        row(SKLEARN, 1.0, residual=1e-3),
        row(SKLEARN, 1.5, shortfall=1e-2),
        {"competitor": SKLEARN, "library": SKLEARN, "error": "ran out of memory"},
        row(SKLEARN, 8.0, peak_bytes=6e8),
        row(SKLEARN, 9.0),
    )
    mine = targets.mercer_row(case)
    assert targets.best_peer(case)["seconds"] == 8.0
    assert targets.time_ratio(case, mine) == 4.0
    assert targets.memory_ratio(case, mine) == 0.5


def test_at_default_tolerances_every_answer_counts():
    case = figures(row(MERCER, 2.0), row(SKLEARN, 1.0, residual=1e-3), tol=None)
    assert targets.time_ratio(case, targets.mercer_row(case)) == 0.5


def test_no_peer_no_ratio():
    case = figures(row(MERCER, 2.0))
    assert targets.time_ratio(case, case["rows"][0]) is None
    assert targets.memory_ratio(case, case["rows"][0]) is None


def test_cold_fits_are_compared_with_the_peer_that_is_fastest_cold():
    rows = (
        row(MERCER, 1.0, cold=4.0),
        row(SKLEARN, 2.0, cold=9.0),
        row(SKLEARN, 3.0, cold=3.0),
        row(SKLEARN, 0.1, residual=1),
    )
    case = figures(*rows, group="kpca-small")
    mine = targets.mercer_row(case)
    assert (targets.time_ratio(case, mine), targets.time_ratio(case, mine, "cold")) == (2.0, 0.75)
    lines = targets.scoreboard({"kpca-small": case})
    assert [line[3] for line in lines if line[0] == "kpca-small"] == ["yes", "no"]
    lines = targets.scoreboard(
        {"one": case, "another": figures(row(MERCER, 1.0), row(SKLEARN, 2.0), group="kpca-small")}
    )
    assert [line[2] for line in lines if line[0] == "kpca-small"][1] == "not run yet"  # a part proves nothing


def test_scoreboard():
    cases = {"kpca-20k": figures(row(MERCER, 1.0, peak_bytes=4e8), row(SKLEARN, 3.5))}
    lines = targets.scoreboard(cases)
    assert len(lines) == len(targets.TARGETS)
    assert [line[2:] for line in lines[:2]] == [("3.50× as fast", "yes"), ("0.80×", "no")]
    assert lines[2][2:] == ("not run yet", "")


def test_a_fast_wrong_answer_wins_nothing():
    cases = {"kpca-20k": figures(row(MERCER, 1.0, residual=1e-2), row(SKLEARN, 30.0))}
    assert targets.scoreboard(cases)[0][2:] == ("0.00× as fast", "no")


@pytest.mark.parametrize(("residual", "met"), [(9e-6, "yes"), (1e-3, "no")])
def test_certificates_are_checked_against_the_judge(residual, met):
    mine = row(MERCER, 50.0, residual=residual, certificate=9e-6, converged=True)
    lines = targets.scoreboard({"kpca-100k": figures(mine, group="kpca-100k", tol=1e-5)})
    assert [line[3] for line in lines if line[0] == "kpca-100k"] == [met]


def quality(name, value):
    spread = {"least": value - 0.01, "greatest": value + 0.01, "measurements": 5, "measure": "area"}
    return {"competitor": name, "library": MERCER, "value": value, **spread}


@pytest.mark.parametrize(("kernel", "met"), [(0.97, "yes"), (0.94, "no")])
def test_qualities_are_compared_and_shown(kernel, met):
    cases = {
        name: figures(quality("PCA", 0.95), quality("kernel PCA", kernel), group="faces", tol=None)
        for name in ("faces-pixels", "faces-light")
    }
    assert [line[3] for line in targets.scoreboard(cases) if line[0] == "faces"] == [met]
    page = report.render({"cases": cases})
    assert "| a case | PCA | area | 0.950 (0.940–0.960) | 5 |" in page
    del cases["faces-light"]
    assert [line[2] for line in targets.scoreboard(cases) if line[0] == "faces"] == ["not run yet"]


def test_faces_that_are_missing_are_an_error_row(monkeypatch, tmp_path):
    monkeypatch.setattr(faces, "ROOT", tmp_path)
    case = next(case for case in quick_cases() if case.group == "faces")
    made = run.run_case(case, 1)
    assert all("fetch_data.py" in row["error"] for row in made["rows"])
    page = report.render({"cases": {case.id: {**made, "machine": figures()["machine"]}}})
    assert "no faces: python scripts/fetch_data.py faces" in page


# --- measurements to rows ------------------------------------------------------------------------------


def test_summary_takes_the_median_time_and_the_worst_of_the_rest():
    taken = [
        {"seconds": [1.0, 5.0], "peak_bytes": 10, "before_bytes": 1, "residual": 1e-9, "values": [2.0]},
        {"seconds": [2.0], "peak_bytes": 30, "before_bytes": 2, "residual": 1e-8, "values": [2.0], "passes": 6},
    ]
    made = run.summary(Competitor("one", MERCER, "mercer.KernelPCA"), taken)
    assert (made["seconds"], made["fastest"], made["slowest"], made["measurements"]) == (2.0, 1.0, 5.0, 3)
    assert (made["peak_bytes"], made["before_bytes"], made["residual"], made["passes"]) == (30, 2, 1e-8, 6)


def test_summary_of_a_failure_says_so():
    made = run.summary(Competitor("one", SKLEARN, ""), [{"error": "ran out of memory"}])
    assert made == {"competitor": "one", "library": SKLEARN, "error": "ran out of memory"}


def test_a_missed_eigenvalue_shows():
    rows = run._with_shortfalls([{"values": [4.0, 2.0]}, {"values": [4.0, 1.0]}, {"error": "crashed"}])
    assert rows == [{"shortfall": 0.0}, {"shortfall": 0.25}, {"error": "crashed"}]


# --- the judge -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).standard_normal((120, 4)) + 5
    K = rbf_kernel(X, gamma=0.1)
    H = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(H @ K @ H)
    return X, H @ K @ H, values[::-1][:3], vectors[:, ::-1][:, :3]


def test_judge_finds_nothing_wrong_with_the_truth(problem):
    X, M, values, vectors = problem
    assert judge.rbf_residuals(X, 0.1, values, vectors).max() < 1e-13
    assert judge.matrix_residuals(M, values, vectors).max() < 1e-13


def test_judge_sees_a_wrong_vector_and_a_wrong_value(problem):
    X, M, values, vectors = problem
    rng = np.random.default_rng(1)
    bent = vectors + 1e-4 * rng.standard_normal(vectors.shape)
    unit = bent / np.linalg.norm(bent, axis=0)
    expected = np.linalg.norm(M @ unit - unit * values, axis=0) / values[0]
    assert judge.rbf_residuals(X, 0.1, values, bent) == pytest.approx(expected)
    assert judge.rbf_residuals(X, 0.1, values * [1, 1, 0.5], vectors)[2] == pytest.approx(0.5 * values[2] / values[0])


def test_judge_estimates_from_a_sample_of_rows(problem):
    X, _, values, vectors = problem
    bent = vectors + 1e-3 * np.random.default_rng(1).standard_normal(vectors.shape)
    whole = judge.rbf_residuals(X, 0.1, values, bent)
    assert judge.rbf_residuals(X, 0.1, values, bent, most=100, sample=90) == pytest.approx(whole, rel=0.3)


def test_judge_of_pca():
    X = np.random.default_rng(0).standard_normal((200, 5)) * [5, 4, 3, 2, 1] + 7
    pca = SklearnPCA(2).fit(X)
    assert judge.covariance_residuals(X, pca.explained_variance_, pca.components_.T).max() < 1e-13
    assert judge.covariance_residuals(X, pca.explained_variance_, pca.components_.T[::-1]).min() > 1e-2


def test_judge_of_scores(problem):
    X, _, values, vectors = problem
    scores = vectors * np.sqrt(values)
    assert judge.score_error(X, 0.1, values, vectors, X, scores) < 1e-12
    assert judge.score_error(X, 0.1, values, vectors, X, scores * 1.01) == pytest.approx(0.01, rel=1e-6)


def test_judge_of_two_views():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 300, 3))
    expected = np.mean([np.corrcoef(a[:, i], b[:, i] + a[:, i])[0, 1] for i in range(3)])
    assert judge.held_out_correlation(a + 5, 1e3 * (a + b)) == pytest.approx(expected)


def test_judge_of_maps(tmp_path):
    """KL(P ‖ Q) pair by pair, and a map that is the data itself keeps every neighbour."""
    X = np.random.default_rng(0).standard_normal((150, 2)).astype(np.float32)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    P = embedding._shared_affinities(str(path)).toarray().astype(np.float64)
    D2 = ((X[:, None].astype(np.float64) - X[None]) ** 2).sum(axis=2)
    for gaussian, W in ((False, 1 / (1 + D2)), (True, np.exp(-D2))):
        Q = W * (1 - np.eye(150))
        Q /= Q.sum()
        on = P > 0
        wanted = np.sum(P[on] * np.log(P[on] / P.sum() / Q[on])) / P.sum()
        assert embedding.divergence(path, X, gaussian) == pytest.approx(wanted, rel=1e-6)
    assert embedding.map_recall(X, 5 * X) == 1.0
    assert embedding.map_recall(X, np.random.default_rng(1).permutation(X)) < 0.2


@pytest.mark.parametrize(("kl", "met"), [(2.80, "yes"), (2.85, "no")])
def test_maps_are_compared_in_time_divergence_and_neighbours(kl, met):
    mine, other = (row(name, t, kl=v, map_recall=0.3) for name, t, v in ((MERCER, 10.0, kl), ("openTSNE", 50.0, 2.81)))
    case = figures(mine, other, group="embedding", tol=None)
    lines = [line for line in targets.scoreboard({"embedding-middle": case}) if line[1].startswith("70,000")]
    assert [line[3] for line in lines] == [met]


def test_judge_of_maps_of_sparse_rows(tmp_path):
    """CSR rows are judged as the same rows in full."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((150, 12)) < 0.4, rng.standard_normal((150, 12)), 0).astype(np.float32)
    dense, sparse = tmp_path / "rows.npy", tmp_path / "rows.npz"
    np.save(dense, X)
    sp.save_npz(sparse, sp.csr_array(X))
    Y = X[:, :2] + np.random.default_rng(1).standard_normal((150, 2))
    for found, wanted in zip(*(embedding.verdict(path, Y, False).values() for path in (sparse, dense)), strict=True):
        assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(("slowest", "met"), [(9.0, "yes"), (3.5, "no")])
def test_the_panel_is_judged_by_its_worst_and_its_median(slowest, met):
    def case(times):
        rows = (row(name, t, kl=1.0, map_recall=0.3) for name, t in ((MERCER, 1.0), ("openTSNE", times)))
        return figures(*rows, group="panel", tol=None)

    lines = targets.scoreboard({"panel-a": case(7.0), "panel-b": case(slowest), "panel-c": case(8.0)})
    (line,) = [line for line in lines if line[0] == "panel"]
    assert line[3] == met and f"worst {min(7.0, slowest):.1f}×" in line[2]


def test_the_panel_names_sets_that_exist():
    assert {case.panel for case in all_cases() if case.group == "panel"} == set(data.PANEL)


# --- the page ------------------------------------------------------------------------------------------


def test_table():
    assert report.table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


def test_durations():
    assert [report.duration(t) for t in (123.4, 12.345, 0.01234)] == ["123 s", "12.3 s", "12.3 ms"]


def test_merging_keeps_what_was_not_run_again():
    old = {"cases": {"pca-float64": {"a": 1}, "gpu-100k": {"b": 1}, "kpca-20k": {"c": 1}}}
    new = report.merged(old, {"kpca-20k": {"c": 2}, "kpca-1m": {"d": 1}})
    assert list(new["cases"]) == ["kpca-20k", "kpca-1m", "pca-float64", "gpu-100k"]
    assert new["cases"]["kpca-20k"] == {"c": 2}
    assert new["cases"]["pca-float64"] == {"a": 1}


def test_render_shows_every_row_and_failure():
    broken = {"competitor": "sick", "library": SKLEARN, "error": "ran out of memory"}
    case = figures(row(MERCER, 1.0, passes=6), row(SKLEARN, 4.0), broken)
    page = report.render({"cases": {"kpca-20k": case}})
    assert "| Mercer | 1 s (1 s–1 s) | 4.00× | 0.50 GB | 1.00× | 1.0e-07 | 6 |" in page
    assert "| sick | ran out of memory | – | – | – | – | – |" in page
    assert "- A: C; 2 cores" in page


def test_rows_may_have_a_held_out_correlation_in_place_of_a_residual():
    mine = {name: entry for name, entry in row(MERCER, 50.0).items() if name != "residual"}
    cases = {"kcca-float64": figures({**mine, "held_out": 0.87654}, group="kcca", tol=None)}
    page = report.render({"cases": cases})
    assert "| Mercer | 50 s (50 s–50 s) | 0.50 GB | 0.877 |" in page and "held-out correlation |" in page
    assert next(line[2:] for line in targets.scoreboard(cases) if line[0] == "kcca") == ("50 s, 0.50 GB", "yes")


def test_tables_are_rectangular():
    case = figures(row(MERCER, 1.0, passes=6, before_bytes=1e8), row(SKLEARN, 4.0, shortfall=1e-9))
    page = report.render({"cases": dict.fromkeys(("kpca-20k", "b", "c"), case)})
    for block in page.split("\n\n"):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1


def test_the_page_is_the_rendering_of_the_figures():
    assert report.render(report.load()) == report.DOCS.read_text(), "run `python -m benchmarks --render`"


def test_the_readme_compares_by_the_figures():
    text = readme.README.read_text(encoding="utf-8")
    assert readme.written(text, report.load()["cases"]) == text, "run `python -m benchmarks --render`"
    assert set(readme.TASKS) <= set(report.load()["cases"])


# --- memory ----------------------------------------------------------------------------------------------


def test_memory_is_compared_either_way_and_with_the_limit():
    fits = [("a", 100e6, 125e6, {"limit_bytes": 50e6, "limited_bytes": 55e6}), ("b", 100e6, 50e6, {})]
    rows = [
        {"competitor": name, "library": MERCER, "planned_bytes": planned, "taken_bytes": taken, "seconds": 1.0, **more}
        for name, planned, taken, more in fits
    ]
    page = report.render({"cases": {"memory-2000": figures(*rows, group="memory", tol=None)}})
    assert "Off by 2.00× at worst and by 1.62× in the median" in page and "1.10× of it at worst" in page
    assert "| a case | a | 100 MB | 125 MB | 1.25× | 50 MB | 1.10× | 1.0 s |" in page
    assert "| a case | b | 100 MB | 50 MB | 0.50× | – | – | 1.0 s |" in page


def test_the_least_limit_is_the_one_that_the_plan_accepts():
    data = memory.rows_for({"d": 3}, 200)
    model = KernelPCA(2, kernel="rbf")
    least = memory.least_limit(model, data)
    assert model.set_params(memory_limit=least).plan(*data).fits
    assert not model.set_params(memory_limit=int(0.98 * least)).plan(*data).fits


# --- neighbours ----------------------------------------------------------------------------------------


def test_recall_is_the_share_of_the_true_neighbors(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    D = np.linalg.norm(X[:, None].astype(np.float64) - X[None, :], axis=2)
    np.fill_diagonal(D, np.inf)
    true = np.argsort(D, axis=1)[:, :4]
    assert neighbors.recall(tmp_path / "rows.npy", true) == 1.0
    half = true.copy()
    half[:, :2] = np.arange(60)[:, None]  # a row is no neighbour of its own
    assert neighbors.recall(tmp_path / "rows.npy", half) == 0.5


def test_a_row_is_dropped_from_its_own_neighbors():
    places = np.array([[0, 2, 1], [2, 0, 3]])  # the second row was not found at all
    kept, distances = neighbors._without_self(places, np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    assert kept.tolist() == [[2, 1], [2, 0]] and distances.tolist() == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    "what, params", [("mercer", {"method": "tiles"}), ("mercer", {"method": "approximate"}), ("sklearn", {})]
)
def test_searches_leave_the_row_itself_out(what, params):
    X = np.random.default_rng(0).standard_normal((500, 5)).astype(np.float32)
    places, distances = neighbors.SEARCHES[what](X, 6, **params)
    assert places.shape == distances.shape == (500, 6)
    assert not np.any(places == np.arange(500)[:, None])


def test_no_library_may_be_faster_at_the_same_recall():
    verdict = targets._no_faster("a")
    assert verdict({}) is None
    good = figures(row(MERCER, 2.0, recall=0.98), row("faiss", 1.0, recall=0.9), row("faiss", 3.0, recall=0.99))
    bad = figures(row(MERCER, 2.0, recall=0.98), row("faiss", 1.0, recall=0.979))
    assert verdict({"a": good})[1] and "3 s at 0.990" in verdict({"a": good})[0]
    assert not verdict({"a": bad})[1]
