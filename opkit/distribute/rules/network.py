"""Layers and losses: images of a batch apart from each other; filters too.

Source: OneFlow v0.4.0, user/ops/conv_op.cpp, pool_op.cpp, bias_add_op.cpp, sparse_softmax_cross_entropy_op.cpp,
layer_norm_op.cpp.
"""

from __future__ import annotations

from opkit.distribute.rules.reduce import rows
from opkit.distribute.way import Facts, Way, Ways
from opkit.sharding import BROADCAST, PARTIAL, split


def _first(facts: Facts, *whole: int) -> Way:
    """Split the first axis of all but some inputs, and of all results."""
    inputs = tuple(
        None if shape is None else BROADCAST if index in whole else split(0) for index, shape in enumerate(facts.inputs)
    )
    return Way(inputs, (split(0),) * len(facts.results))


def _channel_axis(facts: Facts) -> int:
    """Return the axis of the channels in an image."""
    is_first = facts.attrs["data_format"] in ("channels_first", "NCW", "NCHW", "NCDHW")
    return 1 if is_first else len(facts.results[0]) - 1


def _conv(facts: Facts) -> Ways:
    yield _first(facts, 1, 2, 3)


def _conv_data_grad(facts: Facts) -> Ways:
    yield _first(facts, 1)


def _conv_filter_grad(facts: Facts) -> Ways:
    yield Way((split(0), split(0)), (PARTIAL,))


def _conv_bias_grad(facts: Facts) -> Ways:
    yield Way((split(0),), (PARTIAL,))


def _images(facts: Facts) -> Ways:
    """A window that moves over each image and channel apart."""
    channel = _channel_axis(facts)
    for axis in (0, channel):
        yield facts.alike(split(axis))


def _bias_add(facts: Facts) -> Ways:
    """Source: bias_add_op.cpp."""
    rank = facts.rank
    own = facts.attrs["axis"] % rank
    rest = facts.all_inputs(BROADCAST)[2:]
    for axis in range(rank):
        others = tuple(None if item is None else split(axis) for item in rest)
        yield Way((split(axis), split(0) if axis == own else BROADCAST, *others), (split(axis),))


def _cross_entropy_grad(facts: Facts) -> Ways:
    for axis in range(len(facts.results[0]) - 1):
        yield facts.alike(split(axis))


def _layer_norm(facts: Facts) -> Ways:
    begin, start = (facts.attrs[name] % facts.rank for name in ("begin_norm_axis", "begin_params_axis"))
    for axis in range(min(begin, start)):
        inputs = (split(axis), *facts.all_inputs(BROADCAST)[1:])
        yield Way(inputs, (split(axis),) * len(facts.results))


def _layer_norm_grad(facts: Facts) -> Ways:
    for axis in range(facts.attrs["begin_norm_axis"] % facts.rank):
        yield facts.alike(split(axis))


RULES = {
    **{f"conv{axes}d": _conv for axes in (1, 2, 3)},
    **{f"{kind}_pool_{axes}d": _images for kind in ("max", "avg") for axes in (1, 2, 3)},
    **{f"{kind}_pool_{axes}d_grad": _images for kind in ("max", "avg") for axes in (1, 2, 3)},
    "conv_data_grad": _conv_data_grad,
    "conv_filter_grad": _conv_filter_grad,
    "conv_bias_grad": _conv_bias_grad,
    "layer_norm": _layer_norm,
    "layer_norm_grad": _layer_norm_grad,
    "bias_add": _bias_add,
    "fused_bias_add_gelu": _bias_add,
    "upsample": _images,
    **dict.fromkeys(("softmax_cross_entropy", "sparse_softmax_cross_entropy", "sparse_cross_entropy"), rows),
    **dict.fromkeys(
        ("softmax_cross_entropy_grad", "sparse_softmax_cross_entropy_grad", "sparse_cross_entropy_grad"),
        _cross_entropy_grad,
    ),
}
