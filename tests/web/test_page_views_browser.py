"""Names, neighbours, filters, the table, pictures and addresses of pages, in a real browser."""

import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mercer.web import Map, Page, with_neighbors

pytestmark = pytest.mark.browser


def with_rows(page):
    """The page with the neighbours of its first map taken for those of the data."""
    return with_neighbors(page, page.maps[0].coordinates, n_neighbors=6)


def boxes(names):
    return [
        (name["x"] - name["width"] / 2, name["y"] - 9, name["x"] + name["width"] / 2, name["y"] + 9) for name in names
    ]


def test_classes_have_their_names_on_the_map(opened, clusters):
    seen, kinds = opened(clusters), clusters.columns["kind"]
    names = seen.state("names(0)")
    assert sorted(name["text"] for name in names) == ["blue", "green", "red"]
    for name in names:
        own = np.array([seen.state(f"screen(0, {row})") for row in np.flatnonzero(kinds == name["text"])[:40]])
        assert np.linalg.norm(np.median(own, axis=0) - [name["x"], name["y"]]) < np.ptp(own, axis=0).max() / 2
    for k, (left, top, right, bottom) in enumerate(boxes(names)):
        assert all(left >= o[2] or right <= o[0] or top >= o[3] or bottom <= o[1] for o in boxes(names)[:k])
    seen.page.locator(".class", has_text="red").click()
    assert sorted(name["text"] for name in seen.state("names(0)")) == ["blue", "green"]
    seen.page.locator("#names").select_option("clusters")
    shares = [re.fullmatch(r"(\d): \d+ % (\w+)", name["text"]).groups() for name in seen.state("names(0)")]
    assert sorted(number for number, _ in shares) == ["1", "2"] and {kind for _, kind in shares} == {"blue", "green"}
    seen.page.locator("#names").select_option("none")
    assert seen.state("names(0)") == []


def test_a_name_hides_no_lonely_point_and_the_only_class_needs_none(opened):
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    seen = opened(Page("Two", [Map("m", points)], columns={"c": np.array(["a", "b"])}, label="c"))
    for name, row in zip(seen.state("names(0)"), (0, 1), strict=True):
        x, y = seen.state(f"screen(0, {row})")
        assert abs(name["y"] - y) >= 9 + 4 and abs(name["x"] - x) < 1  # half of its height, and of a point
    seen = opened(Page("One", [Map("m", points)], columns={"c": np.array(["a", "a"])}, label="c"))
    assert seen.state("names(0)") == [] and "1 row" not in seen.page.locator(".filters").inner_text()


def test_the_closer_one_looks_the_more_names_there_are(opened):
    """Sixty classes crowd in the middle of a map that two far points make wide; the rest of the window is empty."""
    rng, kinds = np.random.default_rng(0), np.arange(600) % 60
    points = rng.uniform(-1, 1, (60, 2))[kinds] + 0.01 * rng.standard_normal((600, 2))
    points[:2] = [[-9, -9], [9, 9]]
    names = np.array([f"class {k:02d}" for k in kinds])
    seen = opened(Page("Many", [Map("m", points)], columns={"c": names}, label="c"))
    counts = [len(seen.state("names(0)"))]
    seen.page.locator(".surface").focus()
    for _ in range(3):
        seen.page.keyboard.press("+")
        seen.page.keyboard.press("+")
        found = boxes(seen.state("names(0)"))
        for k, (left, top, right, bottom) in enumerate(found):
            assert all(left >= o[2] or right <= o[0] or top >= o[3] or bottom <= o[1] for o in found[:k])
        counts.append(len(found))
    assert 0 < counts[0] < counts[1] < counts[2] < counts[3]


def test_density_lines_run_around_the_points_and_go_again(opened):
    points = np.random.default_rng(0).standard_normal((4000, 2))
    seen = opened(Page("Cloud", [Map("m", points)]), fragment="#names=none")

    def drawn():
        """Where the layer above the points has ink, as shares of its width and height."""
        found = seen.page.evaluate(
            """async () => {
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const e = document.querySelector('.overlay'), at = [];
            const {data, width, height} = e.getContext('2d').getImageData(0, 0, e.width, e.height);
            for (let i = 0; i < width * height; i++)
                if (data[4 * i + 3]) at.push([i % width / width, Math.floor(i / width) / height]);
            return at; }"""
        )
        return np.array(found).reshape(-1, 2)

    before = len(drawn())
    seen.page.locator("#contours").check()
    lines, box = drawn(), seen.box()
    seen.page.locator("#contours").uncheck()
    assert len(lines) > before + 500 and len(drawn()) == before
    at = seen.page.evaluate("Array.from({length: 4000}, (_, row) => mercer.screen(0, row))")
    middle = np.median(at, axis=0) / [box["width"], box["height"]]
    assert {(x > middle[0], y > middle[1]) for x, y in lines} == {(x, y) for x in (True, False) for y in (True, False)}


def test_a_page_says_what_is_not_there(opened):
    """One row, no columns, no value: no control that does nothing, and no number that is made up."""
    seen = opened(Page("One", [Map("m", np.zeros((1, 2)))], columns={"c": np.array([1.5])}))
    assert seen.page.locator(".filters .shown").inner_text() == "1 row shown"
    assert seen.page.get_by_role("button", name="Clear").count() == 0
    points = np.random.default_rng(0).random((30, 2))
    seen = opened(Page("Bare", [Map("m", points)]))
    assert seen.page.get_by_role("combobox").count() == 1  # the names of clusters
    seen = opened(Page("Nothing", [Map("m", points)], columns={"v": np.full(30, np.nan)}))
    assert "Every value is missing." in seen.page.locator(".legend").inner_text()
    assert seen.page.get_by_label("Least value shown").count() == 0
    seen.page.get_by_role("checkbox", name="missing").uncheck()
    assert seen.state("shown()") == 0


def test_numbers_of_an_axis_touch_neither_each_other_nor_its_name(opened):
    written = """const {fillText: write, clearRect: clear} = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            window.written = []; return clear.call(this, ...box); };
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            const width = this.measureText(text).width, left = {left: x, center: x - width / 2, right: x - width};
            window.written.push([text, left[this.textAlign], left[this.textAlign] + width, y]);
            return write.call(this, text, x, y); };"""
    points = np.column_stack([1e6 + 1e-4 * np.linspace(-2, 2, 40), np.arange(40.0) % 7])  # ticks of fourteen letters
    page = Page("Far", [Map("m", points, ["an axis with a long name", "b"])])
    seen = opened(page, prepare=written)
    for width in range(400, 1300, 50):
        seen.page.set_viewport_size({"width": width, "height": 700})
        seen.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        last = seen.page.evaluate("written")
        foot = max(y for _, _, _, y in last)
        row = sorted((left, right, text) for text, left, right, y in last if y == foot)
        assert row[-1][2] == "an axis with a long name →"
        assert all(one[1] < other[0] for one, other in pairwise(row))


def test_colours_that_repeat_are_told(opened):
    points, n = np.random.default_rng(0).random((400, 2)), 400
    for classes, told in ((30, 0), (31, 1)):
        names = np.array([f"c{k:02d}" for k in np.arange(n) % classes])
        seen = opened(Page("Many", [Map("m", points)], columns={"c": names}, label="c"))
        assert seen.page.locator(".repeat").count() == told
    assert "31 classes share 30 colours" in seen.page.locator(".repeat").inner_text()


def test_a_click_lists_the_nearest_in_the_data_and_in_both_maps(opened, clusters):
    other = np.random.default_rng(5).standard_normal((300, 3))  # a map that keeps nothing
    page = with_rows(replace(clusters, maps=[clusters.maps[0], replace(clusters.maps[1], coordinates=other)]))
    seen, row = opened(page), 17
    seen.page.mouse.click(*seen.place(row))
    lists = seen.page.locator(".nearest .lists > div")
    assert lists.count() == 3
    found = [[item.inner_text() for item in lists.nth(k).locator("li").all()] for k in range(3)]
    assert found[0] == [f"row-{near:03d}" for near in page.neighbors.indices[row]]
    assert found[0] == found[1]  # the first map is the data
    turned = np.linalg.norm(other[:, :2] - other[row, :2], axis=1)
    assert found[2] == [f"row-{near:03d}" for near in np.argsort(turned, kind="stable")[1:7]]
    assert "6 of 6 kept" in lists.nth(1).inner_text()
    assert seen.page.locator(".card.pinned").bounding_box()["x"] > seen.box(1)["x"] + seen.box(1)["width"]
    lists.nth(0).locator("button").nth(1).focus()
    assert seen.state("hovered()") == page.neighbors.indices[row, 1]
    lists.nth(0).locator("button").first.click()
    assert seen.state("pinned()") == page.neighbors.indices[row, 0]


def test_points_are_coloured_and_filtered_by_how_many_neighbours_are_kept(opened, clusters):
    page = with_neighbors(clusters, np.random.default_rng(1).standard_normal((300, 4)), sample=200)
    kept = page.maps[1].row_scores["neighbours kept"]
    seen = opened(page)
    seen.page.locator("#colour optgroup[label='Quality of Turned'] option", has_text="neighbours kept").wait_for(
        state="attached"
    )
    value = seen.page.locator("#colour optgroup[label='Quality of Turned'] option").first.get_attribute("value")
    seen.page.select_option("#colour", value)
    assert "200 of 300 rows scored" in seen.page.locator(".legend").inner_text()
    most = seen.page.get_by_label("Greatest value shown, as text")
    most.fill("0.05")
    most.press("Enter")
    assert seen.state("shown()") == (kept <= 0.05).sum() + 100
    outside = int(np.flatnonzero(np.isnan(kept))[0])
    seen.page.mouse.click(*seen.place(outside))
    assert "not among the 200" in seen.page.locator(".card.pinned").inner_text()


def test_several_filters_act_at_once_and_say_how_many_rows_they_leave(opened, clusters):
    days = np.datetime64("2024-01-01") + np.arange(300).astype("timedelta64[D]")
    age = np.arange(300) % 25
    page = replace(clusters, columns={**clusters.columns, "day": days, "age": age})
    seen, kinds = opened(page), page.columns["kind"]
    for name in ("age", "day"):
        seen.page.get_by_label("Add a filter", exact=True).select_option(label=name)
    assert [each.get_attribute("data-bars") for each in seen.page.locator(".filter .histogram").all()] == ["25", "43"]
    field = seen.page.get_by_label("Greatest value shown of age, as text")
    field.fill("9")
    field.press("Enter")
    field = seen.page.get_by_label("Least value shown of day, as text")
    field.fill("2024-03-01")
    field.press("Enter")
    seen.page.locator(".legend .class", has_text="red").click()
    left = int(((age <= 9) & (days >= np.datetime64("2024-03-01")) & (kinds != "red")).sum())
    assert seen.state("shown()") == left
    for place in (".filters .shown", ".facts"):
        assert f"{left} of 300 rows shown" in seen.page.locator(place).inner_text()
    assert seen.page.locator(".chip").count() == 3
    seen.page.locator(".filters").get_by_role("button", name="Clear").click()
    assert seen.state("shown()") == 300 and seen.page.locator(".filter").count() == 0


def test_rows_with_a_score_stand_out_of_a_selection_too(opened, clusters):
    page = with_neighbors(clusters, np.random.default_rng(1).standard_normal((300, 4)), sample=30)
    scored = ~np.isnan(page.maps[0].row_scores["continuity"])
    seen = opened(page)
    value = seen.page.locator("#colour optgroup option").first.get_attribute("value")
    seen.page.select_option("#colour", value)
    assert np.array_equal(np.array(seen.state("states()")) == 2, scored)
    seen.page.get_by_role("searchbox", name="Search ids").fill("red")
    red = clusters.columns["kind"] == "red"
    seen.until(f"mercer.found() === {red.sum()}")
    assert np.array_equal(np.array(seen.state("states()")) == 2, scored & red)
    alone = int(np.flatnonzero(~scored)[0])
    seen.page.get_by_role("searchbox", name="Search ids").fill(f"row-{alone:03d}")
    seen.until("mercer.found() === 1")
    assert np.flatnonzero(np.array(seen.state("states()")) == 2).tolist() == [alone]


def test_infinite_values_are_not_missing(opened, clusters):
    values = np.where(np.arange(300) == 3, np.inf, np.where(np.arange(300) == 4, -np.inf, np.linspace(0.1, 1, 300)))
    values[5] = np.nan
    seen = opened(replace(clusters, columns={"v": values}, label=None))
    assert "missing1" in re.sub(r"\s", "", seen.page.locator(".legend").inner_text())
    most = seen.page.get_by_label("Greatest value shown, as text")
    most.fill("0.5")
    most.press("Enter")
    assert (
        seen.state("shown()") == (values <= 0.5).sum() + 1
    )  # the lower end is open: −inf stays, and so does the missing one
    seen.page.keyboard.press("Escape")
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("t")
    seen.page.locator(".drawer .sort").nth(1).click()
    assert seen.page.locator(".drawer tbody tr:not(.gap) td:not([aria-hidden])").first.inner_text() == "-inf"


def test_every_column_is_in_the_table_and_the_name_of_a_row_stays_in_sight(opened, clusters):
    columns = {f"gene {k}": np.arange(300) * (k + 0.5) for k in range(1200)}
    seen = opened(replace(clusters, columns=columns, label=None, id_name="a name that is longer than its rows"))
    seen.page.keyboard.press("t")
    heads = seen.page.locator(".drawer .sort")
    assert heads.count() == 1201
    assert seen.page.locator(".drawer tbody td:not([aria-hidden])").count() < 1200  # only what can be seen is made
    assert heads.first.evaluate("e => e.scrollWidth <= e.clientWidth")  # the head of the ids is not cut
    seen.page.evaluate("document.querySelector('.scroller').scrollLeft = 1e9")
    seen.until("[...document.querySelectorAll('.drawer tbody td[aria-colindex]')].some(e => e.ariaColIndex === '1201')")
    cell = seen.page.locator(".drawer tbody tr:not(.gap) td[aria-colindex='1201']").nth(2)
    assert cell.inner_text() == "2399"  # row 2 of gene 1199
    head, box = heads.last.bounding_box(), cell.bounding_box()
    assert abs(head["x"] + head["width"] - box["x"] - box["width"]) < 20
    name = seen.page.locator(".drawer tbody tr:not(.gap) th").nth(2).bounding_box()
    drawer = seen.page.locator(".drawer").bounding_box()
    assert 0 <= name["x"] - drawer["x"] < 20
    seen.page.get_by_label("Columns in the table: find by name").fill("gene 77")
    assert heads.count() == 1 + sum("77" in str(k) for k in range(1200))


def test_all_rows_are_in_a_table_that_sorts(opened, clusters):
    seen, weight = opened(replace(clusters, id_name="sample")), clusters.columns["weight"]
    seen.page.keyboard.press("t")
    head = seen.page.locator(".drawer .sort")
    assert head.all_inner_texts()[0].startswith("sample")
    assert "300 rows" in seen.page.locator(".drawer h2").inner_text()
    for order in (np.argsort(weight, kind="stable"), np.argsort(-weight, kind="stable")):
        head.nth(2).click()
        shown = seen.page.locator(".drawer tbody tr:not(.gap) th").all_inner_texts()
        assert shown == [f"row-{row:03d}" for row in order[: len(shown)]] != []
    seen.page.locator(".legend .class", has_text="red").click()
    left = (clusters.columns["kind"] != "red").sum()
    assert f"{left} of 300 rows shown" in seen.page.locator(".drawer h2").inner_text()
    shown = seen.page.locator(".drawer tbody tr:not(.gap) th").all_inner_texts()
    rest = order[clusters.columns["kind"][order] != "red"]
    assert shown == [f"row-{row:03d}" for row in rest[: len(shown)]] != []  # still in the order that was asked for
    seen.page.keyboard.press("Escape")
    assert seen.page.locator(".drawer").is_hidden()


def test_rows_are_sorted_by_their_dates(opened, clusters):
    """As text, the ninth would come after the tenth. Rows without a date are last in either direction."""
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(300).astype("timedelta64[D]")
    days[[7, 8]] = "NaT"
    seen = opened(replace(clusters, columns={"day": days}, label=None))
    seen.page.keyboard.press("t")
    for sign in (1, -1):
        seen.page.locator(".drawer .sort").nth(1).click()
        shown = seen.page.locator(".drawer tbody tr:not(.gap) th").all_inner_texts()
        order = np.argsort(np.where(np.isnat(days), 10**6, sign * days.astype(int)), kind="stable")
        assert len(shown) > 5 and shown == [f"row-{row:03d}" for row in order[: len(shown)]]
        seen.page.evaluate("document.querySelector('.scroller').scrollTop = 1e9")
        seen.until("[...document.querySelectorAll('.drawer tbody th')].at(-1)?.textContent === 'row-008'")
        assert seen.page.locator(".drawer tbody tr:not(.gap) th").all_inner_texts()[-2:] == ["row-007", "row-008"]
        seen.page.evaluate("document.querySelector('.scroller').scrollTop = 0")
        seen.until(f"[...document.querySelectorAll('.drawer tbody th')].some(e => e.textContent === '{shown[0]}')")
    first = seen.page.locator(".drawer tbody tr:not(.gap) td:not([aria-hidden])").first.inner_text()
    assert first == "2024-10-26"  # the last of 300 days


def test_the_last_row_of_a_very_long_table_is_reached(opened):
    n = 400_000  # 13.6 million pixels, more than some browsers make an element of
    points = np.column_stack([np.arange(n) % 977, np.arange(n) % 1009]).astype(float)
    seen = opened(Page("Long", [Map("m", points)]))
    seen.page.keyboard.press("t")
    seen.page.evaluate("document.querySelector('.scroller').scrollTop = 1e9")
    seen.until("[...document.querySelectorAll('.drawer tbody th')].some(e => e.textContent === '399999')")
    last = seen.page.locator(".drawer tbody th", has_text="399999").bounding_box()
    drawer = seen.page.locator(".drawer").bounding_box()
    assert last["y"] + last["height"] <= drawer["y"] + drawer["height"] + 1


def test_a_reload_and_a_link_keep_what_was_chosen(opened, clusters):
    seen = opened(with_rows(clusters))
    seen.page.select_option("#colour", label="weight")
    seen.page.locator("#contours").check()
    seen.page.get_by_label("Vertical axis").select_option(label="c")
    least = seen.page.get_by_label("Least value shown, as text")
    least.fill("0.5")
    least.press("Enter")
    seen.page.locator(".surface").first.focus()
    seen.page.keyboard.press("+")
    seen.page.keyboard.press("Enter")
    seen.page.get_by_role("searchbox", name="Search ids").fill("row-1")
    seen.until("mercer.found() === 100 && location.hash.includes('search=row-1')")
    asked = "[mercer.shown(), mercer.pinned(), mercer.states(), mercer.panels().map(p => [p.name, p.view.scale])]"
    before = seen.page.evaluate(asked)
    colour = seen.page.locator("#colour").input_value()
    seen.page.reload()
    seen.until("document.documentElement.dataset.drawn")
    after = seen.page.evaluate(asked)
    assert after[:3] == before[:3]
    for (name, scale), (other, again) in zip(before[3], after[3], strict=True):
        assert name == other and again == pytest.approx(scale, rel=1e-4)
    assert seen.page.locator("#contours").is_checked()
    assert seen.page.locator("#colour").input_value() == colour != "0"  # the label is the first
    assert seen.page.get_by_label("Vertical axis").input_value() == "2"
    assert seen.page.get_by_role("searchbox", name="Search ids").input_value() == "row-1"


def test_an_address_from_another_page_does_no_harm(opened, clusters):
    strange = "#colour=99&filter=7_off_1&filter=0_range_1_2_1&row=5000&rows=zzzz&map=9_0_1&sort=44_1&size=1e9&names=x"
    seen = opened(clusters, fragment=strange)
    assert seen.state("shown()") == 300 and seen.state("pinned()") == -1 and seen.state("selected()") is None


def test_search_says_what_a_filter_hides(opened, clusters):
    seen, kinds = opened(clusters), clusters.columns["kind"]
    seen.page.get_by_role("searchbox", name="Search ids").fill("red")
    seen.until(f"mercer.found() === {(kinds == 'red').sum()}")
    assert "hidden" not in seen.page.locator(".found").inner_text()
    seen.page.locator(".legend .class", has_text="red").click()
    assert seen.page.locator(".found").inner_text() == f"{(kinds == 'red').sum()}, hidden by a filter"


def test_the_svg_has_every_point_and_every_name(opened, clusters):
    seen = opened(clusters)
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Save as SVG").click()
    assert download.value.suggested_filename == "three-clusters.svg"
    text = Path(download.value.path()).read_text()
    assert text.count("<circle") == 600  # in each of the two maps
    for word in ("Three clusters", ">Turned<", "first →"):
        assert word in text
    names = [name["text"] for panel in (0, 1) for name in seen.state(f"names({panel})")]
    assert {"blue", "green", "red"} == set(names)
    for word in ("blue", "green", "red"):
        assert text.count(f">{word}<") == 1 + 2 * names.count(word)  # in the legend; on the maps with a rim


def test_a_slider_goes_through_the_snapshots(opened, clusters):
    plane = clusters.maps[0].coordinates
    earlier = [(50, 1e-4 * plane[:, ::-1]), (100, -plane)]
    seen = opened(replace(clusters, maps=[replace(clusters.maps[0], snapshots=earlier)]))
    slider = seen.page.get_by_label("Steps of the descent")
    at = [np.array(seen.state("screen(0, 0)")) - seen.state("screen(0, 1)")]
    for _ in range(2):
        slider.press("ArrowLeft")
        at.append(np.array(seen.state("screen(0, 0)")) - seen.state("screen(0, 1)"))
    assert slider.get_attribute("aria-valuetext") == "after 50 steps"
    np.testing.assert_allclose(at[1], -at[0], atol=0.1)  # turned round, and to the same scale
    seen.until("location.hash.includes('s0')")
    seen.page.reload()  # the address keeps the place of the slider
    seen.until("document.documentElement.dataset.drawn")
    assert seen.page.get_by_label("Steps of the descent").input_value() == "0"
    again = np.array(seen.state("screen(0, 0)")) - seen.state("screen(0, 1)")
    np.testing.assert_allclose(again, at[2], atol=0.1)
    slope = (plane[0] - plane[1])[::-1]
    assert at[2][0] * -slope[1] == pytest.approx(at[2][1] * slope[0], rel=1e-2, abs=0.1)


def test_images_stand_for_points_from_close_by(opened):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (250, 0, 250)).save(buffer, "PNG")
    points = np.random.default_rng(0).random((60, 2))
    seen = opened(Page("Images", [Map("m", points)], images=[buffer.getvalue()] * 60))
    pink = """e => { const c = e.getContext('2d').getImageData(0, 0, e.width, e.height).data; let n = 0;
        for (let i = 0; i < c.length; i += 4) n += c[i] > 240 && c[i + 1] < 10 && c[i + 2] > 240;
        return n; }"""
    overlay = seen.page.locator(".overlay").first
    assert overlay.evaluate(pink) == 0
    seen.page.locator(".surface").focus()
    for _ in range(3):
        seen.page.keyboard.press("+")
    seen.until(f"({pink})(document.querySelector('.overlay')) > 300")


@pytest.mark.parametrize("size", [(390, 844), (768, 1024), (844, 390)])
def test_on_a_phone_the_card_of_a_row_leaves_half_of_the_window_to_the_map(opened, clusters, size):
    columns = {**clusters.columns, **{f"gene {k}": np.arange(300) * (k + 0.5) for k in range(40)}}
    page = with_rows(replace(clusters, columns=columns))
    seen = opened(page, viewport={"width": size[0], "height": size[1]}, fragment="#row=17")
    card = seen.page.locator(".card.pinned").bounding_box()
    assert card["x"] >= 0 and card["x"] + card["width"] <= size[0]
    assert card["y"] >= 0 and card["y"] + card["height"] <= size[1]
    assert card["width"] * card["height"] <= 0.5 * size[0] * size[1]


@pytest.mark.parametrize("size", [(844, 390), (640, 360), (640, 400), (390, 844)])
def test_a_low_or_narrow_window_keeps_a_usable_map(opened, clusters, size):
    seen = opened(clusters, viewport={"width": size[0], "height": size[1]})
    box = seen.box()
    assert box["height"] >= min(200, 0.5 * size[1]) and box["width"] >= 150
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_on_its_side_a_phone_shows_both_maps_with_their_axes_at_once(opened, clusters):
    maps = [clusters.maps[0], Map("another", clusters.maps[0].coordinates[:, ::-1])]
    seen = opened(replace(clusters, maps=maps), viewport={"width": 844, "height": 390})
    for panel in seen.page.locator(".panel").all():
        box = panel.bounding_box()
        assert box["y"] + box["height"] <= 390 and box["height"] > 250


def test_the_names_of_scores_begin_where_their_values_do(opened, clusters):
    """With many maps a name stands above its values, and stays in sight while they scroll."""
    score = {"name": "trustworthiness", "value": 0.5, "error": 0.0, "rows": 300, "best": 1.0, "meaning": "m"}
    maps = [Map(f"Map {k}", clusters.maps[0].coordinates, quality=[score]) for k in range(6)]
    seen = opened(replace(clusters, maps=maps))
    left = [seen.page.locator(f".quality.below {part}").first.bounding_box()["x"] for part in (".score", ".value")]
    assert left[0] == pytest.approx(left[1], abs=1)


def test_six_maps_fit_a_phone_and_are_told_apart(opened, clusters):
    score = {"name": "trustworthiness", "value": 0.5, "error": 0.0, "rows": 300, "best": 1.0, "meaning": "m"}
    values = [score | {"value": 0.5 + k / 20} for k in range(6)]
    names = [f"Kernel PCA with a Gaussian kernel, gamma {10.0**-k:g}" for k in range(6)]
    maps = [Map(name, clusters.maps[0].coordinates, quality=[own]) for name, own in zip(names, values, strict=True)]
    seen = opened(replace(clusters, maps=maps), viewport={"width": 390, "height": 844})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(set(seen.page.locator(".quality thead th").all_inner_texts())) == 6


def test_six_maps_have_a_table_that_shows_that_it_scrolls_and_which_is_best(opened, clusters):
    score = {"name": "trustworthiness", "error": 0.0, "rows": 300, "best": 1.0, "meaning": "m"}
    maps = [Map(f"Map {k}", clusters.maps[0].coordinates, quality=[score | {"value": 0.5 + k / 20}]) for k in range(6)]
    seen = opened(replace(clusters, maps=maps))
    across = seen.page.locator(".across")
    assert across.evaluate("e => e.scrollWidth > e.clientWidth + 20")
    assert seen.page.get_by_text("The table holds 6 maps: scroll it sideways").is_visible()
    assert seen.page.locator(".quality td.best").all_inner_texts()[0].startswith("0.750")


def test_one_of_many_columns_is_found_by_its_name(opened, clusters):
    columns = {f"gene {k}": np.arange(300) * (k + 0.5) for k in range(150)}
    seen = opened(replace(clusters, columns=columns, label=None))
    finder = seen.page.get_by_label("Colour by: find a column")
    finder.fill("gene 14")
    fits = sum("14" in str(k) for k in range(150))
    assert seen.page.locator("#colour option").count() == fits + 2  # those, the one that is chosen, and one colour
    finder.press("Enter")
    assert seen.page.locator("#colour").input_value() == "14"
