"""The computation behind SNE, t-SNE and MDS: affinities or dissimilarities of pairs, the loss of a map, the descent.

A map Y of SNE or t-SNE minimises KL(P ‖ Q). Read the modules in this order:

    weighting        distances to the nearest neighbours become weights p_{j|i} (perplexity calibration)
    affinities       weights become the symmetric P, the only thing that the loss knows of the data
    similarity       w(d²), the similarity of two points of the map: Student's t or a Gaussian
    repulsion        the sums over all pairs, exact (`exact_repulsion`) or on a grid (`grid_repulsion`)
    grid_field       the field of a map on a grid of nodes, by splines and Fourier transforms
    short_range      the pairs so close together that a coarse grid cannot carry them
    loss             KL(P ‖ Q), its attraction and its gradient
    initialisation   where the points begin
    descent          steps with momentum and gains;  z_order keeps near points near in memory
    placement        new rows in a finished map

For maps that are tensors, on their device:

    tensor_grid_field    the field of such a map, and plans of it for many steps
    tensor_descent       these steps, without a word to the host

A map X of MDS minimises stress, Σ (δ − d(X))²:

    dissimilarities      δ of all pairs, kept, in place or computed in every pass
    monotone_regression  distances made to rise with δ, for non-metric scaling
    stress               its value and gradient
    landmark_start       where the points begin
    majorization         Guttman transforms, accelerated by the curvature of past steps
    trilateration        new rows in a finished map
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.embedding.affinities import Affinities
    from mercer.embedding.similarity import Gaussian, Similarity, Student
    from mercer.embedding.weighting import FixedWidth, Perplexity, Uniform, Weighting

__all__ = ["Affinities", "FixedWidth", "Gaussian", "Perplexity", "Similarity", "Student", "Uniform", "Weighting"]

_HOMES = {
    "Affinities": "affinities",
    "FixedWidth": "weighting",
    "Gaussian": "similarity",
    "Perplexity": "weighting",
    "Similarity": "similarity",
    "Student": "similarity",
    "Uniform": "weighting",
    "Weighting": "weighting",
}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
