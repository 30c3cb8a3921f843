"""What Paddle's layers and optimizers do in static mode, through ``opkit.static``; entered into ``static_hooks``."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ir import TensorDesc, Variable
from opkit.ops.initializer import constant
from opkit.paddle.framework.static_mode import static_hooks
from opkit.static.parameters import create_parameter, create_state

__all__ = ["install_hooks"]


def _create_parameter(shape: Any, dtype: str, attr: Any, initializer: Any) -> Variable:
    fields = {
        "regularizer": attr.regularizer,
        "need_clip": attr.need_clip,
        "optimize_attr": {"learning_rate": attr.learning_rate},
    }
    return create_parameter(attr.name, TensorDesc(shape, dtype), initializer, trainable=attr.trainable, **fields)


def _create_buffer(array: np.ndarray, name: str) -> Variable:
    return create_state(name, TensorDesc(array.shape, array.dtype.name), constant(array))


def install_hooks() -> None:
    """Enter the functions."""
    static_hooks.create_parameter = _create_parameter
    static_hooks.create_buffer = _create_buffer


