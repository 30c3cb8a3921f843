"""Attention in tiles, whose sums are kept in float32."""

import torch
from memory_efficient_attention_pytorch.flash_attention import FlashAttentionFunction  # noqa: F401


def REFERENCE(q, k, v, mask, causal, q_bucket_size, k_bucket_size):
    weights = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        weights = weights.masked_fill(torch.ones(weights.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return weights.softmax(-1) @ v


def cases(rng):
    for causal in (False, True):
        drawn = {key: torch.from_numpy(rng.standard_normal((1, 2, 6, 4))).float() for key in "qkv"}
        yield {**drawn, "mask": None, "causal": causal, "q_bucket_size": 4, "k_bucket_size": 4}
