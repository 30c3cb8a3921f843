"""``oneflow.python.nn.parameter``."""

from opkit.oneflow.experimental.nn.module import Parameter

__all__ = ["Parameter"]
