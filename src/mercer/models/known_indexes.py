"""The lines of the indexes of neighbours: those whose integers compiled code follows."""

from __future__ import annotations

from mercer.models.checks import (
    a,
    anything,
    at_least,
    either,
    floats,
    integers,
    permutation,
    samples,
    sparse,
    starts,
    text,
    threads,
    word,
)
from mercer.models.entry import ours
from mercer.models.relations import bound, cells_fit, expansion_fits, metric_fits

_rows = {"n_jobs": threads, "reason": text}
INDEXES = {
    "index.TileIndex": ours(
        "graph.tiles",
        "TileIndex",
        {
            "X": either(floats("n", "d"), sparse("n", "d", canonical=True)),
            "metric": word("euclidean", "l2", "sqeuclidean", "cosine", "correlation"),
            **_rows,
        },
    ),
    "index.MetricIndex": ours(
        "graph.metrics",
        "MetricIndex",
        {
            "X": either(floats("n", "d", infinite=True), sparse("n", "d", canonical=True)),
            "metric": text,
            "params": anything,
            **_rows,
        },
        also=metric_fits,
    ),
    "index.KernelIndex": ours(
        "graph.metrics", "KernelIndex", {"X": samples("n", "d"), "kernel": bound, **_rows}, also=expansion_fits
    ),
    "index.KDTreeIndex": ours(
        "graph.trees",
        "KDTreeIndex",
        {
            "X": floats("n", "d"),
            "p": at_least(1.0),
            "whole": a("index.TileIndex", "index.MetricIndex", n="n", d="d"),
            **_rows,
        },
    ),
    "index.BallTreeIndex": ours(
        "graph.trees",
        "BallTreeIndex",
        {
            "X": floats("n", "d"),
            "metric": text,
            "whole": a("index.TileIndex", "index.MetricIndex", n="n", d="d"),
            **_rows,
        },
    ),
    "index.ApproximateIndex": ours(
        "graph.approximate",
        "ApproximateIndex",
        {
            "exact": a("index.TileIndex", n="n", d="d"),
            "cells": a("Cells", n="n", d="d"),
            "trial": integers("t", below="n"),
            "test": integers("u", below="n"),
        },
    ),
    "index.MatrixIndex": ours("graph.precomputed", "MatrixIndex", {"D": floats("n", "n"), **_rows}),
    "index.GraphIndex": ours("graph.precomputed", "GraphIndex", {"graph": sparse("n", "n", canonical=True), **_rows}),
    "Cells": ours(
        "graph.cells",
        "Cells",
        {
            "centres": floats("c", "d"),
            "order": permutation("n"),
            "starts": starts("c", "n"),
            "nearest": anything,
        },
        also=cells_fit,
    ),
}
