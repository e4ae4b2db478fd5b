"""Pages as axe-core sees them: every panel open, light and dark, from a phone to a large screen."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.web import AsFitted, with_neighbors

pytestmark = pytest.mark.browser

WIDTHS = (390, 768, 1280, 1920)


@pytest.fixture
def full(clusters):
    """A page on which every part of the page exists."""
    n = 300
    rng = np.random.default_rng(1)
    columns = {
        "kind": clusters.columns["kind"],
        "type": np.array([f"type {k}" for k in range(40)])[rng.integers(0, 40, n)],
        "weight": clusters.columns["weight"],
        "price": rng.lognormal(0, 2, n),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("timedelta64[D]"),
        "nothing": np.full(n, np.nan),
        "note": clusters.columns["note"],
        **{f"gene {k}": rng.random(n) for k in range(30)},
    }
    first, second = clusters.maps
    score = {"error": 0.001, "rows": 300, "best": 1.0, "meaning": "It says so.", "name": "trustworthiness"}
    many = [replace(second, name=f"Another map {k}", quality=[score | {"value": 0.5 + k / 20}]) for k in range(4)]
    snapshots = [(50, first.coordinates * 0.1), (100, -first.coordinates)]
    fitted = {"weight": AsFitted(fill=0.5, centre=0.5, spread=0.1)}
    page = replace(
        clusters,
        columns=columns,
        label="type",
        fitted=fitted,
        maps=[replace(first, snapshots=snapshots), second, *many],
    )
    return with_neighbors(page, rng.standard_normal((n, 4)), n_neighbors=6, sample=200)


def open_everything(seen):
    for name in ("weight", "day", "kind", "nothing"):
        seen.page.get_by_label("Add a filter", exact=True).select_option(label=name)
    for score in seen.page.locator(".score").all():
        score.click()
    for run in seen.page.locator("summary").all():
        run.click()
    seen.page.get_by_label("Find a class").first.fill("type 1")
    seen.page.get_by_label("Columns in the table: find by name").fill("gene 1")
    seen.page.locator("#contours").check()
    seen.page.locator(".class", has_text="green").click()
    seen.page.get_by_role("searchbox", name="Search ids").fill("note 1")
    seen.until("mercer.found() > 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_every_panel_open(opened, full, axe, axe_finds, scheme):
    seen = opened(full, color_scheme=scheme, prepare=axe, fragment="#table=1&row=5")
    open_everything(seen)
    assert seen.page.locator(".card.pinned .nearest").is_visible() and seen.page.locator(".drawer tbody tr").count() > 5
    found = []
    for colours in ("type", "price", "nothing", "one colour"):  # the legend is another for each
        seen.page.select_option("#colour", label=colours)
        for width in WIDTHS if colours == "type" else WIDTHS[2:3]:
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.wait_for_timeout(50)
            found += [(colours, width, each) for each in axe_finds(seen)]
    score = seen.page.locator("#colour optgroup option").first.get_attribute("value")
    seen.page.select_option("#colour", score)
    found += [("score", 1280, each) for each in axe_finds(seen)]
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_help_and_in_bare_pages(opened, full, axe, axe_finds, scheme):
    seen = opened(full, color_scheme=scheme, prepare=axe)
    seen.page.keyboard.press("?")
    found = []
    for width in WIDTHS:
        seen.page.set_viewport_size({"width": width, "height": 700})
        assert seen.page.locator("dialog").is_visible()
        found += [(width, each) for each in axe_finds(seen)]
    bare = replace(full, maps=[replace(full.maps[0], row_scores={}, quality=None, run=None, snapshots=())])
    bare = replace(bare, columns={}, label=None, ids=None, neighbors=None, fitted={}, title="")
    seen = opened(bare, color_scheme=scheme, prepare=axe)
    found += [("bare", each) for each in axe_finds(seen)]
    assert found == []


def test_axe_is_awake(opened, clusters, axe, axe_finds):
    """The check itself: a button without a name is found."""
    seen = opened(clusters, prepare=axe)
    seen.page.evaluate("document.querySelector('.tools').append(document.createElement('button'))")
    assert any(each.startswith("button-name") for each in axe_finds(seen))
