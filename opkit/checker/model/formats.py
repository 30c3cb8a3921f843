"""Formats: the floating-point formats that a function may compute in, those that numpy lacks among them.

Arithmetic on numbers of a format, held in float64; which function computes in which is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy import ndarray

from opkit.checker.model.numbers import widened
from opkit.record import record


@record
class Format:
    """A binary format.

    Args:
        name: as numpy, torch and JAX call it.
        bits: of the significand, the leading one counted.
        least: exponent of the smallest normal number.
    """

    name: str
    bits: int
    least: int

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number."""
        return float(2.0 ** (1 - self.bits))

    @property
    def smallest(self) -> float:
        """The smallest number above 0."""
        return float(np.ldexp(1.0, self.least + 1 - self.bits))

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float(np.ldexp(2.0 - self.eps, 1 - self.least))

    def rounded(self, array: ndarray) -> ndarray:
        """Return the nearest numbers of the format, as float64; those that would be infinite are kept finite."""
        wide = widened(array)
        if self.name == "float64":
            return wide
        _, exponent = np.frexp(wide)
        unit = np.ldexp(1.0, np.maximum(exponent, self.least + 1) - self.bits)
        near: ndarray = np.clip(np.rint(wide / unit) * unit, -self.largest, self.largest)
        return np.where(np.isfinite(wide), near, wide)


#: The formats of whole functions, by name.
FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format("float64", 53, -1022),
        Format("float32", 24, -126),
        Format("bfloat16", 8, -126),
        Format("float16", 11, -14),
    )
}
#: The formats of half precision.
HALVES = ("bfloat16", "float16")


def coarsest(formats: Mapping[str, str]) -> str:
    """Return the format with the fewest bits."""
    return min(formats.values(), key=lambda name: FORMATS[name].bits)
