"""The live page in Chromium against the real server: what a person sets moves the map, and nothing ends the page."""

import threading

import numpy as np
import pytest

import mercer
from mercer import KernelPCA
from mercer.live.live_table import LiveTable

pytest.importorskip("uvicorn")
from mercer.live.server import LiveServer

pytestmark = pytest.mark.browser

SETTLED = "mercer.live.map().stage == 'settled' && mercer.live.map().number == mercer.live.number()"


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    kind = np.arange(400) % 4
    X = 3 * rng.standard_normal((4, 5))[kind] + rng.standard_normal((400, 5))
    return LiveTable.of(X, np.array(["red", "green", "blue", "grey"])[kind], title="four clusters")


@pytest.fixture
def serving():
    """Starts servers, and stops them."""
    started = []

    def get(table, **settings):
        started.append(LiveServer(table, **settings).start())
        return started[-1]

    yield get
    for server in started:
        server.stop()


def choose(seen, method):
    seen.page.select_option("#live-method", method)
    seen.until(f"mercer.live.settings().method == '{method}'")


def slide(seen, control, keys):
    slider = seen.page.locator(f"input[type=range][data-control={control}]")
    slider.focus()
    for key in keys:
        seen.page.keyboard.press(key)


def coordinates(seen):
    return np.array([seen.state("live.values(0)"), seen.state("live.values(1)")]).T


def test_the_token_leaves_the_address_and_the_map_comes(visited, serving, table):
    server = serving(table)
    seen = visited(server.address)
    seen.until(SETTLED)
    assert "token" not in seen.page.url and seen.page.url.startswith(server.bare_address)
    assert server.token not in seen.page.evaluate("document.cookie + document.documentElement.innerHTML")
    settings = seen.state("live.settings()")
    exact = KernelPCA(5, kernel="rbf", gamma=settings["gamma"]).fit_transform(table.X)[:, :2]
    found = coordinates(seen)
    signs = np.sign((found * exact).sum(axis=0))
    assert np.allclose(found * signs, exact, atol=1e-4)
    assert "residual" in seen.state("live.facts()")
    assert all(url.startswith((server.bare_address, "data:")) for url in seen.requests)


@pytest.mark.parametrize("kind", ["webgl", "canvas"])
def test_a_slider_moves_the_points(visited, serving, table, kind):
    seen = visited(serving(table).address, kind)
    seen.until(SETTLED)
    before, places = seen.state("live.settings()")["gamma"], [seen.place(row) for row in range(20)]
    slide(seen, "gamma", ["PageUp"] * 3)
    seen.until(f"mercer.live.settings().gamma > {before} && {SETTLED}")
    seen.page.evaluate("mercer.drawn()")
    assert [seen.place(row) for row in range(20)] != places
    # The slider and the number beside it say the same.
    typed = seen.page.get_by_label("γ, as a number")
    assert float(typed.input_value()) == pytest.approx(seen.state("live.settings()")["gamma"], rel=1e-3)
    typed.fill(str(before))
    typed.press("Enter")
    seen.until(f"mercer.live.settings().gamma == {before} && {SETTLED}")
    assert np.allclose([seen.place(row) for row in range(20)], places, atol=0.5)


def test_undo_and_redo(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    first = coordinates(seen)
    assert seen.page.locator("#undo").is_disabled()
    choose(seen, "isomap")
    seen.until(SETTLED)
    second = coordinates(seen)
    seen.page.locator("#undo").click()
    seen.until(f"mercer.live.settings().method == 'kpca' && {SETTLED}")
    assert np.allclose(np.abs(coordinates(seen)), np.abs(first), atol=1e-5)
    seen.page.keyboard.press("Control+Shift+Z")
    seen.until(f"mercer.live.settings().method == 'isomap' && {SETTLED}")
    assert np.allclose(np.abs(coordinates(seen)), np.abs(second), atol=1e-3)


def test_settings_that_fail_say_so_and_the_last_map_stays(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    before = coordinates(seen)
    seen.page.select_option("[data-control=kernel]", "chi2")
    alert = seen.page.get_by_role("alert")
    alert.wait_for()
    assert "negative" in alert.inner_text()
    assert np.array_equal(coordinates(seen), before)
    seen.page.select_option("[data-control=kernel]", "rbf")
    seen.until(SETTLED)
    assert alert.is_hidden()


def test_a_descent_is_seen_stopped_and_continued(visited, serving, table):
    seen = visited(serving(table).address)
    choose(seen, "tsne")
    seen.until("mercer.live.map().stage == 'steps'")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    steps = int(seen.state("live.facts()")["steps"].replace(",", ""))
    count = seen.state("live.map()")["count"]
    seen.page.locator("#stop").click()  # it says "Go on" now
    seen.until(f"mercer.live.map().count > {count} && {SETTLED}")
    assert steps <= 1000 and seen.state("live.facts()")["steps"] == "500"
    assert seen.page.locator(".divergence polyline").count() == 1


def test_pulled_points_stay_where_they_are_put(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    assert seen.page.locator("[data-tool=drag]").first.is_hidden()
    choose(seen, "tsne")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    seen.page.get_by_role("button", name="Pull points").first.click()
    before, (x, y) = coordinates(seen), seen.place(7)
    number = seen.state("live.number()")
    seen.drag([(x, y), (x + 30, y), (x + 60, y + 20)])
    seen.until(f"mercer.live.number() > {number} && {SETTLED}")
    after = coordinates(seen)
    assert "Release 1" in seen.page.locator("#hold").inner_text()
    middle = np.median(after, axis=0) - np.median(before, axis=0)
    assert np.linalg.norm(after[7] - before[7] - middle) > 0.02 * np.ptp(before)
    seen.page.locator("#hold").click()
    seen.until("mercer.live.map().number == mercer.live.number()")
    assert "Hold selected" in seen.page.locator("#hold").inner_text()


def test_a_component_becomes_an_axis(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    seen.page.locator(".bar-button").nth(2).click()
    assert seen.page.locator(".axis.horizontal select").input_value() == "2"
    seen.page.locator(".bar-button").nth(4).click(modifiers=["Shift"])
    assert seen.page.locator(".axis.vertical select").input_value() == "4"
    slide(seen, "gamma", ["PageUp"])
    seen.until(SETTLED)  # the axes stay while the map moves
    assert seen.page.locator(".axis.horizontal select").input_value() == "2"


def test_a_selection_stays_while_the_map_moves(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("+")
    seen.page.keyboard.press("s")
    chosen = seen.state("selected()")
    assert chosen
    choose(seen, "pca")
    seen.until(SETTLED)
    assert seen.state("selected()") == chosen


def test_two_settings_side_by_side(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    seen.page.locator("#keep").click()
    kept = [seen.state(f"screen(1, {row})") for row in range(5)]
    choose(seen, "isomap")
    seen.until(SETTLED)
    names = [panel["name"] for panel in seen.state("panels()")]
    assert names[0] == "Isomap" and names[1].startswith("Kernel PCA: kernel rbf")
    assert [seen.state(f"screen(1, {row})") for row in range(5)] == kept


def test_a_reload_comes_back_to_the_same_settings(visited, serving, table):
    seen = visited(serving(table).address)
    choose(seen, "isomap")
    slide(seen, "n_neighbors", ["ArrowRight"] * 3)
    seen.until(f"mercer.live.settings().n_neighbors == 13 && {SETTLED} && location.hash.includes('n_neighbors=13')")
    settings = seen.state("live.settings()")
    seen.page.reload()
    seen.until("document.documentElement.dataset.drawn")
    seen.until(SETTLED)
    assert seen.state("live.settings()") == settings


def test_a_server_that_ends_shows_as_such_and_the_page_finds_it_again(visited, table):
    token = "a token for both servers"
    first = LiveServer(table, token=token).start()
    seen = visited(first.address, allowed=("WebSocket connection", "ERR_CONNECTION"))
    seen.until(SETTLED)
    choose(seen, "pca")
    seen.until(SETTLED)
    first.stop()
    seen.until("!mercer.live.connected()")
    notice = seen.page.locator(".notice")
    notice.wait_for()
    assert "does not answer" in notice.inner_text()
    number = seen.state("live.number()")
    second = LiveServer(table, token=token, port=first.port).start()
    try:
        seen.until(f"mercer.live.connected() && mercer.live.number() > {number} && {SETTLED}")
        assert notice.is_hidden() and seen.state("live.settings()")["method"] == "pca"
    finally:
        second.stop()


def test_a_closed_tab_stops_its_computation(visited, serving, table):
    seen = visited(serving(table).address)
    choose(seen, "sne")
    seen.until("mercer.live.map().stage == 'steps'")
    seen.page.close()
    workers = [thread for thread in threading.enumerate() if thread.name == "mercer-live"]
    for thread in workers:
        thread.join(60)
        assert not thread.is_alive()


def test_two_tabs_have_settings_of_their_own(visited, serving, table):
    server = serving(table)
    first, second = visited(server.address), visited(server.address)
    choose(first, "pca")
    choose(second, "isomap")
    first.until(SETTLED)
    second.until(SETTLED)
    assert first.state("panels()")[0]["name"] == "PCA" and second.state("panels()")[0]["name"] == "Isomap"


def test_names_from_data_stay_text(visited, serving, table):
    hostile = "<img src=x onerror=alert(1)></script><script>alert(1)</script>"
    columns = {hostile: np.array([hostile, "b"] * 200)}
    seen = visited(serving(LiveTable.of(table.X, columns=columns, title=hostile)).address)
    seen.until(SETTLED)
    seen.page.locator("summary", has_text="Take it with you").click()
    seen.page.locator("#save-text").click()
    seen.page.locator(".code pre").first.wait_for()
    assert seen.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert "KernelPCA(" in seen.page.locator(".code pre").first.inner_text()


def test_the_map_is_taken_along(visited, serving, table, tmp_path):
    seen = visited(serving(table).address)
    choose(seen, "pca")
    seen.until(SETTLED)
    seen.page.locator("summary", has_text="Take it with you").click()
    with seen.page.expect_download() as given:
        seen.page.locator("#save-model").click()
    given.value.save_as(tmp_path / "m.mercer")
    found, shown = mercer.load(tmp_path / "m.mercer").transform(table.X)[:, :2], coordinates(seen)
    assert np.allclose(found * np.sign((found * shown).sum(axis=0)), shown, atol=1e-4)
    with seen.page.expect_download() as given:
        seen.page.locator("#save-page").click()
    given.value.save_as(tmp_path / "map.html")
    seen.page.goto(f"file://{tmp_path}/map.html")
    seen.until("document.documentElement.dataset.drawn")
    assert seen.state("panels()")[0]["name"] == "PCA" and seen.state("live") is None


def test_the_row_under_the_pointer_is_shown_with_its_distance(visited, serving):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((60, 16)), 5 + rng.random((60, 16))])
    seen = visited(serving(LiveTable.of(X, image_shape=(4, 4))).address)
    choose(seen, "pca")
    seen.until(SETTLED)
    seen.page.mouse.move(*seen.place(3))
    under = seen.page.locator(".under")
    under.locator("canvas").wait_for()
    assert "inverse of PCA" in under.inner_text() and "usual distance" in under.inner_text()
    box = seen.box()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    under.get_by_text("empty space").wait_for()
    assert under.locator("canvas.faded").count() == 1


def test_two_selections_are_compared(visited, serving, table):
    seen = visited(serving(table).address)
    choose(seen, "tsne")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    seen.page.locator("#groups summary").click()
    compare = seen.page.locator("#group-compare")
    assert compare.is_disabled()
    seen.page.get_by_label("Search ids and text").fill("")
    places = np.array([seen.place(row) for row in range(400)])
    (x0, y0), y1, middle = places.min(axis=0) - 5, places[:, 1].max() + 5, np.median(places[:, 0])
    left = places[:, 0] < middle
    seen.page.get_by_role("button", name="Rectangle (B)").first.click()
    seen.drag([(x0, y0), (x0 + 20, y0 + 20), (middle, y1)])
    assert len(seen.state("selected()")) == left.sum()
    compare.click()
    result = seen.page.locator(".groups")
    result.get_by_text("A kernel discriminant of").wait_for()
    assert "200 and 200 rows" in result.inner_text() and result.locator("tbody tr").count() == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_settings(visited, serving, table, axe, axe_finds, scheme):
    seen = visited(serving(table).address, color_scheme=scheme, prepare=axe)
    seen.until(SETTLED)
    for summary in seen.page.locator("summary").all():
        summary.click()
    seen.page.locator("#under-pointer").check()
    seen.page.locator("#save-text").click()
    seen.page.locator(".code pre").first.wait_for()
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("+")
    seen.page.keyboard.press("s")
    seen.page.locator("#group-compare").click()
    seen.page.locator(".groups tbody tr, .groups .trouble").first.wait_for()
    seen.page.select_option("[data-control=kernel]", "chi2")
    seen.page.get_by_role("alert").wait_for()
    found = []
    for width in (390, 768, 1280):
        seen.page.set_viewport_size({"width": width, "height": 900})
        found += [(width, each) for each in axe_finds(seen)]
    choose(seen, "tsne")
    seen.until(SETTLED)
    found += [("t-SNE", each) for each in axe_finds(seen)]
    assert found == []
