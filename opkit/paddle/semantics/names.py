"""Names of outputs after Paddle's own op names: ``mean_0.tmp_0``, and ``tmp_0`` for operators."""

from __future__ import annotations

from opkit.static.names import register_prefixes

_OPERATORS = (
    "broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "scalar_add", "scalar_mul", "scalar_div",
    "scalar_pow", "negative", "broadcast_pow", "broadcast_floor_mod", "floor_divide", "broadcast_equal",
    "broadcast_not_equal", "broadcast_less", "broadcast_less_equal", "broadcast_greater", "broadcast_greater_equal",
)  # fmt: skip
_LAYERS = {
    "reduce_mean": "mean",
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "conv": "conv2d",
    "normalization": "batch_norm",
    "batch_norm_train": "batch_norm",
    "batch_matmul": "matmul",
    "batch_gather": "gather",
    "in_top_k": "top_k",
    "argmax": "arg_max",
}


def install_names() -> None:
    """Let outputs in graphs be named as Paddle names them."""
    register_prefixes({**dict.fromkeys(_OPERATORS, "tmp"), **_LAYERS})
