"""The one reverse walk: it visits applied ops backwards and calls each one's gradient rule.

It knows no op, no Tensor and no mode: an eager node and a static Operation look the same to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from opkit.errors import AutogradError

__all__ = ["Step", "Visit", "count_consumers", "leading_to", "reverse_walk"]

#: ``visit(step, douts, release)`` -> one cotangent or None per input of the step.
Visit = Callable[[Any, Sequence[Any], bool], Sequence[Any]]


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
    def walk_edges(self) -> Sequence[Any] | None: ...
    @property
    def walk_indices(self) -> Sequence[int]: ...


def reverse_walk(
    order: Iterable[Any],
    cotangents: dict[Any, Any],
    add: Callable[[Any, Any], Any],
    wanted: Collection[Any] | None = None,
    *,
    pending: dict[Any, int] | None = None,
    visit: Visit | None = None,
    release: bool = False,
) -> None:
    """Propagate cotangents backwards.

    Args:
        order: without ``pending``, all steps, each after every step that consumes one of its outputs; with it, the
            steps to start from.
        cotangents: {step: a list with one cotangent or None per output}, holding the seeds at the start. A visited
            step's entry is taken out, so that what was consumed can be freed.
        add: sums two cotangents of one value (out of place).
        wanted: where given, only these steps are entered and receive cotangents (see ``leading_to``).
        pending: {step: number of its consumers that are still to come} (see ``count_consumers``). A step is visited
            when the last one has passed, in the order in which they become ready; no reference to it is kept, so that
            it can be freed while the walk goes on.
        visit: called in place of each step's own rule.
        release: the graph is walked for the last time.
    """
    queue = deque(order)
    take = cotangents.pop
    while queue:
        step = queue.popleft()
        douts = take(step, None)
        while True:
            edges = step.walk_edges
            indices = step.walk_indices
            if douts is None:
                grads: Sequence[Any] = (None,) * len(edges)
            elif visit is None:
                grads = step.walk_rule(step, douts, release)
            else:
                grads = visit(step, douts, release)
            if pending is not None and len(edges) == 1 and not queue and not cotangents and wanted is None:
                # A link of a chain: what it returned is what the next step gets, with nothing in between.
                target = edges[0]
                if pending[target] == 1 and target.walk_width == 1 and grads[0] is not None:
                    del pending[target]
                    step, douts = target, grads
                    continue
            break
        _hand_on(edges, indices, grads, cotangents, add, wanted)
        if pending is not None:
            _count_down(edges, pending, queue)
        del step, edges, grads, douts  # the last references, perhaps


def _hand_on(
    edges: Sequence[Any],
    indices: Sequence[int],
    grads: Sequence[Any],
    cotangents: dict[Any, Any],
    add: Callable[[Any, Any], Any],
    wanted: Collection[Any] | None,
) -> None:
    for target, index, grad in zip(edges, indices, grads):
        if grad is None or target is None or (wanted is not None and target not in wanted):
            continue
        slots = cotangents.get(target)
        if slots is None:
            slots = cotangents[target] = [None] * target.walk_width
        held = slots[index]
        slots[index] = grad if held is None else add(held, grad)


def _count_down(edges: Sequence[Any], pending: dict[Any, int], queue: deque[Any]) -> None:
    for target in edges:
        left = pending.pop(target, 0)
        if left == 1:
            queue.append(target)
        elif left:
            pending[target] = left - 1


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
                raise AutogradError(
                    "the graph was freed by an earlier backward",
                    help="pass retain_graph=True to the first backward() or grad() call to walk the graph again",
                )
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


def _count_edges(edges: Sequence[Any], counts: dict[Any, int], stack: list[Any], within: Collection[Any] | None) -> None:
    for target in edges:
        if target is None or (within is not None and target not in within):
            continue
        if target in counts:
            counts[target] += 1
        else:
            counts[target] = 1
            stack.append(target)


def leading_to(roots: Iterable[Any], targets: Collection[Any]) -> set[Any]:
    """Return the steps between the roots and the targets: those through which a target is reached, both included."""
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
        stack.append((step, True))
        stack.extend(
            (target, False) for target in step.walk_edges or () if target is not None and target not in entered
        )
    return wanted
