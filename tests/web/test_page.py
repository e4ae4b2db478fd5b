"""The HTML file: complete, the same every time, safe from what stands in the data, refused where it makes no sense."""

import base64
import hashlib
import json
import os
import re
import threading
from html.parser import HTMLParser

import numpy as np
import pytest

from mercer.web import Map, Page, page_bytes, write_page
from mercer.web.page import plain

EVIL = "<img src=x onerror=alert(1)>"
NAMES = [
    EVIL,
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "__proto__",
    "\u2028",
    "שלום",
    "🦊",
    "\ud800",
    "",
    "a\nb",
]


class Elements(HTMLParser):
    """The elements of a document, and the text in each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._open = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data


def hostile():
    n = len(NAMES)
    return Page(
        EVIL + "</title>",
        [Map(EVIL, np.random.default_rng(0).random((n, 2)), ["</script>", EVIL], None, {EVIL: [EVIL], "__proto__": 1})],
        ids=np.array(NAMES, dtype=object),
        columns={
            EVIL: np.array(NAMES, dtype=object),
            "__proto__": np.arange(n) + 0.5,
            "": np.array(NAMES[::-1], dtype=object),
        },
        label=EVIL,
    )


def test_hostile_text_adds_no_element(clusters):
    tame, wild = (Elements(page_bytes(page).decode("ascii")) for page in (clusters, hostile()))
    assert wild.tags == tame.tags
    about = json.loads(wild.scripts[0])
    assert about["columns"][0]["name"] == EVIL
    assert set(about["columns"][0]["names"]) == {name.encode("utf-8", "replace").decode() for name in NAMES}


def test_the_policy_allows_this_script_and_no_request(clusters):
    content = page_bytes(clusters)
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', content)[1].decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = re.search(rb"<script>(.*)</script>", content, re.S)[1]
    style = re.search(rb"<style>(.*)</style>", content, re.S)[1]
    for name, part in (("script-src", script), ("style-src", style)):
        assert base64.b64encode(hashlib.sha256(part).digest()).decode() in rules[name]
        assert len(rules[name].split()) == 1  # that digest alone: no host, no inline code, no code made from text
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"


def test_the_file_is_the_same_every_time_and_replaced_when_complete(clusters, tmp_path):
    path = tmp_path / "map.html"
    path.write_text("old")
    size = write_page(clusters, path)
    assert size == path.stat().st_size and path.read_bytes() == page_bytes(clusters)
    with pytest.raises(ValueError):
        write_page(Page("x", []), path)
    assert path.stat().st_size == size and [each.name for each in tmp_path.iterdir()] == ["map.html"]
    with pytest.raises(FileNotFoundError):
        write_page(clusters, tmp_path / "missing" / "map.html")


def test_links_are_followed_and_pipes_written_to(clusters, tmp_path):
    real, link, pipe = tmp_path / "real.html", tmp_path / "link.html", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    size = write_page(clusters, link)
    assert link.is_symlink() and real.stat().st_size == size
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(len(pipe.read_bytes())))
    reader.start()
    write_page(clusters, pipe)
    reader.join(10)
    assert got == [size] and pipe.is_fifo()


def test_a_person_without_scripts_reads_why_it_is_empty(clusters):
    assert b"<noscript>" in page_bytes(clusters)


@pytest.mark.parametrize(
    "page, error, message",
    [
        (Page("x", []), ValueError, "at least one map"),
        (Page("x", [Map("m", np.array([[0.0, np.nan], [0.0, 1.0]]))]), ValueError, "1 of 2 points have NaN.*row 0"),
        (Page("x", [Map("m", np.zeros((0, 2)))]), ValueError, r"shape \(0, 2\)"),
        (Page("x", [Map("m", np.zeros((2, 2, 2)))]), ValueError, r"shape \(2, 2, 2\)"),
        (Page("x", [Map("m", np.array([["a", "b"]]))]), TypeError, "give numbers"),
        (Page("x", [Map("m", np.zeros((3, 2)), ["one"])]), ValueError, "1 names of axes for 2 columns"),
        (
            Page("x", [Map("m", np.zeros((3, 2))), Map("k", np.zeros((4, 2)))]),
            ValueError,
            "'k' has 4 points and 'm' has 3",
        ),
        (Page("x", [Map("m", np.zeros((3, 2)))], ids=np.arange(2)), ValueError, "must be \\(3,\\)"),
        (Page("x", [Map("m", np.zeros((3, 2)))], label="kind"), ValueError, "'kind' is not the name of a column"),
        (Page("x", [Map("m", np.zeros((3, 2)))], images=[b"", b""]), ValueError, "2 images for 3 points"),
        (Page("x", [Map("m", np.zeros((1, 2)))], images=[b"<svg onload=alert(1)>"]), ValueError, "neither a PNG"),
    ],
)
def test_what_makes_no_sense_is_refused(page, error, message):
    with pytest.raises(error, match=message):
        page_bytes(page)


def test_one_dimension_one_point_no_columns_and_integers():
    for points in (np.zeros(5), np.zeros((1, 2)), np.arange(6).reshape(3, 2), np.zeros((4, 7), np.float32)):
        assert page_bytes(Page("x", [Map("m", points)]))


def test_scores_may_be_dataclasses():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Score:
        name: str = "recall"
        value: float = 0.5
        error: float = float("nan")
        rows: int = 3
        best: float = 1.0
        meaning: str = "a share"
        unit: str = "pairs"
        note: str = "chance: 0.1"

    content = page_bytes(Page("x", [Map("m", np.zeros((3, 2)), quality=[Score()])]))
    score = json.loads(re.search(rb'id="about">(.*?)</script>', content)[1])["maps"][0]["quality"][0]
    assert score["value"] == 0.5 and score["error"] == "nan"
    assert score["unit"] == "pairs" and score["note"] == "chance: 0.1"


def test_whole_numbers_that_a_browser_would_round_are_text():
    assert plain({"seed": 2**63 + 1, "rows": 2**53}) == {"seed": "9223372036854775809", "rows": 2**53}


def test_a_file_that_is_replaced_keeps_its_permissions(clusters, tmp_path):
    path = tmp_path / "map.html"
    path.touch(0o600)
    write_page(clusters, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_runs_are_made_plain():
    from pathlib import Path

    assert plain({1: np.int64(2), "a": {"b": Path("x")}, "c": np.array([1.0, np.inf])}) == {
        "1": 2,
        "a": {"b": "x"},
        "c": [1.0, "inf"],
    }
