"""What a page is told about the map that it shows."""

import base64

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll

from mercer import KernelPCA
from mercer.live.live_table import LiveTable
from mercer.quality import neighbor_recall, trustworthiness


@pytest.fixture(scope="module")
def roll():
    return LiveTable.of(make_swiss_roll(600, noise=0.3, random_state=0)[0], features=["x", "y", "z"])


@pytest.fixture
def growing(table):
    return LiveTable.of(table.X[:200], more=table.X[200:])


def settled(page, number=1, **settings):
    page.settings(number, **settings)
    header, arrays = page.settled(number)
    return header, arrays["coordinates"].reshape(len(header["axes"]), -1).T


@pytest.mark.parametrize("method", ["kpca", "pca", "isomap", "tsne"])
def test_a_path_leads_from_one_point_to_the_other(listen, table, method):
    page = listen(table)
    _, Z = settled(page, method=method)
    header, arrays = page.answer(what="path", id=1, start=3, end=40, count=7)
    places = arrays["places"].reshape(Z.shape[1], 7).T
    assert np.allclose(places[[0, 3, 6]], [Z[3], (Z[3] + Z[40]) / 2, Z[40]], atol=1e-5 * np.abs(Z).max())
    assert len(header["steps"]) == 7 and all(step["gap"] >= 0 for step in header["steps"])
    assert {len(values) for _, values in header["changes"]} == {7}


def test_a_path_of_images_has_them(listen):
    table = LiveTable.of(np.random.default_rng(0).random((40, 6)), image_shape=(2, 3))
    page = listen(table)
    settled(page, method="pca")
    _, arrays = page.answer(what="path", id=1, start=0, end=1, count=5)
    assert arrays["strip"].shape == (30,)


def test_level_sets_are_of_the_component_and_the_columns_that_were_asked_for(listen, roll):
    page = listen(roll)
    settled(page, method="kpca", n_components=3)
    header, arrays = page.answer(what="levels", id=1, component=2, across=[2, 0], base=None)
    assert header["names"] == ["z", "x"] and header["axis"] == "component 3"
    assert arrays["values"].shape == (header["side"] ** 2,) and arrays["points"].shape == (1200,)
    assert np.allclose(arrays["points"].reshape(2, 600).T, roll.X[:, [2, 0]], atol=1e-5)
    header, _ = page.answer(what="levels", id=2, component=0, across=None, base=5)
    assert header["names"] == ["principal axis 1", "principal axis 2"]
    assert "components" in page.answer(what="levels", id=3, component=9, across=None)[0]["trouble"]


def test_level_sets_of_a_graph_without_some_edges_are_those_of_its_map(listen, roll):
    page = listen(roll)
    _, Z = settled(page, method="isomap", n_neighbors=8, cut="0-1 55-223 200-451")
    header, arrays = page.answer(what="levels", id=1, component=0, across=[0, 2], base=5)
    (x0, x1), (z0, z1) = header["ranges"]
    side = header["side"]
    i, j = round((roll.X[5, 0] - x0) / (x1 - x0) * (side - 1)), round((roll.X[5, 2] - z0) / (z1 - z0) * (side - 1))
    # The place of the grid that is nearest to row 5 is half a step away at most: a hundredth of the roll.
    assert abs(arrays["values"].reshape(side, side)[j, i] - Z[5, 0]) < 0.05 * np.ptp(Z[:, 0])
    settled(page, 2, method="tsne", perplexity=20.0)
    assert "no functions" in page.answer(what="levels", id=2, component=0)[0]["trouble"]


def test_suspected_edges_are_told_cut_and_put_back(listen, roll):
    page = listen(roll)
    settings = {"method": "isomap", "n_neighbors": 8}
    settled(page, 1, **settings)
    before, arrays = page.answer(what="graph", id=1)
    assert arrays["edges"].shape == (2 * before["count"],) and len(before["suspected"]) == 2 and before["cut"] == []
    cut = " ".join(f"{i}-{j}" for i, j, *_ in before["suspected"])
    settled(page, 2, **settings, cut=cut)
    after, _ = page.answer(what="graph", id=2)
    assert after["suspected"] == [] and len(after["cut"]) == 2 and after["count"] == before["count"] - 2
    settled(page, 3, **settings)
    assert page.answer(what="graph", id=3)[0]["suspected"] == before["suspected"]


def test_numbers_of_neighbours_are_compared(listen, roll):
    page = listen(roll)
    settled(page, method="isomap", n_neighbors=9)
    header, _ = page.answer(what="diagnosis", id=1)
    counts = [k for k, *_ in header["graphs"]]
    assert (
        counts == sorted({9, *range(4, 31, 2)}) and header["recommended"] in counts and "neighbours" in header["reason"]
    )
    shortcuts = {k: cuts for k, _, _, cuts, _ in header["graphs"]}
    assert shortcuts[6] == 0 and shortcuts[8] == 2


def test_only_isomap_has_a_graph(listen, table):
    page = listen(table)
    settled(page, method="pca")
    assert "Isomap" in page.answer(what="graph", id=1)[0]["trouble"]


@pytest.mark.parametrize(
    ("name", "score"), [("neighbours kept", neighbor_recall), ("trustworthiness", trustworthiness)]
)
def test_the_quality_of_rows_is_that_of_the_map(listen, table, name, score):
    page = listen(table)
    _, Z = settled(page, method="pca")
    header, arrays = page.answer(what="quality", id=1, score=name)
    expected = score(table.X, Z, n_neighbors=10, sample=None).value
    assert header["mean"] == pytest.approx(expected) and np.mean(arrays["scores"]) == pytest.approx(expected, rel=1e-5)


def test_quality_is_told_while_a_descent_runs(listen, table):
    page = listen(table)
    page.settings(1, method="tsne", perplexity=15.0)
    page.until(lambda h: h["type"] == "map" and h["stage"] == "steps")
    header, _ = page.answer(what="quality", id=1, score="neighbours kept")
    assert 0 <= header["mean"] <= 1 and not any(h["stage"] == "settled" for h in page.maps(1))


def test_the_nearest_rows_of_a_row(listen, table):
    page = listen(table)
    settled(page, method="pca")
    header, _ = page.answer(what="near", id=1, row=17, count=6)
    distances = np.linalg.norm(table.X - table.X[17], axis=1)
    assert header["near"] == np.argsort(distances)[1:7].tolist() and header["row"] == 17


def test_answers_leave_out_rows_that_are_not_mapped(listen, growing):
    page = listen(growing)
    _, Z = settled(page, method="pca", added="placed")
    assert Z.shape == (240, 2)
    _, arrays = page.answer(what="quality", id=1, score="continuity")
    assert np.isfinite(arrays["scores"][:200]).all() and np.isnan(arrays["scores"][200:]).all()
    for question in ({"what": "near", "row": 230, "count": 5}, {"what": "path", "start": 0, "end": 230, "count": 5}):
        assert "added row" in page.answer(id=2, **question)[0]["trouble"]
    settled(page, 2, method="pca", added="joined")
    assert len(page.answer(what="near", id=3, row=230, count=5)[0]["near"]) == 5


@pytest.mark.parametrize(("added", "rest"), [("hidden", 150), ("placed", 190), ("joined", 190)])
def test_groups_are_of_the_rows_that_are_seen(listen, growing, added, rest):
    page = listen(growing)
    settled(page, method="pca", added=added)
    first = base64.b64encode(np.packbits(np.arange(240) < 50).tobytes()).decode()
    header, arrays = page.answer(what="groups", id=1, first=first)
    assert header["rows"] == [50, rest] and np.isfinite(arrays["scores"]).sum() == 50 + rest


@pytest.mark.parametrize(("added", "rows"), [("hidden", 200), ("placed", 240), ("joined", 240)])
def test_the_offline_page_has_the_rows_that_are_seen(listen, growing, added, rows):
    page = listen(growing)
    settled(page, method="pca", added=added)
    _, found = page.answer(what="page", id=1)
    content = found["file"].tobytes().replace(b" ", b"")
    assert f'"rows":{rows}'.encode() in content and b'"trustworthiness"' in content and b'"neighbors":{' in content


def test_a_sparse_table_says_what_it_cannot_answer(listen):
    page = listen(LiveTable.of(sp.random(60, 30, 0.2, format="csr", random_state=0)))
    settled(page, method="pca")
    for question in (
        {"what": "path", "start": 0, "end": 1, "count": 5},
        {"what": "levels", "component": 0},
        {"what": "cursor", "place": [0.0, 0.0]},
    ):
        assert "sparse" in page.answer(id=1, **question)[0]["trouble"]
    assert len(page.answer(what="near", id=2, row=0, count=3)[0]["near"]) == 3


def test_an_answer_that_newer_settings_end_is_given_for_their_map(listen):
    page = listen(LiveTable.of(np.random.default_rng(0).normal(size=(1500, 3))))
    settled(page, 1, method="isomap", n_neighbors=9, landmarks=100)
    page.session.receive({"type": "ask", "what": "diagnosis", "id": 7})
    page.settings(2, method="isomap", n_neighbors=11, landmarks=100)
    header, _ = page.until(lambda h: h["type"] == "answer" and h["id"] == 7)
    assert "trouble" not in header and {9, 11} & {k for k, *_ in header["graphs"]}
    page.settings(3, method="pca")
    page.settled(3)


def packed(mask):
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


def test_rows_along_a_direction_of_principal_components_are_on_the_line_through_the_means(listen, table):
    page = listen(table)
    settled(page, method="pca", n_components=5)  # all of them: the map loses nothing
    first, second = (np.arange(240) % 3 == kind for kind in (0, 1))
    header, _ = page.answer(what="groups", id=1, first=packed(first), second=packed(second))
    means = [table.X[group].mean(axis=0) for group in (first, second)]
    shares = np.linspace(-0.25, 1.25, 7)[:, None]
    expected = (1 - shares) * means[0] + shares * means[1]
    assert {step["how"] for step in header["steps"]} == {"inverse"}
    changes = dict(header["changes"])
    found = np.array([changes[f"x{j + 1}"] for j in range(5)]).T
    assert np.allclose(found, expected, atol=1e-4)  # the map is in float32
    assert np.all(np.diff(header["reached"]) > 0)


@pytest.mark.parametrize("added", ["hidden", "joined"])
def test_rows_along_a_direction_of_a_kernel_pca_are_pre_images(listen, growing, added):
    page = listen(growing)
    settings = {"kernel": "rbf", "gamma": 0.02, "n_components": 4}
    settled(page, method="kpca", added=added, **settings)
    table = growing.joined if added == "joined" else growing.first
    kind = np.array([2] * table.rows)
    kind[:150] = np.arange(150) % 3
    first, second = kind == 0, kind == 1
    masks = [packed(np.concatenate([group, np.zeros(growing.rows - table.rows, bool)])) for group in (first, second)]
    header, _ = page.answer(what="groups", id=1, first=masks[0], second=masks[1])
    model = KernelPCA(**settings, fit_inverse_transform=True).fit(table.X)
    scores = model.transform(table.X)
    shares = np.linspace(-0.25, 1.25, 7)[:, None]
    line = (1 - shares) * scores[first].mean(axis=0) + shares * scores[second].mean(axis=0)
    expected = model.inverse_transform(line)
    assert {step["how"] for step in header["steps"]} == {"pre-image"}
    changes = dict(header["changes"])
    found = np.array([changes[f"x{j + 1}"] for j in range(table.X.shape[1])]).T
    # The map is in float32: scores are wrong by 6e-8 of the largest, and the pre-image moves by a few rows' spread at
    # most over the range of the scores.
    assert np.allclose(found, expected, atol=1e-4 * np.ptp(table.X))
    assert header["reached"][0] < 0.25 < 0.75 < header["reached"][-1]


def test_rows_along_a_direction_of_a_map_without_an_inverse_are_interpolated(listen, table):
    page = listen(table)
    settled(page, method="isomap", n_neighbors=8)
    group = np.arange(240) % 3 == 0
    header, _ = page.answer(what="groups", id=1, first=packed(group))
    assert {step["how"] for step in header["steps"]} == {"interpolated"}
    for values in dict(header["changes"]).values():
        assert max(values) <= table.X.max() and min(values) >= table.X.min()  # means of rows
