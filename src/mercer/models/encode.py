"""Values as JSON and arrays, and back: what a model file can hold, and nothing else.

JSON's own values stand for themselves (whole numbers up to 2⁵³, finite floats, text, true, false, null, lists). All
else is an object with one key that says what it is:

    {"int": "36893488147419103232"}     {"float": "inf"}            {"scalar": ["float32", 0.5]}
    {"tuple": [...]}                    {"dict": {"name": ...}}     {"slice": [0, null, 2]}
    {"array": "state.mean_"}            {"transposed": "…"}         an array, or one whose transpose is stored
    {"text": "…"}                       {"strings": "…", "shape": [3]}   text of fixed width; Python's strings
    {"csr": {"data": …, "indices": …, "indptr": …, "shape": [m, n], "kind": "array"}}
    {"RandomState": […]}                {"Generator": […]}          the state of a random generator, as numbers
    {"object": "KernelPCA", "params": {…}, "state": {…}}            of a class in the table, `models_classes`
    {"same": "state._with_mean"}        the object that stands there

Arrays are named by their place; one that stands in two places is stored once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.models.checks import Scope, Wrong
from mercer.models.container import DTYPES, ModelFileError
from mercer.models.registry import SHARED, describe, find_entry

EXACT = 2**53  # whole numbers up to which every reader of JSON agrees
BIT_GENERATORS = ("PCG64", "PCG64DXSM")


class Encoder:
    """Turns values into nodes, and collects their arrays in `tensors`; what a file cannot hold is refused by place."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.named = 0  # bytes of the arrays, counted at every use
        self._places: dict[Any, str] = {}  # of arrays by where they lie in memory, of shared objects by identity
        self._alive: list[Any] = []  # so that no place in memory is used twice
        self._copies: dict[int, np.ndarray] = {}  # of tensors of other libraries
        self._open: set[int] = set()
        self.scope = Scope()

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
            return {"dict": {_key(key, place): self.node(entry, f"{place}.{key}") for key, entry in value.items()}}
        if kind is slice:
            return {"slice": [self.node(part, place) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.generic):
            return str(value) if isinstance(value, np.str_) else _scalar_node(value, place)
        if isinstance(value, (np.random.RandomState, np.random.Generator)):
            return _random_node(value, place)
        if sp.issparse(value):
            return self._csr(value, place)
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        return self._array(self._on_cpu(value), place) if _is_tensor(value) else self._object(value, place)

    def _on_cpu(self, value: Any) -> Any:
        """A tensor of another library as a NumPy array, the same one wherever it stands; others as they are."""
        if not _is_tensor(value):
            return value
        if id(value) not in self._copies:
            self._alive.append(value)
            self._copies[id(value)] = _copied(value)
        return self._copies[id(value)]

    def _array(self, array: np.ndarray, place: str) -> dict[str, Any]:
        if isinstance(array, np.ma.MaskedArray):
            raise ModelFileError(f"{place} is a masked array, whose mask a model file does not hold; fill it first.")
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
                f"{place} is an array of {array.dtype}, and a model file holds booleans, integers and floats of up to "
                "64 bits, and text; convert it first."
            )
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        return {"transposed" if turned else "array": self._tensor(array.T if turned else array, place)}

    def _tensor(self, array: np.ndarray, place: str) -> str:
        """The name under which an array is stored: bytes in C order, the lowest first."""
        key = _where(array)
        self.named += array.nbytes
        if array.size == 0 or key not in self._places:
            self._alive.append(array)
            self._places[key] = place = self._unused(place)
            plain = np.ascontiguousarray(array).reshape(array.shape)
            self.tensors[place] = plain.astype(array.dtype.newbyteorder("<"), copy=False)
        return self._places[key]

    def _unused(self, place: str) -> str:
        """A name for an array at a place, in ASCII: keys with dots may make one place of two."""
        name = place.encode("ascii", "backslashreplace").decode("ascii")
        while name in self.tensors or f"{name}.bytes" in self.tensors:
            name += "~"
        return name

    def _strings(self, array: np.ndarray, place: str) -> dict[str, Any]:
        values = array.reshape(-1).tolist()
        if not all(type(value) is str for value in values):
            other = next(type(value).__name__ for value in values if type(value) is not str)
            raise ModelFileError(f"{place} is an array of objects, of which a model file holds only text, not {other}.")
        key = ("strings", *_where(array))
        if array.size == 0 or key not in self._places:
            place = self._unused(place)
            parts = [value.encode("utf-8", "surrogatepass") for value in values]
            ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
            self.tensors[f"{place}.bytes"] = np.frombuffer(b"".join(parts), np.uint8)
            self.tensors[f"{place}.ends"] = ends
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
        found = find_entry(value)
        if found is None:
            raise ModelFileError(f"{place} is {describe(value, place)}")
        name, entry = found
        if id(value) in self._places:
            return {"same": self._places[id(value)]}
        if id(value) in self._open:
            raise ModelFileError(f"{place} contains itself.")
        self._open.add(id(value))
        params, state = ({key: self._on_cpu(v) for key, v in part.items()} for part in entry.take_apart(value))
        node: dict[str, Any] = {"object": name}
        inside = f"{place}." if place else ""
        for part, values in (("params", params), ("state", state)):
            if values or part == "params":
                node[part] = {key: self.node(entry_, f"{inside}{key}") for key, entry_ in values.items()}
        scope = Scope(known=self.scope.known)
        try:
            entry.check(params, state, scope)
        except Wrong as wrong:
            raise ModelFileError(
                f"This {type(value).__name__}{f' ({place})' if place else ''} cannot be saved: {wrong}. Fit it again, "
                "or delete what was added to it."
            ) from wrong
        self._open.discard(id(value))
        self._alive.append(value)
        self.scope.known[id(value)] = name, scope.sizes
        if name in SHARED:
            self._places[id(value)] = place
        return node


def _where(array: np.ndarray) -> tuple[Any, ...]:
    """Where an array lies in memory, and how it is read there."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _digits(value: int, place: str) -> str:
    if value.bit_length() > 4096:
        raise ModelFileError(f"{place} is a whole number of more than 4096 bits.")
    return str(value)


def _key(key: Any, place: str) -> str:
    if type(key) is not str:
        raise ModelFileError(f"{place} has the key {key!r}; in a model file keys are text.")
    return key


def _scalar_node(value: np.generic, place: str) -> dict[str, Any]:
    if value.dtype.name not in DTYPES:
        raise ModelFileError(f"{place} is a scalar of {value.dtype}, which a model file does not hold.")
    plain = value.item()
    if isinstance(plain, float) and not math.isfinite(plain):
        return {"scalar": [value.dtype.name, {"float": repr(plain)}]}
    if isinstance(plain, int) and abs(plain) > EXACT:
        return {"scalar": [value.dtype.name, {"int": str(plain)}]}
    return {"scalar": [value.dtype.name, plain]}


def _random_node(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            words, position = state["state"]["key"], state["state"]["pos"]
            return {"RandomState": [words.tolist(), int(position), int(state["has_gauss"]), float(state["gauss"])]}
    else:
        state = value.bit_generator.state
        if state["bit_generator"] in BIT_GENERATORS:
            inner = [str(state["state"]["state"]), str(state["state"]["inc"])]
            return {"Generator": [state["bit_generator"], *inner, int(state["has_uint32"]), int(state["uinteger"])]}
    raise ModelFileError(
        f"{place} is a random generator of the kind {state['bit_generator']}; a model file holds those of "
        f"RandomState (MT19937) and {' and '.join(BIT_GENERATORS)}. Give a whole number as seed instead."
    )


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic))


def _copied(tensor: Any) -> np.ndarray:
    for step in ("detach", "cpu"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.from_dlpack(tensor)
