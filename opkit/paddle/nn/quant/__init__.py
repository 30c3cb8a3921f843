"""``paddle.nn.quant``: layers that quantise with a learned step size; the rest can be imported only."""

from opkit.paddle.nn.quant import lsq
from opkit.shim.missing import guard

__all__ = ["lsq"]

__getattr__ = guard(__name__, globals())
