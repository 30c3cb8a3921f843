"""Builders that follow a dialect: the framework decides the dtype of their results.

Each has one body, and asks its dialect where its operands' dtypes do not simply fit. The strict ones
are what ``opkit.ops`` exports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opkit.ops.pointwise.activation  # noqa: F401 - enters its functions
from opkit.ops.basis.arithmetic import arithmetic
from opkit.ops.basis.broadcasting import sums
from opkit.ops.core.meeting import Choose
from opkit.ops.pointwise.bitwise import bit_pairs
from opkit.ops.pointwise.compare import choices, comparisons
from opkit.ops.pointwise.elementwise import functions
from opkit.ops.pointwise.power import powers

__all__ = ["builders_for"]


def builders_for(choose: Choose) -> dict[str, Callable[..., Any]]:
    """Return the builders that depend on a dialect, by name.

    Args:
        choose: returns the dialect for the operands at hand, and is called only where their dtypes do not fit.

    Example:
        >>> from opkit.ops.core.meeting import strictly
        >>> "div" in builders_for(strictly)
        True
    """
    families = (arithmetic, sums, functions, comparisons, choices, bit_pairs, powers)
    return {name: build for family in families for name, build in family(choose).items()}
