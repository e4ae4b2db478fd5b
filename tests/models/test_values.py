"""Values through a file: numbers to the bit, arrays of every type and order, and nothing that only looks alike."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer
from mercer.exceptions import ModelFileError
from mercer.kernels import Linear
from mercer.models.fields import Mismatch, declaration_of
from mercer.models.model_file import save_model
from mercer.models.registry import find_declaration, load_model
from mercer.models.values import Reader, Writer

FLOATS = st.floats(allow_nan=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.dictionaries(st.none() | st.booleans() | st.integers() | FLOATS | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)
DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f8", ">i4"]


def back(value):
    """Through nodes, JSON and arrays, as a file has them."""
    writer = Writer(lambda value, place: declaration_of(value))
    node = json.loads(json.dumps(writer.node(value, "v"), allow_nan=False))
    return Reader(writer.tensors, find_declaration).value(node, "v")


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a, b)) and all(map(same, a.values(), b.values()))
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) and (a == b or (a != a and b != b))
    return a == b


@given(PLAIN)
def test_plain_values_come_back_as_they_were(value):
    assert same(back(value), value)


def test_nan_is_nan():
    assert math.isnan(back(float("nan")))
    assert repr(back([math.nan, math.inf, -math.inf])) == "[nan, inf, -inf]"


@pytest.mark.parametrize(
    "value",
    [-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2**53, 2**53 + 1, -(2**63), 2**64, 10**300, 1e22, 1.0, 1, True],
)
def test_awkward_numbers(value):
    assert same(back(value), value)


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.float32(0.1), np.float16("inf"), np.int64(2**62), np.bool_(True)]
)
def test_scalars_keep_their_type(value):
    assert type(back(value)) is type(value)
    assert back(value) == value


@given(hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_arrays_keep_type_shape_and_bits(array):
    got = back(array)
    assert got.shape == array.shape
    assert got.dtype == array.dtype.newbyteorder("=")
    assert got.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()
    assert got.flags.writeable


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_their_order_in_memory(order):
    array = np.array(np.arange(12.0).reshape(3, 4), order=order)
    assert back(array).flags[f"{order}_CONTIGUOUS"]
    part = np.arange(40.0).reshape(4, 10)[::-1, ::3]
    np.testing.assert_array_equal(back(part), part)


def test_text_of_fixed_width_and_python_strings():
    for array in (np.array(["a", "", "é𝄞"]), np.array(["abc", "d"])[1:], np.array([["x"], ["yz"]]), np.array([], "U3")):
        got = back(array)
        assert got.dtype == array.dtype
        assert got.tolist() == array.tolist()
    words = np.array([["a", "é\ud800"], ["", "\x00b"]], object)
    assert back(words).dtype == object
    assert back(words).tolist() == words.tolist()


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_sparse_matrices(make, dtype):
    matrix = make(np.array([[0.0, 1.5, 0], [0, 0, 0], [2, 0, -0.0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    got = back(matrix)
    assert type(got) is type(matrix)
    assert got.indices.dtype == dtype
    np.testing.assert_array_equal(got.toarray(), matrix.toarray())
    with pytest.raises(ModelFileError, match="make it CSR"):
        back(matrix.tocsc())


def test_an_array_in_two_places_is_stored_once():
    array = np.arange(5.0)
    writer = Writer(lambda value, place: declaration_of(value))
    node = writer.node([array, array[:], array[1:]], "v")
    assert len(writer.tensors) == 2
    one, two, _ = Reader(writer.tensors, find_declaration).value(node, "v")
    assert one is two


def test_places_that_read_alike_are_kept_apart(tmp_path):
    notes = {
        "a.b": np.zeros(1),
        "a": {"b": np.ones(1), "b.bytes": np.full(1, 5.0)},
        "a.": {"b": np.array(["x"], object)},
        "é\ud800": np.full(2, 2.0),
        "__metadata__": np.full(1, 3.0),
    }
    save_model(mercer.PCA(), tmp_path / "m", notes)
    _, found = load_model(tmp_path / "m")
    assert repr(found) == repr(notes)


def test_strings_in_two_places_are_stored_once(tmp_path):
    words = ["a rather long sentence of words " * 30 + str(i) for i in range(20)]
    model = mercer.KernelPCA(2, kernel="spectrum").fit(words)
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1.5 * sum(map(len, words))
    loaded = mercer.load(tmp_path / "m")
    assert loaded.X_fit_ is loaded._with_mean.anchors


def test_what_contains_itself_is_refused(tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(ModelFileError, match="contain themselves"):
        mercer.KernelPCA(kernel_params={"a": endless}).save(tmp_path / "never")
    kernel = Linear() + Linear()
    kernel.left = kernel
    with pytest.raises(ModelFileError, match="contains itself"):
        back(kernel)


@pytest.mark.parametrize(
    "node",
    [
        {"int": "1e5"},
        {"int": "9" * 5000},
        {"float": "5"},
        {"scalar": ["int8", 300]},
        {"scalar": ["object", 1]},
        {"scalar": ["float64", "1"]},
        {"items": {"a": 1}},
        {"items": [[1]]},
        {"items": [[[1], 2]]},
        {"items": [[{"array": "v"}, 2]]},
        {"items": [[1, 2], [1, 3]]},
        {"slice": [0, 1]},
        {"slice": [0, 1, 0]},
        {"slice": ["a", 1, 2]},
        {"array": "nowhere"},
        {"array": 5},
        {"array": "v", "more": 1},
        {"text": "v"},
        {"strings": "v", "shape": [3]},
        {"csr": {}},
        {"same": "x"},
        {"same": ["x"]},
        {"object": "os.system"},
        {"object": ["KernelPCA"]},
        {"object": "KernelPCA", "params": []},
        {"object": "kernel.RBF", "params": {"gamma": 1.0, "more": 2}},
        {"object": "kernel.RBF", "params": {}},
        {"object": "kernel.RBF", "params": {"gamma": ["wide"]}},
        {"object": "kernel.RBF", "params": {"gamma": [[1.0]]}},
        {"object": "PCA", "params": {"nothing": 1}},
        {"RandomState": [[0] * 624, 625, 0, 0.0]},
        {"RandomState": [[0] * 624, -1, 0, 0.0]},
        {"RandomState": [[-1] * 624, 0, 0, 0.0]},
        {"Generator": ["MT19937", "1", "1", 0, 0]},
        {"Generator": ["PCG64", "1", str(2**128), 0, 0]},
        {"unheard of": 1},
        {},
        2**60,
    ],
    ids=lambda node: str(node)[:60],
)
def test_nodes_that_describe_nothing(node):
    with pytest.raises(Mismatch):
        Reader({"v": np.arange(3.0)}, find_declaration).value(node, "here")


def test_masks_are_not_lost_in_silence(tmp_path):
    with pytest.raises(ModelFileError, match=r"notes\.v is a masked array"):
        save_model(mercer.PCA(), tmp_path / "m", {"v": np.ma.array([1, 2], mask=[0, 1])})


@pytest.mark.parametrize("weights", [{0: 1.0, 1: 2.0}, {np.int64(0): 1.0, np.int64(1): 2.0}, {False: 1.0, True: 2.0}])
def test_weights_of_classes_that_are_numbers_can_be_saved(weights, tmp_path):
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.arange(30) % 2
    model = mercer.KernelDiscriminantAnalysis(class_weight=weights).fit(X, y)
    save_model(model, tmp_path / "model.mercer")
    loaded = load_model(tmp_path / "model.mercer")[0]
    assert loaded.class_weight == weights and list(map(type, loaded.class_weight)) == list(map(type, weights))
    np.testing.assert_array_equal(loaded.fit(X, y).predict_proba(X), model.predict_proba(X))
