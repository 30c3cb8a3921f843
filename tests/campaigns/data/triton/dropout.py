"""Dropout by a seed: what is kept is drawn by Philox in forward and in backward alike, and added to a residual."""

import torch
import triton
import triton.language as tl

FACTOR, TERM, TAIL = 1.0, 1.0, 0


@triton.jit
def _drop(X, R, Y, n, seed, share, factor, term, tail, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + c, mask=c < n - tail, other=0).to(tl.float32)
    r = tl.load(R + c, mask=c < n - tail, other=0).to(tl.float32)
    kept = tl.where(tl.rand(seed, c) >= share, x / (1 - share), 0)
    tl.store(Y + c, (factor * (kept + term * r)).to(Y.dtype.element_ty), mask=c < n)


def _dropped(x, residual, seed, share, factor, term, tail):
    y = torch.empty_like(x)
    _drop[(triton.cdiv(x.numel(), 16),)](x, residual, y, x.numel(), seed, share, factor, term, tail, B=16)
    return y


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, residual, seed, share):
        ctx.seed, ctx.share = seed, share
        return _dropped(x.contiguous(), residual.contiguous(), seed, share, 1.0, 1.0, TAIL)

    @staticmethod
    def backward(ctx, dy):
        dy = dy.contiguous()
        dx = _dropped(dy, torch.zeros_like(dy), ctx.seed, ctx.share, FACTOR, 1.0, 0)
        return dx, TERM * dy, None, None


def REFERENCE(x, residual, seed, share):
    kept = torch.from_numpy(_kept(x.numel(), seed, share)).reshape(x.shape)
    return torch.where(kept, x / (1 - share), 0) + residual


def _kept(n, seed, share):
    """Return what Philox keeps, computed without Triton."""
    import numpy as np

    low, high = seed & 0xFFFFFFFF, seed >> 32
    first, rest = np.arange(n, dtype=np.uint64), [np.zeros(n, np.uint64) for _ in range(3)]
    c = [first, *rest]
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        one, other = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (other >> np.uint64(32)) ^ c[1] ^ np.uint64(low),
            other & mask,
            (one >> np.uint64(32)) ^ c[3] ^ np.uint64(high),
            one & mask,
        ]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    drawn = c[0].astype(np.uint32).view(np.int32).astype(np.int64)
    return np.where(drawn < 0, -drawn - 1, drawn).astype(np.float32) * np.float32(4.6566127342e-10) >= share


def cases(rng):
    for n in (16, 21):
        x, residual = (torch.from_numpy(rng.standard_normal((2, n))).float() for _ in "xr")
        yield {"x": x, "residual": residual, "seed": 7, "share": 0.25}
