"""``oneflow.python.nn.module``."""

from opkit.oneflow.experimental.nn.module import Module

__all__ = ["Module"]
