"""Kernels of formulas in torch and JAX: the values and gradients of numpy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.formula import design, translated
from opkit.formula.exact import exact_values
from opkit.formula.reading import read
from tests.formula.formulas import FORMULAS
from tests.formula.test_formulas import given

KINDS = ["pylayer", *(pytest.param(kind, marks=pytest.mark.peer) for kind in ("torch_function", "jax_function"))]


def run(lines: Any, helpers: Any, names: Any, values: dict[str, Any], scope: dict[str, Any]) -> tuple[Any, ...]:
    """Run a kernel's body."""
    text = "\n".join(helpers) + f"\ndef kernel({', '.join(names)}):\n" + "\n".join(f"    {line}" for line in lines)
    exec(text, scope)
    result = scope["kernel"](*(values[name] for name in names))
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("kind", KINDS)
def test_both_kernels_have_the_values_of_numpy(kind: str, name: str) -> None:
    """In float64, forward and backward of every formula agree with numpy's to 11 digits."""
    scope, convert = library(kind)
    op, values = given(name)
    attrs = FORMULAS[name][1]
    said = translated(op.made, kind, list(attrs))
    expected = op.forward(values)
    rng = np.random.default_rng(1)
    incoming = {f"d{output}": rng.standard_normal(np.shape(y)) for output, y in zip(op.made.outputs, expected, strict=True)}
    arrays = {item: convert(value) for item, value in {**values, **incoming}.items()}
    for item, y in zip(op.made.outputs, expected, strict=True):
        if np.shape(y) == (1,):
            arrays[f"d{item}"] = arrays[f"d{item}"][0]
    results = run(said.forward, said.helpers, [*op.made.inputs, *attrs], {**arrays, **attrs}, dict(scope))
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.reshape(np.asarray(result), np.shape(wanted)), wanted, rtol=1e-11, atol=1e-13)
    gradients = run(said.backward, said.helpers, [*op.made.reads, *attrs], {**arrays, **attrs}, dict(scope))
    wanted_gradients = op.backward({**values, **incoming}).values()
    for gradient, wanted in zip(gradients, wanted_gradients, strict=True):
        assert tuple(gradient.shape) == np.shape(wanted)
        np.testing.assert_allclose(np.asarray(gradient), wanted, rtol=1e-11, atol=1e-13)


def library(kind: str) -> tuple[dict[str, Any], Any]:
    """Return what a module of the kind has imported, and how it makes an array."""
    if kind == "pylayer":
        return {"math": math, "paddle": paddle}, paddle.to_tensor
    if kind == "torch_function":
        torch = pytest.importorskip("torch")
        return {"math": math, "torch": torch}, torch.as_tensor
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return {"math": math, "jax": jax, "jnp": jax.numpy}, jax.numpy.asarray


@pytest.mark.parametrize("name", sorted(FORMULAS)[::4])
@pytest.mark.parametrize("kind", ["pylayer", "torch_op", "jax_function"])
def test_nothing_of_numpy_is_left(kind: str, name: str) -> None:
    """Neither in the kernels nor in their helpers."""
    text, attrs = FORMULAS[name]
    said = translated(design(text, attrs), kind, list(attrs))
    lines = "\n".join([*said.forward, *said.backward, *said.helpers])
    assert "np." not in lines.replace("jnp.", "")
    assert "axis=" not in lines or kind != "torch_op"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("maximum(x, 0)", "torch.clamp(x, min=0)"),
        ("hypot(x, 2)", "torch.hypot(x, x.new_full((), 2))"),
        ("var(x, axis=-1)", "torch.var(x, dim=-1, correction=0)"),
        ("max(x, axis=-1)", "torch.amax(x, dim=-1)"),
        ("mean(x)", "return torch.mean(x)"),
        ("cbrt(x)", "torch.sign(x) * torch.abs(x) ** (1 / 3)"),
        ("logsumexp(x)", "torch.logsumexp(x, tuple(range(x.ndim)))"),
        ("clip(x, 0, 6)", "torch.clip(x, 0, 6)"),
        ("transpose(x)", "torch.swapaxes(x, -1, -2)"),
    ],
)
def test_what_torch_says_otherwise(text: str, written: str) -> None:
    """Functions that torch lacks, or that take no Python number there, are written in another way."""
    assert written in "\n".join(translated(design(text, {}), "torch_op", []).forward)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("maximum(x, 0)", "paddle.clip(x, min=0)"),
        ("clip(x, y, 6)", "paddle.minimum(paddle.maximum(x, y), paddle.full([], 6, x.dtype))"),
        ("clip(x, 0, 6)", "paddle.clip(x, 0, 6)"),
        ("where(x > 0, 1, x)", "paddle.where(x > 0, paddle.full([], 1, x.dtype), x)"),
        ("var(x, axis=-1)", "paddle.var(x, axis=-1, unbiased=False)"),
        ("arctan2(y, x)", "paddle.atan2(y, x)"),
        ("transpose(x)", "paddle.moveaxis(x, -1, -2)"),
        ("sinc(x)", "paddle.abs(x - 0) <= 0"),  # its == takes 1e-9 for 0
        ("round(x)", "def rint(x):"),  # its round takes the half away from 0
        ("erfc(x)", "def erfc(x):"),  # it has none, and 1 - erf(x) has lost the digits of the tail
    ],
)
def test_what_paddle_says_otherwise(text: str, written: str) -> None:
    """Functions that Paddle lacks, that take no Python number there or that mean something else."""
    said = translated(design(text, {}), "pylayer", [])
    assert written in "\n".join([*said.helpers, *said.forward])


def test_what_stands_in_has_the_values_of_numpy() -> None:
    """At halves, in the tail of erfc, and where squares overflow; to Paddle 0.5 + 1e-9 is no half."""
    x = np.array([-1e200, -3.5, -2.5, -0.5, 0.0, 0.5, 0.5 + 1e-9, 1.5, 1.99, 2.0, 2.01, 5.0, 26.0])
    for text in ("round(x)", "erfc(x)", "hypot(x, y)", "logaddexp(x, y)"):
        made = design(text, {})
        said = translated(made, "pylayer", [])
        values = {name: x if name == "x" else x[::-1] for name in made.inputs}
        (got,) = run(said.forward, said.helpers, made.inputs, {name: paddle.to_tensor(value) for name, value in values.items()}, library("pylayer")[0])
        (wanted,) = exact_values(read(text, {}), values).values()
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=3e-14, err_msg=text)
