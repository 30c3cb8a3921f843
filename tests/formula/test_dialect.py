"""Kernels of formulas in torch and JAX: the values and gradients of numpy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from opkit.formula import design, translated
from tests.formula.formulas import FORMULAS
from tests.formula.test_formulas import given


def run(lines: Any, helpers: Any, names: Any, values: dict[str, Any], scope: dict[str, Any]) -> tuple[Any, ...]:
    """Run a kernel's body."""
    text = "\n".join(helpers) + f"\ndef kernel({', '.join(names)}):\n" + "\n".join(f"    {line}" for line in lines)
    exec(text, scope)
    result = scope["kernel"](*(values[name] for name in names))
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.peer
@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("kind", ["torch_function", "jax_function"])
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
    if kind == "torch_function":
        torch = pytest.importorskip("torch")
        return {"math": math, "torch": torch}, torch.as_tensor
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return {"math": math, "jax": jax, "jnp": jax.numpy}, jax.numpy.asarray


@pytest.mark.parametrize("name", sorted(FORMULAS)[::4])
@pytest.mark.parametrize("kind", ["torch_op", "jax_function"])
def test_nothing_of_numpy_is_left(kind: str, name: str) -> None:
    """Neither in the kernels nor in their helpers."""
    text, attrs = FORMULAS[name]
    said = translated(design(text, attrs), kind, list(attrs))
    lines = "\n".join([*said.forward, *said.backward, *said.helpers])
    assert "np." not in lines.replace("jnp.", "")
    assert "axis=" not in lines or kind == "jax_function"


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
