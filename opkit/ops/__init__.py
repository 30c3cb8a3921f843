"""Op definitions, the registry, the current mode, and the built-in ops with their builders.

A module is imported when one of its names is first asked for: what needs no kernels does not wait for them. The stub
beside this file tells type checkers the same; a test holds both equal, and writes it.
A builder (``ops.add(x, y)``, ``ops.reduce_sum(x, axis)``, ...) takes and returns values of the current mode.
"""

from opkit.deferred import deferred
from opkit.ops.core.inference import explain
from opkit.ops.core.mode import Mode, apply, install_default, local
from opkit.ops.core.observers import Observer, observe
from opkit.ops.core.opdef import Applied, ArgDef, AttrDef, BoundOp, OpDef, OpType
from opkit.ops.core.registry import BUILTIN, Registry
from opkit.ops.core.value import Abstract, Value, desc_of, dtype_of, is_value, ndim_of, shape_of

#: module below this one -> its public names; each is imported when one of them is first asked for.
_FAMILIES = {
    "arrange.indexing": "getitem setitem",
    "arrange.joining": "concat split stack unstack",
    "arrange.matrix": "diag tril triu",
    "arrange.partial_order": "selected",
    "arrange.scattering": (
        "add_along_axis gather_nd multiply_along_axis put_along_axis scatter scatter_nd_add take_along_axis"
    ),
    "arrange.selection": "gather index_select one_hot unsorted_segment_sum",
    "arrange.shape": "expand_dims flatten reshape reshape_like squeeze swapaxes transpose",
    "arrange.sizes": "count_of fill_by range_by reshape_by size_along size_vector",
    "arrange.slicing": "pad slice",
    "arrange.sort": "argsort argwhere masked_select searchsorted sort topk unique",
    "arrange.turning": "flip repeat_interleave roll tile",
    "basis.arithmetic": "add div floor_div floor_mod mul neg scalar_add scalar_div scalar_mul sub",
    "basis.broadcasting": "broadcast_like broadcast_to reduce_mean reduce_sum reduce_sum_like sum_to",
    "basis.creation": (
        "as_value cast cast_like constant eye full_like identity linspace literal ones_like range zeros_like"
    ),
    "basis.random": (
        "bernoulli generator generator_state multinomial normal poisson randint random_mask_like randperm seed "
        "set_generator_state uniform"
    ),
    "basis.unbroadcast": "add_n multiply",
    "forms": "SPECIAL_FORMS",
    "linear.contraction": "einsum tensordot",
    "linear.factorisation": "cholesky eigenvalues eigh qr svd",
    "linear.inversion": "determinant inverse log_determinant pseudo_inverse solve",
    "linear.products": "dot matmul",
    "network.adaptive": "adaptive_max_pool max_unpool",
    "network.batch_normalization": "batch_norm",
    "network.conv": "conv conv_transpose window_list",
    "network.cross_entropy": "sparse_softmax_cross_entropy",
    "network.ctc": "ctc_loss",
    "network.layer_normalization": "instance_norm layer_norm",
    "network.layers": "bias_add dropout",
    "network.loss": "binary_cross_entropy smooth_l1_loss",
    "network.pool": "adaptive_pool avg_pool max_pool max_pool_places",
    "pointwise.activation": (
        "elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu mish prelu ramp relu relu6 selu silu softshrink "
        "softsign tanhshrink thresholded_relu"
    ),
    "pointwise.bitwise": "bitwise_and bitwise_not bitwise_or bitwise_xor left_shift right_shift",
    "pointwise.compare": (
        "clip clip_inside equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
        "logical_or logical_xor maximum minimum not_equal where"
    ),
    "pointwise.elementwise": (
        "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp expm1 floor lgamma log log1p log2 "
        "log10 log_sigmoid polygamma reciprocal reciprocal_no_nan rint round round_half_even rsqrt sigmoid "
        "sigmoid_v2 sign sin sinh softplus sqrt square tan tanh trunc"
    ),
    "pointwise.error_inverse": "erfinv",
    "pointwise.power": "atan2 pow xlogy",
    "reduce.counting": "bincount histogram mode_places",
    "reduce.extremes": "amax amin argmax argmin norm reduce_all reduce_any reduce_max reduce_min reduce_prod std var",
    "reduce.log_space": "log_softmax logsumexp softmax",
    "reduce.scan": "cumprod cumsum logcumsumexp",
    "update": "ADAM_UPDATE ASSIGN MOMENTUM_UPDATE RMSPROP_UPDATE SGD_UPDATE blocks_of",
}
_HOMES = {name: home for home, names in _FAMILIES.items() for name in names.split()}

__all__ = [
    "Abstract",
    "Applied",
    "ArgDef",
    "AttrDef",
    "BUILTIN",
    "BoundOp",
    "Mode",
    "Observer",
    "OpDef",
    "OpType",
    "Registry",
    "Value",
    "apply",
    "desc_of",
    "dtype_of",
    "explain",
    "install_default",
    "is_value",
    "local",
    "ndim_of",
    "observe",
    "shape_of",
    *_HOMES,
]

__getattr__ = deferred(__name__, _HOMES)
