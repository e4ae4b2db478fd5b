"""Pages in a real browser: what a person does with them, with WebGL and without."""

import csv
import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mercer.web import AsFitted, Map, Page, page_bytes

pytestmark = pytest.mark.browser


def in_polygon(points, polygon):
    """Even-odd rule, for all points at once."""
    x, y = points.T
    inside = np.zeros(len(points), bool)
    for (ax, ay), (bx, by) in zip(polygon, np.roll(polygon, 1, axis=0), strict=True):
        crosses = (ay > y) != (by > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return inside


def places(seen, rows, panel=0):
    """Pixels of the window for all rows, worked out here from the view."""
    box = seen.box(panel)
    found = seen.page.evaluate(f"Array.from({{length: {rows}}}, (_, i) => mercer.screen({panel}, i))")
    return np.array(found) + np.array([box["x"], box["y"]])


def ring(center, radius, corners=20):
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return np.asarray(center) + radius * np.column_stack([np.cos(angles), np.sin(angles)])


def pixels(png):
    """An 8-bit RGB(A) PNG without interlacing as an array: a decoder of twenty lines, so that no library is needed."""
    at, data, width, height, channels = 8, b"", 0, 0, 3
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height, width * channels), np.uint8)
    for row in range(height):
        kind, line = raw[row, 0], raw[row, 1:].astype(np.int64)
        above = out[row - 1].astype(np.int64) if row else np.zeros(width * channels, np.int64)
        if kind == 2:
            line = line + above
        elif kind == 1:
            line = np.cumsum(line.reshape(-1, channels), axis=0).ravel()
        elif kind in (3, 4):
            line = line.copy()
            for i in range(len(line)):
                left = line[i - channels] if i >= channels else 0
                corner = above[i - channels] if i >= channels else 0
                if kind == 3:
                    guess = (left + above[i]) // 2
                else:
                    p = left + above[i] - corner
                    guess = min(
                        (abs(p - left), 0, left), (abs(p - above[i]), 1, above[i]), (abs(p - corner), 2, corner)
                    )[2]
                line[i] = (line[i] + guess) % 256
        out[row] = line % 256
    return out.reshape(height, width, channels)[:, :, :3]


def legend(seen, name):
    return seen.page.locator(".class", has=seen.page.locator(".name", has_text=name))


@pytest.mark.parametrize("kind", ["webgl", "canvas"])
def test_points_are_where_they_belong_and_have_their_colour(opened, kind):
    page = Page("Four", [Map("m", np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]))], columns={"c": np.array(list("abcd"))})
    seen = opened(page, kind, fragment="#names=none")
    assert seen.page.evaluate("document.documentElement.dataset.drawn") == kind
    assert [panel["kind"] for panel in seen.state("panels()")] == [kind]
    seen.page.wait_for_timeout(300)
    picture = pixels(seen.page.screenshot())
    expected = [(0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167)]
    for row, colour in enumerate(expected):
        x, y = seen.place(row)
        found = picture[round(y), round(x)].astype(int)
        blended = 0.9 * np.array(colour) + 0.1 * 255  # points let a little of the paper through
        assert np.abs(found - blended).max() < 12, (row, found)


@pytest.mark.parametrize("kind", ["webgl", "canvas"])
def test_a_lasso_selects_what_lies_in_it(opened, clusters, kind):
    seen = opened(clusters, kind)
    before = places(seen, 300)
    polygon = ring(before[5], 90)
    assert 20 < in_polygon(before, polygon).sum() < 280
    seen.drag(polygon.tolist(), key="Shift")
    assert seen.state("selected()") == np.flatnonzero(in_polygon(before, polygon)).tolist()
    count = len(seen.state("selected()"))
    assert f"{count} rows selected" in seen.page.locator(".drawer h2").inner_text()
    assert seen.page.locator("[role=status].unseen").inner_text() == f"{count} rows selected"
    # both maps show the same selection: the other points are paler in either
    states = np.array(seen.state("states()"))
    assert (states == 2).sum() == count and (states == 1).sum() == 300 - count
    seen.page.keyboard.press("Escape")
    assert seen.state("selected()") is None and seen.page.locator(".drawer").is_hidden()


def test_a_rectangle_adds_and_takes_away(opened, clusters):
    seen = opened(clusters)
    seen.page.get_by_role("button", name="Rectangle (B)").first.click()
    at = places(seen, 300)
    (left, top), (right, bottom) = at.min(axis=0) - 5, np.median(at, axis=0)
    seen.drag([(left, top), (left + 30, top + 30), (right, bottom)])
    wanted = (at[:, 0] < right) & (at[:, 1] < bottom)
    assert seen.state("selected()") == np.flatnonzero(wanted).tolist() != []
    now = places(seen, 300)  # the table took some room, so the map was fitted anew
    (left, top), (right, bottom) = now.min(axis=0) - 5, now.max(axis=0) + 5
    middle = (left + right) / 2
    seen.drag([(left, top), (middle, bottom), (middle, bottom)], key="Alt")
    assert seen.state("selected()") == np.flatnonzero(wanted & (now[:, 0] > middle)).tolist()
    seen.drag([(left, top), (right, bottom), (right, bottom)], key="Control")
    assert len(seen.state("selected()")) == 300


def test_the_second_map_selects_in_the_first(opened, clusters):
    seen = opened(clusters)
    at = places(seen, 300, panel=1)
    polygon = ring(at[9], 70)
    seen.drag(polygon.tolist(), key="Shift")
    assert seen.state("selected()") == np.flatnonzero(in_polygon(at, polygon)).tolist() != []


def test_the_legend_filters_and_isolates(opened, clusters):
    seen, kinds = opened(clusters), clusters.columns["kind"]
    legend(seen, "red").click()
    assert seen.state("shown()") == (kinds != "red").sum()
    assert legend(seen, "red").get_attribute("aria-pressed") == "false"
    legend(seen, "green").click(modifiers=["Shift"])
    assert seen.state("shown()") == (kinds == "green").sum()
    # what is filtered out is not selected either
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    assert seen.state("selected()") == np.flatnonzero(kinds == "green").tolist()
    # a filter stays when the colours change, and says so
    seen.page.select_option("#colour", label="weight")
    assert seen.state("shown()") == (kinds == "green").sum()
    seen.page.locator(".chip", has_text="kind: 2 hidden").click()
    assert seen.state("shown()") == 300


def test_hiding_everything_says_so(opened, clusters):
    for kind in ("canvas", "webgl"):
        seen = opened(clusters, kind)
        seen.page.get_by_role("button", name="Hide all").click()
        assert seen.state("shown()") == 0
        assert seen.page.get_by_text("Every point is filtered out").first.is_visible()
        seen.page.get_by_role("button", name="Show all", exact=True).first.click()
        assert seen.state("shown()") == 300


def test_numbers_are_filtered_by_range(opened, clusters):
    seen, weight = opened(clusters), clusters.columns["weight"]
    seen.page.select_option("#colour", label="weight")
    least = seen.page.get_by_label("Least value shown, as text")
    least.fill("0.25")
    least.press("Enter")
    most = seen.page.get_by_label("Greatest value shown, as text")
    most.fill("0.75")
    most.press("Enter")
    wanted = ((weight >= 0.25) & (weight <= 0.75)).sum()
    assert seen.state("shown()") == wanted + np.isnan(weight).sum()
    seen.page.get_by_role("checkbox", name="missing").uncheck()
    assert seen.state("shown()") == wanted
    handle = seen.page.get_by_label("Greatest value shown", exact=True)
    handle.focus()
    for _ in range(3):
        handle.press("End")
    assert seen.state("shown()") == (weight >= 0.25).sum()


def test_typing_one_end_of_a_range_leaves_the_other(opened, clusters):
    """The text of an end is rounded; read again it would cut off the last row."""
    weight = np.where(np.arange(300) == 7, 0.123456789, 0.2 + np.arange(300) / 1000)
    seen = opened(replace(clusters, columns={"weight": weight}, label="weight"))
    most = seen.page.get_by_label("Greatest value shown, as text")
    most.fill("0.3")
    most.press("Enter")
    assert seen.state("shown()") == (weight <= 0.3).sum()


def test_times_are_those_of_the_data_in_every_zone(opened, clusters):
    hours = np.datetime64("2024-03-01T10:30") + np.arange(300).astype("timedelta64[h]")
    seen = opened(replace(clusters, columns={"when": hours}, label="when"), timezone_id="America/New_York")
    most = seen.page.get_by_label("Greatest value shown, as text")
    most.fill("2024-03-02 10:30:00")
    most.press("Enter")
    assert seen.state("shown()") == 25 and most.input_value() == "2024-03-02 10:30:00"
    assert most.evaluate("e => e.scrollWidth <= e.clientWidth")  # all of it can be read


def test_hovering_shows_the_row_in_both_maps_and_a_click_keeps_it(opened, clusters):
    seen = opened(clusters)
    row = 17
    seen.page.mouse.move(*seen.place(row))
    assert seen.state("hovered()") == row
    card = seen.page.locator(".card.hovering").inner_text()
    assert "row-017" in card and clusters.columns["kind"][row] in card and "note 17" in card
    seen.page.mouse.click(*seen.place(row))
    pinned = seen.page.locator(".card.pinned")
    assert "row-017" in pinned.inner_text() and "Turned · c" in pinned.inner_text()
    seen.page.keyboard.press("Escape")
    assert pinned.is_hidden()


def test_hovering_over_the_table_rings_its_row_and_shows_no_card_of_another(opened, clusters):
    seen = opened(clusters)
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    seen.page.mouse.move(*seen.place(17))
    assert seen.page.locator(".card.hovering").is_visible()
    seen.page.locator(".drawer tbody tr").nth(2).hover()
    assert seen.state("hovered()") == 2
    assert seen.page.locator(".card.hovering").is_hidden()


def test_the_focus_stays_in_the_table_while_it_scrolls(opened, clusters):
    seen = opened(clusters)
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    seen.page.locator(".sort").last.focus()
    for row in range(30):
        seen.page.keyboard.press("Tab")
        seen.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert seen.page.evaluate("document.activeElement.textContent") == f"row-{row:03d}"


def test_search_counts_and_zooms(opened, clusters):
    seen = opened(clusters)
    field = seen.page.get_by_role("searchbox", name="Search ids")
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("ROW-01")
    seen.until("mercer.found() === 10")
    assert seen.page.locator(".found").inner_text() == "10"
    before = seen.state("panels()[0].view.scale")
    field.press("Enter")
    assert seen.state("panels()[0].view.scale") != before
    box, at = seen.box(), places(seen, 300)[10:20]
    assert (at[:, 0] > box["x"]).all() and (at[:, 0] < box["x"] + box["width"]).all()
    field.fill("blue")
    seen.until(f"mercer.found() === {(clusters.columns['kind'] == 'blue').sum()}")
    field.fill("nothing like this")
    seen.until("mercer.found() === 0")
    assert seen.page.locator(".found").inner_text() == "none"
    assert (np.array(seen.state("states()")) == 2).all()


def test_the_download_is_the_selection(opened, clusters):
    seen = opened(clusters)
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "three-clusters-selection.csv"
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "id",
        "kind",
        "weight",
        "note",
        "Plane: first",
        "Plane: second",
        "Turned: a",
        "Turned: b",
        "Turned: c",
    ]
    assert len(rows) == 301
    assert [row[0] for row in rows[1:]] == clusters.ids.tolist()
    assert [row[3] for row in rows[1:]] == clusters.columns["note"].tolist()
    weights = np.array([float(row[2] or "nan") for row in rows[1:]])
    np.testing.assert_array_equal(weights, clusters.columns["weight"])
    np.testing.assert_allclose([float(row[4]) for row in rows[1:]], clusters.maps[0].coordinates[:, 0], atol=1e-5)


def test_an_axis_may_be_called_row(opened, clusters):
    points = np.column_stack([1e6 + np.linspace(0, 1, 300), np.arange(300.0)])
    seen = opened(replace(clusters, maps=[Map("far", points, ["row", "b"])]))
    seen.page.mouse.click(*seen.place(17))
    assert "far · row" in seen.page.locator(".card.pinned").inner_text()
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["far: row"]) for row in rows], points[:, 0], rtol=0, atol=1e-6)


def test_the_picture_is_a_png_with_the_points(opened, clusters):
    seen = opened(clusters)
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Save as PNG").click()
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 2000 and height > 1000  # twice what the screen shows
    assert len(content) > 40_000


def test_moving_and_zooming(opened, clusters):
    seen = opened(clusters)
    surface = seen.page.locator(".surface").first
    box = seen.box()
    anchor = (round(box["x"]) + 150, round(box["y"]) + 200)  # wheels turn at whole pixels
    before, start = places(seen, 300), seen.state("panels()[0].view")
    seen.page.mouse.move(*anchor)
    seen.page.mouse.wheel(0, -300)
    seen.until(f"mercer.panels()[0].view.scale > {start['scale']}")
    factor = seen.state("panels()[0].view.scale") / start["scale"]
    np.testing.assert_allclose(places(seen, 300), anchor + factor * (before - anchor), atol=0.01)
    seen.page.mouse.dblclick(box["x"] + 5, box["y"] + 60)
    assert seen.state("panels()[0].view") == pytest.approx(start)
    before = places(seen, 300)
    seen.drag([anchor, (anchor[0] + 20, anchor[1] + 20), (anchor[0] + 40, anchor[1] - 30)])
    np.testing.assert_allclose(places(seen, 300), before + np.array([40, -30]), atol=0.01)
    surface.focus()
    seen.page.keyboard.press("0")
    seen.page.keyboard.press("ArrowRight")
    np.testing.assert_allclose(places(seen, 300), before - np.array([48, 0]), atol=0.01)
    seen.page.keyboard.press("+")
    assert seen.state("panels()[0].view.scale") == pytest.approx(1.4 * start["scale"])
    assert seen.state("panels()[1].view") != seen.state("panels()[0].view")


def test_two_fingers_zoom_and_one_moves(opened, clusters):
    seen = opened(clusters, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    box, start = seen.box(), seen.state("panels()[0].view.scale")
    x, y = round(box["x"]) + 160, round(box["y"]) + 120
    session = seen.page.context.new_cdp_session(seen.page)

    def touch(kind, *places):
        points = [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    before = places(seen, 300)
    touch("touchStart", (x - 30, y), (x + 30, y))
    touch("touchMove", (x - 60, y), (x + 60, y))
    touch("touchEnd")
    assert seen.state("panels()[0].view.scale") == pytest.approx(2 * start)
    middle = np.array([x, y])
    np.testing.assert_allclose(places(seen, 300), middle + 2 * (before - middle), atol=0.01)
    before = places(seen, 300)
    touch("touchStart", (x, y))
    touch("touchMove", (x + 10, y))
    touch("touchMove", (x + 25, y + 35))
    touch("touchEnd")
    np.testing.assert_allclose(places(seen, 300), before + np.array([25, 35]), atol=0.01)
    assert seen.state("selected()") is None


def test_images_are_shown_as_they_are(opened):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    def png(value):
        head = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
        return (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(bytes([0, value, value] * 2)))
            + chunk(b"IEND", b"")
        )

    page = Page("Two", [Map("m", np.array([[0.0, 0.0], [1.0, 1.0]]))], images=[png(10), None])
    seen = opened(page)
    seen.page.mouse.click(*seen.place(0))
    image = seen.page.locator(".card.pinned img")
    seen.until("document.querySelector('.card.pinned img')?.naturalWidth === 2")
    assert "pixels" in image.get_attribute("class")
    seen.page.mouse.click(*seen.place(1))
    assert seen.page.locator(".card.pinned strong").inner_text() == "1" and image.count() == 0


def test_hostile_names_stay_text(opened):
    evil = "<img src=x onerror=alert(1)>"
    names = [
        evil,
        "</script><script>alert(2)</script>",
        "__proto__",
        "constructor",
        "y" * 10_000,
        "שלום",
        "🦊",
        "a\nb",
        "",
        '"q",',
    ]
    n = 200
    column = np.array(names, dtype=object)[np.arange(n) % len(names)]
    score = {"name": evil, "value": 1, "meaning": evil}
    points = np.random.default_rng(0).random((n, 2))
    page = Page(
        evil,
        [Map(evil, points, ["</style>", evil], [score], {evil: {evil: evil}})],
        ids=np.array([f"{evil}{i}" for i in range(n)]),
        columns={evil: column, "__proto__": np.arange(n) / 3, "": column},
        label=evil,
    )
    seen = opened(page)
    seen.page.mouse.click(*seen.place(3))
    seen.page.get_by_role("button", name=evil, exact=True).last.click()
    seen.page.locator("summary").click()
    seen.page.locator(".surface").focus()
    seen.page.keyboard.press("s")
    for option in seen.page.locator("#colour option").all():
        seen.page.select_option("#colour", option.get_attribute("value"))
    assert seen.page.locator("img, iframe").count() == 0
    assert seen.page.title() == evil and seen.page.locator("h1").inner_text() == evil
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download CSV").click()
    text = Path(download.value.path()).read_bytes().decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0][:4] == ["id", evil, "__proto__", ""]
    assert [row[1] for row in rows[1:]] == column.tolist()


def test_everything_is_reached_by_tab_and_named(opened, clusters):
    seen = opened(clusters)
    reached = []
    for _ in range(80):
        seen.page.keyboard.press("Tab")
        reached.append(
            seen.page.evaluate(
                """() => { const e = document.activeElement;
                return [e.tagName, e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent,
                        getComputedStyle(e).outlineStyle !== 'none' || e.classList.contains('handle')]; }"""
            )
        )
        if reached[-1][0] == "BODY":
            break
    controls = seen.page.evaluate(
        "[...document.querySelectorAll('button, input, select, summary, .surface')]"
        ".filter(e => e.checkVisibility()).length"
    )
    walked = [each for each in reached if each[0] != "BODY"]
    assert len(walked) == controls
    assert all(name.strip() and focused for _, name, focused in walked)


def test_a_keyboard_is_enough(opened, clusters):
    seen = opened(clusters)
    press = seen.page.keyboard.press
    seen.page.locator(".surface").first.focus()
    press("Enter")
    assert seen.state("pinned()") >= 0
    press("Escape")
    press("0")
    press("s")
    every = len(seen.state("selected()"))
    press("+")
    press("x")
    assert 0 < len(seen.state("selected()")) < every
    press("Shift+S")
    assert len(seen.state("selected()")) == every
    press("Escape")
    legend(seen, "red").focus()
    press("Space")
    assert seen.state("shown()") == (clusters.columns["kind"] != "red").sum()
    press("Space")
    press("Shift+Tab")
    focused = seen.page.evaluate("document.activeElement.querySelector('.name').textContent")
    bright = np.array(seen.state("states()")) == 2  # a class that has the focus stands out
    assert np.array_equal(bright, clusters.columns["kind"] == focused)
    seen.page.locator(".surface").first.focus()
    assert (np.array(seen.state("states()")) == 2).all()
    press("t")
    seen.page.locator(".drawer tbody button").nth(3).focus()
    assert seen.state("hovered()") == 3
    press("Escape")
    press("?")
    assert seen.page.locator("dialog").is_visible()
    press("Escape")
    assert seen.page.locator("dialog").is_hidden()
    press("l")
    assert seen.page.locator(".surface").first.get_attribute("data-tool") == "lasso"


def test_text_can_be_read_in_light_and_dark(opened, clusters):
    for scheme in ("light", "dark"):
        seen = opened(clusters, color_scheme=scheme)
        seen.page.locator(".surface").first.focus()
        seen.page.keyboard.press("s")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == scheme
        low = seen.page.evaluate(
            """() => {
            const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            const rgb = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
                                 return [...canvas.getImageData(0, 0, 1, 1).data]; };
            const linear = (v) => (v /= 255) <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const light = ([r, g, b]) => [r, g, b].map(linear)
                .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
            const bad = [];
            for (const e of document.querySelectorAll('body *')) {
                const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
                if (!own || !e.checkVisibility() || e.closest('option, script')) continue;
                const paper = (each) => rgb(getComputedStyle(each).backgroundColor);
                let back = e; while (back && paper(back)[3] < 255) back = back.parentElement;
                const [a, b] = [light(rgb(getComputedStyle(e).color)), light(paper(back))];
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (ratio < 4.5) bad.push([e.className, e.textContent.slice(0, 30), ratio]);
            }
            return bad; }"""
        )
        assert low == []


@pytest.mark.parametrize("width", [360, 768, 3840])
def test_nothing_sticks_out_at_any_width(opened, clusters, width):
    seen = opened(clusters, viewport={"width": width, "height": 900})
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    out = seen.page.evaluate(
        f"""[...document.querySelectorAll('body *')]
            .filter(e => e.checkVisibility() && !e.closest('.scroller, .unseen, dialog, svg')
            && e.getBoundingClientRect().right > {width} + 1).map(e => e.className)"""
    )
    assert out == []


def test_maps_and_axes_can_be_chosen(opened, clusters):
    seen = opened(clusters)
    seen.page.get_by_role("button", name="One map").click()
    assert [panel["name"] for panel in seen.state("panels()")] == ["Plane"]
    seen.page.get_by_label("Map", exact=True).select_option(label="Turned")
    assert [panel["name"] for panel in seen.state("panels()")] == ["Turned"]
    seen.page.get_by_label("Vertical axis").select_option(label="c")
    at, c = places(seen, 300), clusters.maps[1].coordinates[:, 2]
    slope, start = np.polyfit(c, at[:, 1], 1)
    np.testing.assert_allclose(at[:, 1], slope * c + start, atol=0.01)
    assert slope < 0
    seen.page.get_by_role("button", name="Two maps").click()
    assert len(seen.state("panels()")) == 2


def test_scores_and_runs_are_told(opened, clusters):
    seen = opened(clusters)
    table = seen.page.locator(".quality").inner_text()
    assert "0.980" in table and "± 0.002" in table and "KL divergence" in table and "1.250" in table
    seen.page.get_by_role("button", name="Trustworthiness").click()
    assert "Nothing false. Best is 1. Taken over 300 rows." in seen.page.locator(".quality").inner_text()
    seen.page.locator("summary").click()
    assert "parameters · n_components" in seen.page.locator(".run").inner_text()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_no_score_runs_into_another(opened, clusters, count):
    names = ["trustworthiness", "class_purity_of_data", "shepard_correlation", "kl_divergence"]
    score = {"value": 0.9876, "error": 0.0012, "rows": 1_613_706, "best": 1.0, "meaning": "it says", "unit": "pairs"}
    quality = [{"name": name, "note": "chance: 0.1", **score} for name in names]
    maps = [Map(f"A map {k}", clusters.maps[0].coordinates, quality=quality) for k in range(count)]
    seen = opened(replace(clusters, maps=maps), viewport={"width": 1400, "height": 900})
    seen.page.get_by_role("button", name="Shepard correlation").click()
    assert "It says. Best is 1. Taken over 1,613,706 pairs. Chance: 0.1." in seen.page.locator(".quality").inner_text()
    boxes = seen.page.evaluate(
        """[...document.querySelectorAll('.quality :is(.score, .value, .error, .meaning p, thead th)')]
            .map(e => { const range = document.createRange(); range.selectNodeContents(e);
                        const b = range.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })
            .filter(b => b[2] > b[0])"""
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            assert left >= other[2] + 3 or right <= other[0] - 3 or top >= other[3] - 3 or bottom <= other[1] + 3


@pytest.mark.parametrize(
    "points", [np.zeros((1, 2)), np.zeros((50, 2)), np.arange(40.0), np.column_stack([np.arange(30.0), np.zeros(30)])]
)
def test_odd_maps_are_drawn(opened, points):
    seen = opened(Page("Odd", [Map("m", points)]), "canvas")
    box, at = seen.box(), places(seen, len(points))
    assert ((at > [box["x"], box["y"]]) & (at < [box["x"] + box["width"], box["y"] + box["height"]])).all()
    picture = pixels(seen.page.screenshot(clip=box))
    assert (np.abs(picture.astype(int) - [0, 114, 178]).max(axis=2) < 60).sum() > 20


def test_labels_that_are_all_different_leave_one_colour(opened):
    names = np.array([f"name {i}" for i in range(90)])
    seen = opened(Page("Names", [Map("m", np.random.default_rng(0).random((90, 2)))], columns={"n": names}, label="n"))
    assert seen.page.locator("#colour").input_value() == "-1"
    seen.page.mouse.move(*seen.place(3))
    assert "name 3" in seen.page.locator(".card.hovering").inner_text()


def test_a_lost_context_is_taken_over_by_canvas(opened, clusters):
    remember = """const get = HTMLCanvasElement.prototype.getContext; window.contexts = [];
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            const context = get.call(this, kind, ...rest);
            if (kind === 'webgl') window.contexts.push(context);
            return context; };"""
    seen = opened(clusters, "webgl", prepare=remember)
    seen.page.evaluate("window.contexts.at(-1).getExtension('WEBGL_lose_context').loseContext()")
    seen.until("mercer.panels().every(panel => panel.kind === 'canvas')")
    assert "drawn without it" in seen.page.locator(".notice").inner_text()
    seen.page.wait_for_timeout(200)
    picture = pixels(seen.page.screenshot(clip=seen.box()))
    assert (picture != 255).any(axis=2).sum() > 3000


def test_a_page_that_is_cut_off_says_so(browsers, clusters, tmp_path):
    content = page_bytes(clusters)
    at = content.index(b'id="data">') + 10
    broken = content[: at + 400] + content[content.index(b"</script>", at) :]
    path = tmp_path / "cut.html"
    path.write_bytes(broken)
    page = browsers("canvas").new_page()
    page.goto(f"file://{path}")
    page.get_by_text("This page could not be shown").wait_for()
    page.close()


def test_without_scripts_there_is_a_text(browsers, clusters, tmp_path):
    path = tmp_path / "map.html"
    path.write_bytes(page_bytes(clusters))
    context = browsers("canvas").new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{path}")
    assert "JavaScript, which is switched off" in page.locator("body").inner_text()
    context.close()


def test_canvas_can_be_asked_for(opened, clusters):
    seen = opened(clusters, "webgl", fragment="#canvas")
    assert seen.page.evaluate("document.documentElement.dataset.drawn") == "canvas"


def test_what_was_filled_in_and_scaled_is_told_beside_the_table_s_own_value(opened):
    """The card has the value of the file, and below it what the method was given; a download has the value alone."""
    price = np.array([5.336, np.nan, 2.5, 4.0])
    page = Page(
        "Prices",
        [Map("PCA", np.eye(4)[:, :2] + np.arange(4)[:, None])],
        ids=np.array(["=a", "b", "c", "d"]),
        columns={"price": price},
        fitted={"price": AsFitted(fill=4.0, centre=4.0, spread=2.0)},
    )
    seen = opened(page)
    for row, told in ((0, "5.336\nfitted as 0.668"), (1, "missing\nfilled in: 4, fitted as 0")):
        seen.page.mouse.click(*seen.place(row))
        assert told in seen.page.locator(".card.pinned dd").first.inner_text()
    seen.page.keyboard.press("Escape")
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert [line.split(",")[:2] for line in lines] == [
        ["id", "price"], ["'=a", "5.336"], ["b", ""], ["c", "2.5"], ["d", "4"],
    ]  # fmt: skip


def test_text_that_a_spreadsheet_would_run_is_inert_in_the_download(opened):
    texts = np.array(["=1+1", "+49", "-x", "@c", "\t=1", "plain"])
    page = Page("Evil", [Map("m", np.eye(6)[:, :2])], ids=texts, columns={"=n": -np.arange(1.0, 7.0), "t": texts})
    seen = opened(page)
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("s")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["id", "'=n", "t"]
    assert (
        [row[0] for row in rows[1:]] == [row[2] for row in rows[1:]] == [*(f"'{text}" for text in texts[:5]), "plain"]
    )
    assert [float(row[1]) for row in rows[1:]] == [-1, -2, -3, -4, -5, -6]  # numbers stay numbers
