"""Observed: how the reverse walk visits its steps while observers are on.

What an op's own kernel shows them is ``opkit.ops.core.observers``'s.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from opkit.eager.grad_hooks import HookedRule
from opkit.eager.pylayer_context import PyLayerContext
from opkit.eager.tensor import Tensor
from opkit.ops.core.mode import local
from opkit.ops.core.observers import notify, notify_gradient


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
