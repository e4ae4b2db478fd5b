"""Cases of kind "quality": how often faces are told from other patches and from one another, by examples/eigenfaces.py.

Every number comes from pictures that were held out; components, kernel and width were chosen within the rest.
"""

from __future__ import annotations

import runpy
import statistics
from typing import Any

from benchmarks.cases import Case, Competitor
from benchmarks.data import ROOT

MEASURES = {
    "faces-pixels": "area under the curve",
    "faces-light": "area under the curve",
    "faces-people": "right by the nearest neighbour",
}


def run_case(case: Case, repeats: int) -> dict[str, Any]:
    """The figures of a case: a row a method, over as many random divisions into folds as there are repeats."""
    return {
        "group": case.group,
        "settings": case.settings,
        "n": case.n,
        "d": case.d,
        "tol": None,
        "rows": [_row(case, one, repeats) for one in case.competitors],
    }


def _row(case: Case, one: Competitor, repeats: int) -> dict[str, Any]:
    row = {"competitor": one.name, "library": one.library}
    if not (ROOT / "data" / "lfw_subset.npy").exists() or not (ROOT / "data" / "orl_faces.npy").exists():
        return {**row, "error": "no faces: python scripts/fetch_data.py faces"}
    example = runpy.run_path(str(ROOT / "examples" / "eigenfaces.py"))
    if one.params["quick"]:
        example["choose_from_fewer"]()
    found = [statistics.fmean(_folds(example, case.id, one.what, seed)) for seed in range(repeats)]
    return {
        **row,
        "measure": MEASURES[case.id],
        "value": statistics.fmean(found),
        "least": min(found),
        "greatest": max(found),
        "measurements": len(found),
    }


def _folds(example: dict[str, Any], case: str, name: str, seed: int) -> list[float]:
    """The measure in each of five folds."""
    if case == "faces-people":
        faces, who, _ = example["load_people"]()
        return example["recognition"](name, faces, who, seed)
    patches, is_face = example["load_patches"]()
    images = patches if case == "faces-pixels" else example["even_light"](patches)
    return example["detection"](name, images, is_face, seed)[0]
