"""Builders that follow a dialect: the framework decides the dtype of their results.

Each has one body, and asks its dialect where its operands' dtypes do not simply fit. The strict ones
are what ``opkit.ops`` exports.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from opkit.ops.basis.arithmetic import arithmetic
from opkit.ops.basis.broadcasting import sums
from opkit.ops.basis.creation import as_value, cast
from opkit.ops.core.meeting import Choose
from opkit.ops.core.types import Function
from opkit.ops.core.value import Value
from opkit.ops.pointwise import activation
from opkit.ops.pointwise.bitwise import bit_pairs
from opkit.ops.pointwise.compare import choices, comparisons
from opkit.ops.pointwise.elementwise import functions
from opkit.ops.pointwise.power import powers
from opkit.ops.reduce import extremes

Builder = Function

#: Made of several ops; their first operand is a tensor of real numbers.
_COMPOSED: tuple[Builder, ...] = (
    activation.hardshrink,
    activation.softshrink,
    activation.softsign,
    activation.tanhshrink,
    activation.thresholded_relu,
    extremes.norm,
    extremes.std,
    extremes.var,
)


def _of_reals(build: Builder, choose: Choose) -> Builder:
    """Return a builder whose first operand, where it is an integer tensor, is cast as the dialect says."""

    @functools.wraps(build)
    def built(x: Any, *args: Any, **options: Any) -> Value:
        try:
            kind = x._data.dtype.kind
        except AttributeError:
            x = as_value(x)
            kind = x._data.dtype.kind
        if kind not in "fc":
            dtype: np.dtype | None = choose(x).function_of_integers
            x = x if dtype is None else cast(x, dtype)
        return build(x, *args, **options)

    return built


def composed(choose: Choose) -> dict[str, Builder]:
    """Return the builders of functions of real numbers that are made of several ops, by name."""
    return {build.__name__: _of_reals(build, choose) for build in _COMPOSED}


def builders_for(choose: Choose) -> dict[str, Function]:
    """Return the builders that depend on a dialect, by name.

    Args:
        choose: returns the dialect for the operands at hand, and is called only where their dtypes do not fit.

    Example:
        >>> from opkit.ops.core.meeting import strictly
        >>> "div" in builders_for(strictly)
        True
    """
    families = (arithmetic, sums, functions, comparisons, choices, bit_pairs, powers, activation.parametric, composed)
    return {name: build for family in families for name, build in family(choose).items()}
