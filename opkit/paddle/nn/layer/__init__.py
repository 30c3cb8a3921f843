"""Layers."""

from opkit.paddle.nn.layer import activation, common, container, loss, norm, pooling
from opkit.paddle.nn.layer.activation import *
from opkit.paddle.nn.layer.common import *
from opkit.paddle.nn.layer.container import *
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.nn.layer.loss import *
from opkit.paddle.nn.layer.norm import *
from opkit.paddle.nn.layer.pooling import *

__all__ = [
    "Layer",
    *activation.__all__,
    *common.__all__,
    *container.__all__,
    *loss.__all__,
    *norm.__all__,
    *pooling.__all__,
]
