"""The live page in Chromium against the real server: what a person sets moves the map, and nothing ends the page."""

import threading

import numpy as np
import pytest

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
