"""Reference: a plain function of an op's own arguments, with which its results and gradients are compared.

Data and borders only; what is made of the numbers is decided elsewhere.
"""

from __future__ import annotations

from typing import Protocol

from opkit.checker.model.types import Arrays, Attrs, Computed, Results
from opkit.record import record


class InFormat(Protocol):
    """Runs a function, and its gradient, in a floating-point format that arrays of numpy may not have.

    Args:
        arrays: the inputs; floats are of float64, and numbers of the format.
        attrs: complete attributes.
        douts: an incoming gradient for each result, of float64; fewer than results: the rest gets none. None for
            results alone.
        format: a name of ``formats.FORMATS``.

    Returns:
        the results as they are (floats as float64), and the gradients as float64 by input; those that are missing
        are left out.

    Raises:
        Exception: user code does not take the format, or raises for other reasons.
    """

    def __call__(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run it."""
        ...


@record
class Reference:
    """A function to be compared with.

    Args:
        name: what messages call it.
        run: see InFormat.
        has_gradient: whether ``run`` gives gradients, by the derivative rules of its own framework; those of another
            are measured by differences.
        judges_gradients: whether gradients are compared too; else another function is declared for them.
    """

    name: str
    run: InFormat
    has_gradient: bool = False
    judges_gradients: bool = True
