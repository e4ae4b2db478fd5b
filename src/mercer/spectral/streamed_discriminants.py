"""Discriminants from the sums over rows that are not in memory.

The features of a row beside the indicator of its class have FᵀF, Σ f over each class, and the number of its rows among
their products: all of S_T and S_B. What leaving a row out changes needs the row itself, so rows of the sample that
landmarks come from are left out in turn, each from the scatter of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.random_state import generator_from
from mercer.spectral.discriminant import Discriminants, DiscriminantSettings, refuse_constant
from mercer.spectral.scatter import Classes, Penalised, Scatter, ScatterSpectrum, directions, left_out
from mercer.spectral.tuning import EPS, SAMPLE, best_on_path, stratified_sample
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
    codes, weights = classes.codes[chosen], classes.weights[chosen]
    reg, path = settings.reg, None
    if reg == "loo":
        spectrum = ScatterSpectrum(S, rows, weights, classes.n)
        reg, _, path = best_on_path(spectrum, S.variance, chosen, classes)
    reg = float(reg)
    mu = reg * S.variance
    penalised = Penalised(S, mu)
    # Rounding of the features hides a smaller room.
    room = np.maximum(penalised.room(rows, weights, classes.n), 16 * float(np.finfo(inner.coefs.dtype).eps))
    found = directions(penalised.M, classes, noise=8 * EPS / reg)
    turned = penalised.P @ found.combine
    share = features.error / features.trace if features.trace > 0 else 0.0
    return Discriminants(
        found,
        features.expansion(turned, S.mean @ turned),
        np.linalg.norm(turned, axis=0),
        reg,
        mu / classes.n,
        path,
        chosen,
        left_out(rows @ turned, codes, room, found),
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
