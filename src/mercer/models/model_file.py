"""Writing and reading model files. Nothing in a file is ever run: no pickle, and no name in a file is imported.

    save_model(estimator, path, notes)      read_model(path, find) -> (estimator, notes)

A file is a safetensors container (`container`) of the model's arrays. Its metadata holds one JSON document with the
parameters and the fitted state (`values`), as the declaration in each class describes them (`fields`). Saving needs no
list of classes: an object brings its declaration along. Reading does, and `registry` has that list, above all classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer.exceptions import ModelFileError
from mercer.models.container import most_named_bytes, one_line, read_container, write_container
from mercer.models.fields import Declaration, Mismatch, declaration_of
from mercer.models.sklearn_classes import ESTIMATOR_NAMES, sklearn_declaration
from mercer.models.values import Reader, Writer

FORMAT = 1


def save_model(estimator: Any, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
    """Write an estimator of Mercer, fitted or not, to a file that `mercer.load` reads.

    notes : plain values to keep beside it

    ModelFileError is raised before anything is written if the model holds functions, or objects of other libraries. An
    existing file is replaced only when the new one is complete. Arrays are written without a copy.

    `path` is the file that is written.

    >>> from mercer.models import load_model
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import PCA
    >>> with TemporaryDirectory() as folder:
    ...     save_model(PCA(2), f"{folder}/m.mercer", {"made": "today"})
    ...     model, notes = load_model(f"{folder}/m.mercer")
    >>> model.n_components, notes
    (2, {'made': 'today'})
    """
    declaration = declaration_of(estimator)
    if declaration is None or not declaration.root:
        raise ModelFileError(f"save_model was given {_refusal(estimator)}")
    writer = Writer(_declared)
    try:
        model = writer.node(estimator, "")
        kept = {key: writer.node(value, f"notes.{key}") for key, value in _checked_notes(notes or {}).items()}
    except RecursionError as error:
        raise ModelFileError("The parameters or the notes contain themselves, or are nested too deeply.") from error
    if writer.named_bytes > most_named_bytes(writer.tensors):
        raise ModelFileError("The parameters or the notes hold the same arrays too often; give copies of them.")
    document = {"format": FORMAT, "mercer": _version("mercer"), "model": model, "notes": kept}
    if any(name.startswith("sklearn.") for name in writer.classes):
        document["sklearn"] = _version("sklearn")  # to name, should a later release not understand its own state
    write_container(path, writer.tensors, document)


def read_model(path: str | os.PathLike[str], find: Callable[[Any], Declaration]) -> tuple[Any, dict[str, Any]]:
    """The estimator of a file and its notes.

    find : the declaration for a name in the file; it raises Mismatch for a name that is not on its list

    ModelFileError is raised if this is not a model file, if it was cut or altered, or if it asks for a class that is
    not on the list; OSError if it cannot be opened.
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
        return _decoded(tensors, document, find)
    except Exception as error:  # whatever the contents of a file lead to, the file is at fault
        said = one_line(error)
        raise ModelFileError(f"{Path(path)} does not hold a valid model{_origin(document)}: {said}.") from error


def _decoded(
    tensors: dict[str, Any], document: dict[str, Any], find: Callable[[Any], Declaration]
) -> tuple[Any, dict[str, Any]]:
    reader = Reader(tensors, find)
    model = document.get("model")
    name = model.get("object") if isinstance(model, dict) else None
    if not find(name).root:
        raise Mismatch(f"{str(name)[:60]!r} is not an estimator")
    estimator = reader.value(model, "")
    notes = document.get("notes")
    if not isinstance(notes, dict):
        raise Mismatch("its notes are not an object")
    found = {key: reader.value(node, f"notes.{key}") for key, node in notes.items()}
    if unused := set(tensors) - reader.used:
        raise Mismatch(f"nothing uses its array {min(unused)[:60]!r}")
    return estimator, found


def _checked_notes(notes: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(notes, dict) or not all(isinstance(key, str) for key in notes):
        raise ModelFileError("Notes must be a dictionary whose keys are text.")
    return notes


def _declared(value: Any, place: str) -> Declaration:
    found = declaration_of(value) or sklearn_declaration(value)
    if found is None:
        raise ModelFileError(f"{place} is {_refusal(value, place)}")
    return found


def _refusal(value: Any, place: str = "") -> str:
    """The end of the sentence that refuses an object of an unknown class."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    inner = getattr(value, "function", value)
    if callable(inner) and not hasattr(inner, "get_params"):
        name = getattr(inner, "__name__", type(inner).__name__)
        if place.startswith("callbacks"):
            return f"a function ({name}). A model file holds data, never code: set_params(callbacks=None) first."
        return (
            f"a function ({name}). A model file holds data, never code. Use a kernel of mercer.kernels or the name of "
            "a metric, or set it to None, and fit again; or save the matrix that it gives, and fit to that."
        )
    if hasattr(value, "fit"):
        return (
            f"an estimator of the class {kind}, which a model file cannot hold. Besides Mercer's own it holds "
            f"scikit-learn's {', '.join(ESTIMATOR_NAMES)}. For another linear method save its features alone, "
            "`model.map_.save(path)`, and fit the method to `map_.transform(X)` after loading them."
        )
    return f"an object of {kind}. A model file holds plain values, arrays and Mercer's own classes."


def _origin(document: dict[str, Any]) -> str:
    """The versions of packages that wrote a file, as far as they differ from those that read it."""
    wrote, read = [], []
    for key, name in (("mercer", "Mercer"), ("sklearn", "scikit-learn")):
        if key in document and document[key] != _version(key):
            wrote.append(f"{name} {str(document[key])[:20]}")
            read.append(f"{name} {_version(key)}")
    return f" (written by {' and '.join(wrote)}, this is {' and '.join(read)})" if wrote else ""


def _version(package: str) -> str:
    return import_module(package).__version__  # by name: importing mercer from here would close a circle
