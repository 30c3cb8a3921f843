"""The layers of transformers (Vaswani et al. 2017), with Paddle's names and caches; attention is in ``attention``."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.attention import MultiHeadAttention, attention_mask
from opkit.paddle.nn.layer.common import Dropout, Linear
from opkit.paddle.nn.layer.container import LayerList
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.nn.layer.norm import LayerNorm
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard as _guard

__all__ = [
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


@declared
class _Block(DeclaredLayer):
    """What encoder and decoder layers share: the feed-forward part, and norms before or behind."""

    _shown = ()
    _parts = 2

    d_model: int
    nhead: int
    dim_feedforward: int
    dropout: float = 0.1
    activation: str = "relu"
    attn_dropout: float | None = None
    act_dropout: float | None = None
    normalize_before: bool = False
    weight_attr: Any = None
    bias_attr: Any = None

    def __post_init__(self) -> None:
        # Paddle's names: "dropout" and "activation" become the layer and the function of that name.
        self._config = self._arguments()
        for label in ("d_model", "nhead", "dim_feedforward"):
            if self._config[label] <= 0:
                raise UsageError(f"{type(self).__name__}: {label} must be positive, got {self._config[label]}")
        function: Any = getattr(functional, self.activation)
        self.activation = function
        self._build(_attrs(self.weight_attr, self._parts), _attrs(self.bias_attr, self._parts))

    def _build(self, weights: list[Any], biases: list[Any]) -> None:
        """Make the sublayers, with one weight and one bias attribute for each part."""
        raise NotImplementedError(f"{type(self).__name__} defines no parts")

    def _attention(self, weight_attr: Any, bias_attr: Any) -> MultiHeadAttention:
        rate = self._config["dropout"] if self.attn_dropout is None else self.attn_dropout
        return MultiHeadAttention(self.d_model, self.nhead, rate, weight_attr=weight_attr, bias_attr=bias_attr)

    def _feed_forward(self, weight_attr: Any, bias_attr: Any) -> None:
        rate = self._config["dropout"]
        self.linear1 = Linear(self.d_model, self.dim_feedforward, weight_attr, bias_attr)
        drop: Any = Dropout(rate if self.act_dropout is None else self.act_dropout)
        self.dropout = drop
        self.linear2 = Linear(self.dim_feedforward, self.d_model, weight_attr, bias_attr)
        for k in range(1, self._parts + 1):
            setattr(self, f"norm{k}", LayerNorm(self.d_model))
        for k in range(1, self._parts + 1):
            setattr(self, f"dropout{k}", Dropout(rate))

    def _part(self, k: int, x: Any, function: Any) -> tuple[Any, Any]:
        """Return x with a part's output added, normalised before or behind, and what else the part returned."""
        norm, drop = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        found = function(norm(x) if self.normalize_before else x)
        out, rest = (found[0], found[1:]) if isinstance(found, tuple) else (found, ())
        joined = ops.add(x, drop(out))
        return joined if self.normalize_before else norm(joined), rest

    def _mlp(self, x: Any) -> Any:
        drop: Any = self.dropout
        activate: Any = self.activation
        return self.linear2(drop(activate(self.linear1(x))))

    def again(self) -> Any:
        """Return a new layer with the same settings."""
        return type(self)(**self._config)


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward part."""

    def _build(self, weights: list[Any], biases: list[Any]) -> None:
        self.self_attn = self._attention(weights[0], biases[0])
        self._feed_forward(weights[1], biases[1])

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

    _parts = 3

    def _build(self, weights: list[Any], biases: list[Any]) -> None:
        self.self_attn = self._attention(weights[0], biases[0])
        self.cross_attn = self._attention(weights[1], biases[1])
        self._feed_forward(weights[2], biases[2])

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
class _Stack(Layer):
    """Several layers of one kind, the first as given and the others made like it; a norm behind them."""

    def _pile(self, first: Any, count: int, norm: Any) -> None:
        self.layers = LayerList([first, *(first.again() for _ in range(count - 1))])
        self.num_layers = count
        self.norm = norm

    def _through(self, x: Any, cache: Any, *others: Any, **masks: Any) -> Any:
        """Return the output, with caches a tuple of it and the new caches."""
        caches = []
        for k, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, *others, **masks)
            else:
                x, made = layer(x, *others, **masks, cache=cache[k])
                caches.append(made)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, caches)


class TransformerEncoder(_Stack):
    """Several encoder layers."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self._pile(encoder_layer, num_layers, norm)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with caches a tuple of it and the new caches."""
        return self._through(src, cache, src_mask=attention_mask(src_mask, src._data.dtype))

    def gen_cache(self, src: Any) -> list[Any]:
        """Return an empty cache per layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(_Stack):
    """Several decoder layers."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self._pile(decoder_layer, num_layers, norm)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        """Return the output, with caches a tuple of it and the new caches."""
        masks = attention_mask(tgt_mask, tgt._data.dtype), attention_mask(memory_mask, memory._data.dtype)
        return self._through(tgt, cache, memory, *masks)

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


# Paddle's private name, which public variants of these layers import.
_convert_attention_mask = attention_mask

__getattr__ = _guard(globals())
