"""OneFlow's own ops, where its sources are: what their infer functions accept, refuse and give.

Set OPKIT_ONEFLOW_OPS to the folder oneflow/user/ops of OneFlow v0.4.0. The rows were written from the C++.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from opkit.errors import InferError
from opkit.ir.desc import TensorDesc
from opkit.spec import CompiledOp, compile_spec

FOLDER = Path(os.environ.get("OPKIT_ONEFLOW_OPS", ""))
pytestmark = pytest.mark.skipif(
    "OPKIT_ONEFLOW_OPS" not in os.environ, reason="OPKIT_ONEFLOW_OPS names no folder with OneFlow's ops"
)

DTYPES = {
    "f": "float32",
    "d": "float64",
    "h": "float16",
    "i": "int32",
    "l": "int64",
    "b": "int8",
    "u": "uint8",
    "t": "tensor_buffer",
}
REFUSED = None


def tensors(text: str) -> dict[str, list[TensorDesc]]:
    """Read ``x f2,3; y i4 i5``: arguments with their tensors, each a letter for the dtype and sizes."""
    found: dict[str, list[TensorDesc]] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, *descs = part.split()
        found[name] = [
            TensorDesc(tuple(int(size) for size in desc[1:].split(",") if size), DTYPES[desc[0]]) for desc in descs
        ]
    return found


CONV = {
    "filters": 8,
    "padding_before": [1, 1],
    "data_format": "channels_first",
    "kernel_size": [3, 3],
    "strides": [2, 2],
    "dilation_rate": [1, 1],
    "groups": 2,
}
POOL = {
    "padding": "customized",
    "padding_before": [0, 0],
    "padding_after": [0, 0],
    "data_format": "channels_first",
    "pool_size": [2, 2],
    "strides": [2, 2],
    "ceil_mode": False,
}
NORM = "x f4,3,8,8; moving_mean f3; moving_variance f3; gamma f3; beta f3"
SLICE = {"start": [1, 0], "stop": [3, 6], "step": [1, 2]}

#: (file without _op(s).cpp, op, inputs, attributes, counts of outputs, outputs or REFUSED)
ROWS: list[tuple[str, str, str, dict[str, object], dict[str, int], str | None]] = [
    # elementwise
    ("relu_op", "relu", "in f2,3", {}, {}, "out f2,3"),
    ("relu_op", "relu_grad", "y f2,3; dy f2,3", {}, {}, "dx f2,3"),
    ("relu_op", "relu_grad", "y f2,3; dy f2,4", {}, {}, REFUSED),
    ("sigmoid_op", "sigmoid", "in d4", {}, {}, "out d4"),
    ("gelu_op", "gelu", "in f5", {}, {}, "out f5"),
    ("leaky_relu_op", "leaky_relu", "x f2", {"alpha": 0.1}, {}, "y f2"),
    ("elu_op", "elu", "in f2,2", {"alpha": 1.0}, {}, "out f2,2"),
    ("hardtanh_op", "hardtanh", "in f3", {"min_val": -1.0, "max_val": 1.0}, {}, "out f3"),
    ("hardtanh_op", "hardtanh", "in f3", {"min_val": 1.0, "max_val": -1.0}, {}, REFUSED),
    ("math_unary_elementwise_op", "tanh", "x f2,3", {}, {}, "y f2,3"),
    ("math_unary_elementwise_op", "rsqrt_grad", "x f2; dy f2", {}, {}, "dx f2"),
    ("math_binary_elementwise_ops", "pow", "x f2; y f2", {}, {}, "z f2"),
    ("math_binary_elementwise_ops", "pow", "x f2; y f3", {}, {}, REFUSED),
    ("cast_op", "cast", "in f2,3", {"dtype": "int8"}, {}, "out b2,3"),
    ("cast_like_op", "cast_like", "in f2,3; dtype_like i7", {}, {}, "out i2,3"),
    ("scalar_add_op", "scalar_add", "in i4", {"has_int_operand": True, "int_operand": 3}, {}, "out i4"),
    ("scalar_mul_op", "scalar_mul", "in f4", {"has_float_operand": True, "float_operand": 0.5}, {}, "out f4"),
    ("clip_by_value_op", "clip_by_scalar", "x f4", {"floating_min": 0.0, "floating_max": 1.0}, {}, "y f4"),
    ("where_op", "where", "condition b2,3; x f2,3; y f2,3", {}, {}, "out f2,3"),
    ("where_op", "where", "condition f2,3; x f2,3; y f2,3", {}, {}, REFUSED),
    ("add_n_op", "add_n", "in f2,3 f2,3 f2,3", {}, {}, "out f2,3"),
    ("add_n_op", "add_n", "in f2,3", {}, {}, REFUSED),
    ("add_n_op", "add_n", "in f2,3 d2,3", {}, {}, REFUSED),
    ("multiply_op", "multiply", "x f2; y f2", {}, {}, "out f2"),
    # broadcast
    ("math_binary_broadcast_ops", "broadcast_add", "x f4,1,3; y f5,1", {}, {}, "z f4,5,3"),
    ("math_binary_broadcast_ops", "broadcast_add", "x f4,2; y f3", {}, {}, REFUSED),
    ("math_binary_broadcast_ops", "broadcast_less", "x f4,2; y f2", {}, {}, "z b4,2"),
    ("math_binary_broadcast_ops", "broadcast_mul", "x f1; y f4,2", {}, {}, "z f4,2"),
    ("broadcast_like_op", "broadcast_like", "x f1,3; like f2,3", {"broadcast_axes": [0]}, {}, "y f2,3"),
    ("broadcast_like_op", "broadcast_like", "x f1,3; like f2,4", {"broadcast_axes": [0]}, {}, REFUSED),
    ("bias_add_op", "bias_add", "a f2,3,4; b f3", {"axis": 1}, {}, "out f2,3,4"),
    ("bias_add_op", "bias_add", "a f2,3,4; b f4", {"axis": 1}, {}, REFUSED),
    # reduce
    ("reduce_ops", "reduce_sum", "input_tensor f2,3,4", {"axis": [1], "keepdims": False}, {}, "output_tensor f2,4"),
    (
        "reduce_ops",
        "reduce_max",
        "input_tensor f2,3,4",
        {"axis": [-1, 0], "keepdims": True},
        {},
        "output_tensor f1,3,1",
    ),
    ("reduce_ops", "reduce_sum", "input_tensor f2,3", {"axis": [0, 1], "keepdims": False}, {}, "output_tensor f1"),
    ("reduce_ops", "reduce_sum", "input_tensor f2,3", {"axis": [2], "keepdims": False}, {}, REFUSED),
    ("reduce_ops", "reduce_min", "input_tensor f2,3", {"axis": [], "keepdims": False}, {}, REFUSED),
    ("reduce_like_ops", "reduce_sum_like", "x f2,3; like f1,3", {"axis": [0]}, {}, "y f1,3"),
    (
        "two_stage_reduce_ops",
        "reduce_max_global_stage",
        "in f2,3; device_count i2,3",
        {"axis": [0], "keepdims": True},
        {},
        "out f1,3; mask b2,3",
    ),
    ("argmax_op", "argmax", "in f2,3,4", {}, {}, "out i2,3"),
    ("square_sum_op", "square_sum", "x f7,7", {}, {}, "y f1"),
    # matmul
    ("matmul_op", "matmul", "a f2,3; b f3,5", {}, {}, "out f2,5"),
    ("matmul_op", "matmul", "a f3,2; b f5,3", {"transpose_a": True, "transpose_b": True}, {}, "out f2,5"),
    ("matmul_op", "matmul", "a f2,3; b f4,5", {}, {}, REFUSED),
    ("matmul_op", "batch_matmul", "a f7,2,3; b f7,3,5", {}, {}, "out f7,2,5"),
    ("matmul_op", "broadcast_matmul", "a f7,2,3; b f3,5", {}, {}, "out f7,2,5"),
    # convolution and pooling
    ("conv_op", "conv2d", "in f2,4,9,9; weight f8,2,3,3", CONV, {}, "out f2,8,5,5"),
    ("conv_op", "conv2d", "in f2,4,9,9; weight f8,2,3,3; bias f8", CONV, {}, "out f2,8,5,5"),
    ("conv_op", "conv2d", "in f2,4,9,9; weight f8,4,3,3", CONV, {}, REFUSED),
    ("conv_op", "conv2d", "in f2,4,9,9; weight f8,2,3,3", {**CONV, "data_format": "NCHW"}, {}, REFUSED),
    (
        "conv_op",
        "conv_data_grad",
        "dy f2,8,5,5; filter f8,2,3,3; x_like f2,4,9,9",
        {**CONV, "num_spatial_dims": 2},
        {},
        REFUSED,
    ),
    (
        "deconv_op",
        "deconv2d",
        "in f2,4,5,5; weight f4,8,3,3",
        {**{k: v for k, v in CONV.items() if k != "groups"}, "output_padding": [0, 0]},
        {},
        "out f2,8,9,9",
    ),
    ("pool_op", "max_pool_2d", "x f2,3,9,9", POOL, {}, "y f2,3,4,4"),
    ("pool_op", "max_pool_2d", "x f2,3,9,9", {**POOL, "ceil_mode": True}, {}, "y f2,3,5,5"),
    (
        "pool_op",
        "avg_pool_2d",
        "x f2,9,9,3",
        {**POOL, "data_format": "channels_last", "padding": "same_upper"},
        {},
        "y f2,5,5,3",
    ),
    ("pool_op", "avg_pool_2d", "x f2,3,9,9", {**POOL, "pool_size": [2]}, {}, REFUSED),
    (
        "upsample_op",
        "upsample",
        "x f2,3,4,5",
        {
            "height_scale": 2.0,
            "width_scale": 1.5,
            "data_format": "channels_first",
            "interpolation": "nearest",
            "align_corners": False,
        },
        {},
        "y f2,3,8,7",
    ),
    ("pad_op", "pad", "x f2,3", {"padding_before": [1, 0], "padding_after": [0, 2]}, {}, "y f3,5"),
    # normalization
    (
        "normalization_op",
        "normalization",
        NORM,
        {"axis": 1, "training": True},
        {"mean": 1, "inv_variance": 1},
        "y f4,3,8,8; mean f3; inv_variance f3",
    ),
    ("normalization_op", "normalization", NORM, {"axis": 2}, {}, REFUSED),
    ("normalization_op", "normalization", NORM.replace("x f", "x h"), {"axis": 1}, {}, "y h4,3,8,8"),
    (
        "layer_norm_op",
        "layer_norm",
        "x f4,6; beta f6; gamma f6",
        {"center": True, "scale": True, "begin_norm_axis": 1, "begin_params_axis": 1},
        {"normalized": 1},
        "y f4,6; mean f4; inv_variance f4; normalized f4,6",
    ),
    ("l2_normalize_op", "l2_normalize", "x f4,6", {"axis": 1, "epsilon": 1e-6}, {}, "y f4,6; square_x_sum f4,1"),
    ("dropout_op", "dropout", "in f4; mask b4", {"scale": 2.0}, {}, "out f4"),
    ("dropout_op", "dropout", "in f4; mask f4", {"scale": 2.0}, {}, REFUSED),
    # slices
    ("slice_op", "slice", "x f4,6", SLICE, {}, "y f2,3"),
    ("slice_op", "slice", "x f4,6", {**SLICE, "start": [-1, -6], "stop": [0, 6], "step": [-1, 5]}, {}, "y f3,2"),
    ("slice_op", "slice", "x f4,6", {**SLICE, "step": [0, 1]}, {}, REFUSED),
    ("slice_op", "slice", "x f4,6", {**SLICE, "start": [3, 0], "stop": [1, 6]}, {}, REFUSED),
    ("slice_op", "slice_update", "x f4,6; update f2,3", SLICE, {}, "y f4,6"),
    ("concat_op", "concat", "in f2,3 f4,3", {"axis": 0, "max_dim_size": 6}, {}, "out f6,3"),
    ("concat_op", "concat", "in f2,3 f4,4", {"axis": 0, "max_dim_size": 6}, {}, REFUSED),
    ("split_like_op", "split_like", "in f6,3; like f2,3 f4,3", {"axis": 0}, {"out": 2}, "out f2,3 f4,3"),
    # gather and scatter
    ("gather_op", "gather", "in f5,3; indices i2,4", {"axis": 0}, {}, "out f2,4,3"),
    ("gather_op", "gather", "in f5,3; indices f2,4", {"axis": 0}, {}, REFUSED),
    ("batch_gather_op", "batch_gather", "in f2,5,3; indices l2,4", {}, {}, "out f2,4,3"),
    ("dim_gather_op", "dim_gather", "input f3,4; index i3,2", {"dim": 1}, {}, "output f3,2"),
    ("nd_index_slice_ops", "gather_nd", "params f5,6,7; indices i2,2", {}, {}, "out f2,7"),
    ("nd_index_slice_ops", "scatter_nd", "indices i2,1; updates f2,7", {"shape": (5, 7)}, {}, "out f5,7"),
    (
        "unsorted_segment_sum_op",
        "unsorted_segment_sum",
        "data f6,3; segment_ids i6",
        {"axis": 0, "num_segments": 4},
        {},
        "out f4,3",
    ),
    ("one_hot_op", "one_hot", "indices i2,3", {"depth": 5, "dtype": "float32"}, {}, "out f2,3,5"),
    ("one_hot_op", "one_hot", "indices i2,3", {"depth": 0, "dtype": "float32"}, {}, REFUSED),
    # losses
    (
        "sparse_softmax_cross_entropy_op",
        "sparse_softmax_cross_entropy",
        "prediction f4,10; label i4",
        {"depth": 10},
        {},
        "prob f4,10; out f4",
    ),
    (
        "sparse_softmax_cross_entropy_op",
        "sparse_softmax_cross_entropy",
        "prediction f4,10; label f4",
        {"depth": 10},
        {},
        REFUSED,
    ),
    (
        "softmax_cross_entropy_op",
        "softmax_cross_entropy",
        "prediction f4,10; label f4,10",
        {},
        {},
        "prob f4,10; out f4",
    ),
    ("smooth_l1_loss_op", "smooth_l1_loss", "prediction f4; label f4", {"beta": 1.0}, {}, "loss f4"),
    ("smooth_l1_loss_op", "smooth_l1_loss", "prediction f4; label f4", {"beta": -1.0}, {}, REFUSED),
    ("sigmoid_cross_entropy_op", "sigmoid_cross_entropy", "prediction f4,2; label i4,2", {}, {}, "loss f4,2"),
    # shape
    ("reshape_op", "reshape", "in f2,6", {"shape": (3, 4)}, {}, "out f3,4"),
    ("reshape_op", "reshape", "in f2,6", {"shape": (5, 4)}, {}, REFUSED),
    ("transpose_ops", "transpose", "input f2,3,4", {"perm": [2, 0, 1]}, {}, "output f4,2,3"),
    ("transpose_ops", "transpose", "input f2,3,4", {"perm": [2, 0, 0]}, {}, REFUSED),
    ("squeeze_op", "squeeze", "in f2,1,3", {"axes": [1]}, {}, "out f2,3"),
    ("squeeze_op", "squeeze", "in f2,1,3", {"axes": [0]}, {}, "out f2,1,3"),  # the C++ drops the error of its own check
    ("squeeze_op", "squeeze", "in f2,1,3", {"axes": [3]}, {}, REFUSED),
    ("expand_dims_op", "expand_dims", "in f2,3", {"axis": -1}, {}, "out f2,3,1"),
    ("flatten_op", "flatten", "in f2,3,4,5", {"start_dim": 1, "end_dim": 2}, {}, "out f2,12,5"),
    ("diag_op", "diag", "in f4", {"diagonal": 1}, {}, "out f5,5"),
    ("diag_op", "diag", "in f4,5", {"diagonal": -1}, {}, "out f3"),
    ("range_op", "range", "", {"start": 1, "delta": 2, "limit": 8, "dtype": "int64"}, {}, "out l4"),
    ("range_op", "range", "", {"start": 1, "limit": 8, "dtype": "int64"}, {}, REFUSED),
    ("constant_op", "constant", "", {"shape": (2, 3), "dtype": "float64", "is_floating_value": True}, {}, "out d2,3"),
    ("top_k_op", "top_k", "in f2,9", {"k": 4, "sorted": True}, {}, "out i2,4"),
    ("sort_op", "sort", "in f2,9", {"direction": "ASCENDING"}, {}, "out f2,9"),
    ("sort_op", "sort", "in f2,9", {"direction": "UP"}, {}, REFUSED),
]


@cache
def ops_of(file: str) -> dict[str, CompiledOp]:
    """Compile one of OneFlow's files."""
    result = compile_spec(FOLDER / f"{file}.cpp")
    assert result.ok, [item.message for item in result.diagnostics]
    return dict(result.ops)


@pytest.mark.parametrize(
    ("file", "op", "inputs", "attrs", "counts", "outputs"), ROWS, ids=[f"{row[1]}-{n}" for n, row in enumerate(ROWS)]
)
def test_an_op_of_oneflow(
    file: str, op: str, inputs: str, attrs: dict[str, object], counts: dict[str, int], outputs: str | None
) -> None:
    """The infer functions give, and refuse, what OneFlow's do."""
    compiled = ops_of(file)[op]
    if outputs is REFUSED:
        with pytest.raises(InferError):
            compiled.infer(tensors(inputs), attrs, counts)
    else:
        assert compiled.infer(tensors(inputs), attrs, counts) == tensors(outputs)


def test_everything_compiles() -> None:
    """384 ops and 157 gradients in 135 files, without an error."""
    results = [compile_spec(file) for file in sorted(FOLDER.glob("*.cpp"))]
    assert sum(len(result.ops) for result in results if result.ok) == 384
    assert sum(len(result.grads) for result in results if result.ok) == 157
