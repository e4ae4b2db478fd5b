"""Shortest paths, compiled: from one source, and from sixteen neighbouring ones at once.

`from_lanes` keeps the distances from sixteen sources side by side, one or two vector registers per vertex, and corrects
labels: a vertex is visited again when any of its sixteen distances has fallen. Sources that are neighbours see the
graph in nearly the same order, so a vertex is visited 1.4 to 1.8 times for all sixteen together, and each edge costs
one vector addition, comparison and store.

On a swiss roll of 10,000 points with 10 neighbours, for each source: 2.4 to 4.5 ms for SciPy's Dijkstra, 1.0 ms for
`from_seeds` (a heap with four children), 0.26 ms with sixteen lanes on the same heap. Two other ideas were tried. A
ring of buckets instead of a heap takes 0.19 ms, but a few edges much longer than the rest put all others into one
bucket, and the work explodes. Starting a group from the distances of the group before, which are upper bounds, gains
nothing: 6 % of them are final, but hardly a vertex has all sixteen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mercer.backends.compilation import SUMS, compiled

LANES = 16  # sources that are searched together: float32 distances of a vertex are then one cache line


@intrinsic
def _relax(typingctx: Any, distances: Any, target: Any, source: Any, weight: Any) -> Any:
    """distances[target] = min(distances[target], distances[source] + weight), lane by lane; returns whether any fell.

    Written in vector instructions, because LLVM does not vectorise the loop.
    """

    def build(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        scalar = context.get_value_type(signature.args[0].dtype)
        vector = ir.VectorType(scalar, LANES)
        nothing = ir.Constant(vector, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

        def row(index):
            place = builder.gep(array.data, [builder.mul(index, ir.Constant(ir.IntType(64), LANES))])
            return builder.bitcast(place, vector.as_pointer())

        def load(pointer):
            value = builder.load(pointer)
            value.align = signature.args[0].dtype.bitwidth // 8
            return value

        there = row(args[1])
        old, here = load(there), load(row(args[2]))
        first = builder.insert_element(nothing, args[3], ir.Constant(ir.IntType(32), 0))
        reached = builder.fadd(here, builder.shuffle_vector(first, nothing, zeros))
        fell = builder.fcmp_ordered("<", reached, old)
        builder.store(builder.select(fell, reached, old), there).align = signature.args[0].dtype.bitwidth // 8
        return builder.icmp_unsigned("!=", builder.bitcast(fell, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(distances, types.int64, types.int64, distances.dtype), build


@compiled()
def heap_rise(v, i, heap, place, distances):
    """Move v up from place i of a heap with four children a node until its parent is nearer."""
    while i > 0:
        parent = (i - 1) >> 2
        if distances[heap[parent]] <= distances[v]:
            break
        heap[i] = heap[parent]
        place[heap[i]] = i
        i = parent
    heap[i] = v
    place[v] = i


@compiled()
def heap_take(heap, size, place, distances):
    """Remove and return the nearest of `size` vertices."""
    top, v = heap[0], heap[size - 1]
    place[top] = -1
    size -= 1
    i = 0
    while size > 0:
        child = 4 * i + 1
        if child >= size:
            break
        best = child
        for c in range(child + 1, min(child + 4, size)):
            if distances[heap[c]] < distances[heap[best]]:
                best = c
        if distances[heap[best]] >= distances[v]:
            break
        heap[i] = heap[best]
        place[heap[i]] = i
        i = best
    if size > 0:
        heap[i] = v
        place[v] = i
    return top


@compiled()
def _lower(v, d, distances, heap, size, place):
    """Put v into the heap with distance d if that is less than its own. Returns the new size of the heap."""
    if d < distances[v]:
        distances[v] = d
        i = place[v]
        if i < 0:
            i = size
            size += 1
        heap_rise(v, i, heap, place, distances)
    return size


@compiled()
def from_lanes(indptr, indices, weights, seed_ptr, seed_nodes, seed_distances, distances, key, heap, place):
    """Distances from up to LANES sources, lane l in distances[v · LANES + l].

    A source is given by its seeds, vertices and the distances to them; the seeds of lane l begin at seed_ptr[l]. key,
    heap and place are memory to work in, (n,) each. A vertex waits in the heap with the smallest distance that may have
    fallen since it was last visited.
    """
    distances[:] = np.inf
    key[:] = np.inf
    place[:] = -1
    size = 0
    for lane in range(len(seed_ptr) - 1):
        for s in range(seed_ptr[lane], seed_ptr[lane + 1]):
            v, d = seed_nodes[s], seed_distances[s]
            distances[v * LANES + lane] = min(distances[v * LANES + lane], d)
            size = _lower(v, d, key, heap, size, place)
    while size > 0:
        u = heap_take(heap, size, place, key)
        size -= 1
        reached = key[u]
        key[u] = np.inf
        for e in range(indptr[u], indptr[u + 1]):
            v, w = indices[e], weights[e]
            if _relax(distances, v, u, w):  # type: ignore[call-arg]
                size = _lower(v, reached + w, key, heap, size, place)


@compiled()
def from_seeds(indptr, indices, weights, seed_nodes, seed_distances, distances, heap, place):
    """Lower `distances` (n,) to those from the seeds wherever these are nearer, and search no further elsewhere.

    Started with infinity this is Dijkstra's method. Started with the distances to the nearest of some landmarks, it
    adds one landmark, and visits only the part of the graph that the new landmark takes over.
    """
    size = 0
    place[:] = -1
    for s in range(len(seed_nodes)):
        size = _lower(seed_nodes[s], seed_distances[s], distances, heap, size, place)
    while size > 0:
        u = heap_take(heap, size, place, distances)
        size -= 1
        reached = distances[u]
        for e in range(indptr[u], indptr[u + 1]):
            size = _lower(indices[e], reached + weights[e], distances, heap, size, place)


@compiled()
def local_order(indptr, indices, size):
    """An order of the vertices in which each `size` successive ones are a patch of neighbours, patch beside patch."""
    n = len(indptr) - 1
    order = np.empty(n, np.int32)
    done, queued = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    seen, queue, border = np.full(n, -1, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    count, first, patch, head, tail = 0, 0, 0, 0, 0
    while count < n:
        seed = -1
        while head < tail and seed < 0:  # from the border of the patches so far
            if not done[border[head]]:
                seed = border[head]
            head += 1
        while seed < 0:  # a component not yet touched
            if not done[first]:
                seed = first
            first += 1
        seen[seed] = patch
        queue[0] = seed
        start, end, taken = 0, 1, 0
        while start < end:
            u = queue[start]
            start += 1
            if taken == size:
                if not queued[u]:
                    queued[u] = True
                    border[tail] = u
                    tail += 1
                continue
            done[u] = True
            order[count] = u
            count += 1
            taken += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if not done[v] and seen[v] != patch:
                    seen[v] = patch
                    queue[end] = v
                    end += 1
        patch += 1
    return order


@compiled()
def merged_rows(first_ptr, first, first_data, second_ptr, second, second_data, ptr, indices, data):
    """The union of two graphs with sorted rows, with the smaller of two weights, without loops and infinite weights.

    If `indices` is empty, it only counts, into ptr.
    """
    fill, count = len(indices) > 0, 0
    for i in range(len(ptr) - 1):
        ptr[i] = count
        a, a_end, b, b_end = first_ptr[i], first_ptr[i + 1], second_ptr[i], second_ptr[i + 1]
        while a < a_end or b < b_end:
            if b >= b_end or (a < a_end and first[a] < second[b]):
                j, w = first[a], first_data[a]
                a += 1
            elif a >= a_end or second[b] < first[a]:
                j, w = second[b], second_data[b]
                b += 1
            else:
                j, w = first[a], min(first_data[a], second_data[b])
                a += 1
                b += 1
            if j != i and w < np.inf:
                if fill:
                    indices[count], data[count] = j, w
                count += 1
    ptr[len(ptr) - 1] = count


@compiled()
def half_squares(distances, out):
    """out[l, v] = −½ distances[v, l]², for a block of distances from `from_lanes` or `from_seeds`."""
    half = distances.dtype.type(-0.5)
    for start in range(0, distances.shape[0], 64):  # the block stays in the cache while it is read again
        stop = min(start + 64, distances.shape[0])
        for lane in range(distances.shape[1]):
            for v in range(start, stop):
                out[lane, v] = half * distances[v, lane] * distances[v, lane]


@compiled(SUMS - {"ninf"})  # vertices without a path are infinitely far
def distance_moments(products, Y, Y_transposed, sums):
    """Add to `sums` the moments for the correlation of distances with those of the map.

    products (m, n) holds −½d²; Y (m, k) and Y_transposed (k, n) the map's coordinates. With e_c the distance in the
    first c + 1 coordinates, sums[0, :3] are Σd, Σd² and Σd⁴/4, and sums[c + 1, :3] are Σe, Σe² and Σde.
    """
    m, n = products.shape
    d, squares = np.empty(n, products.dtype), np.empty(n, products.dtype)
    zero, minus_two = products.dtype.type(0), products.dtype.type(-2)
    for i in range(m):
        total, total_squares, total_fourth = 0.0, 0.0, 0.0
        for j in range(n):
            square = max(minus_two * products[i, j], zero)
            d[j] = np.sqrt(square)
            squares[j] = 0
            total += d[j]
            total_squares += square
            total_fourth += np.float64(products[i, j]) * products[i, j]
        sums[0, 0] += total
        sums[0, 1] += total_squares
        sums[0, 2] += total_fourth
        for c in range(Y.shape[1]):
            y = Y[i, c]
            first, second, mixed = 0.0, 0.0, 0.0
            for j in range(n):
                difference = y - Y_transposed[c, j]
                squares[j] += difference * difference
                e = np.sqrt(squares[j])
                first += e
                second += squares[j]
                mixed += np.float64(e) * d[j]
            sums[c + 1, 0] += first
            sums[c + 1, 1] += second
            sums[c + 1, 2] += mixed
