"""Triton kernels with references under Triton's interpreter, right ones and ones with a planted fault.

``python tests/campaigns/triton_kernels.py`` needs torch and triton. Each kernel runs in float32 and half precision, as
``opkit gradcheck`` runs it; every right one has to pass, and each fault (a factor, a missing term, a wrong mask at the
tail block) has to fail. It prints a table, and exits 1 where that is not so.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import opkit

#: The text of a check file; NAME and the words in capitals are replaced.
HEAD = """
import torch
import triton
import triton.language as tl

FACTOR, TERM, TAIL = 1.0, 1.0, 0


def block(n):
    return triton.next_power_of_2(n)
"""

SOFTMAX = """
@triton.jit
def _forward(X, Y, n, tail, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    x = tl.load(X + row * n + c, mask=c < n - tail, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + row * n + c, (e / tl.sum(e, 0)).to(Y.dtype.element_ty), mask=c < n)


@triton.jit
def _backward(Y, DY, DX, n, factor, term, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    y = tl.load(Y + row * n + c, mask=c < n, other=0).to(tl.float32)
    d = tl.load(DY + row * n + c, mask=c < n, other=0).to(tl.float32)
    tl.store(DX + row * n + c, (factor * y * (d - term * tl.sum(y * d, 0))).to(DX.dtype.element_ty), mask=c < n)


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        _forward[(x.shape[0],)](x, y, x.shape[1], TAIL, B=block(x.shape[1]))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        dx = torch.empty_like(y)
        _backward[(y.shape[0],)](y, dy.contiguous(), dx, y.shape[1], FACTOR, TERM, B=block(y.shape[1]))
        return dx


def REFERENCE(x):
    return torch.softmax(x, -1)


def cases(rng):
    for n in (16, 21):
        yield {"x": torch.from_numpy(rng.standard_normal((3, n)).astype("float32"))}
"""

RMS = """
@triton.jit
def _forward(X, W, Y, n, tail, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    x = tl.load(X + row * n + c, mask=c < n - tail, other=0).to(tl.float32)
    w = tl.load(W + c, mask=c < n, other=0).to(tl.float32)
    r = 1 / tl.sqrt(tl.sum(x * x, 0) / n + 1e-6)
    tl.store(Y + row * n + c, (x * r * w).to(Y.dtype.element_ty), mask=c < n)


@triton.jit
def _backward(X, W, DY, DX, DW, n, factor, term, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    x = tl.load(X + row * n + c, mask=c < n, other=0).to(tl.float32)
    w = tl.load(W + c, mask=c < n, other=0).to(tl.float32)
    d = tl.load(DY + row * n + c, mask=c < n, other=0).to(tl.float32)
    r = 1 / tl.sqrt(tl.sum(x * x, 0) / n + 1e-6)
    h, g = x * r, d * w
    tl.store(DX + row * n + c, (factor * r * (g - term * h * tl.sum(h * g, 0) / n)).to(DX.dtype.element_ty), mask=c < n)
    tl.store(DW + row * n + c, d * h, mask=c < n)


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        x, w = x.contiguous(), w.contiguous()
        y = torch.empty_like(x)
        _forward[(x.shape[0],)](x, w, y, x.shape[1], TAIL, B=block(x.shape[1]))
        ctx.save_for_backward(x, w)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.empty(x.shape, dtype=torch.float32)
        _backward[(x.shape[0],)](x, w, dy.contiguous(), dx, dw, x.shape[1], FACTOR, TERM, B=block(x.shape[1]))
        return dx, dw.sum(0).to(w.dtype)


def REFERENCE(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def cases(rng):
    for n in (16, 21):
        yield {
            "x": torch.from_numpy(rng.standard_normal((3, n)).astype("float32")),
            "w": torch.from_numpy(rng.standard_normal(n).astype("float32")),
        }
"""

SWIGLU = """
@triton.jit
def _forward(X, Y, Z, n, tail, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + c, mask=c < n - tail, other=0).to(tl.float32)
    y = tl.load(Y + c, mask=c < n, other=0).to(tl.float32)
    tl.store(Z + c, (x * y / (1 + tl.exp(-x))).to(Z.dtype.element_ty), mask=c < n)


@triton.jit
def _backward(X, Y, DZ, DX, DY, n, factor, term, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + c, mask=c < n, other=0).to(tl.float32)
    y = tl.load(Y + c, mask=c < n, other=0).to(tl.float32)
    d = tl.load(DZ + c, mask=c < n, other=0).to(tl.float32)
    s = 1 / (1 + tl.exp(-x))
    tl.store(DX + c, (factor * d * y * (s + term * x * s * (1 - s))).to(DX.dtype.element_ty), mask=c < n)
    tl.store(DY + c, (d * x * s).to(DY.dtype.element_ty), mask=c < n)


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        x, y = x.contiguous(), y.contiguous()
        z = torch.empty_like(x)
        _forward[(triton.cdiv(x.numel(), 16),)](x, y, z, x.numel(), TAIL, B=16)
        ctx.save_for_backward(x, y)
        return z

    @staticmethod
    def backward(ctx, dz):
        x, y = ctx.saved_tensors
        dx, dy = torch.empty_like(x), torch.empty_like(y)
        grid = (triton.cdiv(x.numel(), 16),)
        _backward[grid](x, y, dz.contiguous(), dx, dy, x.numel(), FACTOR, TERM, B=16)
        return dx, dy


def REFERENCE(x, y):
    return torch.nn.functional.silu(x) * y


def cases(rng):
    for n in (16, 21):
        yield {key: torch.from_numpy(rng.standard_normal((2, n)).astype("float32")) for key in "xy"}
"""

KERNELS = {"softmax": SOFTMAX, "RMS norm": RMS, "SwiGLU": SWIGLU}
PLANTED = {"right": "", "factor": "\nFACTOR = 1.01\n", "missing term": "\nTERM = 0.0\n", "tail": "\nTAIL = 1\n"}


def main() -> int:
    """Print the table, and return 1 where a verdict is another one."""
    is_wrong = False
    print("| kernel | " + " | ".join(PLANTED) + " |\n|---|" + "---|" * len(PLANTED))
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text) in enumerate(KERNELS.items()):
            row = []
            for planted, change in PLANTED.items():
                file = Path(folder, f"kernel_{number}_{planted.replace(' ', '_')}.py")
                file.write_text(HEAD + text + change)
                report = opkit.gradcheck(f"{file}::Kernel", replay=False, timeout=120).ops[0]
                row.append(f"{report.status.value} in {report.seconds:.0f} s")
                is_wrong = is_wrong or report.status.value != ("pass" if planted == "right" else "fail")
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
