"""``backward`` and ``grad`` of dynamic mode: the reverse walk over recorded nodes.

``opkit.autograd`` does the walk; this module handles seeds, leaves, and captured gradients.

Observed: how the reverse walk visits its steps while observers are on.

What an op's own kernel shows them is ``opkit.ops.core.observers``'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from opkit.autograd import leading_to, reverse_walk
from opkit.eager.grad_hooks import HookedRule, run_hooks
from opkit.eager.pylayer_context import PyLayerContext
from opkit.eager.tensor import Tensor, wrap
from opkit.errors import AutogradError, ShapeError
from opkit.ops.basis.arithmetic import add
from opkit.ops.core.mode import local, run_quietly
from opkit.ops.core.observers import notify, notify_gradient
from opkit.ops.core.references import OF_ATTRIBUTE, OF_ITEM


def observed_visit(step: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
    """Visit one step (``autograd.Visit``) and show the observers what its rule was given and returned."""
    rule = step.walk_rule
    if type(rule) is HookedRule:
        douts, rule = rule.hooked(douts), rule.rule
    return observed_rule(rule, step, douts, release)


def observed_rule(rule: Any, step: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
    """Run a step's rule.

    A PyLayer's backward counts as an op that ran, since it is a function of the user's; the ops that a built-in rule
    applies are notified by themselves.
    """
    mode = local.mode
    if isinstance(step, Tensor):  # a leaf, which nothing computed
        stored: Sequence[Any] = rule(step, douts, release)
        return stored
    opdef = step.opdef
    before, mode.differentiated = mode.differentiated, opdef
    start = time.perf_counter()
    try:
        grads: Sequence[Any] = rule(step, douts, release)
        seconds = time.perf_counter() - start
    finally:
        mode.differentiated = before
    given, found = _arrays(douts), _arrays(grads)
    if isinstance(step, PyLayerContext):
        notify(mode.observers, opdef.backward, given, {}, [array for array in found if array is not None], seconds)
    notify_gradient(mode.observers, opdef, given, found)
    return grads


def _arrays(tensors: Sequence[Any]) -> list[Any]:
    return [None if tensor is None else tensor._data for tensor in tensors]


Visit = Callable[[Any, Sequence[Any], bool], Sequence[Any]]


class UnusedInputError(AutogradError, ValueError):
    """``grad`` was asked for an input that its outputs do not depend on."""


def run_backward(
    roots: Sequence[Tensor], seeds: Sequence[Tensor | None] | None = None, *, retain_graph: bool = False
) -> None:
    """Walk back from the roots and add the gradients of all leaves to their ``grad``.

    Args:
        roots: Tensors of any shape; those that take no gradient are skipped.
        seeds: one cotangent per root, of its shape; None means ones.
        retain_graph: keep the graph for another walk.

    Raises:
        AutogradError: the graph was freed by an earlier walk, or a PyLayer's backward broke its rules.
        ShapeError: a seed does not have its root's shape.
    """
    starts = _seed(roots, seeds)
    if starts:
        visit = observed_visit if local.mode.observers else None
        _walk(starts, visit, None, is_recorded=False, release=not retain_graph)


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None = None,
    *,
    retain_graph: bool = True,
    create_graph: bool = False,
    allow_unused: bool = False,
    blocked: Sequence[Tensor] = (),
) -> list[Tensor | None]:
    """Return the gradients of the outputs with respect to the inputs; no ``grad`` is written.

    Args:
        outputs: Tensors of any shape.
        inputs: Tensors, leaves or not.
        grad_outputs: one cotangent per output; None means ones.
        retain_graph: keep the graph for another walk.
        create_graph: record the walk, so that the result can be differentiated again.
        allow_unused: an input that the outputs do not depend on gives None instead of an error.
        blocked: Tensors through which no gradient passes.

    Raises:
        UnusedInputError: an input is not used, and ``allow_unused`` is false.
    """
    starts = _seed(outputs, grad_outputs)
    places = [(tensor if tensor._node is None else tensor._node, tensor._index) for tensor in inputs]
    if len(places) == len(starts) == 1 and not (inputs[0]._sg or blocked or create_graph or local.mode.observers):
        ((start, slots),) = starts.items()
        ((target, index),) = places
        chain = _chain(start, target)
        if chain is not None:
            value = _along(chain, slots, index, not retain_graph)
            if value is not None:
                return [wrap(value._data)]
            starts = {}
    capture = _Capture(places, [(t if t._node is None else t._node, t._index) for t in blocked])
    targets = {step for (step, _), tensor in zip(places, inputs) if not tensor._sg}
    capture.wanted = leading_to(starts, targets)
    if starts:
        starts = {step: slots for step, slots in starts.items() if step in capture.wanted}
        _walk(starts, capture.visit, capture.wanted, is_recorded=create_graph, release=not retain_graph)
    found = [capture.found.get(place) for place in places]
    if not allow_unused:
        for index, (value, tensor) in enumerate(zip(found, inputs)):
            if value is None:
                raise UnusedInputError(
                    f"grad: input {index} ({tensor.name!r}) does not appear in the backward graph of the outputs",
                    help="pass allow_unused=True to get None for it",
                )
    if create_graph:
        return found
    return [None if value is None else wrap(value._data) for value in found]


def _chain(step: Any, target: Any) -> list[Any] | None:
    """Return the steps from one to another where each has one input and no hook; None where they are no chain."""
    steps: list[Any] = []
    while step is not target:
        edges = step.walk_edges
        if edges is None or len(edges) != 1 or type(step.walk_rule) is HookedRule:
            return None
        steps.append(step)
        (step,) = edges
        if step is None or step.walk_width != 1:
            return None
    is_hooked = step._hooks if isinstance(step, Tensor) else type(step.walk_rule) is HookedRule
    return None if is_hooked else steps


def _along(chain: list[Any], douts: Sequence[Any], index: int, release: bool) -> Tensor | None:
    """Walk along a chain, and return what arrives: nothing has to be counted, queued or summed."""
    mode = local.mode
    was_enabled, mode.is_grad_enabled = mode.is_grad_enabled, False
    try:
        for step in chain:
            douts = step.walk_rule(step, douts, release)
            if douts[0] is None:
                return None
    finally:
        mode.is_grad_enabled = was_enabled
    found: Tensor | None = douts[index]
    return found


class _Capture:
    """Visits the steps of a walk for ``grad``: keeps the cotangents asked for, and lets no leaf accumulate."""

    def __init__(self, places: Sequence[tuple[Any, int]], blocked: Sequence[tuple[Any, int]]) -> None:
        self.found: dict[tuple[Any, int], Tensor] = {}
        self.wanted: set[Any] = set()
        self._asked: dict[Any, set[int]] = {}
        self._blocked = set(blocked)
        for step, index in places:
            self._asked.setdefault(step, set()).add(index)

    def visit(self, step: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
        rule = step.walk_rule
        if type(rule) is HookedRule:
            douts, rule = rule.hooked(douts), rule.rule
        elif isinstance(step, Tensor) and step._hooks:
            douts = [run_hooks(step._hooks, douts[0])]
        for index in self._asked.get(step, ()):
            if douts[index] is not None:
                self.found[step, index] = douts[index]
        if self._blocked:
            douts = [None if (step, index) in self._blocked else dout for index, dout in enumerate(douts)]
        edges = step.walk_edges
        if all(dout is None for dout in douts) or not any(target in self.wanted for target in edges):
            return (None,) * len(edges)
        if local.mode.observers:
            return observed_rule(rule, step, douts, release)
        grads: Sequence[Any] = rule(step, douts, release)
        return grads


def _seed(roots: Sequence[Tensor], seeds: Sequence[Tensor | None] | None) -> dict[Any, list[Any]]:
    starts: dict[Any, list[Any]] = {}
    for position, root in enumerate(roots):
        if root._sg:
            continue
        seed = None if seeds is None else seeds[position]
        data = root._data
        if seed is None:
            seed = wrap(np.ones(data.shape, data.dtype), stop_gradient=False)
        elif seed._data.shape != data.shape:
            raise ShapeError(
                f"backward of {root.name!r}: the gradient must have the tensor's shape {list(data.shape)}, "
                f"got {list(seed._data.shape)}"
            )
        start = root if root._node is None else root._node
        slots = starts.setdefault(start, [None] * start.walk_width)
        held = slots[root._index]
        slots[root._index] = seed if held is None else _add(held, seed)
    return starts


def _walk(
    starts: dict[Any, list[Any]], visit: Visit | None, wanted: set[Any] | None, *, is_recorded: bool, release: bool
) -> None:
    mode = local.mode
    was_enabled = mode.is_grad_enabled
    mode.is_grad_enabled = is_recorded
    try:
        add_two = _add_op if is_recorded or mode.observers else _add
        reverse_walk(list(starts), starts, add_two, wanted, is_ordered=False, visit=visit, release=release)
    finally:
        mode.is_grad_enabled = was_enabled


def _add(first: Tensor, second: Tensor) -> Tensor:
    return wrap(run_quietly(np.add, first._data, second._data), first._sg)


def _add_op(first: Tensor, second: Tensor) -> Tensor:
    total: Tensor = add(first, second)
    return total


def accumulate(leaf: Tensor, cotangent: Tensor, shared: bool = True) -> None:
    """Add a cotangent to the leaf's ``grad``, in place where there is one already.

    Args:
        leaf: a leaf that takes a gradient.
        cotangent: of the leaf's shape and dtype.
        shared: whether others may refer to the cotangent; a first gradient is then copied.
    """
    held = leaf._grad
    data = cotangent._data
    if held is None:
        is_own = not shared and data.base is None and data.flags.c_contiguous
        leaf._grad = wrap(data if is_own else data.copy(), cotangent._sg)
    elif held._data.flags.writeable:
        run_quietly(np.add, held._data, data, held._data)
        if held._version is not None:
            held._version[0] += 1
    else:
        held._data = held._data + data
    if leaf._is_cleared:
        leaf._is_cleared = False
        if leaf._grad is not None:
            leaf._grad._sg = cotangent._sg


def _leaf_rule(leaf: Tensor, douts: Sequence[Any], release: bool) -> tuple[()]:
    cotangent = douts[0]
    if leaf._hooks:
        cotangent = run_hooks(leaf._hooks, cotangent)
    # Where only the walk and this function hold the Tensor, and only the Tensor holds its array, nothing else can see
    # it.
    # (Checked before the call: an argument that waits for it counts too.)
    is_shared = getrefcount(cotangent) > OF_ITEM or getrefcount(cotangent._data) > OF_ATTRIBUTE
    accumulate(leaf, cotangent, is_shared)
    return ()


Tensor.walk_rule = staticmethod(_leaf_rule)
