"""Model files: a fitted estimator as data.

`fields` is the vocabulary in which a class declares what it stores, and the checks that follow from it. `values` turns
values into JSON and arrays, and back. `container` reads and writes the file that holds them. `sklearn_classes`
describes estimators of scikit-learn inside a model. `model_file` puts these together, and `registry` lists the classes
that a file may name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.exceptions import ModelFileError
    from mercer.models.model_file import save_model
    from mercer.models.registry import load_model

__all__ = ["ModelFileError", "load_model", "save_model"]

_HOMES = {"ModelFileError": "model_file", "load_model": "registry", "save_model": "model_file"}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
