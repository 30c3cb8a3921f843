"""The one reverse walk: it visits applied ops backwards and calls each one's gradient rule.

It knows no op, no Tensor and no mode: an eager node and a static Operation look the same to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from opkit.errors import AutogradError

#: ``visit(step, douts, release)`` -> one cotangent or None per input of the step.
Visit = Callable[[Any, Sequence[Any], bool], Sequence[Any]]


class FreedGraphError(AutogradError, SystemError):
    """The graph was freed by an earlier walk.

    Source: Paddle 2.6 raises SystemError.
    """


class Step(Protocol):
    """One visit of the walk: an applied op, or a leaf (whose rule stores the cotangent and that has no edges).

    The names have a prefix since a PyLayer's context is a step, and all other names on it are the user's.

    Attributes:
        walk_rule: ``rule(step, douts, release)`` -> one cotangent or None per edge; with ``release`` the step drops
            what it keeps for the rule, and its edges become None.
        walk_edges: per input, the step that produced it; the input itself where it is a leaf, None where it takes no
            gradient. None once the step was released.
        walk_indices: per input, which output of that step it is.
        walk_width: the step's own number of outputs.
    """

    walk_rule: Visit
    walk_width: int

    @property
    def walk_edges(self) -> Sequence[Any] | None:
        """See the attributes above."""

    @property
    def walk_indices(self) -> Sequence[int]:
        """See the attributes above."""


def reverse_walk(
    order: Iterable[Any],
    cotangents: dict[Any, Any],
    add: Callable[[Any, Any], Any],
    wanted: Collection[Any] | None = None,
    *,
    is_ordered: bool = True,
    visit: Visit | None = None,
    release: bool = False,
) -> None:
    """Propagate cotangents backwards.

    Args:
        order: the steps, each after every step that consumes one of its outputs. With ``is_ordered=False`` the steps
            to start from; each step is then visited when the last of its consumers has passed, in the order in which
            they become ready, and no reference to it is kept, so that it can be freed during the walk.
        cotangents: {step: a list with one cotangent or None per output}, holding the seeds at the start. A visited
            step's entry is taken out, so that what was consumed can be freed.
        add: sums two cotangents of one value (out of place).
        wanted: where given, only these steps are entered and receive cotangents (see ``leading_to``).
        is_ordered: see ``order``.
        visit: called in place of each step's own rule.
        release: the graph is walked for the last time.

    Raises:
        AutogradError: a step was released by an earlier walk.
    """
    pending: dict[Any, int] | None = None
    if not is_ordered:
        roots = list(order)
        if len(roots) == 1 and wanted is None and visit is None:
            roots = _walk_chain(roots.pop(), cotangents, release)
        pending = count_consumers(roots, wanted)
        order = [step for step in roots if not pending[step]]
        del roots
    queue = deque(order)
    del order
    take = cotangents.pop
    while queue:
        step = queue.popleft()
        douts = take(step, None)
        edges = step.walk_edges
        if douts is None:
            grads: Sequence[Any] = (None,) * len(edges)
        elif visit is None:
            grads = step.walk_rule(step, douts, release)
        else:
            grads = visit(step, douts, release)
        for target, index, grad in zip(edges, step.walk_indices, grads):
            if target is None or (wanted is not None and target not in wanted):
                continue
            if grad is not None:
                slots = cotangents.get(target)
                if slots is None:
                    slots = cotangents[target] = [None] * target.walk_width
                held = slots[index]
                slots[index] = grad if held is None else add(held, grad)
            if pending is not None:
                left = pending.pop(target)  # an entry would keep its step alive
                if left == 1:
                    queue.append(target)
                else:
                    pending[target] = left - 1
        target = grad = slots = held = None
        del step, edges, grads, douts  # the last references, perhaps


def _walk_chain(step: Any, cotangents: dict[Any, Any], release: bool) -> list[Any]:
    """Walk along a chain, and return the step where it ends, with its cotangents added; nothing where all is walked.

    A link of a chain has one input that takes a gradient, and nothing else that the walk reaches uses it: what its rule
    returned is what the next step gets, and nothing has to be counted, queued or summed. A leaf ends it.
    """
    douts = cotangents.pop(step)
    while True:
        edges = step.walk_edges
        at = 0
        if edges is None or len(edges) != 1:
            is_fork = edges is None or (edges and edges[0] is not None and edges[-1] is not None)
            live = [] if is_fork else [index for index, target in enumerate(edges) if target is not None]
            if is_fork or len(live) > 1:
                cotangents[step] = douts
                return [step]
            at = live[0] if live else -1
        grads = step.walk_rule(step, douts, release)
        if at < 0 or grads[at] is None:
            return []
        index = step.walk_indices[at]
        step = edges[at]
        if len(edges) == step.walk_width == 1:
            douts = grads
        else:
            douts = [None] * step.walk_width
            douts[index] = grads[at]
        del grads  # a leaf keeps what nothing else refers to


def count_consumers(roots: Iterable[Any], within: Collection[Any] | None = None) -> dict[Any, int]:
    """Return, for each step that the roots reach, how many edges lead to it; 0 for roots that no other reaches.

    Args:
        roots: where the walk will start.
        within: where given, only these steps are entered.

    Raises:
        AutogradError: a step was released by an earlier walk.
    """
    counts = dict.fromkeys(roots, 0)
    stack = list(counts)
    while stack:
        step = stack.pop()
        while True:
            edges = step.walk_edges
            if edges is None:
                raise _freed()
            if len(edges) == 1 and within is None:
                step = edges[0]
                if step not in counts:
                    counts[step] = 1
                    continue
                counts[step] += 1
            else:
                _count_edges(edges, counts, stack, within)
            break
    return counts


def _freed() -> FreedGraphError:
    return FreedGraphError(
        "the graph was freed by an earlier backward",
        help="pass retain_graph=True to the first backward() call to walk the graph again",
    )


def _count_edges(
    edges: Sequence[Any], counts: dict[Any, int], stack: list[Any], within: Collection[Any] | None
) -> None:
    for target in edges:
        if target is None or (within is not None and target not in within):
            continue
        if target in counts:
            counts[target] += 1
        else:
            counts[target] = 1
            stack.append(target)


def leading_to(roots: Iterable[Any], targets: Collection[Any]) -> set[Any]:
    """Return the steps between the roots and the targets: those through which a target is reached, both included.

    Raises:
        AutogradError: a step was released by an earlier walk.
    """
    wanted: set[Any] = set()
    entered: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in roots]
    while stack:
        step, is_leaving = stack.pop()
        if is_leaving:
            if step in targets or any(target in wanted for target in step.walk_edges or ()):
                wanted.add(step)
            continue
        if step in entered:
            continue
        entered.add(step)
        if step.walk_edges is None:
            raise _freed()
        stack.append((step, True))
        stack.extend([(target, False) for target in step.walk_edges if target is not None and target not in entered])
    return wanted
