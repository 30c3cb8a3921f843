"""``oneflow.python.nn.parameter``."""

from opkit.oneflow.experimental.nn.parameter import Parameter

__all__ = ["Parameter"]
