"""Values of a model file, from its document and its arrays: the way back of `models_encode`.

Every node is held to its kind, every array's use to the array: nothing that a file says is believed. Indices that
compiled code will follow are looked at one by one.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.models.checks import Scope, Wrong
from mercer.models.container import DTYPES, most_used
from mercer.models.encode import BIT_GENERATORS, EXACT
from mercer.models.registry import SHARED, entry_of

_MT_WORDS = 624  # of the Mersenne twister's state


class Decoder:
    """Turns nodes into values again; `Wrong`, or what a class says of its arguments, where that cannot be."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self.tensors, self.used = tensors, set[str]()
        self.named, self.most = 0, most_used(tensors)  # bytes of the arrays, counted at every use
        self.scope = Scope()
        self._shared: dict[str, Any] = {}
        self._texts: dict[str, np.ndarray] = {}
        self._alive: list[Any] = []

    def value(self, node: Any, place: str) -> Any:
        if node is None or isinstance(node, (bool, str)):
            return node
        if isinstance(node, (int, float)):
            if isinstance(node, int) and abs(node) > EXACT:
                raise Wrong(f"{place} is a whole number that JSON does not keep")
            if not math.isfinite(node):
                raise Wrong(f"{place} is a number that no float can hold")
            return node
        if isinstance(node, list):
            return [self.value(entry, f"{place}.{i}") for i, entry in enumerate(node)]
        tag = next(iter(node), "")
        read = _READERS.get(tag)
        if read is None:
            raise Wrong(f"{place} is of a kind {tag[:40]!r} that this Mercer does not know")
        wanted = {"strings": {"strings", "shape"}, "object": {"object", "params", "state"}}.get(tag, {tag})
        if not set(node) <= wanted:
            raise Wrong(f"{place} says more than a {tag} should")
        return read(self, node, place)

    def _int(self, node: dict[str, Any], place: str) -> int:
        return _whole_of(node["int"], place)

    def _float(self, node: dict[str, Any], place: str) -> float:
        if node["float"] not in ("inf", "-inf", "nan"):
            raise Wrong(f"{place} is no float")
        return float(node["float"])

    def _scalar(self, node: dict[str, Any], place: str) -> Any:
        name, plain = _list_of(node["scalar"], 2, place)
        plain = self.value(plain, place)
        if name not in DTYPES or type(plain) not in (bool, int, float):
            raise Wrong(f"{place} is no scalar")
        value = np.asarray(plain).astype(name)[()]
        if not (value == plain or (value != value and plain != plain)):
            raise Wrong(f"{place} does not fit into {name}")
        return value

    def _tuple(self, node: dict[str, Any], place: str) -> tuple[Any, ...]:
        return tuple(self.value(_list_of(node["tuple"], None, place), place))

    def _dict(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        if not isinstance(node["dict"], dict):
            raise Wrong(f"{place} is no dictionary")
        return {key: self.value(entry, f"{place}.{key}") for key, entry in node["dict"].items()}

    def _slice(self, node: dict[str, Any], place: str) -> slice:
        parts = _list_of(node["slice"], 3, place)
        if not all(part is None or type(part) is int for part in parts) or parts[2] == 0:
            raise Wrong(f"{place} is no slice")
        return slice(*parts)

    def _array(self, node: dict[str, Any], place: str) -> np.ndarray:
        return self._tensor(node["array"], place)

    def _transposed(self, node: dict[str, Any], place: str) -> np.ndarray:
        return self._tensor(node["transposed"], place).T

    def _tensor(self, name: Any, place: str) -> np.ndarray:
        if not isinstance(name, str) or name not in self.tensors:
            raise Wrong(f"{place} names an array that is not in the file")
        self.used.add(name)
        self.named += self.tensors[name].nbytes
        if self.named > self.most:
            raise Wrong(f"{place} is one of too many uses of the same arrays")
        return self.tensors[name]

    def _text(self, node: dict[str, Any], place: str) -> np.ndarray:
        codes = self._tensor(node["text"], place)
        if codes.dtype != np.uint32 or codes.ndim < 1 or (codes.size and codes.max() > 0x10FFFF):
            raise Wrong(f"{place} is no text")
        if not codes.shape[-1]:
            return np.empty(codes.shape[:-1], "<U1")
        return np.ascontiguousarray(codes).reshape(-1).view(f"=U{codes.shape[-1]}").reshape(codes.shape[:-1])

    def _strings(self, node: dict[str, Any], place: str) -> np.ndarray:
        name = str(node["strings"])
        if name not in self._texts:
            data, ends = (self._tensor(f"{node['strings']}.{part}", place) for part in ("bytes", "ends"))
            if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
                raise Wrong(f"{place} is no list of strings")
            bounds = np.concatenate([[0], ends])
            if bounds[-1] != len(data) or np.any(bounds[1:] < bounds[:-1]):
                raise Wrong(f"{place} has strings that end beyond the last")
            raw = data.tobytes()
            values = [raw[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(bounds.tolist())]
            array = np.empty(len(values), object)
            array[:] = values
            self._texts[name] = array.reshape(_shape_of(node.get("shape"), place))
        return self._texts[name]

    def _csr(self, node: dict[str, Any], place: str) -> Any:
        parts = node["csr"]
        if not isinstance(parts, dict) or set(parts) != {"data", "indices", "indptr", "shape", "kind"}:
            raise Wrong(f"{place} is no CSR matrix")
        data, indices, indptr = (self.value(parts[key], f"{place}.{key}") for key in ("data", "indices", "indptr"))
        for array, kinds in ((data, "fiub"), (indices, "i"), (indptr, "i")):
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
                raise Wrong(f"{place} is no CSR matrix")
        shape = _shape_of(parts["shape"], place)
        if len(shape) != 2 or {indices.dtype.name, indptr.dtype.name} - {"int32", "int64"}:
            raise Wrong(f"{place} is no CSR matrix")
        _refuse_bad_indices(len(data), indices, indptr, shape, place)
        make = sp.csr_array if parts["kind"] == "array" else sp.csr_matrix
        matrix = make((data, indices, indptr), shape=shape)
        matrix.indices, matrix.indptr = indices, indptr  # SciPy may have made them narrower
        return matrix

    def _random_state(self, node: dict[str, Any], place: str) -> np.random.RandomState:
        words, position, has_gauss, gauss = _list_of(node["RandomState"], 4, place)
        words = _list_of(words, _MT_WORDS, place)
        if not all(type(w) is int and 0 <= w < 2**32 for w in words) or position not in range(_MT_WORDS + 1):
            raise Wrong(f"{place} is no state of a random generator")
        if has_gauss not in (0, 1) or type(gauss) is not float:
            raise Wrong(f"{place} is no state of a random generator")
        state = np.random.RandomState()
        state.set_state(("MT19937", np.array(words, np.uint32), int(position), int(has_gauss), gauss))
        return state

    def _generator(self, node: dict[str, Any], place: str) -> np.random.Generator:
        kind, state, inc, has, rest = _list_of(node["Generator"], 5, place)
        numbers = [_whole_of(part, place) for part in (state, inc)]
        if kind not in BIT_GENERATORS or not all(0 <= part < 2**128 for part in numbers):
            raise Wrong(f"{place} is no state of a random generator")
        if has not in (0, 1) or type(rest) is not int or not 0 <= rest < 2**32:
            raise Wrong(f"{place} is no state of a random generator")
        generator = np.random.Generator({"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}[kind]())
        inner = {"state": numbers[0], "inc": numbers[1]}
        generator.bit_generator.state = {
            "bit_generator": kind,
            "state": inner,
            "has_uint32": int(has),
            "uinteger": rest,
        }
        return generator

    def _same(self, node: dict[str, Any], place: str) -> Any:
        if not isinstance(node["same"], str) or node["same"] not in self._shared:
            raise Wrong(f"{place} is said to be an object that is not there")
        return self._shared[node["same"]]

    def _object(self, node: dict[str, Any], place: str) -> Any:
        name = node["object"]
        entry, parts = entry_of(name), []
        for part in ("params", "state"):
            values = node.get(part, {})
            if not isinstance(values, dict):
                raise Wrong(f"{place} has {part} that are none")
            inside = f"{place}." if place else ""
            parts.append({key: self.value(entry_, f"{inside}{key}") for key, entry_ in values.items()})
        scope = Scope(known=self.scope.known)
        try:
            entry.check(parts[0], parts[1], scope)
            value = entry.put_together(parts[0], parts[1])
        except Wrong as wrong:
            raise Wrong(f"{f'{place}, ' if place else ''}{name}: {wrong}") from wrong
        self._alive.append(value)
        self.scope.known[id(value)] = name, scope.sizes
        if name in SHARED:
            self._shared[place] = value
        return value


_READERS = {
    "int": Decoder._int,
    "float": Decoder._float,
    "scalar": Decoder._scalar,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "slice": Decoder._slice,
    "array": Decoder._array,
    "transposed": Decoder._transposed,
    "text": Decoder._text,
    "strings": Decoder._strings,
    "csr": Decoder._csr,
    "RandomState": Decoder._random_state,
    "Generator": Decoder._generator,
    "same": Decoder._same,
    "object": Decoder._object,
}


def _refuse_bad_indices(
    stored: int, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...], place: str
) -> None:
    """Compiled code reads wherever these numbers point: they must point into the matrix."""
    good = len(indptr) == shape[0] + 1 and len(indices) == stored
    good = good and indptr[0] == 0 and indptr[-1] == stored and bool(np.all(indptr[1:] >= indptr[:-1]))
    if not good or (stored and not (int(indices.min()) >= 0 and int(indices.max()) < shape[1])):
        raise Wrong(f"{place} is a CSR matrix whose indices point outside of it")


def _list_of(node: Any, length: int | None, place: str) -> list[Any]:
    if not isinstance(node, list) or (length is not None and len(node) != length):
        raise Wrong(f"{place} is no list of {length} values")
    return node


def _shape_of(node: Any, place: str) -> tuple[int, ...]:
    if not isinstance(node, list) or not all(type(length) is int and 0 <= length < 2**48 for length in node):
        raise Wrong(f"{place} has no shape")
    return tuple(node)


def _whole_of(digits: Any, place: str) -> int:
    if not isinstance(digits, str) or not re.fullmatch(r"-?[0-9]{1,1300}", digits):
        raise Wrong(f"{place} is no whole number")
    return int(digits)
