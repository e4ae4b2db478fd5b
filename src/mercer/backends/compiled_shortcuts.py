"""Searches along a graph that stop early, and how much depends on its edges, compiled.

A graph is in CSR form with every edge in both directions. `edge_at` gives the number of the edge at each slot, the same
for both directions, and `inside` says by that number which edges may be used. Each thread has memory of its own:
distances (n,), infinite while no search runs, and vertices (4, n) of int32, which hold a heap, places in it (−1), the
touched vertices and the wanted ones (0).
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import compiled
from mercer.backends.compiled_paths import heap_rise, heap_take


@compiled()
def _search(u, limit, missing, skip, ptr, nbr, weights, edge_at, inside, distances, vertices):
    """Dijkstra's method from u up to the distance `limit`, until all `missing` wanted vertices are found.

    Edge `skip` may not be used. Returns the number of vertices touched. They are in vertices[2]; `_forget` resets them.
    """
    heap, place, touched, wanted = vertices[0], vertices[1], vertices[2], vertices[3]
    distances[u] = 0
    touched[0] = u
    count, size = 1, 1
    heap_rise(u, 0, heap, place, distances)
    while size > 0:
        x = heap_take(heap, size, place, distances)
        size -= 1
        reached = distances[x]
        if wanted[x] > 0:
            missing -= 1
            if missing == 0:
                break
        for slot in range(ptr[x], ptr[x + 1]):
            e = edge_at[slot]
            y, d = nbr[slot], reached + weights[slot]
            if d < distances[y] and d <= limit and inside[e] and e != skip:
                if distances[y] == np.inf:
                    touched[count] = y
                    count += 1
                distances[y] = d
                if place[y] < 0:
                    size += 1
                    heap_rise(y, size - 1, heap, place, distances)
                else:
                    heap_rise(y, place[y], heap, place, distances)
    return count


@compiled()
def _forget(count, distances, vertices):
    for t in range(count):
        v = vertices[2, t]
        distances[v] = np.inf
        vertices[1, v] = -1


@compiled()
def _by_one_step(u, v, limit, ptr, nbr, weights, edge_at, inside):
    """Whether a path over one common neighbour is at most `limit` long. Most edges need no more than this look."""
    a, b = ptr[u], ptr[v]
    while a < ptr[u + 1] and b < ptr[v + 1]:
        if nbr[a] < nbr[b]:
            a += 1
        elif nbr[b] < nbr[a]:
            b += 1
        else:
            if inside[edge_at[a]] and inside[edge_at[b]] and weights[a] + weights[b] <= limit:
                return True
            a += 1
            b += 1
    return False


@compiled()
def _by_two_steps(u, v, limit, skip, ptr, nbr, weights, edge_at, inside, distances):
    """Whether a path over a neighbour of u and a neighbour of v, without edge `skip`, is at most `limit` long.

    In many dimensions neighbours of a point are seldom neighbours of each other, and a search up to `limit` would visit
    most of the graph; this look takes degree² steps.
    """
    for slot in range(ptr[u], ptr[u + 1]):
        if inside[edge_at[slot]] and edge_at[slot] != skip:
            distances[nbr[slot]] = weights[slot]
    found = False
    for last in range(ptr[v], ptr[v + 1]):
        y = nbr[last]
        if found or not inside[edge_at[last]] or edge_at[last] == skip:
            continue
        rest = limit - weights[last]
        for slot in range(ptr[y], ptr[y + 1]):
            if distances[nbr[slot]] + weights[slot] <= rest and inside[edge_at[slot]]:
                found = True
                break
    for slot in range(ptr[u], ptr[u + 1]):
        distances[nbr[slot]] = np.inf
    return found


@compiled()
def one_step_detours(edges, i, j, limits, ptr, nbr, weights, edge_at, inside, found):
    """found[t]: whether the ends of edge edges[t] have a path over two edges inside, at most as long as its limit."""
    for t in range(len(edges)):
        e = edges[t]
        found[t] = _by_one_step(i[e], j[e], limits[e], ptr, nbr, weights, edge_at, inside)


@compiled()
def detours_without(edges, i, j, limits, ptr, nbr, weights, edge_at, inside, distances, vertices, found):
    """found[t]: whether edge edges[t] has a path over edges inside, itself left out, at most as long as its limit."""
    for t in range(len(edges)):
        e = edges[t]
        u, v, limit = i[e], j[e], limits[e]
        found[t] = _by_one_step(u, v, limit, ptr, nbr, weights, edge_at, inside) or _by_two_steps(
            u, v, limit, e, ptr, nbr, weights, edge_at, inside, distances
        )
        if not found[t]:
            vertices[3, v] = 1
            count = _search(u, limit, 1, e, ptr, nbr, weights, edge_at, inside, distances, vertices)
            found[t] = distances[v] <= limit
            vertices[3, v] = 0
            _forget(count, distances, vertices)


@compiled()
def detours_from(sources, starts, ends, edges, limits, ptr, nbr, weights, edge_at, inside, distances, vertices, found):
    """The same for edges that are not inside, with one search for all that share a vertex.

    Vertex sources[s] has the edges edges[t] to the vertices ends[t], t from starts[s] to starts[s + 1].
    """
    for s in range(len(sources)):
        u, missing, farthest = sources[s], 0, 0.0
        for t in range(starts[s], starts[s + 1]):
            limit = limits[edges[t]]
            found[t] = _by_one_step(u, ends[t], limit, ptr, nbr, weights, edge_at, inside) or _by_two_steps(
                u, ends[t], limit, edges[t], ptr, nbr, weights, edge_at, inside, distances
            )
            if not found[t]:
                vertices[3, ends[t]] = 1
                missing += 1
                farthest = max(farthest, limit)
        if missing == 0:
            continue
        count = _search(u, farthest, missing, -1, ptr, nbr, weights, edge_at, inside, distances, vertices)
        for t in range(starts[s], starts[s + 1]):
            if not found[t]:
                found[t] = distances[ends[t]] <= limits[edges[t]]
                vertices[3, ends[t]] = 0
        _forget(count, distances, vertices)


@compiled()
def joining(edges, i, j, parent, taken):
    """taken[t]: whether edge edges[t] joins parts that the edges before it did not; `parent` holds the joined trees."""
    for t in range(len(edges)):
        u, v = i[edges[t]], j[edges[t]]
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        taken[t] = u != v
        if u < v:
            parent[v] = u
        else:
            parent[u] = v


@compiled()
def path_loads(source, ptr, nbr, weights, number_at, distances, vertices, carried, loads, sums):
    """Add how much of the shortest paths from one source depends on numbered edges.

    number_at (slots,) is the number of the edge there, or −1. loads[e] grows by Σ d(v) over the vertices v whose path
    runs over edge e. sums grows by Σ d(v); by Σ d(v) over paths with any such edge; and by Σ d(v) and Σ d'(v) over the
    vertices that are also reached, at distance d', without any of these edges. carried is memory to work in, (2, n).
    """
    n = len(ptr) - 1
    heap, place, order, by = vertices[0], vertices[1], vertices[2], vertices[3]
    before, behind = carried[0], carried[1]
    for without in range(2):
        distances[:] = np.inf
        place[:] = -1
        distances[source] = 0
        by[source] = -1
        size, count = 1, 0
        heap_rise(source, 0, heap, place, distances)
        while size > 0:
            x = heap_take(heap, size, place, distances)
            size -= 1
            order[count] = x
            count += 1
            for slot in range(ptr[x], ptr[x + 1]):
                y, d = nbr[slot], distances[x] + weights[slot]
                if d < distances[y] and not (without and number_at[slot] >= 0):
                    distances[y] = d
                    by[y] = slot
                    if place[y] < 0:
                        size += 1
                        heap_rise(y, size - 1, heap, place, distances)
                    else:
                        heap_rise(y, place[y], heap, place, distances)
        if without:
            break
        _hang(order, count, by, ptr, nbr, number_at, distances, before, behind, loads, sums)
    for v in range(n):
        if distances[v] < np.inf and before[v] < np.inf:
            sums[2] += before[v]
            sums[3] += distances[v]


@compiled()
def _hang(order, count, by, ptr, nbr, number_at, distances, before, behind, loads, sums):
    """Sums along a shortest-path tree, from its last vertex to its first. `before` keeps the distances."""
    before[:] = distances
    behind[:] = 0
    for t in range(count - 1, 0, -1):
        v = order[t]
        behind[v] += distances[v]
        sums[0] += distances[v]
        slot = by[v]
        behind[_tail(slot, ptr)] += behind[v]
        if number_at[slot] >= 0:
            loads[number_at[slot]] += behind[v]
    behind[order[0]] = 0  # from here on: whether the path to a vertex has such an edge
    for t in range(1, count):
        v = order[t]
        slot = by[v]
        over = number_at[slot] >= 0 or behind[_tail(slot, ptr)] < 0
        behind[v] = -1 if over else 0
        if over:
            sums[1] += distances[v]


@compiled()
def _tail(slot, ptr):
    """The vertex whose row holds a slot."""
    low, high = 0, len(ptr) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if ptr[middle] <= slot:
            low = middle
        else:
            high = middle
    return low
