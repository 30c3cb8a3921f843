"""``paddle.incubate.nn``."""

from opkit.paddle.incubate.nn import functional
from opkit.paddle.incubate.nn.layer import FusedLinear
from opkit.shim.missing import guard

__all__ = ["FusedLinear", "functional"]

__getattr__ = guard(globals())
