"""What a page may ask besides a map."""

import base64

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import mercer
from mercer.live.live_table import LiveTable


def test_there_is_no_answer_without_a_map(listen, table):
    page = listen(table)
    header, _ = page.answer(what="text", id=1)
    assert "no map" in header["trouble"]


def test_the_text_names_the_settings_that_are_shown(listen, table):
    page = listen(table)
    page.settings(1, method="isomap", n_neighbors=7)
    page.settled(1)
    header, _ = page.answer(what="text", id=2)
    assert "n_neighbors=7" in header["python"] and "--n-neighbors 7" in header["command"]


def packed(mask):
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


@pytest.mark.parametrize("method", ["kpca", "pca", "isomap", "isomap without an edge", "tsne", "sne"])
def test_the_model_is_that_of_the_map(listen, table, tmp_path, method):
    page = listen(table)
    name, _, without = method.partition(" ")
    page.settings(1, method=name, **({"n_neighbors": 20, "cut": "0-3"} if without else {}))
    _, arrays = page.settled(1)
    _, found = page.answer(what="model", id=1)
    path = tmp_path / "m.mercer"
    path.write_bytes(found["file"].tobytes())
    model = mercer.load(path)
    shown = arrays["coordinates"].reshape(-1, table.rows).T
    places = model.embedding_ if hasattr(model, "embedding_") else model.transform(table.X)
    distances = pdist(shown)  # a map may be turned or mirrored before it is shown
    assert np.allclose(pdist(places), distances, atol=1e-3 * distances.max())


def test_the_page_opens_offline(listen, table):
    page = listen(table)
    page.settings(1, method="pca")
    page.settled(1)
    _, found = page.answer(what="page", id=1)
    content = found["file"].tobytes()
    assert b"three clusters" in content and b"connect-src 'none'" in content and b'"live"' not in content


def test_a_descent_that_still_runs_is_not_saved(listen, table):
    page = listen(table)
    page.settings(1, method="tsne")
    page.until(lambda h: h["type"] == "map" and h["stage"] == "steps")
    assert "not settled" in page.answer(what="model", id=1)[0]["trouble"]


def test_the_row_under_the_pointer(listen):
    rng = np.random.default_rng(0)
    table = LiveTable.of(rng.normal(size=(80, 6)), features=list("abcdef"), image_shape=(2, 3))
    page = listen(table)
    page.settings(1, method="pca", n_components=2)
    _, arrays = page.settled(1)
    place = arrays["coordinates"].reshape(2, 80)[:, 5]
    header, found = page.answer(what="cursor", id=1, place=place.tolist())
    assert header["how"] == "inverse" and found["row"].shape == (6,)
    assert [name for name, _ in header["values"]] == list("abcdef")
    assert "coordinates" in page.answer(what="cursor", id=2, place=[0.0])[0]["trouble"]


def test_two_groups_and_one_against_the_rest(listen, table):
    page = listen(table)
    page.settings(1, method="pca")
    page.settled(1)
    first, second = (np.arange(table.rows) % 3 == kind for kind in (0, 1))
    one, _ = page.answer(what="groups", id=1, first=packed(first), second=packed(second))
    assert one["rows"] == [80, 80] and one["loo_error"] < 0.1 < one["chance"]
    other, _ = page.answer(what="groups", id=2, first=packed(first))
    assert other["rows"] == [80, 160]
    assert "in common" in page.answer(what="groups", id=3, first=packed(first), second=packed(first))[0]["trouble"]


@pytest.mark.parametrize(
    "question",
    [
        {"what": "cursor", "id": 1},
        {"what": "cursor", "id": 1, "place": "0, 0"},
        {"what": "cursor", "id": 1, "place": []},
        {"what": "cursor", "id": 1, "place": [1, "2"]},
        {"what": "cursor", "id": 1, "place": [True]},
        {"what": "cursor", "id": 1, "place": [1e999]},
        {"what": "cursor", "id": 1, "place": [0.0] * 10_000},
        {"what": "groups", "id": 1},
        {"what": "groups", "id": 1, "first": [1, 2]},
        {"what": "groups", "id": 1, "first": "AA=="},
        {"what": "model", "id": "1"},
        {"what": "path", "id": 1},
        {"what": "path", "id": 1, "start": 0, "end": 240, "count": 5},
        {"what": "path", "id": 1, "start": 0, "end": 1, "count": 1_000_000},
        {"what": "path", "id": 1, "start": True, "end": 1, "count": 5},
        {"what": "levels", "id": 1},
        {"what": "levels", "id": 1, "component": -1},
        {"what": "levels", "id": 1, "component": 0, "across": [0]},
        {"what": "levels", "id": 1, "component": 0, "across": [0, 5]},
        {"what": "levels", "id": 1, "component": 0, "across": "axes"},
        {"what": "levels", "id": 1, "component": 0, "base": 240},
        {"what": "quality", "id": 1},
        {"what": "quality", "id": 1, "score": "beauty"},
        {"what": "quality", "id": 1, "score": ["continuity"]},
        {"what": "near", "id": 1, "row": -1, "count": 5},
        {"what": "near", "id": 1, "row": 0, "count": 10_000},
    ],
)
def test_malformed_questions_are_refused(listen, table, question):
    with pytest.raises(ValueError):
        listen(table).session.receive({"type": "ask", **question})
