"""Linear maps, dropout, embedding, padding.

Attention.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.ops.composed import layers, losses
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, needed
from opkit.paddle.tensor.layout import diag_embed
from opkit.shim.missing import guard as _guard

__all__ = [
    "cosine_similarity",
    "diag_embed",
    "dropout",
    "dropout2d",
    "embedding",
    "linear",
    "normalize",
    "one_hot",
    "pad",
    "scaled_dot_product_attention",
]


#: Of a tensor's axes: what data_format may say where spatial axes alone are padded.
_PADDED_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def linear(x: Any, weight: Any, bias: Any = None, name: Name = None) -> Any:
    """Return ``x @ weight + bias``; the weight is (inputs, outputs)."""
    result = ops.matmul(needed(x), needed(weight))
    return result if bias is None else ops.add(result, bias)


def dropout(
    x: Any, p: Any = 0.5, axis: Any = None, training: bool = True, mode: str = "upscale_in_train", name: Name = None
) -> Any:
    """Return x with elements set to 0 with probability p while training.

    Args:
        x: any shape.
        p: the probability.
        axis: where given, the mask varies along these axes only.
        training: whether anything is dropped.
        mode: "upscale_in_train" divides what is kept by 1 - p; "downscale_in_infer" multiplies by 1 - p otherwise.
        name: ignored.
    """
    needed(x)
    rate = float(p)
    if not 0 <= rate <= 1:
        raise UsageError(f"dropout: p must be between 0 and 1, got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise UsageError(f"dropout: mode is 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")
    if not training:
        return ops.identity(x) if mode == "upscale_in_train" else ops.mul(x, 1.0 - rate)
    if rate == 0:
        return ops.identity(x)
    if axis is None:
        return ops.dropout(x, rate, upscale=mode == "upscale_in_train")
    if rate == 1:
        return ops.mul(x, 0.0)
    kept = layers.drop_along(x, [item % x.ndim for item in ints(axis)], rate)
    return ops.div(kept, 1.0 - rate) if mode == "upscale_in_train" else kept


def dropout2d(x: Any, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: Name = None) -> Any:
    """Return x with whole channels set to 0 with probability p while training."""
    return dropout(x, p, [0, 1] if data_format == "NCHW" else [0, 3], training)


def embedding(x: Any, weight: Any, padding_idx: int | None = None, sparse: bool = False, name: Name = None) -> Any:
    """Return the rows of the weight that the integers in x name.

    Args:
        x: integers.
        weight: (entries, size).
        padding_idx: rows of this index are zeros and get no gradient.
        sparse: accepted, without effect.
        name: ignored.
    """
    if needed(x)._data.dtype.kind not in "iu":
        raise DtypeError(f"embedding: x must hold integers, got {x._data.dtype}")
    if len(needed(weight).shape) != 2:
        raise ShapeError(f"embedding: weight must be (entries, size), got shape {list(weight.shape)}")
    rows = ops.gather(weight, x, 0)
    if padding_idx is None:
        return rows
    entries = weight.shape[0]
    if not -entries <= padding_idx < entries:
        raise UsageError(f"embedding: padding_idx must be within [-{entries}, {entries}), got {padding_idx}")
    counted = ops.expand_dims(ops.not_equal(x, padding_idx % entries), -1)
    return ops.mul(rows, ops.cast_like(counted, rows))


def one_hot(x: Any, num_classes: int, name: Name = None) -> Any:
    """Return a new last axis with a 1 at the place that each integer names."""
    if needed(x)._data.dtype.name not in ("int32", "int64"):
        raise DtypeError(f"one_hot: x must hold integers (int32 or int64), got {x._data.dtype}")
    return ops.one_hot(x, int(num_classes), default_dtype())


def pad(
    x: Any, pad: Any, mode: str = "constant", value: float = 0.0, data_format: str = "NCHW", name: Name = None
) -> Any:
    """Return x with elements added at its edges.

    Args:
        x: any shape.
        pad: two numbers per axis, from the first axis on; or two per spatial axis, from the last one back.
        mode: "constant", "reflect", "replicate" or "circular".
        value: what is added in constant mode.
        data_format: where the channels stand, when only spatial axes are padded.
        name: ignored.
    """
    counts = ints(pad)
    dims = needed(x).ndim
    before, after = [0] * dims, [0] * dims
    if mode == "constant" and len(counts) == 2 * dims:
        before, after = counts[0::2], counts[1::2]
    else:
        formats = _PADDED_FORMATS.get(dims, ())
        if formats and data_format not in formats:
            raise UsageError(f"pad: data_format of {dims} axes is {' or '.join(formats)}, got {data_format!r}")
        spatial = list(range(2, dims)) if data_format.startswith("NC") else list(range(1, dims - 1))
        if not formats or len(counts) != 2 * len(spatial):
            raise UsageError(f"pad: {len(counts)} numbers do not fit a tensor of shape {list(x.shape)}")
        for i in range(len(counts) // 2):
            before[spatial[-1 - i]], after[spatial[-1 - i]] = counts[2 * i], counts[2 * i + 1]
    return ops.pad(x, before, after, float(value), mode)


def normalize(x: Any, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: Name = None) -> Any:
    """Return x divided by its p-norm along an axis."""
    return losses.normalised(x, ops.norm(needed(x), float(p), axis, True), epsilon)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """Return the cosine of the angle between two tensors along an axis."""
    return losses.cosine(x1, x2, axis, eps)


__getattr__ = _guard(globals())


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: Name = None,
) -> Any:
    """Return ``softmax(query @ key / sqrt(size) + mask) @ value`` per head (Vaswani et al. 2017).

    Args:
        query: ``(N, length, heads, size)``.
        key: ``(N, other length, heads, size)``.
        value: as key.
        attn_mask: added to the products, ``(N, heads, length, other length)`` or what broadcasts to it; of booleans,
            where to attend.
        dropout_p: share of the weights that are set to 0.
        is_causal: no position attends to a later one.
        training: whether anything is dropped.
        name: ignored.
    """
    if needed(query).ndim != 4:
        raise ShapeError(f"scaled_dot_product_attention takes tensors of 4 axes, got {list(query.shape)}")
    q, k, v = (layers.by_heads(item) for item in (query, key, value))
    weights = layers.attention_weights(q, k, attn_mask, is_causal=is_causal)
    if dropout_p:
        weights = dropout(weights, dropout_p, training=training)
    return layers.by_heads(ops.matmul(weights, v))
