"""A drawing as SVG: boxes by kind, bands behind them, gradients dashed; light and dark as the reader's system is.

A layered layout: boxes in rows from top to bottom, arrows downwards around them, stretches of rows as bands.

Sizes come in and places go out; nothing is drawn here. Method: longest paths give the rows, barycentres the order
within a row, and repeated averaging over neighbours the columns (Sugiyama, Tagawa and Toda 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from html import escape
from itertools import pairwise

from opkit.cli.drawing import BANDS, Arrow, Box, Drawing
from opkit.record import mutable, record
from opkit.reporters.figures import fixed

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


_LONGEST = 38
_TITLE_HEIGHT, _LINE_HEIGHT, _PADDING = 18.0, 15.0, 9.0
_TITLE_WIDTH, _LINE_WIDTH = 8.3, 6.75
#: Classes begin with "g-", so that they can stand in any page.
STYLE = """.g { --g-ink: #1c1e21; --g-soft: #5d646d; --g-paper: #ffffff; --g-op: #f6f7f8; --g-rule: #8d949c;
  --g-custom: #0b68cb; --g-data: #e8f3ec; --g-held: #fdf3dc; --g-result: #efeafc; --g-gradient: #b4432f;
  --g-forward: #f3f7fc; --g-backward: #fcf4f3; --g-update: #f4faf4; }
@media (prefers-color-scheme: dark) { .g { --g-ink: #eceef0; --g-soft: #a7afb7; --g-paper: #15171a; --g-op: #24282d;
  --g-rule: #6b737b; --g-custom: #6fb3ff; --g-data: #1d3326; --g-held: #3a3118; --g-result: #2b2544;
  --g-gradient: #ff9d8a; --g-forward: #171d25; --g-backward: #231b1b; --g-update: #18211a; } }
.g text { fill: var(--g-ink); font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.g .g-title { font: 600 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.g .g-line { font-size: 11px; fill: var(--g-soft); }
.g .g-name { font: 600 12px system-ui, sans-serif; fill: var(--g-soft); letter-spacing: .04em; }
.g .g-band { stroke: none; } .g .g-forward { fill: var(--g-forward); } .g .g-backward { fill: var(--g-backward); }
.g .g-update { fill: var(--g-update); }
.g .g-box rect { fill: var(--g-op); stroke: var(--g-rule); } .g .g-data rect { fill: var(--g-data); }
.g .g-held rect { fill: var(--g-held); } .g .g-result rect { fill: var(--g-result); }
.g .g-custom rect { stroke: var(--g-custom); stroke-width: 2.5; } .g .g-custom .g-title { fill: var(--g-custom); }
.g .g-arrow { fill: none; stroke: var(--g-rule); stroke-width: 1.3; }
.g .g-gradient { stroke: var(--g-gradient); stroke-dasharray: 5 4; }
.g .g-head { fill: var(--g-rule); } .g .g-head-gradient { fill: var(--g-gradient); }
.g .g-paper { fill: var(--g-paper); }
.g .g-box:hover rect { stroke-width: 2.5; }"""


def svg(drawing: Drawing, *, number: int = 0) -> str:
    """Return a drawing as an ``<svg>`` element that stands alone.

    Args:
        drawing: what is drawn.
        number: tells pictures of one page apart.
    """
    sizes = {name: _size(box) for name, box in drawing.nodes.items()}
    ends = [(arrow.start, arrow.end) for arrow in drawing.edges]
    places = layered(sizes, ends, {name: BANDS.index(box.band) for name, box in drawing.nodes.items()})
    width, height = max(places.width, 120.0), max(places.height, 40.0)
    parts = [
        f'<svg class="g" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{_text(drawing.title)}">',
        f"<title>{_text(drawing.title)}</title>",
        f"<style>{fixed(STYLE)}</style>",
        f"<defs>{_head(number, 'g-head')}{_head(number, 'g-head-gradient')}</defs>",
        f'<rect class="g-paper" width="{width:.0f}" height="{height:.0f}"/>',
        *_bands(places, width),
        *(_arrow(arrow, path, number) for arrow, path in zip(drawing.edges, places.paths)),
        *(_box(box, places.boxes[name]) for name, box in drawing.nodes.items()),
        "</svg>",
    ]
    return "\n".join(parts)


def _size(box: Box) -> tuple[float, float]:
    wide = [len(_short(box.text)) * _TITLE_WIDTH, *(len(_short(line)) * _LINE_WIDTH for line in box.lines)]
    return max(wide) + 2 * _PADDING + 4, _TITLE_HEIGHT + len(box.lines) * _LINE_HEIGHT + 2 * _PADDING - 2


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


def _text(text: str) -> str:
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _head(number: int, name: str) -> str:
    return (
        f'<marker id="{name}-{number}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="{name}" d="M0,0L8,4L0,8z"/></marker>'
    )


def _bands(places: Layout, width: float) -> list[str]:
    if len(places.bands) < 2:
        return []
    found = []
    for band, (top, bottom) in places.bands.items():
        found.append(
            f'<rect class="g-band g-{BANDS[band]}" x="6" y="{top:.1f}" width="{width - 12:.1f}" '
            f'height="{bottom - top:.1f}" rx="8"/>'
            f'<text class="g-name" x="18" y="{top + 19:.1f}">{BANDS[band]}</text>'
        )
    return found


def _arrow(arrow: Arrow, path: list[tuple[float, float]], number: int) -> str:
    steps = [f"M{path[0][0]:.1f},{path[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(path):
        middle = (y + to_y) / 2
        steps.append(f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}")
    more, head = (" g-gradient", "g-head-gradient") if arrow.is_gradient else ("", "g-head")
    said = f"<title>{_text(arrow.text)}</title>" if arrow.text else ""
    return f'<path class="g-arrow{more}" d="{" ".join(steps)}" marker-end="url(#{head}-{number})">{said}</path>'


def _box(box: Box, at: Rectangle) -> str:
    classes = f"g-box g-{box.kind}" + (" g-custom" if box.is_custom else "")
    radius = {"op": 5, "held": 3}.get(box.kind, at.height / 2 if not box.lines else 14)
    middle = at.x + at.width / 2
    whole = "\n".join(map(_text, (box.text, *box.lines, *([box.place] if box.place else []))))
    parts = [
        f'<g class="{classes}"><title>{whole}</title>',
        f'<rect x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" height="{at.height:.1f}" rx="{radius:g}"/>',
        _row("g-title", middle, at.y + _PADDING + 11, box.text),
    ]
    for index, line in enumerate(box.lines):
        parts.append(_row("g-line", middle, at.y + _PADDING + 11 + (index + 1) * _LINE_HEIGHT, line))
    return "".join([*parts, "</g>"])


def _row(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{_text(_short(text))}</text>'
