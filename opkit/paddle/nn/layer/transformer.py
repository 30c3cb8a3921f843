"""Multi-head attention and the layers of transformers (Vaswani et al. 2017), with Paddle's names and caches."""

from __future__ import annotations

import copy
import math
from collections import namedtuple
from typing import Any

import numpy as np

from opkit import ops
from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.common import Dropout, Linear
from opkit.paddle.nn.layer.container import LayerList
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.nn.layer.norm import LayerNorm

__all__ = [
    "MultiHeadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _attrs(attr: Any, count: int) -> list[Any]:
    """Return one parameter attribute per sublayer, from one for all or a list."""
    if isinstance(attr, (list, tuple)):
        items = list(attr)
        if len(items) == 1:
            items *= count
        if len(items) != count:
            raise UsageError(f"a list of parameter attributes has {count} items here, got {len(items)}")
        return items
    if isinstance(attr, ParamAttr):
        copies = [copy.copy(attr) for _ in range(count)]
        for k, item in enumerate(copies):
            if attr.name is not None:
                item.name = f"{attr.name}_{k}"
        return copies
    return [attr] * count


def _mask(mask: Any, dtype: Any) -> Any:
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
        mask = _mask(attn_mask, q._data.dtype)
        weights = functional.softmax(scores if mask is None else ops.add(scores, mask))
        if self.dropout:
            weights = functional.dropout(weights, self.dropout, training=self.training)
        joined = ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
        out = self.out_proj(ops.reshape(joined, [0, 0, self.embed_dim]))
        found = [out, *([weights] if self.need_weights else []), *([cache] if cache is not None else [])]
        return out if len(found) == 1 else tuple(found)


class _Block(Layer):
    """What encoder and decoder layers share: the feed-forward part, and norms before or behind."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int, **settings: Any) -> None:
        super().__init__()
        for label, size in (("d_model", d_model), ("nhead", nhead), ("dim_feedforward", dim_feedforward)):
            if size <= 0:
                raise UsageError(f"{type(self).__name__}: {label} must be positive, got {size}")
        self._config = {"d_model": d_model, "nhead": nhead, "dim_feedforward": dim_feedforward, **settings}
        rate = settings["dropout"]
        self.normalize_before = settings["normalize_before"]
        self._attention_rate = rate if settings["attn_dropout"] is None else settings["attn_dropout"]
        self._act_rate = rate if settings["act_dropout"] is None else settings["act_dropout"]
        self.activation = getattr(functional, settings["activation"])

    def _attention(self, weight_attr: Any, bias_attr: Any) -> MultiHeadAttention:
        return MultiHeadAttention(
            self._config["d_model"],
            self._config["nhead"],
            self._attention_rate,
            weight_attr=weight_attr,
            bias_attr=bias_attr,
        )

    def _feed_forward(self, weight_attr: Any, bias_attr: Any, count: int) -> None:
        size, inner = self._config["d_model"], self._config["dim_feedforward"]
        self.linear1 = Linear(size, inner, weight_attr, bias_attr)
        self.dropout = Dropout(self._act_rate)
        self.linear2 = Linear(inner, size, weight_attr, bias_attr)
        for k in range(1, count + 1):
            setattr(self, f"norm{k}", LayerNorm(size))
        for k in range(1, count + 1):
            setattr(self, f"dropout{k}", Dropout(self._config["dropout"]))

    def _part(self, k: int, x: Any, function: Any) -> tuple[Any, Any]:
        """Return x with a part's output added, normalised before or behind, and what else the part returned."""
        norm, drop = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        found = function(norm(x) if self.normalize_before else x)
        out, rest = (found[0], found[1:]) if isinstance(found, tuple) else (found, ())
        joined = ops.add(x, drop(out))
        return joined if self.normalize_before else norm(joined), rest

    def _mlp(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def again(self) -> Any:
        """Return a new layer with the same settings."""
        return type(self)(**self._config)


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward part."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout=dropout,
            activation=activation,
            attn_dropout=attn_dropout,
            act_dropout=act_dropout,
            normalize_before=normalize_before,
            weight_attr=weight_attr,
            bias_attr=bias_attr,
        )
        weights, biases = _attrs(weight_attr, 2), _attrs(bias_attr, 2)
        self.self_attn = self._attention(weights[0], biases[0])
        self._feed_forward(weights[1], biases[1], 2)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with a cache a tuple of it and the new cache."""
        out, rest = self._part(1, src, lambda x: self.self_attn(x, x, x, src_mask, cache))
        out, _ = self._part(2, out, self._mlp)
        return out if cache is None else (out, rest[-1])

    def gen_cache(self, src: Any) -> Any:
        """Return an empty cache of the self-attention."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to a memory, and a feed-forward part."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout=dropout,
            activation=activation,
            attn_dropout=attn_dropout,
            act_dropout=act_dropout,
            normalize_before=normalize_before,
            weight_attr=weight_attr,
            bias_attr=bias_attr,
        )
        weights, biases = _attrs(weight_attr, 3), _attrs(bias_attr, 3)
        self.self_attn = self._attention(weights[0], biases[0])
        self.cross_attn = self._attention(weights[1], biases[1])
        self._feed_forward(weights[2], biases[2], 3)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with a cache a tuple of it and the new caches."""
        own, fixed = (None, None) if cache is None else cache
        out, rest = self._part(1, tgt, lambda x: self.self_attn(x, x, x, tgt_mask, own))
        out, _ = self._part(2, out, lambda x: self.cross_attn(x, memory, memory, memory_mask, fixed))
        out, _ = self._part(3, out, self._mlp)
        return out if cache is None else (out, (rest[-1], fixed))

    def gen_cache(self, memory: Any) -> Any:
        """Return an empty cache of the self-attention and a filled one of the memory."""
        return (
            self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache),
            self.cross_attn.gen_cache(memory, memory, type=MultiHeadAttention.StaticCache),
        )


# ---- stacks ----------------------------------------------------------------------------------------------------------
class TransformerEncoder(Layer):
    """Several encoder layers, the first as given and the others made like it; a norm behind them."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = LayerList([encoder_layer, *(encoder_layer.again() for _ in range(num_layers - 1))])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with caches a tuple of it and the new caches."""
        mask = _mask(src_mask, src._data.dtype)
        caches = []
        for k, layer in enumerate(self.layers):
            if cache is None:
                src = layer(src, src_mask=mask)
            else:
                src, made = layer(src, src_mask=mask, cache=cache[k])
                caches.append(made)
        src = src if self.norm is None else self.norm(src)
        return src if cache is None else (src, caches)

    def gen_cache(self, src: Any) -> list[Any]:
        """Return an empty cache per layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(Layer):
    """Several decoder layers, the first as given and the others made like it; a norm behind them."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = LayerList([decoder_layer, *(decoder_layer.again() for _ in range(num_layers - 1))])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with caches a tuple of it and the new caches."""
        masks = _mask(tgt_mask, tgt._data.dtype), _mask(memory_mask, memory._data.dtype)
        caches = []
        for k, layer in enumerate(self.layers):
            if cache is None:
                tgt = layer(tgt, memory, *masks)
            else:
                tgt, made = layer(tgt, memory, *masks, cache=cache[k])
                caches.append(made)
        tgt = tgt if self.norm is None else self.norm(tgt)
        return tgt if cache is None else (tgt, caches)

    def gen_cache(self, memory: Any, do_zip: bool = False) -> list[Any]:
        """Return the caches of each layer; with ``do_zip`` the growing ones and the fixed ones apart."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches)) if do_zip else caches


class Transformer(Layer):
    """An encoder and a decoder.

    Args:
        d_model: size of the inputs.
        nhead: number of heads.
        num_encoder_layers: of the encoder.
        num_decoder_layers: of the decoder.
        dim_feedforward: inner size of the feed-forward parts.
        dropout: rate of all dropouts without one of their own.
        activation: of the feed-forward parts.
        attn_dropout: rate on the attention weights.
        act_dropout: rate behind the activation.
        normalize_before: norms stand before the parts.
        weight_attr: how the weights are made.
        bias_attr: how the biases are made.
        custom_encoder: used in the encoder's place.
        custom_decoder: used in the decoder's place.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        rest = (dropout, activation, attn_dropout, act_dropout, normalize_before)
        attrs = (weight_attr, bias_attr)
        encoder_attrs = [item[:2] if isinstance(item, (list, tuple)) and len(item) == 3 else item for item in attrs]
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, dim_feedforward, *rest, *encoder_attrs),
            num_encoder_layers,
            LayerNorm(d_model),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(d_model, nhead, dim_feedforward, *rest, *attrs),
            num_decoder_layers,
            LayerNorm(d_model),
        )
        self.d_model, self.nhead = d_model, nhead

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None) -> Any:
        """Return the decoder's output."""
        memory = self.encoder(src, src_mask=src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)

    def generate_square_subsequent_mask(self, length: int) -> Any:
        """Return a mask under which no position attends to a later one."""
        later = np.triu(np.full((length, length), -math.inf, default_dtype()), 1)
        return ops.literal(later)
