"""Without widgets a map is its page in a frame that reaches nothing of the notebook."""

import html
import re

import numpy as np
import pytest

from mercer.live.static_map import StaticMap, html_of
from mercer.web import Map, Page, page_bytes

PAGE = Page('a "title" <b>', [Map("PCA", np.eye(3)[:, :2])])


def test_the_frame_holds_the_whole_page_and_nothing_else():
    frame = html_of(PAGE, 432)
    content = re.search('srcdoc="([^"]*)"', frame)[1]
    assert html.unescape(content).encode() == page_bytes(PAGE)
    assert frame.count("<") == 2 and "height:432px" in frame


def test_the_frame_has_no_origin():
    sandbox = re.search('sandbox="([^"]*)"', html_of(PAGE, 300))[1].split()
    assert "allow-scripts" in sandbox and "allow-same-origin" not in sandbox


def test_what_is_missing_says_how_to_get_it():
    shown = StaticMap(PAGE, 300)
    assert shown._repr_html_() == html_of(PAGE, 300) and shown.coordinates.shape == (3, 2)
    with pytest.raises(AttributeError, match=r"mercer\[notebook\]"):
        shown.selected  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        shown.anything  # noqa: B018
