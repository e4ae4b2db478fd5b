"""Fixtures of the tests of neighbour indexes."""

import pytest

from mercer.graph.tile_index import TileIndex


@pytest.fixture
def compiled(monkeypatch):
    """Compiled tiles, however small the problem is."""
    monkeypatch.setattr(TileIndex, "compiled_above", 0)
