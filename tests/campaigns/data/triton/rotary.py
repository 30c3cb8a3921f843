"""Rotary embedding: the halves of a row are turned by angles that are given."""

import torch
import triton
import triton.language as tl

FACTOR, TERM, TAIL = 1.0, 1.0, 0


@triton.jit
def _turn(X, A, Y, half, sign, factor, term, tail, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    mask = c < half - tail
    x = tl.load(X + row * 2 * half + c, mask=mask, other=0).to(tl.float32)
    y = tl.load(X + row * 2 * half + half + c, mask=mask, other=0).to(tl.float32)
    a = tl.load(A + row * half + c, mask=mask, other=0)
    cos, sin = tl.cos(a), sign * tl.sin(a)
    tl.store(Y + row * 2 * half + c, (factor * (x * cos - term * y * sin)).to(Y.dtype.element_ty), mask=c < half)
    tl.store(Y + row * 2 * half + half + c, (factor * (y * cos + x * sin)).to(Y.dtype.element_ty), mask=c < half)


def _turned(x, angles, sign, factor, term, tail):
    y, half = torch.empty_like(x), angles.shape[1]
    _turn[(x.shape[0],)](x, angles, y, half, sign, factor, term, tail, B=triton.next_power_of_2(half))
    return y


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        rows, n = x.shape
        angles = torch.arange(rows)[:, None] * 10.0 ** -(torch.arange(n // 2) / 4)
        ctx.save_for_backward(angles)
        return _turned(x.contiguous(), angles, 1.0, 1.0, 1.0, TAIL)

    @staticmethod
    def backward(ctx, dy):
        return _turned(dy.contiguous(), *ctx.saved_tensors, -1.0, FACTOR, TERM, 0)


def REFERENCE(x):
    rows, n = x.shape
    a = torch.arange(rows)[:, None] * 10.0 ** -(torch.arange(n // 2) / 4)
    one, other, cos, sin = x[:, : n // 2], x[:, n // 2 :], torch.cos(a).to(x.dtype), torch.sin(a).to(x.dtype)
    return torch.cat([one * cos - other * sin, other * cos + one * sin], 1)


def cases(rng):
    for n in (16, 22):
        yield {"x": torch.from_numpy(rng.standard_normal((3, n))).float()}
