"""Discriminants from the sums over rows that are not in memory.

The features of a row beside the indicator of its class have FᵀF, Σ f over each class, and the number of its rows among
their products: all of S_T and S_B. What leaving a row out changes needs the row itself, so rows of the sample that
landmarks come from are left out in turn, each from the scatter of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.random_state import generator_from
from mercer.spectral.discriminant import Discriminants, DiscriminantSettings, refuse_constant, within_span
from mercer.spectral.scatter import Classes, Scatter, ScatterSpectrum
from mercer.spectral.tuning import SAMPLE, best_on_path, stratified_sample
from mercer.streams.streamed_features import StreamedFeatures


def discriminants_of_sums(
    features: StreamedFeatures, sample: Any, classes: Classes, settings: DiscriminantSettings
) -> Discriminants:
    """The directions within the span of the landmarks.

    features : their statistics have the indicators of the classes as the columns that follow, with the weights of
        `classes`
    sample : rows; `classes` has their classes, and the number of all rows of each class

    Cost: m³/3 flops for m landmarks, 9 m³ for reg="loo".
    """
    S = scatter_of_sums(features, classes)
    refuse_constant(S.variance)
    chosen = stratified_sample(classes.codes, SAMPLE, generator_from(settings.random_state))
    inner = features.features.expansion
    rows = inner.on_points(inner.new_points(sample[chosen])).astype(np.float64) - S.mean
    reg, path = settings.reg, None
    if reg == "loo":
        spectrum = ScatterSpectrum(S, rows, classes.weights[chosen], classes.n)
        reg, _, path = best_on_path(spectrum, S.variance, chosen, classes)
    reg = float(reg)
    found, weights, outside = within_span(S, rows, chosen, classes, reg, float(np.finfo(inner.coefs.dtype).eps))
    share = features.error / features.trace if features.trace > 0 else 0.0
    return Discriminants(
        found,
        features.expansion(weights, S.mean @ weights),
        np.linalg.norm(weights, axis=0),
        reg,
        reg * S.variance / classes.n,
        path,
        chosen,
        outside,
        np.zeros(len(classes.priors)),
        0,
        f"a factor of rank {features.features.columns} that leaves out {share:.2g} of the trace over all "
        f"{classes.n:,} rows; {len(chosen):,} rows of a sample were left out in turn",
    )


def scatter_of_sums(features: StreamedFeatures, classes: Classes) -> Scatter:
    """S_T, B and the mean from the sums over features and indicators."""
    sums, m = features.statistics, features.features.columns
    products = sums.centred_products()
    return Scatter(products[:m, :m], products[:m, m:] / np.sqrt(classes.n * classes.priors), sums.mean[:m])
