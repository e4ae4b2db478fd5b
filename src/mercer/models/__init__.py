"""Model files: a fitted estimator as data.

`fields` is the vocabulary in which a class declares what it stores, and the checks that follow from it. `values` turns
values into JSON and arrays, and back. `container` reads and writes the file that holds them. `sklearn_classes`
describes estimators of scikit-learn inside a model. `model_file` puts these together, and `registry` lists the classes
that a file may name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.exceptions import ModelFileError
    from mercer.models.model_file import save_model
    from mercer.models.registry import load_model

__all__ = ["ModelFileError", "load_model", "save_model"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: every class imports `fields` from here, and few programs save models."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mercer.exceptions import ModelFileError
    from mercer.models.model_file import save_model
    from mercer.models.registry import load_model

    return {"ModelFileError": ModelFileError, "load_model": load_model, "save_model": save_model}[name]


def __dir__() -> list[str]:
    return sorted(__all__)
