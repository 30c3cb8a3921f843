"""``paddle.regularizer``: weight decay of a parameter or of an optimizer."""

from __future__ import annotations

from opkit.shim.missing import guard

__all__ = ["L1Decay", "L2Decay"]


class L1Decay:
    """Adds ``coeff * sign(parameter)`` to the gradient."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coefficient = float(coeff)

    def __repr__(self) -> str:
        return f"L1Decay({self.coefficient})"


class L2Decay:
    """Adds ``coeff * parameter`` to the gradient."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coefficient = float(coeff)

    def __repr__(self) -> str:
        return f"L2Decay({self.coefficient})"


__getattr__ = guard(globals())
