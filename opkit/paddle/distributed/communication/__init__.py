"""``paddle.distributed.communication``: the collectives' longer path."""

from opkit.paddle.distributed.communication import stream
from opkit.shim.missing import guard

__all__ = ["stream"]

__getattr__ = guard(globals())
