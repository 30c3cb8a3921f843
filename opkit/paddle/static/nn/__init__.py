"""``paddle.static.nn``: layers of graphs, and py_func."""

from opkit.paddle.framework.parameter import create_parameter
from opkit.paddle.static.nn.control_flow import case, cond, while_loop
from opkit.paddle.static.nn.layers import (
    batch_norm,
    conv2d,
    conv2d_transpose,
    embedding,
    fc,
    layer_norm,
    prelu,
    sparse_embedding,
)
from opkit.paddle.static.nn.static_pylayer import static_pylayer
from opkit.paddle.static.program import py_func
from opkit.shim.missing import guard

__all__ = [
    "batch_norm",
    "case",
    "cond",
    "conv2d",
    "conv2d_transpose",
    "create_parameter",
    "embedding",
    "fc",
    "layer_norm",
    "prelu",
    "py_func",
    "sparse_embedding",
    "static_pylayer",
    "while_loop",
]

__getattr__ = guard(globals())
