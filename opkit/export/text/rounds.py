"""A loop as text: what it carries before it, one round below it, and what it leaves.

Expressions are the dialects' business.
"""

from __future__ import annotations

from typing import Any

from opkit.export.text.writer import Writer
from opkit.export.trace.graph import Loop, Node, reads


class LoopWriter(Writer):
    """A writer that writes loops too."""

    def loop(self, node: Node, left: list[Node]) -> None:
        """Write a loop; ``left`` are the nodes for what it leaves that are read after it."""
        _write_loop(self, node, left)


def _write_loop(writer: Writer, node: Node, left: list[Node]) -> None:
    loop: Loop = node.args[0]
    needed = [item.args[1] for item in left]
    carried = _needed(loop, needed)
    needed += [last for _, _, last in carried]
    names = {id(held): _begin(writer, node, held, first, last) for held, first, last in carried}
    lists: dict[int, str] = {}
    for item in left:
        if item.function == "collected":
            known = lists.get(id(item.args[1])) or writer.fresh(item.name or "rounds")
            if id(item.args[1]) not in lists:
                writer.lines.append(f"{known} = []")
            lists[id(item.args[1])] = known
    writer.collected.update(lists)
    variable = writer.fresh(loop.name or "i")
    writer.rounds[id(loop)] = variable
    head = f"for {variable} in {_range(writer, loop)}:"
    before, writer.lines = writer.lines, []
    _round(writer, loop, carried, names, needed, lists)
    inside, writer.lines = writer.lines, before
    writer.lines += [head, *("    " + line for line in inside)]
    for item in left:
        own = id(item.args[1])
        is_list = item.function == "collected"
        text = f"{lists[own]}{'[::-1]' if item.args[2] else ''}" if is_list else writer.text(item.args[1])
        writer.texts[id(item)] = (text, 10)


def _needed(loop: Loop, needed: list[Node]) -> list[tuple[Node, Any, Node]]:
    """Return what has to be carried for some nodes of the body to be computed."""
    found: list[tuple[Node, Any, Node]] = []
    stack, seen = list(needed), set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for entry in loop.carried:
            if entry[0] is node and entry not in found:
                found.append(entry)
                stack.append(entry[2])
        stack += reads(node)
    return [entry for entry in loop.carried if entry in found]


def _begin(writer: Writer, node: Node, held: Node, first: Any, last: Node) -> str:
    """Write the first value of what is carried into a variable and return its name."""
    text = writer.text(first)
    if isinstance(first, Node):
        own = writer.dialect.own(writer, first) if _is_written(node.args[0], held) else text
        users = writer.users.get(id(first), [])
        is_ours = first.function != "input" and id(first) not in writer.leaving and all(user is node for user in users)
        if own.isidentifier() and (own != text or (is_ours and not _is_another(writer, first, text))):
            writer.texts[id(held)] = (own, 10)
            return own
        text = own
    name = writer.fresh(last.name or held.name)
    writer.lines.append(f"{name} = {text}")
    writer.texts[id(held)] = (name, 10)
    return name


def _is_another(writer: Writer, node: Node, text: str) -> bool:
    """Return whether a variable is that of what the node is made of, as of a copy where arrays never change."""
    source = node.args[0] if node.args and node.function not in ("setitem", "after") else None
    return isinstance(source, Node) and writer.texts.get(id(source), ("", 0))[0] == text


def _is_written(loop: Loop, held: Node) -> bool:
    """Return whether a body writes into what it carries, also in a loop within."""
    for node in loop.body:
        if node.function == "setitem" and node.args[0] is held:
            return True
        if node.function == "loop":
            inner: Loop = node.args[0]
            if any(first is held and _is_written(inner, mine) for mine, first, _ in inner.carried):
                return True
    return False


def _range(writer: Writer, loop: Loop) -> str:
    start, _, step = loop.bounds
    texts = [writer.text(item) for item in loop.bounds]
    if step.kind == "const" and step.value == 1:
        texts.pop()
        if start.kind == "const" and start.value == 0:
            texts.pop(0)
    text = f"range({', '.join(texts)})"
    return f"reversed({text})" if loop.is_reversed else text


def _round(
    writer: Writer,
    loop: Loop,
    carried: list[tuple[Node, Any, Node]],
    names: dict[int, str],
    needed: list[Node],
    lists: dict[int, str],
) -> None:
    outside = frozenset(id(item) for item in loop.outer()) | frozenset(names)
    order = writer.scope(needed, outside)
    writer.leaving |= {id(item) for item in needed}
    writer.named |= {id(item) for item in needed}
    places = {id(item): index for index, item in enumerate(order)}
    own = {id(last): names[id(held)] for held, _, last in carried if _is_last_use(writer, held, last, places)}
    writer.targets.update(own)
    writer.statements(order)
    for item in order:
        if id(item) in lists:
            writer.lines.append(f"{lists[id(item)]}.append({writer.text(item)})")
    pairs = [(names[id(held)], writer.text(last)) for held, _, last in carried if writer.text(last) != names[id(held)]]
    if pairs:
        writer.lines.append(f"{', '.join(one for one, _ in pairs)} = {', '.join(other for _, other in pairs)}")
        for held, _, last in carried:
            writer.texts[id(last)] = (names[id(held)], 10)


def _is_last_use(writer: Writer, held: Node, last: Node, places: dict[int, int]) -> bool:
    """Return whether nothing reads what was carried once its successor is computed: one variable holds both."""
    users = [places.get(id(user), -1) for user in writer.users.get(id(held), [])]
    return all(place <= places[id(last)] for place in users)
