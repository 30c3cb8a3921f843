"""A part of a graph whose gradient a function builds, instead of the gradients of its ops.

The part's ops are ordinary ones, cut off from their inputs; one op more passes their results on and has the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UsageError
from opkit.ir import Operation, Rewrite, Variable
from opkit.listed import listed
from opkit.ops.basis.creation import IDENTITY, identity, zeros_like
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Function
from opkit.static.builder import append, building
from opkit.static.py_func import arguments_of


@dataclass(slots=True, eq=False, kw_only=True)
class OwnGradientDef(OpDef):
    """The op that passes a part's results on.

    Args:
        forward: the function that built the part.
        backward: the function that builds its gradient.
    """

    forward: Function
    backward: Function


class OwnGradientError(UsageError, AssertionError, TypeError):
    """A function for the gradient does not give one Variable per input."""


def with_own_gradient(forward: Function, backward: Function, inputs: Sequence[Variable], name: str) -> list[Variable]:
    """Append what ``forward`` builds from Variables, with the gradient that ``backward`` builds.

    Args:
        forward: takes as many Variables as there are inputs, returns a Variable or a list of them.
        backward: takes one incoming gradient per result, zeros where no loss reaches it; returns one gradient per
            input, None for zeros. Its ops have gradients of their own.
        inputs: the Variables; the ops of ``forward`` pass no gradient to them, nor to parameters.
        name: what messages call the whole.

    Returns:
        the results.

    Raises:
        OwnGradientError: ``forward`` returns something else, or, when gradients are appended, ``backward`` does.
        ShapeError: a gradient has another shape than its input.
    """
    returned = forward(*[_cut(item) for item in inputs])
    results = listed(returned)
    for item in results:
        if not isinstance(item, Variable):
            raise OwnGradientError(f"{name}: forward returns Variables, got {type(item).__name__}")
    count, first = len(results), len(inputs)

    def rule(step: Any, douts: Sequence[Any]) -> list[Any]:
        held = [item if dy is None else dy for item, dy in zip(step.inputs[first:], douts)]
        incoming = [zeros_like(item) if dy is None else dy for item, dy in zip(held, douts)]
        found = _as_list(backward(*incoming), first, name)
        return [*(_checked(dx, x, name) for dx, x in zip(found, inputs)), *[None] * count]

    op = OwnGradientDef(
        name=name,
        forward=forward,
        backward=backward,
        inputs=(*arguments_of("x", first), *arguments_of("y", count)),
        outputs=arguments_of("out", count),
        kernel=_passing(first, count),
        infer=lambda given, attrs: list(given[first:]),
        grad=rule,
        reads=tuple(f"y{i}" for i in range(count)),
        for_inference=_passed_on(first) if count == 1 else None,
    )
    made: list[Variable] = append(building.main.blocks[0], op, [*inputs, *results], {})
    return made


def _cut(item: Variable) -> Variable:
    copied: Variable = identity(item)
    copied.stop_gradient = True
    return copied


def _passing(first: int, count: int) -> Function:
    def kernel(*arrays: ndarray) -> Any:
        copies = [np.array(array) for array in arrays[first:]]
        return copies[0] if count == 1 else tuple(copies)

    return kernel


def _passed_on(place: int) -> Callable[[Operation], Rewrite | None]:
    return lambda operation: Rewrite(opdef=IDENTITY, inputs=(operation.inputs[place],))


def _as_list(returned: Any, count: int, name: str) -> list[Any]:
    found = listed(returned)
    if len(found) != count:
        raise OwnGradientError(f"{name}: backward returns one gradient per input, {count}, it returned {len(found)}")
    return found


def _checked(dx: Any, x: Variable, name: str) -> Any:
    if dx is None:
        return zeros_like(x)
    if not isinstance(dx, Variable):
        raise OwnGradientError(f"{name}: backward returns Variables or None, got {type(dx).__name__}")
    if len(dx.shape) != len(x.shape) or any(-1 not in (a, b) and a != b for a, b in zip(dx.shape, x.shape)):
        raise ShapeError(f"{name}: the gradient of {x.name!r} has shape {list(dx.shape)}, expected {list(x.shape)}")
    return dx
