"""Maps of neighbours: the similarity of points in a map and the sums over all pairs that a step on it needs."""
