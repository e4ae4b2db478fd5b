"""Values as JSON and arrays, in both directions: what a model file can hold, and nothing else.

JSON's own values stand for themselves: whole numbers up to 2⁵³, finite floats, text, true, false, null and lists.
Everything else is an object whose first key says what it is:

    {"int": "36893488147419103232"}     {"float": "inf"}            {"scalar": ["float32", 0.5]}
    {"tuple": [...]}                    {"dict": {"name": ...}}     {"slice": [0, null, 2]}
    {"items": [[0, ...], [1, ...]]}     a dictionary whose keys are not all text: numbers, booleans, None
    {"array": "mean_"}                  {"transposed": "mean_"}     an array, or one whose transpose is stored
    {"text": "…"}                       {"strings": "…", "shape": [3]}   text of fixed width; Python strings
    {"csr": {"data": …, "indices": …, "indptr": …, "shape": [m, n], "kind": "array"}}
    {"RandomState": […]}                {"Generator": […]}          the state of a random generator
    {"object": "KernelPCA", "params": {…}, "state": {…}}            an object of a class with a declaration
    {"same": "_with_mean"}              the object that stands at that place

Arrays are named after their place in the model; one that stands in two places is stored once. The reader compares
every node with what its tag allows, and every index of a sparse matrix with its shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.exceptions import ModelFileError
from mercer.models.container import DTYPES, most_named_bytes
from mercer.models.fields import Declaration, Mismatch, Scope

EXACT = 2**53  # every JSON reader agrees on whole numbers up to this
_BIT_GENERATORS = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}
_TWISTER_WORDS = 624  # of the Mersenne twister's state
_KEYS = (str, bool, int, float, np.generic, type(None))  # of dictionaries: class_weight has one key per class
_MOST_BITS = 4096  # of a whole number: enough for any seed, and quick to parse


class Writer:
    """Turns values into nodes and collects their arrays in `tensors`; refuses by place what a file cannot hold.

    find : the declaration of an object; it raises ModelFileError for one that files do not hold
    """

    def __init__(self, find: Callable[[Any, str], Declaration]) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.named_bytes = 0  # of the arrays, counted at every use
        self.classes: set[str] = set()  # names in files of the objects written
        self.find = find
        self._scope = Scope()
        self._places: dict[Any, str] = {}  # of arrays by where they lie in memory, of shared objects by identity
        self._alive: list[Any] = []  # keeps objects alive, so that no address or id is used twice
        self._copies: dict[int, Any] = {}  # of tensors of other libraries, and of objects that hold them
        self._open: set[int] = set()  # objects that are being written: meeting one again is a cycle

    def node(self, value: Any, place: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) <= EXACT else {"int": _digits(value, place)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (list, tuple):
            nodes = [self.node(entry, f"{place}.{i}") for i, entry in enumerate(value)]
            return nodes if kind is list else {"tuple": nodes}
        if kind is dict:
            return self._dict(value, place)
        if kind is slice:
            return {"slice": [self.node(part, place) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.generic):
            return str(value) if isinstance(value, np.str_) else _scalar_node(value, place)
        if isinstance(value, (np.random.RandomState, np.random.Generator)):
            return _random_node(value, place)
        if sp.issparse(value):
            return self._csr(value, place)
        value = self.on_cpu(value)
        return self._array(value, place) if isinstance(value, np.ndarray) else self._object(value, place)

    def on_cpu(self, value: Any) -> Any:
        """A tensor, or an object or a list that holds tensors, as one of NumPy arrays; anything else as it is.

        What stands at several places becomes one array or object.
        """
        if hasattr(value, "on_host"):
            if id(value) not in self._copies:
                self._alive.append(value)
                self._copies[id(value)] = value.on_host()
            return self._copies[id(value)]
        if type(value) in (list, tuple):
            parts = [self.on_cpu(part) for part in value]
            return value if all(a is b for a, b in zip(parts, value, strict=True)) else type(value)(parts)
        if not hasattr(value, "__dlpack__") or isinstance(value, (np.ndarray, np.generic)):
            return value
        if id(value) not in self._copies:
            self._alive.append(value)
            tensor = value
            for step in ("detach", "cpu"):
                tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
            self._copies[id(value)] = np.from_dlpack(tensor)
        return self._copies[id(value)]

    def _dict(self, entries: dict[Any, Any], place: str) -> dict[str, Any]:
        nodes = [(key, self.node(entry, f"{place}.{key}")) for key, entry in entries.items()]
        if all(type(key) is str for key in entries):
            return {"dict": dict(nodes)}
        for key in entries:
            if not isinstance(key, _KEYS):
                raise ModelFileError(
                    f"{place} has the key {key!r}; in a model file keys are text, numbers, booleans or None."
                )
        return {"items": [[self.node(key, place), node] for key, node in nodes]}

    def _array(self, array: np.ndarray, place: str) -> dict[str, Any]:
        if isinstance(array, np.ma.MaskedArray):
            raise ModelFileError(f"{place} is a masked array. A model file cannot hold the mask; fill it first.")
        array = array.view(np.ndarray)
        if array.dtype.kind == "O":
            return self._strings(array, place)
        if array.dtype.kind == "U":
            width = array.dtype.itemsize // 4
            codes = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
            codes = codes.reshape(-1).view("<u4") if width else np.empty(0, np.uint32)
            return {"text": self._tensor(codes.reshape(*array.shape, width), place)}
        if array.dtype.name not in DTYPES:
            raise ModelFileError(
                f"{place} is an array of {array.dtype}. A model file holds booleans, integers and floats of up to 64 "
                "bits, and text; convert it first."
            )
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        return {"transposed" if turned else "array": self._tensor(array.T if turned else array, place)}

    def _tensor(self, array: np.ndarray, place: str) -> str:
        """Store an array in C order, lowest byte first, unless it is stored already; its name."""
        key = _address(array)
        self.named_bytes += array.nbytes
        if array.size == 0 or key not in self._places:
            self._alive.append(array)
            self._places[key] = place = self._unused(place)
            plain = np.ascontiguousarray(array).reshape(array.shape)
            self.tensors[place] = plain.astype(array.dtype.newbyteorder("<"), copy=False)
        return self._places[key]

    def _unused(self, place: str) -> str:
        """A new name for an array, in ASCII: keys that contain dots can make two places look alike."""
        name = place.encode("ascii", "backslashreplace").decode("ascii")
        while name in self.tensors or f"{name}.bytes" in self.tensors:
            name += "~"
        return name

    def _strings(self, array: np.ndarray, place: str) -> dict[str, Any]:
        values = array.reshape(-1).tolist()
        if not all(type(value) is str for value in values):
            other = next(type(value).__name__ for value in values if type(value) is not str)
            raise ModelFileError(f"{place} is an array of objects. A model file holds strings there, not {other}.")
        key = ("strings", *_address(array))
        if array.size == 0 or key not in self._places:
            place = self._unused(place)
            parts = [value.encode("utf-8", "surrogatepass") for value in values]
            self.tensors[f"{place}.bytes"] = np.frombuffer(b"".join(parts), np.uint8)
            self.tensors[f"{place}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
            self._alive.append(array)
            self._places[key] = place
        return {"strings": self._places[key], "shape": list(array.shape)}

    def _csr(self, matrix: Any, place: str) -> dict[str, Any]:
        if matrix.format != "csr":
            raise ModelFileError(f"{place} is a sparse matrix of the format {matrix.format!r}; make it CSR first.")
        parts = {name: self.node(getattr(matrix, name), f"{place}.{name}") for name in ("data", "indices", "indptr")}
        kind = "array" if isinstance(matrix, sp.sparray) else "matrix"
        return {"csr": {**parts, "shape": [int(length) for length in matrix.shape], "kind": kind}}

    def _object(self, value: Any, place: str) -> dict[str, Any]:
        declaration = self.find(value, place)
        if id(value) in self._places:
            return {"same": self._places[id(value)]}
        if id(value) in self._open:
            raise ModelFileError(f"{place} contains itself.")
        self._open.add(id(value))
        self.classes.add(declaration.name)
        params, state = ({key: self.on_cpu(v) for key, v in part.items()} for part in declaration.take_apart(value))
        node: dict[str, Any] = {"object": declaration.name}
        keys = declaration.keys()
        inside = f"{place}." if place else ""
        for part, values in (("params", params), ("state", state)):
            if values or part == "params":
                named = {keys.get(name, name): entry for name, entry in values.items()}
                node[part] = {key: self.node(entry, f"{inside}{key}") for key, entry in named.items()}
        scope = Scope(known=self._scope.known)
        try:
            declaration.check(params, state, scope)
            declaration.verify(value, params, state)
        except Mismatch as mismatch:
            raise ModelFileError(
                f"This {type(value).__name__}{f' ({place})' if place else ''} cannot be saved: {mismatch}. "
                f"{declaration.advice}"
            ) from mismatch
        self._open.discard(id(value))
        self._alive.append(value)
        self._scope.known[id(value)] = declaration.name, scope.sizes
        if declaration.shared:
            self._places[id(value)] = place
        return node


class Reader:
    """Turns nodes into values; raises Mismatch, or what a constructor raises, if a node does not describe one.

    find : the declaration for a name in files; it raises Mismatch for an unknown name
    """

    def __init__(self, tensors: dict[str, np.ndarray], find: Callable[[Any], Declaration]) -> None:
        self.tensors, self.used = tensors, set[str]()
        self.find = find
        self._named_bytes, self._most = 0, most_named_bytes(tensors)
        self._scope = Scope()
        self._shared: dict[str, Any] = {}
        self._texts: dict[str, np.ndarray] = {}
        self._alive: list[Any] = []  # keeps objects alive, so that no id is used twice

    def value(self, node: Any, place: str) -> Any:
        if node is None or isinstance(node, (bool, str)):
            return node
        if isinstance(node, (int, float)):
            if isinstance(node, int) and abs(node) > EXACT:
                raise Mismatch(f"{place} is a whole number that JSON does not keep exactly")
            if not math.isfinite(node):
                raise Mismatch(f"{place} is a number that does not fit into a float")
            return node
        if isinstance(node, list):
            return [self.value(entry, f"{place}.{i}") for i, entry in enumerate(node)]
        tag = next(iter(node), "")
        read = _READ.get(tag)
        if read is None:
            raise Mismatch(f"{place} has the unknown kind {tag[:40]!r}")
        allowed = {"strings": {"strings", "shape"}, "object": {"object", "params", "state"}}.get(tag, {tag})
        if not set(node) <= allowed:
            raise Mismatch(f"{place} has more keys than the kind {tag!r} allows")
        return read(self, node[tag], place, node)

    def array(self, name: Any, place: str) -> np.ndarray:
        if not isinstance(name, str) or name not in self.tensors:
            raise Mismatch(f"{place} names an array that is not in the file")
        self.used.add(name)
        self._named_bytes += self.tensors[name].nbytes
        if self._named_bytes > self._most:
            raise Mismatch(f"{place} is one of too many uses of the same arrays")
        return self.tensors[name]

    def text(self, name: Any, place: str) -> np.ndarray:
        codes = self.array(name, place)
        last = 0x10FFFF  # of Unicode
        if codes.dtype != np.uint32 or codes.ndim < 1 or (codes.size and codes.max() > last):
            raise Mismatch(f"{place} does not hold code points")
        if not codes.shape[-1]:
            return np.empty(codes.shape[:-1], "<U1")
        return np.ascontiguousarray(codes).reshape(-1).view(f"=U{codes.shape[-1]}").reshape(codes.shape[:-1])

    def strings(self, name: Any, shape: Any, place: str) -> np.ndarray:
        if str(name) not in self._texts:
            data, ends = (self.array(f"{name}.{part}", place) for part in ("bytes", "ends"))
            if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
                raise Mismatch(f"{place} does not hold strings")
            bounds = np.concatenate([[0], ends])
            if bounds[-1] != len(data) or np.any(bounds[1:] < bounds[:-1]):
                raise Mismatch(f"{place} has strings that end outside of their bytes")
            raw = data.tobytes()
            values = np.empty(len(ends), object)
            values[:] = [raw[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(bounds.tolist())]
            self._texts[str(name)] = values.reshape(_shape(shape, place))
        return self._texts[str(name)]

    def csr(self, parts: Any, place: str) -> Any:
        if not isinstance(parts, dict) or set(parts) != {"data", "indices", "indptr", "shape", "kind"}:
            raise Mismatch(f"{place} is not a CSR matrix")
        data, indices, indptr = (self.value(parts[key], f"{place}.{key}") for key in ("data", "indices", "indptr"))
        for array, kinds in ((data, "fiub"), (indices, "i"), (indptr, "i")):
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
                raise Mismatch(f"{place} is not a CSR matrix")
        shape = _shape(parts["shape"], place)
        if len(shape) != 2 or {indices.dtype.name, indptr.dtype.name} - {"int32", "int64"}:
            raise Mismatch(f"{place} is not a CSR matrix")
        _refuse_wild_indexes(len(data), indices, indptr, shape, place)
        make = sp.csr_array if parts["kind"] == "array" else sp.csr_matrix
        matrix = make((data, indices, indptr), shape=shape)
        matrix.indices, matrix.indptr = indices, indptr  # SciPy may have narrowed them
        return matrix

    def same(self, place_before: Any, place: str) -> Any:
        if not isinstance(place_before, str) or place_before not in self._shared:
            raise Mismatch(f"{place} refers to an object that is not there")
        return self._shared[place_before]

    def object(self, name: Any, place: str, node: dict[str, Any]) -> Any:
        declaration = self.find(name)
        params, state = (self._parts(node.get(part, {}), place, declaration) for part in ("params", "state"))
        scope = Scope(known=self._scope.known)
        try:
            declaration.check(params, state, scope)
            value = declaration.put_together(params, state)
        except Mismatch as mismatch:
            raise Mismatch(f"{f'{place}, ' if place else ''}{name}: {mismatch}") from mismatch
        self._alive.append(value)
        self._scope.known[id(value)] = name, scope.sizes
        if declaration.shared:
            self._shared[place] = value
        return value

    def _parts(self, entries: Any, place: str, declaration: Declaration) -> dict[str, Any]:
        """Parameters or state by attribute."""
        if not isinstance(entries, dict):
            raise Mismatch(f"{place} has parameters or a state that are not an object")
        attributes = {key: attribute for attribute, key in declaration.keys().items()}
        inside = f"{place}." if place else ""
        return {attributes.get(key) or key: self.value(entry, f"{inside}{key}") for key, entry in entries.items()}


# --- numbers -------------------------------------------------------------------------------------------------


def _digits(value: int, place: str) -> str:
    if value.bit_length() > _MOST_BITS:
        raise ModelFileError(f"{place} is a whole number of more than {_MOST_BITS} bits.")
    return str(value)


def _read_int(reader: Reader, digits: Any, place: str, node: Any) -> int:
    if not isinstance(digits, str) or not re.fullmatch(r"-?[0-9]{1,1300}", digits):
        raise Mismatch(f"{place} is not a whole number")
    return int(digits)


def _read_float(reader: Reader, word: Any, place: str, node: Any) -> float:
    if word not in ("inf", "-inf", "nan"):
        raise Mismatch(f"{place} is not inf, -inf or nan")
    return float(word)


def _scalar_node(value: np.generic, place: str) -> dict[str, Any]:
    if value.dtype.name not in DTYPES:
        raise ModelFileError(f"{place} is a scalar of {value.dtype}, which a model file cannot hold.")
    plain = value.item()
    if isinstance(plain, float) and not math.isfinite(plain):
        return {"scalar": [value.dtype.name, {"float": repr(plain)}]}
    if isinstance(plain, int) and abs(plain) > EXACT:
        return {"scalar": [value.dtype.name, {"int": str(plain)}]}
    return {"scalar": [value.dtype.name, plain]}


def _read_scalar(reader: Reader, parts: Any, place: str, node: Any) -> Any:
    name, plain = _list(parts, 2, place)
    plain = reader.value(plain, place)
    if name not in DTYPES or type(plain) not in (bool, int, float):
        raise Mismatch(f"{place} is not a scalar")
    value = np.asarray(plain).astype(name)[()]
    if not (value == plain or (value != value and plain != plain)):  # NaN is not equal to itself
        raise Mismatch(f"{place} does not fit into {name}")
    return value


# --- lists, dictionaries and slices --------------------------------------------------------------------------


def _read_dict(reader: Reader, entries: Any, place: str, node: Any) -> dict[str, Any]:
    if not isinstance(entries, dict):
        raise Mismatch(f"{place} is not a dictionary")
    return {key: reader.value(entry, f"{place}.{key}") for key, entry in entries.items()}


def _read_items(reader: Reader, entries: Any, place: str, node: Any) -> dict[Any, Any]:
    if not isinstance(entries, list):
        raise Mismatch(f"{place} is not a list of keys and values")
    found = {}
    for entry in entries:
        key, value = _list(entry, 2, place)
        key = reader.value(key, place)
        if not isinstance(key, _KEYS):
            raise Mismatch(f"{place} has a key that is not text, a number, a boolean or null")
        if key in found:
            raise Mismatch(f"{place} has the key {key!r} twice")
        found[key] = reader.value(value, f"{place}.{key}")
    return found


def _read_slice(reader: Reader, parts: Any, place: str, node: Any) -> slice:
    parts = _list(parts, 3, place)
    if not all(part is None or type(part) is int for part in parts) or parts[2] == 0:
        raise Mismatch(f"{place} is not a slice")
    return slice(*parts)


def _list(node: Any, length: int | None, place: str) -> list[Any]:
    if not isinstance(node, list) or (length is not None and len(node) != length):
        raise Mismatch(f"{place} is not a list{'' if length is None else f' of {length} values'}")
    return node


def _shape(node: Any, place: str) -> tuple[int, ...]:
    # No memory holds an axis of 2⁴⁸ entries, and sums of such sizes stay within 64 bits.
    if not isinstance(node, list) or not all(type(length) is int and 0 <= length < 2**48 for length in node):
        raise Mismatch(f"{place} has no valid shape")
    return tuple(node)


# --- random generators ---------------------------------------------------------------------------------------


def _random_node(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            words, position = state["state"]["key"], state["state"]["pos"]
            return {"RandomState": [words.tolist(), int(position), int(state["has_gauss"]), float(state["gauss"])]}
    else:
        state = value.bit_generator.state
        if state["bit_generator"] in _BIT_GENERATORS:
            inner = [str(state["state"]["state"]), str(state["state"]["inc"])]
            return {"Generator": [state["bit_generator"], *inner, int(state["has_uint32"]), int(state["uinteger"])]}
    raise ModelFileError(
        f"{place} is a random generator of the kind {state['bit_generator']}. A model file holds those of RandomState "
        f"(MT19937) and {' and '.join(_BIT_GENERATORS)}. Give a whole number as seed instead."
    )


def _read_random_state(reader: Reader, parts: Any, place: str, node: Any) -> np.random.RandomState:
    words, position, has_gauss, gauss = _list(parts, 4, place)
    words = _list(words, _TWISTER_WORDS, place)
    if not all(type(w) is int and 0 <= w < 2**32 for w in words) or position not in range(_TWISTER_WORDS + 1):
        raise Mismatch(f"{place} is not the state of a random generator")
    if has_gauss not in (0, 1) or type(gauss) is not float:
        raise Mismatch(f"{place} is not the state of a random generator")
    state = np.random.RandomState()
    state.set_state(("MT19937", np.array(words, np.uint32), int(position), int(has_gauss), gauss))
    return state


def _read_generator(reader: Reader, parts: Any, place: str, node: Any) -> np.random.Generator:
    kind, state, inc, has_half, half = _list(parts, 5, place)
    numbers = [_read_int(reader, part, place, node) for part in (state, inc)]
    if kind not in _BIT_GENERATORS or not all(0 <= part < 2**128 for part in numbers):
        raise Mismatch(f"{place} is not the state of a random generator")
    if has_half not in (0, 1) or type(half) is not int or not 0 <= half < 2**32:
        raise Mismatch(f"{place} is not the state of a random generator")
    bits = _BIT_GENERATORS[kind]()
    inner = {"state": numbers[0], "inc": numbers[1]}
    bits.state = {"bit_generator": kind, "state": inner, "has_uint32": int(has_half), "uinteger": half}
    return np.random.Generator(bits)


# --- arrays --------------------------------------------------------------------------------------------------


def _address(array: np.ndarray) -> tuple[Any, ...]:
    """Where an array lies in memory, and how it is read there."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _refuse_wild_indexes(
    stored: int, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...], place: str
) -> None:
    """Compiled code reads wherever these numbers point, so each must point into the matrix."""
    good = len(indptr) == shape[0] + 1 and len(indices) == stored
    good = good and indptr[0] == 0 and indptr[-1] == stored and bool(np.all(indptr[1:] >= indptr[:-1]))
    if not good or (stored and not (int(indices.min()) >= 0 and int(indices.max()) < shape[1])):
        raise Mismatch(f"{place} is a CSR matrix whose indexes point outside of it")


# What a tag reads: (reader, what stands under the tag, place, the whole node)
_READ: dict[str, Callable[[Reader, Any, str, dict[str, Any]], Any]] = {
    "int": _read_int,
    "float": _read_float,
    "scalar": _read_scalar,
    "tuple": lambda reader, nodes, place, node: tuple(reader.value(_list(nodes, None, place), place)),
    "dict": _read_dict,
    "items": _read_items,
    "slice": _read_slice,
    "array": lambda reader, name, place, node: reader.array(name, place),
    "transposed": lambda reader, name, place, node: reader.array(name, place).T,
    "text": lambda reader, name, place, node: reader.text(name, place),
    "strings": lambda reader, name, place, node: reader.strings(name, node.get("shape"), place),
    "csr": lambda reader, parts, place, node: reader.csr(parts, place),
    "RandomState": _read_random_state,
    "Generator": _read_generator,
    "same": lambda reader, before, place, node: reader.same(before, place),
    "object": lambda reader, name, place, node: reader.object(name, place, node),
}
