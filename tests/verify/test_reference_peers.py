"""References of torch and JAX: compared in every format that a function takes, by the framework's own derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Status
from opkit.verify import gradcheck

pytestmark = pytest.mark.peer
FACTORS = {"forward": 1.0, "backward": 1.0, "half": 1.0}


def run(function: Any, inputs: Any, **options: Any) -> OpReport:
    """Return the report of a function on inputs alone."""
    return gradcheck(function, inputs, recorded_only=True, **options).ops[0]


def codes(report: OpReport) -> set[str]:
    """Return the codes that failed."""
    return {item.code for item in report.checks if item.status is Status.FAIL}


@pytest.fixture
def norm() -> Any:
    """Return an RMS norm of torch, and its reference; FACTORS plants errors."""
    torch = pytest.importorskip("torch")

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any, eps: float = 1e-6) -> Any:
            wide = x.float() if x.dtype.itemsize < 4 else x
            r = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
            ctx.save_for_backward(x, w, r)
            factor = FACTORS["half"] if x.dtype.itemsize < 4 else FACTORS["forward"]
            return (factor * wide * r).to(x.dtype) * w

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, w, r = ctx.saved_tensors
            h, e = x.to(r.dtype) * r, (dy * w).to(r.dtype)
            dx = r * (e - FACTORS["backward"] * h * (e * h).mean(-1, keepdim=True))
            return dx.to(x.dtype), (dy.to(r.dtype) * h).sum(0).to(w.dtype), None

    def reference(x: Any, w: Any, eps: float = 1e-6) -> Any:
        wide = x.to(torch.float32)
        return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)

    rng = np.random.default_rng(0)
    return Norm, reference, (torch.from_numpy(rng.standard_normal((6, 16))), torch.from_numpy(rng.standard_normal(16)))


def test_a_right_function_passes_in_every_format(norm: Any) -> None:
    """A reference that computes in float32 inside is widened, so that float64 is compared to its digits."""
    function, reference, inputs = norm
    report = run(function, inputs, reference=reference)
    assert report.status is Status.PASS
    said = {item.code: item.message for item in report.checks}
    assert all(name in said["GC108"] for name in ("float64", "float32", "bfloat16", "float16"))
    assert float(said["GC107"].split()[1]) < 1e-14
    assert "GC207" not in said


@pytest.mark.parametrize(
    ("place", "factor", "expected"),
    [("forward", 1.001, "GC107"), ("backward", 1.001, "GC108"), ("half", 1.05, "GC107")],
)
def test_a_wrong_factor_is_found(
    norm: Any, monkeypatch: pytest.MonkeyPatch, place: str, factor: float, expected: str
) -> None:
    """Also one that half precision alone has."""
    function, reference, inputs = norm
    monkeypatch.setitem(FACTORS, place, factor)
    assert expected in codes(run(function, inputs, reference=reference))


def test_a_reference_that_detaches_is_undecided(norm: Any) -> None:
    """Its derivative by the framework is not that of its values."""
    torch = pytest.importorskip("torch")
    function, _, inputs = norm

    def detached(x: Any, w: Any) -> Any:
        return w * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6).detach()

    report = run(function, inputs, reference=detached)
    assert codes(report) == {"GC108"}
    assert [item.status for item in report.checks if item.code == "GC109"] == [Status.UNDECIDED]


@pytest.mark.parametrize(("factor", "expected"), [(1.0, set()), (1.001, {"GC108"})])
def test_a_rule_of_jax_is_compared(factor: float, expected: set[str]) -> None:
    """Reference and rule are run in JAX's formats."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_vjp
    def soft(x: Any) -> Any:
        return jnp.log(1 + jnp.exp(x))

    soft.defvjp(lambda x: (soft(x), x), lambda x, dy: (factor * dy / (1 + jnp.exp(-x)),))
    x = np.random.default_rng(0).standard_normal((3, 5))
    report = run(soft, (x,), reference=lambda x: jnp.logaddexp(x, jnp.zeros_like(x)))
    assert codes(report) >= expected
    assert bool(codes(report)) == bool(expected)


@pytest.fixture
def single() -> Any:
    """Return a GELU of torch that takes one half format alone; FACTORS plants errors in one term."""
    torch = pytest.importorskip("torch")

    def made(dtype: str) -> Any:
        class Gelu(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                assert x.dtype == getattr(torch, dtype)
                ctx.save_for_backward(x)
                return torch.nn.functional.gelu(x.float()).to(x.dtype)

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                x = ctx.saved_tensors[0].float()
                p, q = 0.5 * (1 + torch.erf(x * 2**-0.5)), torch.exp(-x * x / 2) * 0.39894228
                return (dy.float() * (p + FACTORS["backward"] * x * q)).to(dy.dtype)

        return Gelu, torch.from_numpy(np.random.default_rng(0).standard_normal((6, 20))).to(getattr(torch, dtype))

    return made


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (1.25, Status.UNDECIDED), (3.0, Status.FAIL)])
def test_half_precision_alone_is_checked_along_lines(
    single: Any, monkeypatch: pytest.MonkeyPatch, dtype: str, factor: float, status: Status
) -> None:
    """What rounding does not hide fails; what it may hide asks for a reference."""
    monkeypatch.setitem(FACTORS, "backward", factor)
    function, x = single(dtype)
    report = run(function, (x,))
    if (dtype, factor) != ("float16", 1.25):  # whose digits show it
        assert report.status is status
    asks = [item.message for item in report.checks if item.status is Status.UNDECIDED]
    assert all("REFERENCE" in text for text in asks)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("factor", "expected"), [(1.0, set()), (1.25, {"GC108"})])
def test_half_precision_alone_is_compared_with_a_reference(
    single: Any, monkeypatch: pytest.MonkeyPatch, dtype: str, factor: float, expected: set[str]
) -> None:
    """In the one format that the function takes."""
    monkeypatch.setitem(FACTORS, "backward", factor)
    function, x = single(dtype)
    torch = pytest.importorskip("torch")
    report = run(function, (x,), reference=torch.nn.functional.gelu)
    assert codes(report) == expected
    assert expected or report.status is Status.PASS


def test_float32_inside_is_checked_in_float32() -> None:
    """A kernel that takes float64 and computes in float32, as Triton's do, promises nothing of float64."""
    torch = pytest.importorskip("torch")

    class Rough(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x.float()).to(x.dtype)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return (dy.float() * torch.cos(ctx.saved_tensors[0].float())).to(dy.dtype)

    x = torch.from_numpy(np.random.default_rng(0).standard_normal((4, 5)))
    assert run(Rough, (x.float(),), reference=torch.sin).status is Status.PASS
    assert "GC151" in codes(run(Rough, (x,), reference=torch.sin))


def gate(framework: str, dtypes: tuple[str, str], factor: float) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return a gate of SiLU that takes two dtypes alone, its reference, and inputs of these."""
    name = "jax" if framework == "jax" else "torch"
    library = pytest.importorskip(name)
    numbers = library.numpy if framework == "jax" else library
    first, second = (getattr(numbers, dtype) for dtype in dtypes)
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((6, 16)), rng.standard_normal(16)

    def taken(x: Any, w: Any) -> None:
        if x.dtype != first or w.dtype != second:
            raise TypeError("neither float16 nor bfloat16 as it should be")

    if framework == "jax":

        def gradient(kept: Any, dy: Any) -> Any:
            (x, w), d = (item.astype(numbers.float32) for item in kept), dy.astype(numbers.float32)
            s = 1 / (1 + numbers.exp(-x))
            return (factor * d * w * (s + x * s * (1 - s))).astype(first), (d * x * s).sum(0).astype(second)

        @library.custom_vjp
        def gated(x: Any, w: Any) -> Any:
            taken(x, w)
            a = x.astype(numbers.float32)
            return (a / (1 + numbers.exp(-a)) * w.astype(numbers.float32)).astype(first)

        gated.defvjp(lambda x, w: (gated(x, w), (x, w)), gradient)
        given = tuple(numbers.asarray(item, dtype) for item, dtype in zip(arrays, (first, second)))
        return gated, lambda x, w: library.nn.silu(x) * w, given

    class Gated(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            taken(x, w)
            ctx.save_for_backward(x, w)
            return (library.nn.functional.silu(x.float()) * w.float()).to(first)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, w = (item.float() for item in ctx.saved_tensors)
            s, d = library.sigmoid(x), dy.float()
            return (factor * d * w * (s + x * s * (1 - s))).to(first), (d * x * s).sum(0).to(second)

    given = tuple(library.from_numpy(item).to(dtype) for item, dtype in zip(arrays, (first, second)))
    return Gated, lambda x, w: library.nn.functional.silu(x) * w, given


MIXED = [
    ("jax", ("bfloat16", "bfloat16")),
    ("jax", ("float16", "float16")),
    ("jax", ("float32", "bfloat16")),
    ("torch", ("float32", "bfloat16")),
    ("torch", ("bfloat16", "float32")),
]


@pytest.mark.parametrize(("framework", "dtypes"), MIXED)
@pytest.mark.parametrize("is_compared", [False, True])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (1.1, Status.FAIL)])
def test_the_dtypes_of_an_example_are_kept_where_no_others_are_taken(
    framework: str, dtypes: tuple[str, str], is_compared: bool, factor: float, status: Status
) -> None:
    """Float32 activations with bfloat16 weights, and the other way round, as half precision alone."""
    function, reference, inputs = gate(framework, dtypes, factor)
    report = run(function, inputs, **({"reference": reference} if is_compared else {}))
    assert report.status is status
    assert any("it gets" in note for note in report.notes) is (dtypes[0] != dtypes[1])
    assert codes(report) == (set() if status is Status.PASS else {"GC108" if is_compared else "GC102"})


@pytest.mark.parametrize(("factor", "expected"), [(1.0, set()), (1.01, {"GC108"})])
def test_a_kernel_of_pallas_runs_in_its_interpreter(factor: float, expected: set[str]) -> None:
    """On a CPU, where its caller asks for none; the report says so."""
    jax = pytest.importorskip("jax")
    pl = pytest.importorskip("jax.experimental.pallas")

    def called(kernel: Any, *args: Any) -> Any:
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(args[0].shape, args[0].dtype))(*args)

    def forward(x_ref: Any, y_ref: Any) -> None:
        y_ref[...] = jax.numpy.tanh(x_ref[...])

    def backward(y_ref: Any, d_ref: Any, dx_ref: Any) -> None:
        dx_ref[...] = factor * d_ref[...] * (1 - y_ref[...] ** 2)

    @jax.custom_vjp
    def tanh(x: Any) -> Any:
        return called(forward, x)

    tanh.defvjp(lambda x: (tanh(x), tanh(x)), lambda y, dy: (called(backward, y, dy),))
    x = jax.numpy.asarray(np.random.default_rng(0).standard_normal((3, 5)), "float32")
    report = run(tanh, (x,), reference=jax.numpy.tanh)
    assert codes(report) >= expected
    assert bool(codes(report)) == bool(expected)
    assert any("interpreter" in note for note in report.notes)
    assert expected or report.status is Status.PASS
