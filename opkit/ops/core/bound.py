"""Bound: the attributes of a function of one operand, with the kernels that are made for them.

No op is defined here. What dynamic mode does with small arrays is decided where ops are applied.
"""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Function


class Bound(dict[str, Any]):
    """Attributes by name, as any op takes them; not to be changed.

    Args:
        kernel: ``kernel(x)`` -> y, and an array of its own that the gradient needs too, or ().
        slope: ``slope(x, dy, kept)``, or of y: the gradient; it computes what was not kept (None) itself.
        attrs: the attributes.
    """

    __slots__ = ("kernel", "slope")

    def __init__(self, kernel: Function, slope: Function, /, **attrs: Any) -> None:
        super().__init__(attrs)
        self.kernel = kernel
        self.slope = slope
