"""The live page in Chromium against the real server: what a person sets moves the map, and nothing ends the page."""

import subprocess
import sys
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

import mercer
from mercer import Isomap, KernelPCA
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
def many():
    """So many rows that a descent lasts for seconds on any machine, and can be seen while it runs."""
    return LiveTable.of(np.random.default_rng(0).standard_normal((4_000, 5)))


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


def test_a_descent_is_seen_stopped_and_continued(visited, serving, many):
    seen = visited(serving(many).address)
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


def test_a_command_that_was_killed_is_found_again(visited):
    """As people see it: the process is gone without a word, and another one listens at its place."""

    def explore(port):
        run = [
            sys.executable,
            "-c",
            "from mercer.cli.main import main; main()",
            "explore",
            "digits",
            "--no-browser",
            "-q",
        ]
        process = subprocess.Popen([*run, "--token", "a token for both", "--port", str(port)], stdout=subprocess.PIPE)
        return process, process.stdout.readline().decode().strip()

    first, address = explore(0)
    try:
        seen = visited(address, allowed=("WebSocket connection", "ERR_CONNECTION"))
        choose(seen, "pca")
        seen.until(SETTLED)
        first.kill()
        seen.page.locator(".notice", has_text="does not answer").wait_for()
        second, _ = explore(urlsplit(address).port)
    finally:
        first.kill()
        first.communicate()
    try:
        seen.until(f"mercer.live.connected() && {SETTLED}")
        assert seen.page.locator(".notice").is_hidden() and seen.state("live.settings()")["method"] == "pca"
    finally:
        second.kill()
        second.communicate()


def test_a_slider_that_moves_on_and_on_stays_within_the_rate_of_messages(visited, serving, table):
    count = """window.sent = 0; const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) { window.sent++; send.call(this, text); }"""
    seen = visited(serving(table).address, prepare=count)
    seen.until(SETTLED)
    for part in ("path", "levels", "quality"):
        opened_part(seen, part)
    first, second = apart(seen)
    pin(seen, first)
    seen.page.locator("#path-start").click()
    pin(seen, second)
    seen.page.locator("#live-quality").select_option("neighbours kept")
    per_second = seen.page.evaluate("""() => new Promise((done) => {
        const slider = document.querySelector("[data-control=gamma]"), began = performance.now(), before = window.sent;
        const step = () => {
            const seconds = (performance.now() - began) / 1000;
            slider.value = String(300 + (400 * seconds) % 400);
            slider.dispatchEvent(new Event("input"));
            if (seconds < 3) setTimeout(step, 4);
            else done((window.sent - before) / seconds);
        };
        step();
    })""")
    assert 0 < per_second < 120 and seen.state("live.connected()")


def test_a_closed_tab_stops_its_computation(visited, serving, many):
    seen = visited(serving(many).address)
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
    places = [seen.state(f"screen(0, {row})") for row in range(table.rows)]
    seen.page.goto(f"file://{tmp_path}/map.html")
    seen.until("document.documentElement.dataset.drawn")
    assert seen.state("panels()")[0]["name"] == "PCA" and seen.state("live") is None
    offline = np.array([seen.state(f"screen(0, {row})") for row in range(table.rows)])
    moved = np.column_stack([places, np.ones(table.rows)])  # the room for the map may be another: moved and scaled
    left = offline - moved @ np.linalg.lstsq(moved, offline, rcond=None)[0]
    assert np.abs(left).max() < 0.5  # pixels; coordinates are kept to 1/65,535 of their range


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


def test_the_row_under_the_pointer_is_that_of_the_map_that_is_shown(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    seen.page.locator("#under-pointer").check()
    seen.page.mouse.move(*seen.place(3))
    under = seen.page.locator(".under")
    under.get_by_text("pre-image").wait_for()
    choose(seen, "isomap")  # the pointer stays where it is
    under.get_by_text("interpolated between the nearest points").wait_for()
    seen.page.mouse.move(5, 5)
    choose(seen, "pca")
    seen.until(SETTLED)
    assert under.is_hidden()  # the pointer is in no map


def test_an_approximate_answer_does_not_call_itself_exact(visited, serving, table):
    seen = visited(serving(table).address)
    choose(seen, "isomap")
    seen.until(SETTLED)
    name = seen.page.locator(".stage-name")
    assert name.inner_text() == "exact"
    slide(seen, "landmarks", ["PageUp"])
    seen.until(f"mercer.live.settings().landmarks > 0 && {SETTLED}")
    assert name.inner_text() == "approximate, by landmarks"
    choose(seen, "sne")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    assert name.inner_text() == "at rest"


def pin(seen, row):
    """A click on the point of a row, which must not be hidden by another."""
    seen.page.mouse.click(*seen.place(row))
    seen.until(f"mercer.pinned() == {row}")


def apart(seen, count=2):
    """Rows whose points have no other within reach of the pointer, the farthest apart first."""
    places = np.array(seen.page.evaluate("Array.from({length: mercer.shown()}, (_, row) => mercer.screen(0, row))"))
    distances = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(len(places))
    (x, y), box = places.T, seen.box()
    beneath = ((x < 200) & (y < 60)) | ((x > box["width"] - 200) & (y > box["height"] - 60))  # the lists of axes
    alone = np.flatnonzero((distances.min(axis=1) > 16) & ~beneath)
    i, j = np.unravel_index(np.argmax(np.where(distances < 1e8, distances, 0)[np.ix_(alone, alone)]), (len(alone),) * 2)
    return [int(alone[i]), int(alone[j])][:count]


def opened_part(seen, name):
    part = seen.page.locator(f"#{name}")
    part.locator("summary").click()
    return part


def test_a_path_shows_rows_between_two_points_with_their_distance(visited, serving):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((30, 16)), 5 + rng.random((30, 16))])
    seen = visited(serving(LiveTable.of(X, image_shape=(4, 4))).address)
    choose(seen, "pca")
    seen.until(SETTLED)
    part, (first, second) = opened_part(seen, "path"), apart(seen)
    assert part.locator("#path-start").is_disabled()
    pin(seen, first)
    part.locator("#path-start").click()
    pin(seen, second)
    part.locator(".strip canvas").first.wait_for()
    assert part.locator(".strip canvas").count() == 9
    # The two ends are in clusters far from each other, so the middle of the way is in empty space.
    assert "empty space" in part.inner_text() and part.locator("canvas.faded").count() >= 3
    assert "faded" not in (part.locator(".strip canvas").first.get_attribute("class") or "")
    part.locator("#path-start").click()
    assert part.locator(".strip").count() == 0


def test_level_sets_follow_the_slider_and_the_columns(visited, serving, table):
    named = LiveTable.of(table.X, table.columns["label"], features=list("abcde"))
    seen = visited(serving(named).address)
    seen.until(SETTLED)
    part = opened_part(seen, "levels")
    canvas = part.locator("canvas")
    canvas.wait_for()
    picture = "document.querySelector('#levels canvas').toDataURL()"
    before = seen.page.evaluate(picture)
    slide(seen, "gamma", ["PageUp"] * 3)
    seen.until(f"{SETTLED} && {picture} != {before!r}")
    part.locator("#level-component").select_option("2")
    seen.until("document.querySelector('#levels canvas').ariaLabel.startsWith('Level sets of component 3: a from')")
    part.locator("#level-horizontal").select_option("3")
    seen.until("document.querySelector('#levels canvas').ariaLabel.includes('d from')")
    part.locator("#level-horizontal").select_option("axes")
    seen.until("document.querySelector('#levels canvas').ariaLabel.includes('principal axis 2')")
    choose(seen, "tsne")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    assert part.is_hidden()  # its coordinates are no functions of the data


@pytest.fixture(scope="module")
def roll():
    """A roll whose graph of 8 neighbours has two shortcuts, and 20 rows to add."""
    X = make_swiss_roll(600, noise=0.3, random_state=0)[0]
    return LiveTable.of(X, more=make_swiss_roll(20, noise=0.3, random_state=1)[0], title="roll")


def isomap_of(seen, n_neighbors):
    choose(seen, "isomap")
    typed = seen.page.get_by_label("neighbours, as a number")
    typed.fill(str(n_neighbors))
    typed.press("Enter")
    seen.until(f"mercer.live.settings().n_neighbors == {n_neighbors} && {SETTLED}")


def unexplained(seen):
    return float(seen.state("live.facts()")["unexplained"].split()[0])


def test_a_shortcut_is_cut_on_the_map_and_put_back(visited, serving, roll):
    seen = visited(serving(roll).address)
    isomap_of(seen, 8)
    part = opened_part(seen, "graph")
    part.locator("tbody tr").first.wait_for()
    assert part.locator("tbody tr").count() == 2
    before = unexplained(seen)
    i, j = map(int, part.locator("tbody th").first.inner_text().split(" – "))
    (x0, y0), (x1, y1) = seen.place(i), seen.place(j)
    number = seen.state("live.number()")
    seen.page.mouse.click((x0 + x1) / 2, (y0 + y1) / 2)
    seen.until(f"mercer.live.number() > {number} && {SETTLED}")
    assert seen.state("live.settings()")["cut"] == f"{i}-{j}" and seen.state("pinned()") == -1
    part.get_by_role("button", name="Put back").wait_for()
    part.get_by_role("button", name="Cut the edge").click()
    seen.until(f"mercer.live.settings().cut.includes(' ') && {SETTLED}")
    assert unexplained(seen) < 0.2 * before  # the roll is unrolled
    cut = "(location.hash.split('live.cut=')[1] ?? '').split('&')[0]"  # such as 3-17%2020-41
    seen.until(f"{cut}.split('-').length == 3")
    seen.page.reload()
    seen.until("document.documentElement.dataset.drawn")
    seen.until(f"(mercer.live.settings().cut ?? '').includes(' ') && {SETTLED}")
    choose(seen, "pca")
    seen.until(SETTLED)
    assert part.is_hidden() and "cut" not in seen.state("live.settings()")
    seen.page.locator("#undo").click()
    seen.until(f"'cut' in mercer.live.settings() && {SETTLED}")


def test_a_number_of_neighbours_is_chosen_in_the_chart(visited, serving, roll):
    seen = visited(serving(roll).address)
    isomap_of(seen, 8)
    part = opened_part(seen, "graph")
    part.locator("#graph-compare").click()
    bars = part.locator("[data-neighbors]")
    bars.first.wait_for()
    recommended = part.get_by_role("button", name="recommended")
    assert recommended.count() == 1 and "0 shortcuts" in recommended.get_attribute("aria-label")
    assert part.locator("[data-neighbors='8']").get_attribute("aria-pressed") == "true"
    wanted = recommended.get_attribute("data-neighbors")
    recommended.click()
    seen.until(f"mercer.live.settings().n_neighbors == {wanted} && {SETTLED}")
    seen.until(f"document.querySelector('[data-neighbors=\"{wanted}\"]').ariaPressed == 'true'")


def test_quality_is_a_colour_that_follows_the_map(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    part = opened_part(seen, "quality")
    part.locator("#live-quality").select_option("neighbours kept")
    told = part.get_by_text("On average")
    told.wait_for()
    assert seen.page.locator("#colour option:checked").inner_text() == "neighbours kept"
    kept = told.inner_text()
    choose(seen, "tsne")
    share = "Number(document.querySelector('#quality .hint').textContent.split(' ')[2])"
    # t-SNE keeps more of the neighbours than two components do. Its map may settle before its last frame is judged.
    seen.until(f"{SETTLED} && {share} > {float(kept.split()[2]) + 0.1}")
    seen.page.select_option("#colour", label="label")
    assert part.locator("#live-quality").input_value() == ""
    slide(seen, "perplexity", ["PageUp"])
    seen.until(f"mercer.live.map().stage == 'steps' || {SETTLED}")
    assert seen.page.locator("#colour option:checked").inner_text() == "label"


def test_the_nearest_rows_are_pulled_together_for_a_look(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    part, (row,) = opened_part(seen, "quality"), apart(seen, 1)
    assert part.locator("#magnet").is_disabled()
    pin(seen, row)
    nearest = seen.page.locator(".card.pinned .nearest .lists > div").first
    nearest.wait_for()
    expected = np.argsort(np.linalg.norm(table.X - table.X[row], axis=1))[1:11]
    assert nearest.locator("li").all_inner_texts() == [str(other) for other in expected]
    kept = seen.page.locator(".card.pinned .nearest").inner_text()
    places = [seen.place(int(other)) for other in expected]
    part.locator("#magnet").click()
    pulled = np.array([seen.place(int(other)) for other in expected])
    assert np.allclose(np.linalg.norm(pulled - seen.place(row), axis=1), 34, atol=1)
    assert seen.page.locator(".card.pinned .nearest").inner_text() == kept  # the map stays what it is
    part.locator("#magnet").click()
    assert np.allclose([seen.place(int(other)) for other in expected], places, atol=0.5)


def test_added_rows_are_hidden_placed_and_joined(visited, serving, roll):
    seen = visited(serving(roll).address)
    seen.until(SETTLED)
    assert seen.state("shown()") == 600 and "600 of 620 rows shown" in seen.page.locator(".facts").inner_text()
    isomap_of(seen, 6)
    before = coordinates(seen)[:600]
    seen.page.select_option("[data-control=added]", "placed")
    seen.until(f"mercer.live.settings().added == 'placed' && {SETTLED}")
    assert seen.state("shown()") == 620
    placed = coordinates(seen)
    assert np.allclose(placed[:600], before, atol=1e-3)
    expected = Isomap(n_neighbors=6, n_components=placed.shape[1]).fit(roll.X).transform(roll.more)
    assert np.allclose(np.abs(placed[600:]), np.abs(expected[:, :2]), atol=1e-2 * np.ptp(before))
    choose(seen, "tsne")
    seen.page.select_option("[data-control=added]", "joined")
    seen.until("mercer.live.settings().added == 'joined'")
    seen.until(
        "['steps', 'settled'].includes(mercer.live.map().stage) && mercer.live.map().number == mercer.live.number()"
    )
    seen.page.locator("#undo").click()
    seen.page.locator("#undo").click()
    seen.until(f"mercer.live.settings().method == 'isomap' && {SETTLED}")
    assert np.isfinite(coordinates(seen)).all()


def test_the_kept_map_has_its_certificate_and_a_way_back(visited, serving, table):
    seen = visited(serving(table).address)
    seen.until(SETTLED)
    settings = seen.state("live.settings()")
    seen.page.locator("#keep").click()
    kept = seen.page.locator(".kept")
    assert "gamma" in kept.inner_text() and "residual" in kept.inner_text()
    choose(seen, "isomap")
    seen.until(SETTLED)
    seen.page.locator("#back-to-kept").click()
    seen.until(f"mercer.live.settings().method == 'kpca' && {SETTLED}")
    assert seen.state("live.settings()") == settings
    assert [seen.state(f"screen(0, {row})") for row in range(9)] == [
        seen.state(f"screen(1, {row})") for row in range(9)
    ]


def test_a_reload_in_the_middle_of_a_run_begins_again(visited, serving, many):
    seen = visited(serving(many).address)
    choose(seen, "sne")
    seen.until("mercer.live.map().stage == 'steps' && location.hash.includes('live.method=sne')")
    seen.page.reload()
    seen.until("document.documentElement.dataset.drawn")
    seen.until("mercer.live.map().stage == 'steps' && mercer.live.settings().method == 'sne'")
    seen.page.locator("#stop").click()
    seen.until(SETTLED)


def test_a_table_that_is_too_large_says_what_is_shown_instead(visited, serving, table):
    seen = visited(serving(LiveTable.of(table.X, most=300)).address)
    seen.until(SETTLED)
    notice = seen.page.locator(".notice")
    assert "400 rows" in notice.inner_text() and "random sample of 300" in notice.inner_text()
    seen.page.select_option("[data-control=added]", "placed")
    seen.until(f"mercer.shown() == 400 && {SETTLED}")


def test_questions_are_answered_after_the_server_has_come_back(visited, table):
    token = "a token for both servers"
    first = LiveServer(table, token=token).start()
    seen = visited(first.address, allowed=("WebSocket connection", "ERR_CONNECTION"))
    choose(seen, "pca")
    seen.until(SETTLED)
    opened_part(seen, "quality")
    first.stop()
    seen.until("!mercer.live.connected()")
    seen.page.locator("#live-quality").select_option("continuity")  # nobody hears this
    second = LiveServer(table, token=token, port=first.port).start()
    try:
        seen.until(f"mercer.live.connected() && {SETTLED}")
        seen.page.locator("#quality").get_by_text("On average").wait_for()
    finally:
        second.stop()


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
    assert (
        "200 and 200 rows" in result.inner_text()
        and result.locator(".separating").first.locator("tbody tr").count() == 5
    )
    assert "Along the direction" in result.inner_text() and "distance" in result.inner_text()
    assert "has no inverse" in result.inner_text() and "of the way" in result.inner_text()
    seen.page.locator("#direction-colour").click()
    assert seen.page.locator("#colour option:checked").inner_text() == "direction from others to selected"
    seen.page.locator("#group-first").click()  # the selection becomes the first group
    right = places[:, 0] > np.quantile(places[:, 0], 0.75)
    seen.drag([(places[:, 0].max() + 5, y1), (middle, y0), (np.quantile(places[:, 0], 0.75), y0)])
    assert len(seen.state("selected()")) == right.sum()
    compare.click()
    result.get_by_text("200 and 100 rows").wait_for()
    choose(seen, "kpca")
    seen.until(SETTLED)
    compare.click()
    result.get_by_text("Pre-images of places on the line").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_settings(visited, serving, table, axe, axe_finds, scheme):
    seen = visited(serving(table).address, color_scheme=scheme, prepare=axe)
    seen.until(SETTLED)
    for part in ("path", "levels", "quality", "groups"):
        opened_part(seen, part)
    seen.page.locator("summary", has_text="Take it with you").click()
    seen.page.locator("#under-pointer").check()
    seen.page.locator("#save-text").click()
    seen.page.locator(".code pre").first.wait_for()
    seen.page.locator("#keep").click()
    first, second = apart(seen)
    pin(seen, first)
    seen.page.locator("#path-start").click()
    pin(seen, second)
    seen.page.locator("#path .separating").wait_for()
    seen.page.locator("#magnet").click()
    seen.page.select_option("#live-quality", "continuity")
    seen.page.locator("#quality").get_by_text("On average").wait_for()
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
    seen.page.locator("#stop").click()
    seen.until(SETTLED)
    found += [("t-SNE", each) for each in axe_finds(seen)]
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_graph_and_its_chart(visited, serving, roll, axe, axe_finds, scheme):
    seen = visited(serving(roll).address, color_scheme=scheme, prepare=axe)
    isomap_of(seen, 8)
    part = opened_part(seen, "graph")
    opened_part(seen, "levels")
    seen.page.locator("#levels canvas").wait_for()
    part.get_by_role("button", name="Cut the edge").first.click()
    part.get_by_role("button", name="Put back").wait_for()
    part.locator("#graph-compare").click()
    part.locator("[data-neighbors]").first.wait_for()
    found = []
    for width in (390, 1280):
        seen.page.set_viewport_size({"width": width, "height": 900})
        found += [(width, each) for each in axe_finds(seen)]
    assert found == []
