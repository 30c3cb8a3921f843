"""What a comparison with a reference finds: planted errors in 12 kernels of torch, and kernels that round honestly.

``python tests/campaigns/reference_power.py`` prints the tables of docs/gradcheck-reference.md: a relative error in one term
of forward or of backward, in float32, bfloat16 and float16, beside ``torch.testing.assert_close`` with its defaults and
with ``atol=1e-2`` against the same reference in float32; and every right kernel in four ways of rounding, none of which
may be accused. It exits 1 where one is, or where an error of a tenth is missed in float32.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from opkit.checker import Options, Status, check
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.from_cases import of_examples
from opkit.verify.subjects.torch.function import function_subject

FORMATS = ("float32", "bfloat16", "float16")
ERRORS = (1e-1, 1e-2, 1e-3)
SIZES = ((8, 64), (5, 37))


@dataclass
class Way:
    """How a kernel rounds, and what is planted in it."""

    place: str = ""
    error: float = 0.0
    computes: str = "float32"
    is_reversed: bool = False
    is_fast: bool = False

    def up(self, *items: Any) -> Any:
        """Return what is computed with."""
        wide = tuple(item.float() if self.computes == "float32" else item for item in items)
        return wide if len(wide) > 1 else wide[0]

    def at(self, place: str, term: Any) -> Any:
        """Return a term, with its error where one is planted in that place."""
        return term * (1 + self.error) if place == self.place else term

    def sum(self, x: Any, dim: int) -> Any:
        """Sum, in the usual order or one after the other from the end."""
        if not self.is_reversed:
            return x.sum(dim, keepdim=True)
        parts = x.unbind(dim)
        total = torch.zeros_like(parts[0])
        for part in reversed(parts):
            total = total + part
        return total.unsqueeze(dim)

    def exp(self, x: Any) -> Any:
        """Return e to the x, as the hardware's fast exponential where that is asked for."""
        found = torch.exp(x)
        if not self.is_fast:
            return found
        units = 2 + 1.17 * x.abs()
        return found * (1 + units * torch.finfo(x.dtype).eps * torch.sin(1e4 * x))


WAY = Way()


def kernel(forward: Callable[..., Any], backward: Callable[..., Any]) -> type:
    """Return an autograd Function of two functions of the way and tensors, with the parameters of the first."""

    class Kernel(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            if any(item.dtype == torch.float64 for item in args):
                raise TypeError("float64 is not taken")
            ctx.args = args
            return forward(WAY, *args)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            found = backward(WAY, *ctx.args, dy)
            return tuple(None if item is None else item.to(arg.dtype) for item, arg in zip(found, ctx.args))

    _, *rest = inspect.signature(forward).parameters.values()
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_ONLY)
    Kernel.forward.__signature__ = inspect.Signature([context, *rest])
    return Kernel


def rms(w: Way, x: Any, g: Any) -> Any:
    """Root mean square norm."""
    a, b = w.up(x, g)
    r = torch.rsqrt(w.sum(w.at("forward", a * a), -1) / x.shape[-1] + 1e-5)
    return (a * r * b).to(x.dtype)


def rms_back(w: Way, x: Any, g: Any, dy: Any) -> Any:
    """Its gradient."""
    a, b, d = w.up(x, g, dy)
    r = torch.rsqrt(w.sum(a * a, -1) / x.shape[-1] + 1e-5)
    h, e = a * r, d * b
    return r * (e - w.at("backward", h * (w.sum(h * e, -1) / x.shape[-1]))), w.sum(d * h, 0)[0]


def layer(w: Way, x: Any, g: Any, c: Any) -> Any:
    """Layer norm."""
    a, b, c = w.up(x, g, c)
    a = a - w.at("forward", w.sum(a, -1) / x.shape[-1])
    r = torch.rsqrt(w.sum(a * a, -1) / x.shape[-1] + 1e-5)
    return (a * r * b + c).to(x.dtype)


def layer_back(w: Way, x: Any, g: Any, c: Any, dy: Any) -> Any:
    """Its gradient."""
    a, b, d = w.up(x, g, dy)
    n = x.shape[-1]
    a = a - w.sum(a, -1) / n
    r = torch.rsqrt(w.sum(a * a, -1) / n + 1e-5)
    h, e = a * r, d * b
    dx = r * (e - w.sum(e, -1) / n - w.at("backward", h * (w.sum(h * e, -1) / n)))
    return dx, w.sum(d * h, 0)[0], w.sum(d, 0)[0]


def softmax(w: Way, x: Any) -> Any:
    """Softmax over rows."""
    a = w.up(x)
    e = w.exp(a - a.amax(-1, keepdim=True))
    return (w.at("forward", e) / w.sum(e, -1)).to(x.dtype)


def softmax_back(w: Way, x: Any, dy: Any) -> Any:
    """Its gradient."""
    a, d = w.up(x, dy)
    e = w.exp(a - a.amax(-1, keepdim=True))
    p = e / w.sum(e, -1)
    return (p * (d - w.at("backward", w.sum(p * d, -1))),)


def entropy(w: Way, x: Any, t: Any) -> Any:
    """Cross entropy of rows."""
    a = w.up(x)
    m = a.amax(-1, keepdim=True)
    s = w.sum(w.exp(a - m), -1)
    return (torch.log(w.at("forward", s)) + m - a.gather(-1, t[:, None]))[:, 0].to(x.dtype)


def entropy_back(w: Way, x: Any, t: Any, dy: Any) -> Any:
    """Its gradient."""
    a, d = w.up(x, dy)
    e = w.exp(a - a.amax(-1, keepdim=True))
    p = e / w.sum(e, -1)
    return d[:, None] * (p - w.at("backward", F.one_hot(t, x.shape[-1]).to(p.dtype))), None


def _sigmoid(w: Way, x: Any) -> Any:
    return 1 / (1 + w.exp(-x))


def swiglu(w: Way, x: Any, y: Any) -> Any:
    """A gate of SiLU."""
    a, b = w.up(x, y)
    return (w.at("forward", a * _sigmoid(w, a)) * b).to(x.dtype)


def swiglu_back(w: Way, x: Any, y: Any, dy: Any) -> Any:
    """Its gradient."""
    a, b, d = w.up(x, y, dy)
    s = _sigmoid(w, a)
    return d * b * (s + w.at("backward", a * s * (1 - s))), d * a * s


def gelu(w: Way, x: Any) -> Any:
    """GELU by the hyperbolic tangent."""
    a = w.up(x)
    u = 0.7978845608 * (a + w.at("forward", 0.044715 * a * a * a))
    return (0.5 * a * (1 + torch.tanh(u))).to(x.dtype)


def gelu_back(w: Way, x: Any, dy: Any) -> Any:
    """Its gradient."""
    a, d = w.up(x, dy)
    t = torch.tanh(0.7978845608 * (a + 0.044715 * a * a * a))
    u = 0.7978845608 * (1 + w.at("backward", 3 * 0.044715 * a * a))
    return (d * (0.5 * (1 + t) + 0.5 * a * (1 - t * t) * u),)


def _halves(x: Any) -> Any:
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half : 2 * half]


def _turn(x: Any) -> tuple[Any, Any]:
    rows, columns = x.shape
    angle = torch.arange(rows)[:, None] * 10.0 ** -torch.arange(columns // 2)
    return torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)


def rotary(w: Way, x: Any) -> Any:
    """Rotary embedding."""
    a = w.up(x)
    one, other = _halves(a)
    c, s = _turn(a)
    found = torch.cat([one * c - w.at("forward", other * s), other * c + one * s], -1)
    return found.to(x.dtype)


def rotary_back(w: Way, x: Any, dy: Any) -> Any:
    """Its gradient."""
    d = w.up(dy)
    half = x.shape[-1] // 2
    one, other = d[..., :half], d[..., half:]
    c, s = _turn(w.up(x))
    dx = torch.zeros_like(w.up(x))
    dx[..., : 2 * half] = torch.cat([one * c + w.at("backward", other * s), other * c - one * s], -1)
    return (dx,)


def dropout(w: Way, x: Any, keep: Any) -> Any:
    """Dropout by a mask that is given."""
    return (w.at("forward", w.up(x) / 0.75) * keep).to(x.dtype)


def dropout_back(w: Way, x: Any, keep: Any, dy: Any) -> Any:
    """Its gradient."""
    return w.at("backward", w.up(dy) / 0.75) * keep, None


def _product(w: Way, a: Any, b: Any) -> Any:
    if not w.is_reversed:
        return a @ b
    return w.sum(a.transpose(-1, -2)[..., :, :, None] * b[..., :, None, :], -3).squeeze(-3)


def linear(w: Way, x: Any, v: Any, c: Any) -> Any:
    """A matrix product and a bias."""
    a, b, c = w.up(x, v, c)
    return (_product(w, a, b) + w.at("forward", c)).to(x.dtype)


def linear_back(w: Way, x: Any, v: Any, c: Any, dy: Any) -> Any:
    """Its gradient."""
    a, b, d = w.up(x, v, dy)
    return _product(w, d, b.T), w.at("backward", _product(w, a.T, d)), w.sum(d, 0)[0]


def attention(w: Way, q: Any, k: Any, v: Any) -> Any:
    """Attention of one head."""
    a, b, c = w.up(q, k, v)
    s = w.at("forward", _product(w, a, b.T) * q.shape[-1] ** -0.5)
    e = w.exp(s - s.amax(-1, keepdim=True))
    return _product(w, e / w.sum(e, -1), c).to(q.dtype)


def attention_back(w: Way, q: Any, k: Any, v: Any, dy: Any) -> Any:
    """Its gradient."""
    a, b, c, d = w.up(q, k, v, dy)
    scale = q.shape[-1] ** -0.5
    s = _product(w, a, b.T) * scale
    e = w.exp(s - s.amax(-1, keepdim=True))
    p = e / w.sum(e, -1)
    dp = _product(w, d, c.T)
    ds = p * (dp - w.at("backward", w.sum(p * dp, -1))) * scale
    return _product(w, ds, b), _product(w, ds.T, a), _product(w, p.T, d)


def unit(w: Way, x: Any) -> Any:
    """Rows divided by their length."""
    a = w.up(x)
    return (a * torch.rsqrt(w.sum(w.at("forward", a * a), -1) + 1e-6)).to(x.dtype)


def unit_back(w: Way, x: Any, dy: Any) -> Any:
    """Its gradient."""
    a, d = w.up(x, dy)
    r = torch.rsqrt(w.sum(a * a, -1) + 1e-6)
    h = a * r
    return (r * (d - w.at("backward", h * w.sum(h * d, -1))),)


def focal(w: Way, x: Any) -> Any:
    """A power of a probability times its logarithm, as focal losses have it."""
    a = w.up(x)
    p = _sigmoid(w, a)
    return (-w.at("forward", (1 - p) * (1 - p)) * torch.log(p)).to(x.dtype)


def focal_back(w: Way, x: Any, dy: Any) -> Any:
    """Its gradient."""
    a, d = w.up(x, dy)
    p = _sigmoid(w, a)
    q = 1 - p
    return (d * (2 * q * q * p * torch.log(p) - w.at("backward", q * q * q)),)


def _rotated(x: Any) -> Any:
    one, other = _halves(x)
    c, s = _turn(x)
    return torch.cat([one * c - other * s, other * c + one * s], -1)


def _focal(x: Any) -> Any:
    p = torch.sigmoid(x)
    return -((1 - p) ** 2) * torch.log(p)


def _attended(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.T * q.shape[-1] ** -0.5, -1) @ v


KERNELS: dict[str, tuple[Any, Any, Callable[..., Any], str]] = {
    "RMS norm": (rms, rms_back, lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * g, "xg"),
    "layer norm": (layer, layer_back, lambda x, g, c: F.layer_norm(x, x.shape[-1:], g, c), "xgc"),
    "softmax": (softmax, softmax_back, lambda x: torch.softmax(x, -1), "x"),
    "cross entropy": (entropy, entropy_back, lambda x, t: F.cross_entropy(x, t, reduction="none"), "xt"),
    "SwiGLU": (swiglu, swiglu_back, lambda x, y: F.silu(x) * y, "xy"),
    "GELU": (gelu, gelu_back, lambda x: F.gelu(x, approximate="tanh"), "x"),
    "rotary": (rotary, rotary_back, _rotated, "x"),
    "dropout": (dropout, dropout_back, lambda x, keep: x * keep / 0.75, "xk"),
    "linear": (linear, linear_back, lambda x, v, c: x @ v + c, "xvc"),
    "attention": (attention, attention_back, _attended, "xyz"),
    "unit rows": (unit, unit_back, lambda x: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6), "x"),
    "focal loss": (focal, focal_back, _focal, "x"),
}


def case(kinds: str, size: tuple[int, int], rng: np.random.Generator) -> list[Any]:
    """Return a kernel's arguments in float32."""
    rows, columns = size
    made: dict[str, Callable[[], Any]] = {
        "g": lambda: rng.uniform(0.5, 1.5, columns),
        "c": lambda: rng.standard_normal(columns),
        "k": lambda: (rng.random((rows, columns)) < 0.75).astype(np.int64),
        "t": lambda: rng.integers(0, columns, rows),
        "v": lambda: rng.standard_normal((columns, columns)) / np.sqrt(columns),
    }
    arrays = [made.get(kind, lambda: rng.standard_normal(size))() for kind in kinds]
    return [torch.from_numpy(item.astype(np.float32) if item.dtype.kind == "f" else item) for item in arrays]


def accused(function: type, reference: Callable[..., Any], kinds: str, format: str) -> str:
    """Return what a comparison in one format says, "" for nothing."""
    rng = np.random.default_rng(7)
    cases = [tuple(case(kinds, size, rng)) for size in SIZES]
    made = of_examples(function_subject(function), Declared(reference=reference), "kernel", cases=lambda _: cases)
    report = check(replace(made, format=format), Options(select=frozenset({"GC107", "GC108"})))
    found = [item for item in report.checks if item.code in ("GC107", "GC108")]
    assert len(found) == 2 or any(item.status is not Status.PASS for item in found), report
    return "; ".join(f"{item.code} {item.message}" for item in found if item.status is not Status.PASS)


def close(function: Any, reference: Callable[..., Any], kinds: str, format: str, **limits: float) -> bool:
    """Say whether assert_close finds nothing, against the reference in float32."""
    rng = np.random.default_rng(7)
    dtype = getattr(torch, format)
    for size in SIZES:
        narrow = [item.detach().to(dtype) if item.is_floating_point() else item for item in case(kinds, size, rng)]
        results = []
        for call, is_wide in ((function.apply, False), (reference, True)):
            args = [_leaf(item, is_wide) for item in narrow]
            y = call(*args)
            y.backward(torch.from_numpy(np.random.default_rng(3).choice([-1.0, 0.5, 1.0], tuple(y.shape))).to(y.dtype))
            results.append([y.detach(), *(item.grad for item in args if item.requires_grad)])
        try:
            for one, other in zip(*results):
                torch.testing.assert_close(one, other.to(dtype), **limits)
        except AssertionError:
            return False
    return True


def _leaf(item: Any, is_wide: bool) -> Any:
    if not item.is_floating_point():
        return item
    return (item.float() if is_wide else item).clone().requires_grad_()


def main() -> int:
    """Print the tables, and return 1 where a right kernel is accused or a tenth is missed in float32."""
    global WAY
    is_wrong = False
    print("| right kernels that round | opkit | assert_close | atol=1e-2 |\n|---|---|---|---|")
    ways = {
        "as the reference": Way(),
        "in another order": Way(is_reversed=True),
        "with fast exponentials": Way(is_fast=True),
        "in their own dtype throughout": Way(computes="own"),
    }
    for title, way in ways.items():
        WAY, said, counts = way, [], [0, 0]
        for name, (forward, backward, reference, kinds) in KERNELS.items():
            for format in FORMATS:
                function = kernel(forward, backward)
                text = accused(function, reference, kinds, format)
                counts[0] += not close(function, reference, kinds, format)
                counts[1] += not close(function, reference, kinds, format, atol=1e-2, rtol=0.0)
                if text:
                    said.append(f"{name} in {format}: {text}")
        print(
            f"| {title} | " + " | ".join(f"{n} of {len(KERNELS) * len(FORMATS)}" for n in (len(said), *counts)) + " |"
        )
        for text in said:
            print("   ", text, file=sys.stderr)
        is_wrong = is_wrong or bool(said)
    print("\n| error | format | opkit | assert_close | atol=1e-2 |\n|---|---|---|---|---|")
    for error in ERRORS:
        for format in FORMATS:
            counts = [0, 0, 0]
            for name, (forward, backward, reference, kinds) in KERNELS.items():
                for place in ("forward", "backward"):
                    WAY = Way(place, error)
                    function = kernel(forward, backward)
                    text = accused(function, reference, kinds, format)
                    counts[0] += bool(text)
                    counts[1] += not close(function, reference, kinds, format)
                    counts[2] += not close(function, reference, kinds, format, atol=1e-2, rtol=0.0)
                    if not text:
                        print(f"    missed: {name}, {place}, {error:g} in {format}", file=sys.stderr)
                        is_wrong = is_wrong or (error == ERRORS[0] and format == "float32")
            print(
                f"| {error:g} | {format} | " + " | ".join(f"{count} of {2 * len(KERNELS)}" for count in counts) + " |"
            )
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
