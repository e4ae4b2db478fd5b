"""The lines of what estimators are made of: expansions, reports, maps, ways back."""

from __future__ import annotations

from mercer.models.checks import (
    a,
    anything,
    at_least,
    finite,
    flag,
    floats,
    number,
    optional,
    permutation,
    samples,
    sparse,
    text,
    threads,
    whole,
    word,
)
from mercer.models.entry import FARTHEST, numbers, ours
from mercer.models.relations import affinities_fit, bound, expansion_fits, graph_fits, map_fits, profiled

PARTS = {
    "KernelExpansion": ours(
        "expansion",
        "KernelExpansion",
        {
            "kernel": bound,
            "anchors": samples("n", "d"),
            "coefs": floats("n", "k"),
            "offset": floats("k"),
            "n_jobs": threads,
        },
        also=expansion_fits,
    ),
    "FourierFeatures": ours(
        "linalg.lowrank",
        "FourierFeatures",
        {"omega": floats("h", "d", most=1e100), **numbers("error", "error_se"), "shift": optional(floats("d"))},
    ),
    "SolverReport": ours(
        "spectral.plan",
        "SolverReport",
        {
            "name": text,
            "reason": text,
            "passes": whole(),
            "bytes": whole(),
            "tol": number,
            "converged": flag,
            "seconds": number,
        },
    ),
    "EmbeddingReport": ours(
        "estimators.neighbor_embedding",
        "EmbeddingReport",
        {"neighbors": text, "recall": number, "repulsion": text, "steps": whole(), "ended": text, "seconds": number},
    ),
    "Rule": ours(
        "linalg.discriminant_rule",
        "DiscriminantRule",
        {
            "means": floats("c", "k"),
            "spread": floats("k", positive=True),
            "priors": floats("c", positive=True),
            "temperature": at_least(1.0),
        },
    ),
    "Geodesics": ours(
        "graph.geodesics",
        "Geodesics",
        {"graph": sparse("n", "n", canonical=True), "dtype": word("float32", "float64"), "n_jobs": threads},
        also=graph_fits,
    ),
    "Affinities": ours(
        "embedding.affinities",
        "Affinities",
        {
            "P": sparse("n", "n"),
            "entropy": number,
            "widths": optional(floats("n", "s", infinite=True)),
            "law": optional(a("law")),
            "index": optional(a("index", n="n")),
            "recall": number,
            "n_jobs": threads,
        },
        also=affinities_fit,
    ),
    "Map": ours(
        "embedding.optimize",
        "Map",
        {
            "Y": floats("n", "c", most=FARTHEST),
            "update": floats("n", "c", most=FARTHEST),
            "gains": floats("n", "c", most=FARTHEST),
            "steps": whole(),
            "order": optional(permutation("n")),
        },
        also=map_fits,
    ),
    "similarity.Student": ours("embedding.similarity", "Student", {"dof": finite}),
    "similarity.Gaussian": ours("embedding.similarity", "Gaussian", {}),
    "law.Perplexity": ours("embedding.laws", "Perplexity", {"values": anything}),
    "law.FixedWidth": ours("embedding.laws", "FixedWidth", {"sigma": finite, "n_neighbors": optional(whole(1))}),
    "law.Uniform": ours("embedding.laws", "Uniform", {"n_neighbors": whole(1)}),
}


PREIMAGES = {
    "method.Ridge": ours("preimage.ridge", "Ridge"),
    "method.FixedPoint": ours("preimage.fixed_point", "FixedPoint"),
    "method.LocalMDS": ours("preimage.mds", "LocalMDS"),
    "method.SklearnRidge": ours("preimage.sklearn_ridge", "SklearnRidge"),
    "preimage.RidgeMap": ours(
        "preimage.ridge",
        "RidgeMap",
        {
            "expansion": a("KernelExpansion", n="z", d="k", k="d"),
            "alpha": number,
            "loo_error": optional(number),
            "rank": optional(whole()),
            "factor_error": number,
            "dual_coef": floats("rows", "d"),
        },
    ),
    "preimage.FixedPointMap": ours(
        "preimage.fixed_point",
        "FixedPointMap",
        {
            "fitted": a("Fitted", n="n", d="d", k="k"),
            "neighbors": a("FeatureNeighbors", n="n", k="k"),
            "ridge": optional(a("preimage.RidgeMap", d="d", k="k")),
            "max_iter": whole(1, 10**7),
            "tol": finite,
            "n_jobs": threads,
        },
        also=profiled,
    ),
    "preimage.LocalMDSMap": ours(
        "preimage.mds",
        "LocalMDSMap",
        {
            "fitted": a("Fitted", n="n", d="d", k="k"),
            "neighbors": a("FeatureNeighbors", n="n", k="k"),
            "inverse": a("InverseProfile"),
            "lengths": floats("n"),
            "floor": finite,
            "q": whole(1),
            "n_jobs": threads,
        },
        also=profiled,
    ),
    "Fitted": ours(
        "preimage.base",
        "Fitted",
        {
            "kernel": bound,
            "X": samples("n", "d"),
            "Z": floats("n", "k"),
            "expansion": a("KernelExpansion", n="m", d="d", k="k+1"),
            "mean_norm": finite,
        },
    ),
    "FeatureNeighbors": ours(
        "preimage.neighbors", "FeatureNeighbors", {"Z": floats("n", "k"), "excess": floats("n"), "n_jobs": threads}
    ),
    "InverseProfile": ours("preimage.frame", "InverseProfile", {"kernel": bound, "low": finite, "high": finite}),
}
