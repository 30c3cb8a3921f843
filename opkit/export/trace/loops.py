"""Loops over sizes and attributes: every round of the example is noted, then one round stands for all.

The rounds must do the same: read what is outside, what the round before left, or what the round made itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opkit.export.trace.graph import Loop, Node, Scalar, UntraceableError, concerns, rebuilt
from opkit.export.trace.recorder import TraceRecorder, current
from opkit.export.trace.symbols import Symbol, scalar_of

_DIFFERENT = "does different things in different rounds of a loop over a size or an attribute"


class TracedRange:
    """``range`` of what is known only at the call.

    Args:
        bounds: start, stop and step, each a symbol or an int.
        is_reversed: it is run through from its end.
        is_loop: it is looped over, whatever the kernel's instruction is.
    """

    def __init__(self, *bounds: Any, is_reversed: bool = False, is_loop: bool = False) -> None:
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        self.bounds = (scalar_of(start), scalar_of(stop), scalar_of(step))
        self.is_reversed = is_reversed
        self.is_loop = is_loop

    def plain(self) -> range:
        """Return the range of the example."""
        found = range(*(int(item.value) for item in self.bounds))
        return found[::-1] if self.is_reversed else found

    def __len__(self) -> int:
        raise UntraceableError("asks for the length of a range that is known only at the call")

    def __reversed__(self) -> TracedRange:
        return TracedRange(*(Symbol(item) for item in self.bounds), is_reversed=not self.is_reversed)

    def __iter__(self) -> Iterator[Any]:
        recorder = current()
        is_loop = self.is_loop or recorder.is_at_loop()
        if is_loop and (recorder.rolls or concerns(Scalar("all", self.bounds, 0), ("size", "count", "round"))):
            return self._rounds(recorder)
        known = range(*(int(Symbol(item)) for item in self.bounds))
        return iter(known[::-1] if self.is_reversed else known)

    def _rounds(self, recorder: TraceRecorder) -> Iterator[Any]:
        loop = Loop(self.bounds, self.is_reversed)
        recorder.opened += 1
        try:
            for number in self.plain():
                nodes: list[Node] = []
                recorder.bodies.append(nodes)
                loop.rounds.append(nodes)
                yield Symbol(Scalar("round", (loop,), number))
                if recorder.bodies[-1] is not nodes:
                    raise UntraceableError("runs several loops in step, over sizes or attributes")
                recorder.bodies.pop()
            recorder.opened -= 1
        except GeneratorExit:
            recorder.failure = recorder.failure or UntraceableError("leaves a loop over a size before its end")
            raise
        _close(recorder, loop)


def _close(recorder: TraceRecorder, loop: Loop) -> None:
    """Put one node for a loop in place of its rounds, and nodes for what they leave."""
    recorder.is_short = recorder.is_short or len(loop.rounds) < 2
    if recorder.is_short:
        return
    loop.bounds = recorder.settled(loop.bounds)
    first, *middle, last = loop.rounds
    number = len(loop.rounds) - 1
    match = _Match(loop)
    for index, nodes in enumerate(middle, 1):
        match.rounds(last, number, nodes, index)
    match.rounds(last, number, first, 0)
    before = loop.rounds[-2]
    held: dict[int, Node] = {}
    for place, value in match.firsts.items():
        end = match.at(last, place)
        held[id(match.at(before, place))] = node = Node("carried", (), end.value, line=recorder.line())
        loop.carried.append((node, value, end))
    loop.body = last
    for node in last:
        node.args = rebuilt(node.args, lambda item: held.get(id(item), item))
        node.kwargs = rebuilt(node.kwargs, lambda item: held.get(id(item), item))
    whole = recorder.note(Node("loop", (loop,), None))
    for number, node in enumerate(last):
        if node.function != "loop":
            recorder.replaced[id(node)] = recorder.note(Node("after", (whole, node), node.value, line=node.line))
            recorder.kept.append(node)
        for index, nodes in enumerate(loop.rounds):
            recorder.of_rounds[id(nodes[number])] = (whole, number, index)
            recorder.kept.append(nodes[number])


class _Match:
    """Compares rounds node by node.

    Args:
        loop: the loop.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.firsts: dict[tuple[int, ...], Any] = {}
        self.places: dict[int, tuple[int, tuple[int, ...]]] = {}
        for index, nodes in enumerate(loop.rounds):
            self._place(nodes, index, ())

    def _place(self, nodes: list[Node], index: int, outer: tuple[int, ...]) -> None:
        for number, node in enumerate(nodes):
            self.places[id(node)] = (index, (*outer, number))
            if node.function == "loop":
                inner = node.args[0]
                self._place(inner.body, index, (*outer, number))
                self._place([item for item, _, _ in inner.carried], index, (*outer, number, -1))

    def at(self, nodes: list[Node], place: tuple[int, ...]) -> Node:
        """Return the node of a round at a place."""
        if len(place) > 1:
            raise UntraceableError(_DIFFERENT)
        return nodes[place[0]]

    def rounds(self, last: list[Node], number: int, nodes: list[Node], index: int) -> None:
        """Compare a round with the last one.

        Raises:
            UntraceableError: they differ.
        """
        if len(last) != len(nodes):
            raise UntraceableError(_DIFFERENT)
        for one, other in zip(last, nodes):
            self._node(one, number, other, index)

    def _node(self, one: Node, number: int, other: Node, index: int) -> None:
        if one.function != other.function:
            raise UntraceableError(_DIFFERENT, one.line)
        if one.function == "loop":
            mine, theirs = one.args[0], other.args[0]
            self._value(mine.bounds, number, theirs.bounds, index, one.line)
            self.rounds(mine.body, number, theirs.body, index)
            if len(mine.carried) != len(theirs.carried) or mine.is_reversed != theirs.is_reversed:
                raise UntraceableError(_DIFFERENT, one.line)
            for (_, first, _), (_, theirs_first, _) in zip(mine.carried, theirs.carried):
                self._value(first, number, theirs_first, index, one.line)
            return
        self._value((one.args, one.kwargs), number, (other.args, other.kwargs), index, one.line)

    def _value(self, one: Any, number: int, other: Any, index: int, line: int) -> None:
        if not self._agree(one, number, other, index):
            raise UntraceableError(_DIFFERENT, line)

    def _agree(self, one: Any, number: int, other: Any, index: int) -> bool:
        if isinstance(one, Node):
            return self._nodes_agree(one, number, other, index)
        if type(one) is not type(other):
            return False
        if isinstance(one, Scalar):
            if one.kind != other.kind or len(one.args) != len(other.args):
                return False
            if one.kind == "round":
                mine, theirs = one.args[0], other.args[0]
                return mine is theirs or (mine is not self.loop and bool(mine.body) and bool(theirs.body))
            return all(self._agree(a, number, b, index) for a, b in zip(one.args, other.args))
        if isinstance(one, (list, tuple)):
            return len(one) == len(other) and all(self._agree(a, number, b, index) for a, b in zip(one, other))
        if isinstance(one, dict):
            return list(one) == list(other) and all(self._agree(one[key], number, other[key], index) for key in one)
        if isinstance(one, slice):
            mine, theirs = (one.start, one.stop, one.step), (other.start, other.stop, other.step)
            return self._agree(mine, number, theirs, index)
        if isinstance(one, np.ndarray):
            return one.dtype == other.dtype and np.array_equal(one, other)
        return one is other or bool(one == other)

    def _nodes_agree(self, one: Node, number: int, other: Any, index: int) -> bool:
        place = self.places.get(id(one))
        if place is None:
            return one is other
        if place[0] == number:
            return self.places.get(id(other)) == (index, place[1])
        if place[0] != number - 1:
            return False
        if index:
            return self.places.get(id(other)) == (index - 1, place[1])
        if isinstance(other, Node) and id(other) in self.places:
            return False
        known = self.firsts.setdefault(place[1], other)
        return known is other or (not isinstance(other, Node) and type(known) is type(other) and bool(known == other))
