"""Several sources with the same columns, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.streams.row_source import Rows, RowSource, common_type


class JoinedRows:
    """The chunks of all parts in order. `labels` are what errors call the parts: their files, or their numbers."""

    def __init__(self, parts: Sequence[RowSource], labels: Sequence[str]):
        first = parts[0]
        for part, label in zip(parts, labels, strict=True):
            if part.n_features != first.n_features or part.feature_names != first.feature_names:
                raise ValueError(
                    f"{label} has {part.n_features} columns{_some(part)}, but {labels[0]} has {first.n_features}"
                    f"{_some(first)}. All parts need the same columns."
                )
        self.parts, self.labels = list(parts), list(labels)
        self.n_features = first.n_features
        self.dtype = common_type([part.dtype for part in parts])
        self.feature_names = first.feature_names
        self.places = [(p, i) for p, part in enumerate(parts) for i in range(len(part.lengths))]
        self.lengths = [parts[p].lengths[i] for p, i in self.places]

    def chunk(self, i: int) -> Rows:
        p, own = self.places[i]
        try:
            rows = self.parts[p].chunk(own)
        except ValueError as error:
            raise type(error)(f"Chunk {i}, of {self.labels[p]}: {error}") from error
        return rows.astype(self.dtype, copy=False)


def _some(source: RowSource) -> str:
    names = source.feature_names
    return "" if names is None else f" ({', '.join(map(repr, names[:5]))}{', …' if len(names) > 5 else ''})"
