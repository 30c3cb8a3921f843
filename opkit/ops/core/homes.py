"""Homes: which module defines each built-in op, so that a registry knows their names before it has imported any.

No op is defined here. The list is generated (``OPKIT_UPDATE_GOLDEN=1``, ``tests/ops/test_homes.py``).
"""

from collections.abc import Mapping

#: module below ``opkit.ops`` -> the op types that it defines, in their order.
HOMES: Mapping[str, str] = {
    "basis.creation": "cast cast_like identity constant zero_like ones_like full_like range literal",
    "basis.broadcasting": "reduce_sum reduce_mean reduce_mean_grad broadcast_like reduce_sum_like broadcast_to",
    "arrange.indexing": "getitem getitem_advanced getitem_grad setitem",
    "arrange.shape": "reshape flatten reshape_kept reshape_like transpose squeeze expand_dims",
    "arrange.joining": "split_like split concat",
    "arrange.matrix": "tril triu diag diag_grad",
    "arrange.selection": (
        "gather unsorted_segment_sum unsorted_segment_sum_like batch_gather unsorted_batch_segment_sum "
        "unsorted_batch_segment_sum_like one_hot"
    ),
    "basis.arithmetic": (
        "broadcast_add broadcast_sub broadcast_mul broadcast_div scalar_add scalar_mul scalar_div negative "
        "floor_divide broadcast_floor_mod"
    ),
    "arrange.scattering": (
        "gather_nd scatter_nd scatter_nd_like tensor_scatter_nd_add tensor_scatter_nd_update dim_gather "
        "dim_scatter_add_like put_along_axis multiply_along_axis"
    ),
    "arrange.sizes": "shape_of fill_by reshape_by range_by",
    "arrange.slicing": "slice slice_grad slice_update logical_slice pad pad_grad pad_mode pad_mode_grad",
    "arrange.sort": (
        "arg_sort sort top_k argwhere unique_values unique_with_counts searchsorted CategoricalOrdinalEncode"
    ),
    "arrange.turning": "flip roll tile tile_grad repeat_interleave repeat_interleave_grad",
    "basis.random": "uniform normal randint randperm poisson random_mask_like bernoulli multinomial",
    "basis.unbroadcast": (
        "multiply add_n scalar_add_by_tensor scalar_sub_by_tensor scalar_mul_by_tensor scalar_div_by_tensor"
    ),
    "pointwise.compare": (
        "broadcast_equal broadcast_not_equal broadcast_less broadcast_less_equal broadcast_greater "
        "broadcast_greater_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor logical_not isnan "
        "isinf isfinite broadcast_maximum broadcast_minimum where clip clip_by_scalar_grad clip_by_scalar "
        "clip_by_scalar_min_grad clip_by_scalar_min clip_by_scalar_max_grad clip_by_scalar_max"
    ),
    "pointwise.elementwise": (
        "tanh_grad_from_y sigmoid_grad sqrt_grad_from_y exp_grad exp expm1_grad expm1 log_grad log log2_grad log2 "
        "log10_grad log10 log1p_grad log1p sqrt_grad sqrt rsqrt_grad rsqrt square_grad square reciprocal_grad "
        "reciprocal reciprocal_no_nan_grad reciprocal_no_nan sin_grad sin cos_grad cos tan_grad tan asin_grad asin "
        "acos_grad acos atan_grad atan sinh_grad sinh cosh_grad cosh tanh_grad tanh asinh_grad asinh acosh_grad "
        "acosh atanh_grad atanh sigmoid_v2_grad sigmoid_v2 softplus_grad softplus log_sigmoid_grad log_sigmoid "
        "erf_grad erf erfc_grad erfc lgamma_grad lgamma digamma_grad digamma abs_grad abs sign_grad sign floor_grad "
        "floor ceil_grad ceil trunc_grad trunc rint_grad rint round_grad round round_half_away_grad round_half_away "
        "sigmoid polygamma"
    ),
    "network.layers": "bias_add dropout_grad dropout",
    "pointwise.activation": (
        "relu_grad relu leaky_relu_grad leaky_relu elu_grad elu selu_grad selu prelu_grad prelu gelu_grad gelu "
        "silu_grad silu mish_grad mish hardsigmoid_grad hardsigmoid hardswish_grad hardswish ramp_grad ramp "
        "hardtanh_grad hardtanh"
    ),
    "forms": (
        "amp_white_identity cast_to_static_shape copy parallel_cast broadcast_div_grad fused_bias_add_gelu "
        "fused_bias_add_mask_scale fused_scale_tril"
    ),
    "linear.products": "matmul batch_matmul broadcast_matmul",
    "linear.inversion": "inverse determinant log_determinant solve pseudo_inverse",
    "linear.factorisation": "cholesky eigh eigenvalues qr svd",
    "network.batch_normalization": "normalization_grad batch_norm_train moving_average_update normalization",
    "network.conv": "conv1d conv2d conv3d conv_data_grad conv_filter_grad conv_bias_grad deconv1d deconv2d deconv3d",
    "reduce.log_space": "softmax_grad softmax log_softmax_grad log_softmax logsumexp",
    "network.cross_entropy": (
        "sparse_softmax_cross_entropy sparse_softmax_cross_entropy_grad sparse_cross_entropy "
        "sparse_cross_entropy_grad softmax_cross_entropy_grad softmax_cross_entropy"
    ),
    "network.layer_normalization": "layer_norm_grad layer_norm",
    "network.loss": (
        "sigmoid_cross_entropy_grad sigmoid_cross_entropy binary_cross_entropy_grad binary_cross_entropy "
        "smooth_l1_loss_grad smooth_l1_loss"
    ),
    "pointwise.power": (
        "scalar_pow_grad scalar_pow broadcast_pow pow_x_grad pow_y_grad pow atan2_x_grad atan2_y_grad atan2 "
        "xlogy_x_grad xlogy_y_grad xlogy"
    ),
    "reduce.extremes": (
        "reduce_count reduce_max reduce_min reduce_max_each reduce_min_each prod_of_others reduce_prod reduce_any "
        "reduce_all argmax argmin norm2"
    ),
    "network.pool": (
        "max_pool_1d_places max_pool_2d_places max_pool_3d_places max_pool_1d_grad max_pool_1d_grad_grad "
        "max_pool_1d max_pool_2d_grad max_pool_2d_grad_grad max_pool_2d max_pool_3d_grad max_pool_3d_grad_grad "
        "max_pool_3d avg_pool_1d_grad avg_pool_1d avg_pool_2d_grad avg_pool_2d avg_pool_3d_grad avg_pool_3d"
    ),
    "network.resize": "resize resize_grad upsample",
    "pointwise.bitwise": "bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_not",
    "pointwise.error_inverse": "erfinv",
    "reduce.counting": "histogram bincount mode_places",
    "reduce.scan": "cumsum cumprod logcumsumexp_grad logcumsumexp",
    "update": "assign sgd_update momentum_update adam_update rmsprop_update",
    "arrange.partial_order": "selected_places",
    "network.adaptive": "adaptive_max_pool_places",
    "network.ctc": "ctc_loss_grad ctc_loss",
}
