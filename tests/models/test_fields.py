"""Declarations: each check accepts what it describes and nothing else, and a declaration reads back what it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from mercer.models import fields as f
from mercer.models.fields import DECLARED, Mismatch, SavedEstimator, SavedRecord, Scope, declaration_of
from mercer.models.values import Reader, Writer

CSR = sp.csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
CHECKS = {  # check, values that it accepts, values that it refuses
    "number": (f.number, [1, 2.5, np.inf, np.nan, np.float32(1)], [True, np.bool_(True), "1", None, 1j]),
    "finite": (f.finite, [1, -2.5], [np.inf, np.nan, "1", 10**400]),
    "mapping": (
        f.mapping(a=f.flag, b=f.if_set(f.text)),
        [{"a": True}, {"a": True, "b": "", "c": 1}],
        [{"b": ""}, {"a": 1}, {"a": True, 2: 3}, []],
    ),
    "at_least": (f.at_least(1.0), [1, 3.5, np.inf], [0.5, np.nan, None]),
    "whole": (f.whole(1, 9), [1, 9, np.int32(4)], [0, 10, 2.0, True, "3"]),
    "flag": (f.flag, [True, np.bool_(False)], [1, None, "true"]),
    "text": (f.text, ["", "a"], [1, None, b"a"]),
    "one_of": (f.one_of("a", "b"), ["a"], ["c", None, 1, ["a"]]),
    "threads": (f.THREADS, [None, -1, 4], [2.0, "all", 2**40]),
    "floats": (f.floats("n"), [np.zeros(3), np.zeros(0, np.float32)], [np.zeros((1, 1)), np.zeros(3, int), [0.0]]),
    "floats, finite": (f.floats("n"), [np.ones(2)], [np.array([np.inf]), np.array([np.nan]), np.zeros(2, np.float16)]),
    "floats, large": (f.floats("n"), [np.full(3, 1e308)], [np.array([1e308, -np.inf])]),  # the sum overflows
    "floats, infinite": (f.floats("n", infinite=True), [np.array([np.inf, np.nan])], [np.zeros((2, 2))]),
    "floats, positive": (f.floats("n", positive=True), [np.ones(2), np.zeros(0)], [np.zeros(2), -np.ones(1)]),
    "floats, bounded": (f.floats("n", most=2.0), [np.array([-2.0, 2.0])], [np.array([-2.1]), np.array([3.0])]),
    "integers": (f.integers("n"), [np.arange(3), np.zeros(0, np.uint8)], [np.array([-1]), np.zeros(2), [1]]),
    "increasing": (f.integers("n", increasing=True), [np.array([1, 5])], [np.array([1, 1]), np.array([2, 1])]),
    "permutation": (f.permutation("n"), [np.array([2, 0, 1])], [np.array([0, 0]), np.array([1, 2]), np.array([-1, 0])]),
    "booleans": (f.booleans("n"), [np.array([True])], [np.array([1]), [True]]),
    "class_labels": (f.class_labels("c"), [np.array(["a"]), np.arange(2)], [np.zeros((1, 1)), ["a"]]),
    "strings": (f.strings("n"), [np.array(["a"], object)], [np.arange(2), "a"]),
    "sparse": (f.sparse("n", "d"), [CSR], [CSR.toarray(), CSR.tocsc(), CSR.astype(int)]),
    "samples": (f.samples("n", "d"), [CSR, np.eye(2), np.array(["ab"], object)], [np.zeros(3), None]),
    "optional": (f.optional(f.whole()), [None, 3], [-1, "a"]),
    "tuple_of": (f.tuple_of(f.whole(), f.text), [(1, "a")], [(1,), [1, "a"], ("a", 1)]),
    "list_of": (f.list_of(f.whole()), [[], [1, 2]], [(1,), [1, "a"]]),
    "either": (f.either(f.whole(), f.text), [1, "a"], [None, 1.5]),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_accepts_what_it_describes_and_nothing_else(name):
    check, accepted, refused = CHECKS[name]
    for value in accepted:
        check(value, Scope())
    for value in refused:
        with pytest.raises(Mismatch):
            check(value, Scope())


def test_sizes_with_one_name_must_agree():
    scope = Scope()
    f.floats("n", "k")(np.zeros((5, 2)), scope)
    f.floats("k+1")(np.zeros(3), scope)
    f.size("n")(5, scope)
    f.integers("m", below="n")(np.array([0, 4]), scope)
    f.offsets("k", "n")(np.array([0, 5, 5]), scope)
    assert scope.sizes == {"n": 5, "k": 2, "m": 2}
    for check, value in (
        (f.floats("k"), np.zeros(3)),
        (f.floats("k+1"), np.zeros(2)),
        (f.size("n"), 4),
        (f.integers("m", below="n"), np.array([0, 5])),
        (f.offsets("k", "n"), np.array([0, 5, 4])),
        (f.offsets("k", "n"), np.array([0, 2, 4])),
        (f.floats("new+3"), np.zeros(2)),
    ):
        with pytest.raises(Mismatch):
            check(value, scope)


def test_an_alternative_that_fails_binds_no_size():
    scope = Scope()
    f.either(f.tuple_of(f.floats("n"), f.text), f.tuple_of(f.floats("m"), f.whole()))((np.zeros(3), 1), scope)
    assert scope.sizes == {"m": 3}


# --- declarations --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Renamed:
    """A class that was `Old`, whose field `total` was `sum`, and which has got a field since."""

    _saved = SavedRecord("test.Old", {"rows": f.floats("n"), "total": f.under("sum", f.finite)})

    rows: np.ndarray
    total: float
    label: str = "none"
    limit: int | None = None


class Hidden:
    _saved = SavedRecord("test.Hidden", {"_part": f.instance_of("test", n="n"), "_count": f.size("n")})

    def __init__(self, part: Any, count: int) -> None:
        self._part, self._count = part, count


class Model(BaseEstimator):
    _saved = SavedEstimator(
        "test.Model",
        {
            "mean_": f.floats("d"),
            "_cache": f.not_stored,
            "half_": f.derived(lambda self: self.mean_ / 2),
            "other_": f.derived(lambda self: self.nowhere_),
            "extra_": f.if_set(f.text),
            "new_name_": f.under("old_name_", f.finite),
        },
        also=lambda parts: _refuse_long(parts),
    )
    _parameter_constraints = {"limit": [int]}  # noqa: RUF012

    def __init__(self, limit=3):
        self.limit = limit


def _refuse_long(parts):
    if len(parts.mean_) > parts.limit:
        raise Mismatch("mean_ is too long")


def fitted():
    model = Model()
    model.mean_, model.half_, model._cache, model.new_name_ = np.ones(2), np.ones(2) / 2, object(), 4.0
    return model


def there_and_back(value):
    writer = Writer(lambda value, place: declaration_of(value))
    node = writer.node(value, "v")
    return node, Reader(writer.tensors, DECLARED.__getitem__).value(node, "v")


def test_names_in_files_stay_when_classes_and_attributes_are_renamed():
    node, back = there_and_back(Renamed(np.ones(3), 3.0, "x"))
    assert node["object"] == "test.Old"
    assert set(node["params"]) == {"rows", "sum", "label", "limit"}
    assert (back.total, back.label, back.limit) == (3.0, "x", None)


def test_a_field_with_a_default_may_be_missing_in_an_older_file():
    node, _ = there_and_back(Renamed(np.ones(3), 3.0))
    del node["params"]["label"], node["params"]["limit"]
    assert Reader({"v.rows": np.ones(3)}, DECLARED.__getitem__).value(node, "v").label == "none"
    del node["params"]["sum"]
    with pytest.raises(Mismatch, match="'total' is missing"):
        Reader({"v.rows": np.ones(3)}, DECLARED.__getitem__).value(node, "v")


@pytest.mark.parametrize(("key", "value"), [("label", 3), ("limit", "a"), ("sum", {"float": "nan"}), ("more", 1)])
def test_a_dataclass_is_checked_by_its_annotations(key, value):
    node, _ = there_and_back(Renamed(np.ones(3), 3.0))
    node["params"][key] = value
    with pytest.raises(Mismatch):
        Reader({"v.rows": np.ones(3)}, DECLARED.__getitem__).value(node, "v")


def test_a_field_that_needs_a_line_and_has_none_is_named():
    @dataclass
    class Forgetful:
        _saved = SavedRecord("test.Forgetful")

        table: np.ndarray

    with pytest.raises(TypeError, match=r"Forgetful\.table is a np\.ndarray: add a line for it to Forgetful\._saved"):
        Forgetful._saved.lines()


def test_private_attributes_are_arguments_of_the_constructor_and_sizes_reach_into_parts():
    node, back = there_and_back(Hidden(Renamed(np.ones(3), 3.0), 3))
    assert set(node["params"]) == {"part", "count"}
    assert back._count == 3
    node["params"]["count"] = 4
    with pytest.raises(Mismatch, match="has a size of 4, but 3 is needed"):
        Reader({"v.part.rows": np.ones(3)}, DECLARED.__getitem__).value(node, "v")


def test_an_estimator_stores_what_it_must_and_derives_the_rest():
    node, back = there_and_back(fitted())
    assert set(node["state"]) == {"mean_", "old_name_"}
    np.testing.assert_array_equal(back.half_, np.ones(2) / 2)
    assert back.new_name_ == 4.0
    assert not {"_cache", "other_", "extra_"} & set(vars(back))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unknown_": 1}, "it has 'unknown_', which its kind does not have"),
        ({"fit": 1}, "it has 'fit'"),
        ({"half_": 1}, "it has 'half_'"),  # it is derived, so a file must not bring its own
        ({"extra_": 5}, "extra_ must be text"),
    ],
)
def test_a_state_with_other_attributes_is_refused(change, said):
    node, _ = there_and_back(fitted())
    node["state"].update(change)
    with pytest.raises(Mismatch, match=said):
        Reader({"v.mean_": np.ones(2)}, DECLARED.__getitem__).value(node, "v")


def test_what_must_hold_between_the_fields_is_checked_with_the_parameters():
    node, _ = there_and_back(fitted())
    node["params"]["limit"] = 1
    with pytest.raises(Mismatch, match="mean_ is too long"):
        Reader({"v.mean_": np.ones(2)}, DECLARED.__getitem__).value(node, "v")
    node["params"] = {"limit": "three"}
    with pytest.raises((TypeError, ValueError)):  # scikit-learn's check of parameters, for a fitted one
        Reader({"v.mean_": np.ones(2)}, DECLARED.__getitem__).value(node, "v")


def test_a_subclass_has_no_declaration_of_its_own():
    class Sub(Model):
        pass

    assert declaration_of(fitted()).name == "test.Model"
    assert declaration_of(Sub()) is None
