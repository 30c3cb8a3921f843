"""Folding: a large drawing with fewer boxes, where neighbouring ops of one scope, or of one line, become one box.

Runs of ops next to each other can be folded without making a circle; others stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from opkit.cli.drawing import Arrow, Box, Drawing

#: A drawing with more ops than this is folded first.
MOST_BOXES = 40


def folded(drawing: Drawing) -> Drawing:
    """Return a drawing with ops of one scope and band, next to each other, as one box.

    Scopes are followed inwards as long as few boxes remain; ops outside of scopes are folded by their lines.
    """
    ops = drawing.ops
    deepest = max((box.scope.count("/") + 1 for box in ops.values() if box.scope), default=1)
    for depth in range(deepest, 0, -1):
        groups = _groups(ops, depth)
        if len(groups) <= MOST_BOXES:
            break
    return _redrawn(drawing, groups, depth)


def _groups(ops: Mapping[str, Box], depth: int) -> dict[str, list[str]]:
    """Return the ops next to each other that become one box, by the first of each."""
    groups: dict[str, list[str]] = {}
    before, last = "", ("", "")
    for name, box in ops.items():
        part = _part(box, depth)
        if not part or (part, box.band) != last:
            before = name
        groups.setdefault(before, []).append(name)
        last = part, box.band
    return groups


def _part(box: Box, depth: int) -> str:
    return "/".join(box.scope.split("/")[:depth]) or box.place


def _redrawn(drawing: Drawing, groups: Mapping[str, Sequence[str]], depth: int) -> Drawing:
    into = {name: first for first, names in groups.items() for name in names}
    owned = _owned(drawing, into, depth)
    made = Drawing(drawing.title)
    for name, box in drawing.nodes.items():
        if box.kind != "op":
            if name not in owned:
                made.nodes[name] = box
        elif name in groups:
            held = sum(owner == name for owner in owned.values())
            made.nodes[name] = _whole([drawing.nodes[item] for item in groups[name]], depth, held)
    seen: set[tuple[str, str]] = set()
    for arrow in drawing.edges:
        start, end = into.get(arrow.start, arrow.start), into.get(arrow.end, arrow.end)
        if start != end and start not in owned and (start, end) not in seen:
            seen.add((start, end))
            made.edges.append(Arrow(start, end, arrow.text, arrow.is_gradient))
    return made


def _owned(drawing: Drawing, into: Mapping[str, str], depth: int) -> dict[str, str]:
    """Return what is held for one scope alone, with the box of that scope: it is counted there instead of drawn."""
    readers: dict[str, list[str]] = {}
    for arrow in drawing.edges:
        if drawing.nodes[arrow.start].kind == "held":
            readers.setdefault(arrow.start, []).append(arrow.end)
    owned = {}
    for name, ends in readers.items():
        boxes = [drawing.nodes[end] for end in ends]
        if all(box.scope for box in boxes) and len({_part(box, depth) for box in boxes}) == 1:
            owned[name] = into[ends[0]]
    return owned


def _whole(boxes: Sequence[Box], depth: int, held: int) -> Box:
    holds = (f"holds {held} variable{'s' if held > 1 else ''}",) if held else ()
    if len(boxes) == 1:
        return replace(boxes[0], lines=(*boxes[0].lines, *holds))
    names = Counter(box.text for box in boxes)
    lines = [f"{name} x {count}" if count > 1 else name for name, count in names.items()]
    lines = [*lines[:5], f"and {len(lines) - 5} other kinds"] if len(lines) > 6 else lines
    part = _part(boxes[0], depth)
    return Box(
        "op",
        f"{len(boxes)} ops of {part}",
        (*lines, *boxes[-1].lines[:1], *holds),
        boxes[0].band,
        any(box.is_custom for box in boxes),
        boxes[0].place,
        part if boxes[0].scope else "",
    )
