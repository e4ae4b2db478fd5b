"""Messages: arrays arrive as they were sent, and malformed texts are refused."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.live.messages import decode, encode, longest_text, read_rows, read_text, without_paths


@given(st.lists(st.integers(0, 9), max_size=4), st.text(max_size=20), st.binary(max_size=20))
def test_arrays_arrive_as_they_were_sent(counts, text, raw):
    arrays = {f"a{i}": np.random.default_rng(i).normal(size=count).astype("f4") for i, count in enumerate(counts)}
    given_arrays = {"raw": np.frombuffer(raw, np.uint8), **arrays}
    header, found = decode(encode({"type": "t", "text": text}, given_arrays))
    assert header == {"type": "t", "text": text} and list(found) == list(given_arrays)
    assert all(np.array_equal(found[name], given_arrays[name]) for name in found)


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_sets_of_rows_arrive_as_they_were_sent(mask):
    packed = base64.b64encode(np.packbits(mask).tobytes()).decode()
    assert read_rows(packed, len(mask)).tolist() == mask


@pytest.mark.parametrize("text", ["", "!", "AAAA", "AAAAAAAA", None, 5, ["A"], "ÄÄ==", "A" * 10_000])
def test_other_sets_of_rows_are_refused(text):
    with pytest.raises(ValueError):
        read_rows(text, 100)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "5",
        '"settings"',
        "{}",
        '{"type": 5}',
        '{"type": null}',
        "{",
        '{"type": "settings"',
        '{"type": "a", "x": NaN}',
        '{"type": "a", "x": Infinity}',
        "[" * 10_000,
        '{"type": "a", "x": ' + "[" * 150 + "]" * 150 + "}",
        '{"type": "a", "x": [[[[[1]]]]]}',
        '{"type": "a", "x": "' + "y" * 20_000 + '"}',
    ],
)
def test_malformed_texts_are_refused(text):
    with pytest.raises(ValueError):
        read_text(text, 10)


def test_two_sets_of_all_rows_fit_into_a_message():
    for rows in (1, 7, 1000, 200_000):
        packed = base64.b64encode(np.packbits(np.ones(rows, bool)).tobytes()).decode()
        text = json.dumps({"type": "ask", "rows": packed, "others": packed})
        assert len(text) <= longest_text(rows) and read_text(text, rows)["rows"] == packed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot cache '/home/ann/x.py' or C:\\Users\\ann\\x.py", "cannot cache '…' or …"),
        ("no file ~/data/a b.csv, none at \\\\server\\share\\x", "no file … b.csv, none at …"),
        ("at /tmp/x (line 3): /a.b", "at … (line 3): …"),
        ("gamma = 1/2, and/or n/a; 3 / 4 of K/n, ‖x‖²/σ", "gamma = 1/2, and/or n/a; 3 / 4 of K/n, ‖x‖²/σ"),
    ],
)
def test_paths_are_left_out_and_fractions_are_not(text, expected):
    assert without_paths(text) == expected
