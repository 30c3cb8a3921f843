"""A layered layout: boxes in rows from top to bottom, arrows downwards around them, stretches of rows as bands.

Sizes come in and places go out; nothing is drawn here. Method: longest paths give the rows, barycentres the order
within a row, and repeated averaging over neighbours the columns (Sugiyama, Tagawa and Toda 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from opkit.record import mutable, record

_GAP, _ROW_GAP, _BAND_TOP, _BAND_BOTTOM, _MARGIN = 28.0, 40.0, 34.0, 14.0, 20.0
_BEND_WIDTH = 10.0
_SWEEPS = 8
#: With more bends than that arrows run straight: a picture of thousands of rows would take hours.
_MOST_BENDS = 50_000
Node = str | tuple[int, int]


@record
class Rectangle:
    """Where a box is: its left upper corner and its size, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float


@mutable
class Layout:
    """Where everything is.

    Args:
        width, height: of the whole picture.
        boxes: {id: its place}.
        paths: per arrow the points that it runs through, from the lower edge of one box to the upper edge of another.
        bands: {band: (y of its upper edge, y of its lower edge)}.
    """

    width: float = 0.0
    height: float = 0.0
    boxes: dict[str, Rectangle] = field(default_factory=dict)
    paths: list[list[tuple[float, float]]] = field(default_factory=list)
    bands: dict[int, tuple[float, float]] = field(default_factory=dict)


def layered(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]], bands: Mapping[str, int]
) -> Layout:
    """Place boxes and arrows.

    Args:
        sizes: {id: (width, height)}, in an order in which no box stands before what it reads, if there is one.
        edges: (from, to).
        bands: {id: number of its band}; a band stands below those with smaller numbers.
    """
    if not sizes:
        return Layout()
    rows = _rows(list(sizes), edges, bands)
    bends = sum(abs(rows[start] - rows[end]) for start, end in edges)
    chains = [_chain(number, edge, rows) if bends <= _MOST_BENDS else [] for number, edge in enumerate(edges)]
    ranks: dict[Node, int] = {}
    ranks.update(rows.items())
    ranks.update(bend for chain in chains for bend in chain)
    nodes: list[list[Node]] = [[] for _ in range(max(ranks.values()) + 1)]
    for node, row in ranks.items():
        nodes[row].append(node)
    links = _links(edges, chains)
    _order(nodes, links)
    width = {node: sizes[node][0] if isinstance(node, str) else _BEND_WIDTH for node in ranks}
    columns = _columns(nodes, links, width)
    return _placed(sizes, edges, bands, chains, nodes, columns)


def _rows(names: Sequence[str], edges: Sequence[tuple[str, str]], bands: Mapping[str, int]) -> dict[str, int]:
    """Return the row of each box: below all that it reads, within its band's rows; sources stand by their readers."""
    place = {name: index for index, name in enumerate(names)}
    above: dict[str, list[str]] = {name: [] for name in names}
    below: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        if place[start] < place[end]:  # an arrow upwards is drawn, and decides nothing
            above[end].append(start)
            below[start].append(end)
    rows: dict[str, int] = {}
    first = 0
    for band in sorted(set(bands.values())):
        own = [name for name in names if bands[name] == band]
        for name in own:
            rows[name] = max([first, *(rows[item] + 1 for item in above[name] if item in rows)])
        for name in reversed(own):
            readers = [rows[item] for item in below[name] if bands[item] == band]
            if readers and not above[name]:
                rows[name] = max(first, min(readers) - 1)
        first = max((rows[name] for name in own), default=first - 1) + 1
    return rows


def _chain(number: int, edge: tuple[str, str], rows: Mapping[str, int]) -> list[tuple[Node, int]]:
    """Return the bends of an arrow, one in each row that it passes."""
    first, last = sorted((rows[edge[0]], rows[edge[1]]))
    bends: list[tuple[Node, int]] = [((number, row), row) for row in range(first + 1, last)]
    return bends if rows[edge[0]] <= rows[edge[1]] else bends[::-1]


def _links(edges: Sequence[tuple[str, str]], chains: Sequence[Sequence[tuple[Node, int]]]) -> dict[Node, list[Node]]:
    links: dict[Node, list[Node]] = {}
    for (start, end), chain in zip(edges, chains):
        whole: list[Node] = [start, *(bend for bend, _ in chain), end]
        for one, other in pairwise(whole):
            links.setdefault(one, []).append(other)
            links.setdefault(other, []).append(one)
    return links


def _order(rows: list[list[Node]], links: Mapping[Node, Sequence[Node]]) -> None:
    """Sort each row by the mean place of its nodes' links in the row before, downwards and upwards in turn."""
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        numbers = range(1, len(rows)) if is_down else range(len(rows) - 2, -1, -1)
        for number in numbers:
            place = {node: index for index, node in enumerate(rows[number - 1 if is_down else number + 1])}
            own = {node: index for index, node in enumerate(rows[number])}
            keys = {
                node: _mean([place[item] for item in links.get(node, ()) if item in place], own[node]) for node in own
            }
            rows[number].sort(key=lambda node: keys[node])


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _columns(
    rows: Sequence[Sequence[Node]], links: Mapping[Node, Sequence[Node]], width: Mapping[Node, float]
) -> dict[Node, float]:
    """Return the middle of each node: as near to the mean of its neighbours as the order and the gaps allow."""
    middle: dict[Node, float] = {}
    for row in rows:
        at = -sum(width[node] + _GAP for node in row) / 2
        for node in row:
            middle[node] = at + width[node] / 2
            at += width[node] + _GAP
    for sweep in range(2 * _SWEEPS):
        for row in rows if sweep % 2 == 0 else list(rows)[::-1]:
            wanted = [_mean([middle[item] for item in links.get(node, ())], middle[node]) for node in row]
            apart = [(width[one] + width[other]) / 2 + _gap(one, other) for one, other in pairwise(row)]
            middle.update(zip(row, _spread(wanted, apart)))
    return middle


def _gap(one: Node, other: Node) -> float:
    """Return the room between neighbours: arrows may pass closer to each other than boxes stand."""
    return _GAP if isinstance(one, str) and isinstance(other, str) else _GAP / 3


def _spread(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Return places in order and far enough apart: the mean of pushing to the right and pushing to the left."""
    right, left = list(wanted), list(wanted)
    for index in range(1, len(right)):
        right[index] = max(right[index], right[index - 1] + apart[index - 1])
    for index in range(len(left) - 2, -1, -1):
        left[index] = min(left[index], left[index + 1] - apart[index])
    return [(one + other) / 2 for one, other in zip(right, left)]


def _placed(
    sizes: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    bands: Mapping[str, int],
    chains: Sequence[Sequence[tuple[Node, int]]],
    rows: Sequence[Sequence[Node]],
    columns: Mapping[Node, float],
) -> Layout:
    found = Layout()
    shift = _MARGIN - min(columns[name] - sizes[name][0] / 2 for name in sizes)
    shift = max(shift, _MARGIN - min(columns.values()))
    top, current, centre = _MARGIN, None, []
    for row in rows:
        band = next((bands[node] for node in row if isinstance(node, str)), current)
        if band != current and band is not None:
            if current is not None:
                found.bands[current] = (found.bands[current][0], top - _ROW_GAP + _BAND_BOTTOM)
                top += _BAND_BOTTOM
            found.bands[band] = (top, top)
            top, current = top + _BAND_TOP, band
        height = max((sizes[node][1] for node in row if isinstance(node, str)), default=0.0)
        for node in row:
            if isinstance(node, str):
                wide, high = sizes[node]
                found.boxes[node] = Rectangle(columns[node] + shift - wide / 2, top + (height - high) / 2, wide, high)
        centre.append(top + height / 2)
        top += height + _ROW_GAP
    if current is not None:
        found.bands[current] = (found.bands[current][0], top - _ROW_GAP + _BAND_BOTTOM)
    for (start, end), chain in zip(edges, chains):
        one, other = found.boxes[start], found.boxes[end]
        bends = [(columns[bend] + shift, centre[row]) for bend, row in chain]
        first, last = (one.x + one.width / 2, one.y + one.height), (other.x + other.width / 2, other.y)
        found.paths.append([first, *bends, last])
    found.width = (
        max([*(box.x + box.width for box in found.boxes.values()), *(x for path in found.paths for x, _ in path)])
        + _MARGIN
    )
    found.height = top - _ROW_GAP + _BAND_BOTTOM + _MARGIN / 2
    return found
