"""``paddle.base.io``: the older path of the DataLoader."""

from opkit.paddle.io.loader import DataLoader
from opkit.shim.missing import guard

__all__ = ["DataLoader"]

__getattr__ = guard(globals())
