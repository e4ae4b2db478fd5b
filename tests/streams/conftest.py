import numpy as np
import pytest

from mercer.streams.local_driver import chunks


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((1000, 5)).astype(np.float32)


@pytest.fixture
def whole():
    """All rows of a source, after its promises were checked: lengths, columns and type of every chunk."""

    def read(source):
        parts = list(chunks(source))
        assert [part.shape for part in parts] == [(length, source.n_features) for length in source.lengths]
        assert {part.dtype for part in parts} == {source.dtype}
        return np.vstack([part.toarray() if hasattr(part, "toarray") else part for part in parts])

    return read
