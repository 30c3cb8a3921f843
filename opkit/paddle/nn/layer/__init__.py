"""Layers."""

from opkit.paddle.nn.layer import (
    activation,
    attention,
    batch_norm,
    common,
    container,
    conv,
    distance,
    images,
    loss,
    norm,
    pooling,
    recurrent,
    transformer,
)
from opkit.paddle.nn.layer.activation import *  # noqa: F403
from opkit.paddle.nn.layer.attention import *  # noqa: F403
from opkit.paddle.nn.layer.batch_norm import *  # noqa: F403
from opkit.paddle.nn.layer.common import *  # noqa: F403
from opkit.paddle.nn.layer.container import *  # noqa: F403
from opkit.paddle.nn.layer.conv import *  # noqa: F403
from opkit.paddle.nn.layer.distance import *  # noqa: F403
from opkit.paddle.nn.layer.images import *  # noqa: F403
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.nn.layer.loss import *  # noqa: F403
from opkit.paddle.nn.layer.norm import *  # noqa: F403
from opkit.paddle.nn.layer.pooling import *  # noqa: F403
from opkit.paddle.nn.layer.recurrent import *  # noqa: F403
from opkit.paddle.nn.layer.transformer import *  # noqa: F403
from opkit.shim.missing import guard as _guard

__all__ = [
    "Layer",
    *activation.__all__,
    *attention.__all__,
    *batch_norm.__all__,
    *common.__all__,
    *container.__all__,
    *conv.__all__,
    *distance.__all__,
    *images.__all__,
    *loss.__all__,
    *norm.__all__,
    *pooling.__all__,
    *recurrent.__all__,
    *transformer.__all__,
]

__getattr__ = _guard(globals())
