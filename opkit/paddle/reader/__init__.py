"""``paddle.reader``: decorators of readers; a reader is a function that returns an iterator over samples."""

from opkit.paddle.reader import decorator
from opkit.paddle.reader.decorator import *  # noqa: F403 - all of it
from opkit.shim.missing import guard

__all__ = decorator.__all__

__getattr__ = guard(globals())
