"""``paddle.nn.initializer``: first values of parameters."""

from opkit.paddle.framework.initializer import *  # noqa: F403
from opkit.paddle.framework.initializer import __all__
from opkit.shim.missing import guard

__all__ = [*__all__]

__getattr__ = guard(globals())
