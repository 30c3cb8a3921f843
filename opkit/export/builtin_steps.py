"""Built-in ops that gradients use, as expressions of array code that torch and jax.numpy read alike.

Only op types whose meaning is one expression stand here; others keep an op from leaving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["BUILTIN_STEPS"]

Text = Mapping[str, str]


def _operand(attrs: Text) -> str:
    return attrs["int_operand"] if attrs.get("has_int_operand") == "True" else attrs["float_operand"]


#: {op type: expression of (arguments, attributes)}.
BUILTIN_STEPS: Mapping[str, Callable[[Text, Text], str]] = {
    "multiply": lambda x, a: f"{x['x']} * {x['y']}",
    "broadcast_mul": lambda x, a: f"{x['x']} * {x['y']}",
    "broadcast_add": lambda x, a: f"{x['x']} + {x['y']}",
    "broadcast_sub": lambda x, a: f"{x['x']} - {x['y']}",
    "broadcast_div": lambda x, a: f"{x['x']} / {x['y']}",
    "scalar_mul": lambda x, a: f"{x['in']} * {_operand(a)}",
    "scalar_add": lambda x, a: f"{x['in']} + {_operand(a)}",
    "negative": lambda x, a: f"-{x['x']}",
    "reshape_like": lambda x, a: f"{x['in']}.reshape({x['like']}.shape)",
    "sigmoid_grad": lambda x, a: f"{x['dy']} * {x['y']} * (1 - {x['y']})",
    "tanh_grad": lambda x, a: f"{x['dy']} * (1 - {x['y']} * {x['y']})",
    "relu_grad": lambda x, a: f"{x['dy']} * ({x['y']} > 0)",
}
