"""Drawing: boxes and arrows, and the two languages of other tools that they are written in (mermaid, dot).

The meaning of the boxes is up to the caller; pictures of opkit's own are made by ``svg``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from opkit.record import mutable, record

#: What a box belongs to, from top to bottom.
BANDS = ("forward", "backward", "update")
_MERMAID = {"op": '["{}"]', "data": '(["{}"])', "held": '[("{}")]', "result": '(("{}"))'}
_DOT = {"op": "box", "data": "ellipse", "held": "cylinder", "result": "ellipse"}


@record
class Box:
    """One box.

    Args:
        kind: "op", "data" (what is given), "held" (what is kept from run to run) or "result".
        text: what it is called.
        lines: what is said of it besides: results, attributes.
        band: one of BANDS.
        is_custom: it is an op of a user's own.
        place: the user's file and line, "" where unknown.
        scope: the named parts of the graph that it belongs to, outermost first, joined by "/"; "" for none.
    """

    kind: str
    text: str
    lines: tuple[str, ...] = ()
    band: str = "forward"
    is_custom: bool = False
    place: str = ""
    scope: str = ""


@record
class Arrow:
    """One arrow.

    Args:
        start, end: ids of boxes.
        text: what is passed on.
        is_gradient: it is a gradient.
    """

    start: str
    end: str
    text: str = ""
    is_gradient: bool = False


@mutable
class Drawing:
    """A graph to be drawn.

    Args:
        title: what it shows.
        nodes: {id: box}, none before what it reads.
        edges: the arrows.
    """

    title: str
    nodes: dict[str, Box] = field(default_factory=dict)
    edges: list[Arrow] = field(default_factory=list)

    @property
    def ops(self) -> dict[str, Box]:
        """The boxes that are ops."""
        return {name: box for name, box in self.nodes.items() if box.kind == "op"}

    def banded(self, begin: str, end: str, line: Callable[[str, Box], str]) -> Iterator[str]:
        """Yield the lines of a text with a line per box, band by band; with one band alone, none that begin and end it.

        Args:
            begin: begins a band, with ``{band}`` and ``{number}`` in it.
            end: ends a band.
            line: of an id and its box.
        """
        used = [band for band in BANDS if any(box.band == band for box in self.nodes.values())]
        for number, band in enumerate(used):
            if len(used) > 1:
                yield begin.format(band=band, number=number)
            yield from (line(name, box) for name, box in self.nodes.items() if box.band == band)
            if len(used) > 1:
                yield end


def mermaid(drawing: Drawing) -> str:
    """Return a drawing as a mermaid flow chart: a subgraph per band, gradients dashed, custom ops thick."""

    def line(name: str, box: Box) -> str:
        return f"  {name}{_MERMAID[box.kind].format('<br>'.join(map(_escaped, (box.text, *box.lines))))}"

    lines = ["flowchart LR", f"  %% {drawing.title}", *drawing.banded("  subgraph {band}", "  end", line)]
    for arrow in drawing.edges:
        label = f'|"{_escaped(arrow.text)}"|' if arrow.text else ""
        lines.append(f"  {arrow.start} {'-.->' if arrow.is_gradient else '-->'}{label} {arrow.end}")
    custom = [name for name, box in drawing.nodes.items() if box.is_custom]
    if custom:
        lines += ["  classDef custom stroke-width:3px", f"  class {','.join(custom)} custom"]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace('"', "#quot;")


def dot(drawing: Drawing) -> str:
    """Return a drawing as a Graphviz digraph: a cluster per band, gradients dashed, custom ops thick."""

    def line(name: str, box: Box) -> str:
        more = ", style=bold" if box.is_custom else ""
        return f"  {name} [shape={_DOT[box.kind]}, label={_quoted(chr(10).join((box.text, *box.lines)))}{more}];"

    lines = [f"digraph {_quoted(drawing.title)} {{", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    lines += drawing.banded('  subgraph cluster_{number} {{ label="{band}";', "  }", line)
    for arrow in drawing.edges:
        parts = [f"label={_quoted(arrow.text)}"] if arrow.text else []
        parts += ["style=dashed"] if arrow.is_gradient else []
        more = f" [{', '.join(parts)}]" if parts else ""
        lines.append(f"  {arrow.start} -> {arrow.end}{more};")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
