"""The one reverse walk: it visits applied ops backwards and calls each OpDef's gradient rule.

It knows no op, no Tensor and no mode: an eager node and a static Operation look the same to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from opkit.errors import AutogradError
from opkit.ops.opdef import OpDef

__all__ = ["Step", "leading_to", "ready_order", "reverse_walk"]


class Step(Protocol):
    """One visit of the walk: an applied op, or a leaf (whose rule stores the cotangent and that has no edges).

    Per input, ``edges`` holds the step that produced it (the input itself where it is a leaf, None where it takes
    no gradient) and ``indices`` which output of that step it is. ``width`` is the step's own number of outputs.
    ``edges`` is None once the step was released.
    """

    opdef: OpDef
    width: int

    @property
    def edges(self) -> Sequence[Any] | None: ...
    @property
    def indices(self) -> Sequence[int]: ...


def reverse_walk(
    order: Iterable[Any],
    cotangents: dict[Any, list[Any]],
    add: Callable[[Any, Any], Any],
    wanted: Collection[Any] | None = None,
) -> None:
    """Propagate cotangents backwards.

    Args:
        order: the steps, each after every step that consumes one of its outputs.
        cotangents: {step: one cotangent or None per output}, holding the seeds at the start. A visited step's
            entry is taken out, so that what was consumed can be freed.
        add: sums two cotangents of one value (out of place).
        wanted: where given, only these steps are entered and receive cotangents (see ``leading_to``).
    """
    take = cotangents.pop
    for step in order:
        douts = take(step, None)
        if douts is None:
            continue
        for target, index, grad in zip(step.edges, step.indices, step.opdef.grad(step, douts)):
            if grad is None or target is None or (wanted is not None and target not in wanted):
                continue
            slots = cotangents.get(target)
            if slots is None:
                if target.width == 1:
                    cotangents[target] = [grad]
                    continue
                slots = cotangents[target] = [None] * target.width
            held = slots[index]
            slots[index] = grad if held is None else add(held, grad)


def ready_order(roots: Iterable[Any], release: bool = False) -> Iterator[Any]:
    """Yield the steps that the roots reach, each after all its consumers; siblings in the order of their use.

    A step is handed out once and no reference to it is kept, so that it can be freed while the walk goes on.

    Args:
        roots: where the walk starts.
        release: call ``release()`` on each step once the walk has passed it.

    Raises:
        AutogradError: a step was released by an earlier walk.
    """
    roots = list(dict.fromkeys(roots))
    pending = _count_consumers(roots)
    queue = deque(root for root in roots if root not in pending)
    del roots
    while queue:
        step = queue.popleft()
        edges = step.edges
        yield step
        if release and edges:
            step.release()
        del step
        for target in edges:
            if target is not None:
                left = pending.pop(target) - 1
                if left:
                    pending[target] = left
                else:
                    queue.append(target)


def _count_consumers(roots: list[Any]) -> dict[Any, int]:
    pending: dict[Any, int] = {}
    stack = list(roots)
    seen = set(roots)
    while stack:
        edges = stack.pop().edges
        if edges is None:
            raise AutogradError(
                "the graph was freed by an earlier backward",
                help="pass retain_graph=True to the first backward() or grad() call to walk the graph again",
            )
        for target in edges:
            if target is None:
                continue
            count = pending.get(target)
            if count is None:
                pending[target] = 1
                if target not in seen:
                    stack.append(target)
            else:
                pending[target] = count + 1
    return pending


def leading_to(roots: Iterable[Any], targets: Collection[Any]) -> set[Any]:
    """Return the steps between the roots and the targets: those through which a target is reached, both included."""
    wanted: set[Any] = set()
    state: dict[Any, bool] = {}
    stack: list[tuple[Any, bool]] = [(root, False) for root in roots]
    while stack:
        step, is_leaving = stack.pop()
        if is_leaving:
            if step in targets or any(target in wanted for target in step.edges or ()):
                wanted.add(step)
            continue
        if step in state:
            continue
        state[step] = True
        stack.append((step, True))
        stack.extend((target, False) for target in step.edges or () if target is not None and target not in state)
    return wanted
