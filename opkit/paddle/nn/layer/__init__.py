"""Layers."""

from opkit.paddle.nn.layer import (
    activation,
    common,
    container,
    images,
    loss,
    norm,
    pooling,
    recurrent,
    transformer,
    volume,
)
from opkit.paddle.nn.layer.activation import *  # noqa: F403
from opkit.paddle.nn.layer.common import *  # noqa: F403
from opkit.paddle.nn.layer.container import *  # noqa: F403
from opkit.paddle.nn.layer.images import *  # noqa: F403
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.nn.layer.loss import *  # noqa: F403
from opkit.paddle.nn.layer.norm import *  # noqa: F403
from opkit.paddle.nn.layer.pooling import *  # noqa: F403
from opkit.paddle.nn.layer.recurrent import *  # noqa: F403
from opkit.paddle.nn.layer.transformer import *  # noqa: F403
from opkit.paddle.nn.layer.volume import *  # noqa: F403

__all__ = [
    "Layer",
    *activation.__all__,
    *common.__all__,
    *container.__all__,
    *images.__all__,
    *loss.__all__,
    *norm.__all__,
    *pooling.__all__,
    *recurrent.__all__,
    *transformer.__all__,
    *volume.__all__,
]
