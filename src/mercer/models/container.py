"""The container of a model file: named arrays and one JSON document, in the safetensors format, with a checksum.

A file is checked before it is trusted: it must be a plain file, safetensors compares its header with its length before
anything is allocated, and the size and the depth of the document are bounded before it is parsed. A new file is written
beside the old one, which is replaced once everything is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np

from mercer.atomic_write import replacing
from mercer.exceptions import ModelFileError
from mercer.memory import available_bytes, format_bytes

DEPTH = 200  # most levels of lists and objects in the document: Python's parser recurses
DOCUMENT = 16_000_000  # most bytes of the document: parsing takes about ten times as much memory
ARRAYS = 100_000  # most arrays in a file: each takes some hundred bytes even when it is empty
SAFETENSORS_DTYPES = {  # what safetensors calls them, and what NumPy does
    "BOOL": "bool",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}
DTYPES = tuple(SAFETENSORS_DTYPES.values())


def most_named_bytes(tensors: dict[str, np.ndarray]) -> int:
    """How many bytes of arrays the document may name, counting every use, since every use is checked again."""
    # No fitted model uses an array more than a few times; and small files may, since 64 MB are checked in no time.
    return max(2**26, 64 * sum(array.nbytes for array in tensors.values()))


def write_container(path: str | os.PathLike[str], tensors: dict[str, np.ndarray], document: dict[str, Any]) -> None:
    """Write arrays, C-contiguous and little-endian, and the document; an old file stays until the new one is there."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    _refuse_deep(text)
    if len(tensors) > ARRAYS:
        raise ModelFileError(f"This model has {len(tensors)} arrays, more than the {ARRAYS} that a file holds.")
    if len(text) > DOCUMENT:
        raise ModelFileError(
            f"The parameters and the notes of this model take {format_bytes(len(text))} of text. A model file has room "
            f"for {format_bytes(DOCUMENT)}; give long lists as NumPy arrays."
        )
    metadata = {"mercer": text, "sha256": digest(text, tensors)}
    with replacing(path) as temporary:
        write_safetensors(temporary, tensors, metadata)


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write the format: the length of the header, the header, the arrays.

    The writer of the safetensors library puts the metadata in an order that changes from file to file. Here the same
    model is the same bytes. As in the library, wide types come first, so that every array is aligned.
    """
    codes = {name: code for code, name in SAFETENSORS_DTYPES.items()}
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        array = tensors[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": codes[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(tensors[name].reshape(-1).view(np.uint8).data)


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """The arrays, the document, and the verdict of the checksum: "" or a sentence that says what is wrong.

    The caller should look at the document's version first: a newer format may compute the checksum in another way.
    """
    from safetensors import safe_open

    path = Path(path)
    _refuse_no_file(path)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            text, given = metadata.get("mercer"), metadata.get("sha256", "")
            if text is None:
                raise ModelFileError(f"{path} is a safetensors file, but not one of Mercer's: it mentions no model.")
            document = _parsed(text, path)
            names = sorted(file.keys())
            if len(names) > ARRAYS:
                raise ModelFileError(f"{path} has {len(names)} arrays; a model has at most {ARRAYS}.")
            tensors = {name: _tensor(file, name) for name in names}
    except (ModelFileError, OSError):
        raise
    except Exception as error:  # of safetensors, or of NumPy for an array that cannot be
        raise ModelFileError(f"{path} is not a model file, or it was cut short: {one_line(error)}.") from error
    return tensors, document, "" if digest(text, tensors) == given else "its checksum does not match its contents"


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse_document(text)
    except ModelFileError as error:
        raise ModelFileError(f"{path} is not a model file: {one_line(error)}.") from error


def digest(text: str, tensors: dict[str, np.ndarray]) -> str:
    """sha256 of the document, then of each array in the order of the names: name, dtype, shape, bytes."""
    sha = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(f"\n{name} {array.dtype.name} {list(array.shape)}\n".encode("utf-8", "surrogatepass"))
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def parse_document(text: str) -> dict[str, Any]:
    """The JSON document, with bounded depth and without repeated keys, NaN or infinity."""
    if len(text) > DOCUMENT:
        raise ModelFileError(f"The document of this file is longer than {format_bytes(DOCUMENT)}.")
    _refuse_deep(text)
    try:
        document = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The document of this file is not JSON: {one_line(error)}.") from error
    if not isinstance(document, dict):
        raise ModelFileError("The document of this file is not a JSON object.")
    return document


def one_line(error: BaseException | str) -> str:
    """The message of an error as part of a sentence: one line of at most 300 characters without a full stop."""
    said = " ".join(str(error).split()) or type(error).__name__
    return (said if len(said) <= 300 else said[:299] + "…").rstrip(".")


def _tensor(file: Any, name: str) -> np.ndarray:
    found = file.get_slice(name).get_dtype()
    if found not in SAFETENSORS_DTYPES:
        raise ModelFileError(f"The array {name[:80]!r} has the type {found}, which model files do not use.")
    array = file.get_tensor(name)
    if array.dtype != SAFETENSORS_DTYPES[found]:
        raise ModelFileError(f"The array {name[:80]!r} was read as {array.dtype}, not as {SAFETENSORS_DTYPES[found]}.")
    return array if array.flags.writeable else array.copy()


def _refuse_no_file(path: Path) -> None:
    """Raise OSError if there is no file, ModelFileError if it is not a plain file or would not fit into memory."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path} is not a plain file.")
    if status.st_size > available_bytes():
        raise ModelFileError(
            f"{path} has {format_bytes(status.st_size)}, but only {format_bytes(available_bytes())} of memory is free. "
            "Nothing was read."
        )
    with path.open("rb") as file:
        start = file.read(9)
    if len(start) == 9 and start[8:9] != b"{":
        what = "a pickle, which Mercer never loads" if start[:1] == b"\x80" else "something else"
        raise ModelFileError(f"{path} is not a model file: it looks like {what}.")


# Possessive quantifiers, so that a hostile document cannot make the expression backtrack.
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)


def _refuse_deep(text: str) -> None:
    depth = 0
    for token in _BRACKETS.finditer(text):
        if (sign := text[token.start()]) != '"':
            depth += 1 if sign in "[{" else -1
            if depth > DEPTH:
                raise ModelFileError(f"The document is nested more than {DEPTH} levels deep.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
