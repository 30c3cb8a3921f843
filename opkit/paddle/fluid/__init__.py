"""``paddle.fluid``: the oldest spelling of graphs (1.x to 2.4): ``paddle.base`` and the layers that went with it."""

from opkit.paddle import base
from opkit.paddle.base import *  # noqa: F403 - fluid is base under an older name
from opkit.paddle.fluid import layers, optimizer
from opkit.paddle.reader.decorator import batch
from opkit.paddle.static.program import data
from opkit.shim.missing import guard
from opkit.static import disable_static as enable_dygraph
from opkit.static import enable_static as disable_dygraph

__all__ = ["batch", "data", "disable_dygraph", "enable_dygraph", "layers", "optimizer", *base.__all__]

__getattr__ = guard(globals())
