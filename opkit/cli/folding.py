"""Folding: a large drawing with fewer boxes, where neighbouring ops of one line of the user's become one box.

Runs of ops next to each other can be folded without making a circle; others stay as they are.
"""

from __future__ import annotations

from collections import Counter

from opkit.cli.drawing import Arrow, Box, Drawing

__all__ = ["MOST_BOXES", "folded"]

#: A drawing with more ops than this is folded first.
MOST_BOXES = 40


def folded(drawing: Drawing) -> Drawing:
    """Return a drawing with ops of one line and band, next to each other, as one box."""
    into: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    before = ""
    for name, box in drawing.nodes.items():
        if box.kind != "op":
            continue
        last = drawing.nodes[groups[before][0]] if before else None
        is_same = last is not None and box.place and (box.place, box.band) == (last.place, last.band)
        before = before if is_same else name
        groups.setdefault(before, []).append(name)
        into[name] = before
    made = Drawing(drawing.title)
    for name, box in drawing.nodes.items():
        if box.kind != "op":
            made.nodes[name] = box
        elif name in groups:
            made.nodes[name] = _whole([drawing.nodes[item] for item in groups[name]])
    seen: set[tuple[str, str]] = set()
    for arrow in drawing.edges:
        start, end = into.get(arrow.start, arrow.start), into.get(arrow.end, arrow.end)
        if start != end and (start, end) not in seen:
            seen.add((start, end))
            made.edges.append(Arrow(start, end, arrow.text, arrow.is_gradient))
    return made


def _whole(boxes: list[Box]) -> Box:
    if len(boxes) == 1:
        return boxes[0]
    names = Counter(box.text for box in boxes)
    lines = [f"{name} x {count}" if count > 1 else name for name, count in names.items()]
    lines = [*lines[:5], f"and {len(lines) - 5} other kinds"] if len(lines) > 6 else lines
    text = f"{len(boxes)} ops of {boxes[0].place}"
    return Box(
        "op", text, (*lines, *boxes[-1].lines[:1]), boxes[0].band, any(box.is_custom for box in boxes), boxes[0].place
    )
