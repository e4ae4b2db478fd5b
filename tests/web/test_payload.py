"""What a page carries can be read back from its file, exactly or within the error that is stated."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.web import Map, Page, page_bytes
from mercer.web.payload import QUANTISE_FROM, Payload, add_coordinates, add_texts


def unpacked(content):
    """The description and the block of a page, out of its HTML."""
    about = json.loads(re.search(rb'id="about">(.*?)</script>', content, re.S)[1])
    block = gzip.decompress(base64.b64decode(re.search(rb'id="data">(.*?)</script>', content, re.S)[1]))
    assert len(block) == about["bytes"]
    return about, block


def numbers(block, place):
    """Planes of bytes put together again: written from the description of the format, not from the code."""
    kind = np.dtype(f"<{place['type']}")
    raw = np.frombuffer(block, np.uint8, place["count"] * kind.itemsize, place["at"])
    return np.ascontiguousarray(raw.reshape(kind.itemsize, -1).T).view(kind)[:, 0]


def texts(block, place):
    lengths, at, out = numbers(block, place["lengths"]), place["at"], []
    for length in lengths.tolist():
        out.append(None if length == 0 else block[at : at + length - 1].decode())
        at += max(0, length - 1)
    return out


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i1", "i2", "i4", "f4", "f8"])
def test_arrays_come_back(dtype):
    rng = np.random.default_rng(0)
    array = (100 * rng.standard_normal(50)).astype(dtype)
    payload = Payload()
    payload.add_bytes(b"odd")
    place = payload.add(array)
    np.testing.assert_array_equal(numbers(b"".join(payload._parts), place), array)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text()), max_size=30))
def test_texts_come_back(words):
    words = [None if word is None else word.encode("utf-8", "replace").decode() for word in words]
    payload = Payload()
    place = add_texts(payload, words)
    assert texts(b"".join(payload._parts), place) == words


@pytest.mark.parametrize("scale, offset", [(1.0, 0.0), (1e-9, 1.0), (1e12, -5e12), (1e-300, 0.0), (1e300, 0.0)])
@pytest.mark.parametrize("n", [100, QUANTISE_FROM])
def test_coordinates_are_within_the_stated_error(n, scale, offset):
    x = offset + scale * np.random.default_rng(0).random(n)
    payload = Payload()
    place = add_coordinates(payload, x)
    back = place["start"] + place["step"] * numbers(b"".join(payload._parts), place).astype(np.float64)
    span = np.ptp(x)
    stated = span / 131070 if n >= QUANTISE_FROM else span * 2.0**-24
    assert np.abs(back - x).max() <= stated * (1 + 1e-9) + 4 * np.finfo(float).eps * np.abs(x).max()


def test_a_constant_axis_keeps_its_value():
    payload = Payload()
    place = add_coordinates(payload, np.full(30_000, 7.5))
    assert place["start"] == 7.5 and not numbers(b"".join(payload._parts), place).any()


def test_a_range_beyond_floats_is_refused():
    with pytest.raises(ValueError, match="span more than a float can hold"):
        add_coordinates(Payload(), np.array([-1.7e308, 1.7e308]))


def test_a_whole_page_comes_back(clusters):
    about, block = unpacked(page_bytes(clusters))
    assert [column["kind"] for column in about["columns"]] == ["category", "number", "text"]
    assert texts(block, about["ids"]) == clusters.ids.tolist()
    names = about["columns"][0]["names"]
    assert [names[code] for code in numbers(block, about["columns"][0])] == clusters.columns["kind"].tolist()
    axis = about["maps"][1]["axes"][2]
    back = axis["start"] + axis["step"] * numbers(block, axis)
    np.testing.assert_allclose(back, clusters.maps[1].coordinates[:, 2], rtol=0, atol=1e-6)


def test_a_million_points_are_a_file_of_less_than_25_megabytes():
    n, rng = 1_000_000, np.random.default_rng(0)
    columns = {"class": rng.integers(0, 10, n), "score": rng.standard_normal(n)}
    ids = np.array([f"row-{i:07d}" for i in range(n)])
    page = Page("A million", [Map("Plane", rng.standard_normal((n, 2)))], ids=ids, columns=columns, label="class")
    assert len(page_bytes(page)) < 25_000_000
