"""Model files: an estimator as data. Nothing in a file is ever run: no pickle, and no name of the file's is imported.

    save_model(estimator, path, notes)      load_model(path) -> (estimator, notes)

A file is a safetensors container (`models_container`). Its arrays are those of the model; its metadata holds one JSON
document with the parameters and the fitted state (`models_encode`), each held to the table of classes that a file may
name (`models_classes`).
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer.models.container import ModelFileError, most_used, one_line, read_container, write_container
from mercer.models.decode import Decoder
from mercer.models.encode import Encoder
from mercer.models.registry import ENTRIES, describe, find_entry

__all__ = ["FORMAT", "ModelFileError", "load_model", "save_model"]

FORMAT = 1


def save_model(estimator: Any, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
    """Write an estimator of Mercer's, fitted or not, to a file that `load_model` reads.

    notes : plain values to keep beside it
    Raises ModelFileError, before anything is written, where the model holds functions or objects that are not Mercer's.
    The old file is kept until the new one is whole. Memory: arrays are written as they lie, without a copy.
    """
    found = find_entry(estimator)
    if found is None or not found[1].public:
        raise ModelFileError(f"What is to be saved is {describe(estimator)}")
    encoder = Encoder()
    try:
        model = encoder.node(estimator, "")
        kept = {key: encoder.node(value, f"notes.{key}") for key, value in _named(notes or {}).items()}
    except RecursionError as error:
        raise ModelFileError("The parameters or the notes contain themselves, or are nested without end.") from error
    if encoder.named > most_used(encoder.tensors):
        raise ModelFileError("The parameters or the notes hold the same arrays too often; give copies of them.")
    document = {"format": FORMAT, "mercer": _version(), "model": model, "notes": kept}
    write_container(path, encoder.tensors, document)


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator of a file and the notes beside it.

    Raises ModelFileError where the file is none of Mercer's, was cut or altered, or asks for anything that is not in
    the table of classes; OSError where it cannot be opened.
    """
    tensors, document, fault = read_container(path)
    writer = str(document.get("mercer"))[:20]
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{Path(path)} does not say which format it has.")
    if version > FORMAT:
        raise ModelFileError(
            f"{Path(path)} was written by a newer Mercer (format {version}, Mercer {writer}): upgrade to load it."
        )
    if fault:
        raise ModelFileError(f"{Path(path)} was altered or damaged: {fault}.")
    try:
        return _decoded(tensors, document)
    except Exception as error:  # whatever the parts of a file lead to, the file is at fault
        hint = "" if writer == _version() else f" (written by Mercer {writer}, this is {_version()})"
        raise ModelFileError(f"{Path(path)} holds no model that can be loaded{hint}: {one_line(error)}.") from error


def _decoded(tensors: dict[str, Any], document: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    decoder = Decoder(tensors)
    model = document.get("model")
    name = model.get("object") if isinstance(model, dict) else None
    if not isinstance(name, str) or name not in ENTRIES or not ENTRIES[name].public:
        raise ModelFileError(f"{str(name)[:60]!r} is no estimator that this Mercer knows")
    estimator = decoder.value(model, "")
    notes = document.get("notes")
    if not isinstance(notes, dict):
        raise ModelFileError("its notes are none")
    found = {key: decoder.value(node, f"notes.{key}") for key, node in notes.items()}
    if unused := set(tensors) - decoder.used:
        raise ModelFileError(f"nothing uses its array {min(unused)[:60]!r}")
    return estimator, found


def _named(notes: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(notes, dict) or not all(isinstance(key, str) for key in notes):
        raise ModelFileError("Notes are a dictionary whose keys are text.")
    return notes


def _version() -> str:
    return import_module("mercer").__version__
