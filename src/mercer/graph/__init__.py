"""Nearest neighbours, connected parts, distances along a graph, and edges that look like shortcuts.

nearest_neighbors   build_index: rows prepared for searches, and the rule that chooses the method
neighbor_index      NeighborIndex, the interface of every index, and Neighbors, its answer
block_index         indexes that compute whole rows of distances; metric_index, precomputed_index, tile_index and
                    tree_index are such indexes
tile_index          Euclidean, cosine and correlation distances from tiles of dot products; tile_rows prepares rows
approximate_index   large data with a measured recall, by the cells of kmeans_cells
tensor_index        the same on the device of a tensor; tensor_blocks has its metrics without tiles
connectivity        connected components, the shortest edges that join them (box_tree finds these), edges taken out
geodesics           distances along a graph
shortcut_edges      edges whose ends are far apart along the rest of the data
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.graph.connectivity import without_edges
    from mercer.graph.geodesics import Geodesics
    from mercer.graph.nearest_neighbors import build_index
    from mercer.graph.neighbor_index import NeighborIndex, Neighbors

__all__ = ["Geodesics", "NeighborIndex", "Neighbors", "build_index", "without_edges"]

_HOMES = {
    "Geodesics": "geodesics",
    "NeighborIndex": "neighbor_index",
    "Neighbors": "neighbor_index",
    "build_index": "nearest_neighbors",
    "without_edges": "connectivity",
}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
