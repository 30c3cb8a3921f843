"""``paddle.incubate``: fused linear functions; the rest can be imported only."""

from opkit.paddle.incubate import nn
from opkit.shim.missing import guard

__all__ = ["nn"]

__getattr__ = guard(__name__, globals())
