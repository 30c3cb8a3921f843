"""``paddle.base.initializer``: initializers by their older names too."""

from opkit.paddle.nn.initializer import (
    Constant,
    Normal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    set_global_initializer,
)
from opkit.shim.missing import guard

ConstantInitializer = Constant
NormalInitializer = Normal
TruncatedNormalInitializer = TruncatedNormal
UniformInitializer = Uniform
Xavier = XavierInitializer = XavierUniform

__all__ = [
    "Constant",
    "ConstantInitializer",
    "Normal",
    "NormalInitializer",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
    "XavierNormal",
    "XavierUniform",
    "set_global_initializer",
]

__getattr__ = guard(globals())
