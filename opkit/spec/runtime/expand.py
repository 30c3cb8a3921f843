"""Expanding: shapes stretched to given sizes, as the definitions of ``expand`` and its gradient ask for them.

Source: OneFlow v0.5.0, user/kernels/expand_kernel_utils.cpp for what is refused and what the strides are.
"""

from __future__ import annotations

from collections.abc import Sequence

from opkit.spec.runtime.faults import RefusalError


def expanded(given: Sequence[int], wanted: Sequence[int], shape: list[int], strides: list[int]) -> None:
    """Stretch a shape: sizes of 1 become the wanted ones, wanted sizes of -1 keep what is there.

    Args:
        given: the input's sizes.
        wanted: at least as many sizes.
        shape: takes the result's sizes.
        strides: takes the strides with which the result reads the input's elements, 0 along stretched axes.

    Raises:
        RefusalError: a size is neither 1 nor the wanted one, or a new axis has no size.
    """
    shift = len(wanted) - len(given)
    if shift < 0:
        raise RefusalError(f"{list(given)} has more axes than the expanded shape {list(wanted)}")
    sizes, steps, step = list(wanted), [0] * len(wanted), 1
    for axis in reversed(range(len(wanted))):
        if axis < shift:
            _require(wanted[axis] > 0, given, wanted)
            is_last = axis == len(wanted) - 1
            steps[axis] = steps[axis + 1] if wanted[axis] == 1 and not is_last else 0
            continue
        size = given[axis - shift]
        if wanted[axis] in (-1, size):
            sizes[axis], steps[axis] = size, step
        else:
            _require(wanted[axis] > 0 and size == 1, given, wanted)
        step *= size
    shape[:], strides[:] = sizes, steps


def expanded_forward(given: Sequence[int], logical: Sequence[int], shape: list[int], strides: list[int]) -> None:
    """Stretch one device's part of a shape, whose sizes may be below those of the whole; see ``expanded``."""
    shift = len(logical) - len(given)
    wanted = [
        size if axis < shift or given[axis - shift] == 1 else min(size, given[axis - shift])
        for axis, size in enumerate(logical)
    ]
    expanded(given, wanted, shape, strides)


def expanded_backward(
    whole: Sequence[int], logical: Sequence[int], given: Sequence[int], shape: list[int], strides: list[int]
) -> None:
    """Return the shape before it was stretched.

    Args:
        whole: its sizes on all devices.
        logical: the sizes that were asked for.
        given: one device's part of the stretched shape.
        shape: takes the result's sizes.
        strides: see ``expanded``.
    """
    if len(logical) != len(given) or len(whole) > len(logical):
        raise RefusalError(f"{list(given)} is not {list(whole)} expanded to {list(logical)}")
    wanted = [size if asked == -1 else min(asked, size) for asked, size in zip(logical, given, strict=True)]
    shift = len(logical) - len(whole)
    shape[:] = [min(wanted[axis + shift], size) for axis, size in enumerate(whole)]
    expanded(shape, wanted, [], strides)


def _require(holds: bool, given: Sequence[int], wanted: Sequence[int]) -> None:
    if not holds:
        raise RefusalError(f"{list(given)} cannot be expanded to {list(wanted)}")
