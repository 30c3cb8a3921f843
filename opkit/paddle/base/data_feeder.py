"""``paddle.base.data_feeder``."""

from opkit.paddle.missing import guard
from opkit.paddle.static.executor import DataFeeder

__all__ = ["DataFeeder"]

__getattr__ = guard(__name__, globals())
