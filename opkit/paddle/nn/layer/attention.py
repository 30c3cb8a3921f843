"""Attention with several heads and its caches (Vaswani et al. 2017); layers that use it are in ``transformer``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.common import Linear
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops

__all__ = ["MultiHeadAttention"]


def attention_mask(mask: Any, dtype: Any) -> Any:
    """Return what is added to the products: 0 where to attend; booleans and integers say where."""
    if mask is None or mask._data.dtype.kind == "f":
        return mask
    if mask._data.dtype.kind == "b":
        return ops.mul(ops.sub(ops.cast(mask, dtype), 1.0), 1e9)
    return ops.cast(mask, dtype)


class MultiHeadAttention(Layer):
    """Attention with several heads.

    Args:
        embed_dim: size of query and output.
        num_heads: how many heads share it.
        dropout: share of the weights that are set to 0 while training.
        kdim: size of the key, embed_dim where left out.
        vdim: size of the value, embed_dim where left out.
        need_weights: forward returns the weights too.
        weight_attr: how the weights are made.
        bias_attr: how the biases are made.
    """

    Cache = namedtuple("Cache", ["k", "v"])
    StaticCache = namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise UsageError(f"MultiHeadAttention: embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Any) -> Any:
        parts = ops.reshape(x, [0, 0, self.num_heads, self.head_dim])
        return ops.transpose(parts, [0, 2, 1, 3])

    def compute_kv(self, key: Any, value: Any) -> tuple[Any, Any]:
        """Return key and value per head."""
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def gen_cache(self, key: Any, value: Any = None, type: Any = Cache) -> Any:
        """Return a cache: of a memory that stays (``StaticCache``), or of the steps so far (``Cache``)."""
        if type is MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is None:
            blank = np.zeros((key.shape[0], self.num_heads, 0, self.head_dim), canonical_dtype(self._dtype))
            return self.Cache(ops.literal(blank), ops.literal(blank))
        return self.Cache(key, value)

    def forward(self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None) -> Any:
        """Attend.

        Args:
            query: ``(N, length, embed_dim)``.
            key: ``(N, other length, kdim)``; the query where left out.
            value: likewise; the key where left out.
            attn_mask: added to the products (0 or -inf); of booleans, True where to attend.
            cache: what ``gen_cache`` returned.

        Returns:
            the output; with ``need_weights`` and with a ``Cache`` a tuple with the weights and the new cache.
        """
        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            k, v = cache.k, cache.v
        else:
            k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            k, v = ops.concat([cache.k, k], 2), ops.concat([cache.v, v], 2)
            cache = self.Cache(k, v)
        scores = ops.matmul(ops.mul(q, self.head_dim**-0.5), k, False, True)
        mask = attention_mask(attn_mask, q._data.dtype)
        weights = functional.softmax(scores if mask is None else ops.add(scores, mask))
        if self.dropout:
            weights = functional.dropout(weights, self.dropout, training=self.training)
        joined = ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
        out = self.out_proj(ops.reshape(joined, [0, 0, self.embed_dim]))
        found = [out, *([weights] if self.need_weights else []), *([cache] if cache is not None else [])]
        return out if len(found) == 1 else tuple(found)
