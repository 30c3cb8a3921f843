"""``paddle.nn.initializer``: first values of parameters."""

from opkit.paddle.framework.initializer import (
    Assign,
    Bilinear,
    Constant,
    Dirac,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
    default_for,
    global_or,
    set_global_initializer,
)
from opkit.paddle.missing import guard

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "default_for",
    "global_or",
    "set_global_initializer",
]

__getattr__ = guard(__name__, globals())
