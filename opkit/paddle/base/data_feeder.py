"""``paddle.base.data_feeder``."""

from opkit.paddle.static.executor import DataFeeder
from opkit.shim.missing import guard

__all__ = ["DataFeeder"]

__getattr__ = guard(globals())
