"""The recommended number of neighbours, and the reason in words."""

from __future__ import annotations

import numpy as np

from mercer.selection.neighbors_result import NeighborsDiagnosis

# A residual variance counts as close to the least if it is at most CLOSE[0] times the least plus CLOSE[1]. A quarter
# more is about the noise of 200 landmarks.
CLOSE = 1.25, 0.001
JUMP = 3  # a residual variance this many times that of the chosen number is a sign of shortcuts
POOR = 0.05  # from this residual variance on the map misses much of the distances, and the reason says so


def choose(found: NeighborsDiagnosis) -> tuple[int, str]:
    """The recommended number and the reason: one of the sound ones if there are any, otherwise the lesser evil."""
    return _sound(found) if found.sound.any() else _lesser_evil(found)


def _sound(found: NeighborsDiagnosis) -> tuple[int, str]:
    places = np.flatnonzero(found.sound)
    variance = found.residual_variance[places]
    best = places[variance.argmin()]
    place = places[variance <= CLOSE[0] * variance.min() + CLOSE[1]][0]
    k, text = found.n_neighbors[place], f"{found.residual_variance[place]:.2g}"
    least = (
        "the least" if place == best else f"close to the least ({variance.min():.2g} with {found.n_neighbors[best]})"
    )
    reason = (
        f"With {k} neighbours the graph is in one piece, no edge looks like a shortcut, and the residual variance of "
        f"{_coordinates(found)} is {text}, {least} of such graphs."
    )
    return int(k), reason + _later(found, place) + (_jump(found, place) or _poor(found, place))


def _jump(found: NeighborsDiagnosis, place: int) -> str:
    """A sentence if the map gets much worse with more neighbours though no edge stands out: noise hides shortcuts."""
    variance = found.residual_variance
    after = [at for at in range(place + 1, len(variance)) if found.sound[at] and variance[at] > JUMP * variance[place]]
    after = [at for at in after if variance[at] > variance[place] + 0.02]  # of hardly any variance, no share is much
    if not after:
        return ""
    return (
        f" With {found.n_neighbors[after[0]]} it is {variance[after[0]]:.2g}, though no single edge stands out "
        "there: very likely there are shortcuts that cannot be told from the noise."
    )


def _later(found: NeighborsDiagnosis, place: int) -> str:
    """A sentence about the first larger number of neighbours that has shortcuts."""
    short = np.flatnonzero(found.n_shortcuts)
    short = short[short > place]
    if not len(short):
        return ""
    at = short[0]
    return (
        f" From {found.n_neighbors[at]} neighbours on, {_number(found.n_shortcuts[at])}: "
        f"{found.share[at]:.1%} of all distance runs over such edges there, and {found.share[-1]:.1%} with "
        f"{found.n_neighbors[-1]}."
    )


def _poor(found: NeighborsDiagnosis, place: int) -> str:
    if found.residual_variance[place] < POOR:
        return ""
    return (
        f" A map of {_coordinates(found)} does not keep these distances well: the data may have more dimensions, or "
        "too much noise to recognise shortcuts."
    )


def _lesser_evil(found: NeighborsDiagnosis) -> tuple[int, str]:
    """If every graph falls apart or has shortcuts: the one with the smallest share of rows and distances affected."""
    outside = 1 - np.array([sizes[0] / sizes.sum() for sizes in found.sizes])
    place = int(np.argmin(outside + found.growth))
    whole = (found.components == 1).any()
    said = "No graph is both in one piece and without shortcuts" if whole else "No graph is in one piece"
    faults, remedies = [], []
    if found.components[place] > 1:
        sizes = found.sizes[place]
        faults.append(f"there are {found.components[place]} parts, the largest of {sizes[0]} of {sizes.sum()} rows")
        remedies += ["a radius" if whole else f"more than {found.n_neighbors[-1]} neighbours", "disconnected='largest'"]
        remedies.append("a map for each part if they are groups of their own")
    if found.n_shortcuts[place]:
        longer = f"without which distances are {found.growth[place]:.1%} longer"
        faults.append(f"{_number(found.n_shortcuts[place])}, {longer}")
        remedies += ["more data", "fewer outliers", "the graph without_shortcuts"]
    reason = f"{said}. {found.n_neighbors[place]} neighbours do the least harm: {', and '.join(faults)}."
    return int(found.n_neighbors[place]), f"{reason} Try {', '.join(remedies[:-1])}, or {remedies[-1]}."


def _number(count: int) -> str:
    return "1 edge looks like a shortcut" if count == 1 else f"{count} edges look like shortcuts"


def _coordinates(found: NeighborsDiagnosis) -> str:
    return "1 coordinate" if found.n_components == 1 else f"{found.n_components} coordinates"
