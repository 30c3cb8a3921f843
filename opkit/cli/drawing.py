"""Drawing: boxes and arrows, and the two languages they are written in (mermaid, dot).

The meaning of the boxes is up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Drawing", "dot", "mermaid"]

_MERMAID = {"op": '["{}"]', "data": '(["{}"])', "held": '[("{}")]', "result": '(("{}"))'}
_DOT = {"op": "box", "data": "ellipse", "held": "cylinder", "result": "doublecircle"}


@dataclass(slots=True)
class Drawing:
    """A graph to be drawn.

    Args:
        title: what it shows.
        nodes: {id: (kind, text)}; the kinds are "op", "data", "held" and "result".
        edges: (from, to, text).
    """

    title: str
    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)


def mermaid(drawing: Drawing) -> str:
    """Return a drawing as a mermaid flow chart."""
    lines = ["flowchart LR", f"  %% {drawing.title}"]
    for name, (kind, text) in drawing.nodes.items():
        lines.append(f"  {name}{_MERMAID[kind].format(_escaped(text))}")
    for start, end, text in drawing.edges:
        label = f'|"{_escaped(text)}"|' if text else ""
        lines.append(f"  {start} -->{label} {end}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace('"', "#quot;")


def dot(drawing: Drawing) -> str:
    """Return a drawing as a Graphviz digraph."""
    lines = [f"digraph {_quoted(drawing.title)} {{", "  rankdir=LR;"]
    for name, (kind, text) in drawing.nodes.items():
        lines.append(f"  {name} [shape={_DOT[kind]}, label={_quoted(text)}];")
    for start, end, text in drawing.edges:
        label = f" [label={_quoted(text)}]" if text else ""
        lines.append(f"  {start} -> {end}{label};")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
