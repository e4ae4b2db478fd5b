"""The closest pairs of points with different labels, by a tree of boxes."""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import compiled


@compiled()
def _add(total, gap, p):
    """Add one coordinate to Σ gap^p, or to the largest gap if p is infinite."""
    if p == 2.0:
        return total + gap * gap
    if p == 1.0:
        return total + gap
    if p == np.inf:
        return max(total, gap)
    return total + gap**p


@compiled()
def _gap_to_box(x, low, high, p):
    total = 0.0
    for c in range(len(x)):
        total = _add(total, max(low[c] - x[c], x[c] - high[c], 0.0), p)
    return total


@compiled()
def closest(points, labels, names, low, high, least, greatest, leaf, p, asked, best, ones, others):
    """For each label of the points `asked` the closest point of another label, into best, ones and others.

    points, labels, names : the points in an order in which near ones are close together; each `leaf` of them form a
        box of the last level
    low, high, least, greatest : the corners of every box, root first, children of i at 2i + 1 and 2i + 2; and the range
        of its labels: points skip a box that holds only their own label
    best : (labels,), the p-th power of the distance so far; ones, others : the names of the two points
    """
    first_leaf = len(low) // 2
    stack, gaps = np.empty(128, np.int64), np.empty(128)
    for q in asked:
        x, own = points[q], labels[q]
        stack[0], gaps[0], depth = 0, _gap_to_box(x, low[0], high[0], p), 1
        while depth > 0:
            depth -= 1
            box = stack[depth]
            if gaps[depth] > best[own] or (least[box] == own and greatest[box] == own):
                continue
            if box < first_leaf:
                left, right = 2 * box + 1, 2 * box + 2
                a, b = _gap_to_box(x, low[left], high[left], p), _gap_to_box(x, low[right], high[right], p)
                if a < b:  # the nearer box goes on top of the stack
                    left, right, a, b = right, left, b, a
                stack[depth], gaps[depth], stack[depth + 1], gaps[depth + 1] = left, a, right, b
                depth += 2
                continue
            start = (box - first_leaf) * leaf
            for t in range(start, min(start + leaf, len(points))):
                if labels[t] == own:
                    continue
                value = 0.0
                for c in range(len(x)):
                    value = _add(value, abs(x[c] - points[t, c]), p)
                if value > best[own]:
                    continue
                i, j = names[q], names[t]
                if value == best[own]:
                    one, other = min(i, j), max(i, j)
                    old, older = min(ones[own], others[own]), max(ones[own], others[own])
                    if one > old or (one == old and other >= older):
                        continue
                best[own], ones[own], others[own] = value, i, j
