"""Facts about built-in ops in exported gradients: each expression computes what the op's own kernel does."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opkit.export.builtin_steps import BUILTIN_STEPS, JAX_WORDS, builtin_step
from opkit.project.loading import load
from tests.corpus.model import write
from tests.corpus.ops import OPS

A = np.linspace(0.2, 0.9, 6).reshape(2, 3)
B = np.linspace(1.1, 1.9, 6).reshape(2, 3)
#: {op type: (inputs, attributes)} where these are not two arrays of one shape and none.
SPECIAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "scalar_mul": ({"in": [A]}, {"has_float_operand": True, "float_operand": 2.5}),
    "scalar_add": ({"in": [A]}, {"has_int_operand": True, "int_operand": 3}),
    "scalar_div": ({"in": [A]}, {"has_float_operand": True, "float_operand": 4.0}),
    "scalar_pow": ({"in": [A]}, {"exponent": 3.0}),
    "scalar_pow_grad": ({"x": [A], "dy": [B]}, {"exponent": 3.0}),
    "leaky_relu_grad": ({"x": [A - 0.5], "dy": [B]}, {"alpha": 0.1}),
    "elu_grad": ({"x": [A - 0.5], "dy": [B]}, {"alpha": 0.7}),
    "clip_by_scalar_grad": ({"x": [A], "dy": [B]}, {"floating_min": 0.3, "floating_max": 0.6}),
    "add_n": ({"in": [A, B, A]}, {}),
    "matmul": ({"a": [A], "b": [B]}, {"transpose_b": True, "alpha": 2.0}),
    "batch_matmul": ({"a": [A[None]], "b": [B[None]]}, {"transpose_a": True}),
    "broadcast_matmul": ({"a": [A[None]], "b": [B.T]}, {}),
    "where": ({"condition": [(A > 0.5).astype("int32")], "x": [A], "y": [B]}, {}),
    "cast": ({"in": [A]}, {"dtype": "float32"}),
    "cast_like": ({"in": [A], "dtype_like": [B.astype("float32")]}, {}),
    "reshape": ({"in": [A]}, {"shape": (3, 2)}),
    "reshape_like": ({"in": [A], "like": [B.T]}, {}),
    "transpose": ({"input": [A]}, {"perm": [1, 0]}),
    "expand_dims": ({"in": [A]}, {"axis": 1}),
    "squeeze": ({"in": [A[:, None]]}, {"axes": [1]}),
    "flip": ({"x": [A]}, {"axis": [1]}),
    "slice": ({"x": [A]}, {"start": [0, 1], "stop": [2, 3], "step": [1, 2]}),
    "reduce_sum": ({"input_tensor": [A]}, {"axis": [1], "keepdims": True}),
    "reduce_mean": ({"input_tensor": [A]}, {"axis": [0], "keepdims": False}),
    "reduce_max": ({"input_tensor": [A]}, {"axis": [0, 1], "keepdims": False}),
    "reduce_sum_like": ({"x": [A], "like": [B[:, :1]]}, {"axis": [1]}),
    "broadcast_like": ({"x": [A[:, 0]], "like": [B]}, {"broadcast_axes": [1]}),
    "broadcast_to": ({"x": [A[:1]]}, {"shape": (2, 3)}),
    "broadcast_div_grad": ({"y": [B[:1]], "z": [A], "dz": [B]}, {}),
}
NUMPY = {"jnp": np, "jax": SimpleNamespace(nn=SimpleNamespace(
    sigmoid=lambda x: 1 / (1 + np.exp(-x)),
    softmax=lambda x, axis: np.exp(x) / np.exp(x).sum(axis, keepdims=True),
))}  # fmt: skip


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the registry of an op directory, which has the built-in ops."""
    return load(write(OPS["swish"], tmp_path_factory.mktemp("op"))).ops["swish_forward"].registry


@pytest.mark.parametrize("name", sorted(BUILTIN_STEPS))
def test_an_expression_is_the_ops_kernel(registry: Any, name: str) -> None:
    """The text, run with numpy in the framework's place, has the kernel's values, shape and dtype."""
    op = registry.get(name)
    names = [arg.name for arg in op.inputs]
    inputs, attrs = SPECIAL.get(name, ({arg: [value] for arg, value in zip(names, (A, B, A))}, {}))
    if name.startswith("scalar_") and name.endswith("_by_tensor"):
        inputs = {"x": [A], "scalar": [B[0, :1]]}
    bound = op.bind(inputs, attrs, {arg.name: 1 for arg in op.outputs})
    expected = bound.opdef.kernel(*bound.inputs, **bound.attrs)
    space = dict(NUMPY)
    given: dict[str, list[str]] = {}
    for arg, values in inputs.items():
        for place, value in enumerate(values):
            space[f"v_{arg}_{place}"] = value
            given.setdefault(arg, []).append(f"v_{arg}_{place}")
    texts = {spec.name: repr(attrs.get(spec.name, spec.default)) for spec in op.attrs}
    found = eval(builtin_step(name, JAX_WORDS, given, texts), space)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
