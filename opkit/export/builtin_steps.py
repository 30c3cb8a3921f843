"""Built-in ops that gradients use, as expressions of a framework's array code.

Only op types whose meaning is one expression stand here; others keep an op from leaving. A row is the text of the
expression: inputs and attributes stand by their names, ``{m}`` is the framework's module, ``{operand}`` a scalar op's
number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opkit.record import record


@record
class Words:
    """What a framework calls what the expressions need.

    Args:
        module: of its functions.
        axis, keepdims: keywords of reductions.
        cast: its arrays' method.
        rows: the ops that it writes in its own way.
    """

    module: str
    axis: str
    keepdims: str
    cast: str
    rows: Mapping[str, str]

    def call(self, name: str, *args: str) -> str:
        """Return a call of one of the module's functions."""
        return f"{self.module}.{name}({', '.join(args)})"

    def reduced(self, function: str, x: str, axes: str, keepdims: str = "False") -> str:
        """Return a reduction; no axes are all of them."""
        over = ""
        if axes not in ("()", "[]"):
            over = f"{self.axis}={_tuple(axes) if _is_literal(axes) else f'tuple({axes}) or None'}"
        keeps = f"{self.keepdims}={keepdims}" if keepdims != "False" else ""
        if keeps and not over and self.module == "torch":
            over = f"dim=tuple(range({x}.ndim))"
        return f"({x}).{function}({', '.join(filter(None, (over, keeps)))})"


TORCH_WORDS = Words(
    "torch",
    "dim",
    "keepdim",
    "to",
    {
        "transpose": "({input}).permute({perm})",
        "expand_dims": "{in}.unsqueeze({axis})",
        "sigmoid": "torch.sigmoid({in})",
        "sigmoid_v2": "torch.sigmoid({x})",
        "softmax": "torch.softmax({in}, -1)",
        "broadcast_div_grad": "(-{dz} * {z} / {y}).sum_to_size({y}.shape)",
        "sigmoid_v2_grad": "{dy} * torch.sigmoid({x}) * (1 - torch.sigmoid({x}))",
        "silu_grad": "{dy} * torch.sigmoid({x}) * (1 + {x} * (1 - torch.sigmoid({x})))",
    },
)
#: The axes of z over which y was spread.
_SPREAD = (
    "tuple(axis for axis in range({z}.ndim) "
    "if axis < {z}.ndim - {y}.ndim or {y}.shape[axis - ({z}.ndim - {y}.ndim)] != {z}.shape[axis])"
)
JAX_WORDS = Words(
    "jnp",
    "axis",
    "keepdims",
    "astype",
    {
        "transpose": "jnp.transpose({input}, {perm})",
        "expand_dims": "jnp.expand_dims({in}, {axis})",
        "sigmoid": "jax.nn.sigmoid({in})",
        "sigmoid_v2": "jax.nn.sigmoid({x})",
        "softmax": "jax.nn.softmax({in}, -1)",
        "sigmoid_v2_grad": "{dy} * jax.nn.sigmoid({x}) * (1 - jax.nn.sigmoid({x}))",
        "silu_grad": "{dy} * jax.nn.sigmoid({x}) * (1 + {x} * (1 - jax.nn.sigmoid({x})))",
        "broadcast_div_grad": "(-{dz} * {z} / {y}).sum(axis=" + _SPREAD + ").reshape({y}.shape)",
    },
)

Inputs = Mapping[str, Sequence[str]]
Text = Mapping[str, str]
BuiltinStep = Callable[[Words, Inputs, Text], str]


def _tuple(text: str) -> str:
    return f"({text[1:-1].rstrip(',')},)" if text[:1] in "([" else text


def _is_literal(text: str) -> bool:
    return text[:1] in "([-0123456789"


def _reduction(function: str, in_torch: str = "") -> BuiltinStep:
    def write(words: Words, given: Inputs, attrs: Text) -> str:
        name = in_torch if in_torch and words.module == "torch" else function
        return words.reduced(name, given["input_tensor"][0], attrs["axis"], attrs["keepdims"])

    return write


def _matmul(words: Words, given: Inputs, attrs: Text) -> str:
    sides = []
    for name in ("a", "b"):
        text = given[name][0]
        turned = attrs.get(f"transpose_{name}", "False")
        if turned not in ("True", "False"):
            sides.append(f"({words.call('swapaxes', text, '-1', '-2')} if {turned} else {text})")
        else:
            sides.append(words.call("swapaxes", text, "-1", "-2") if turned == "True" else text)
    product = f"{sides[0]} @ {sides[1]}"
    alpha = attrs.get("alpha", "1.0")
    product = product if alpha in ("1.0", "1") else f"{alpha} * ({product})"
    added = given.get("_add_to_output")
    return f"{product} + {added[0]}" if added else product


def _cast(words: Words, given: Inputs, attrs: Text) -> str:
    kind = attrs["dtype"]
    to = f"{words.module}.{kind[1:-1]}" if kind[:1] in "'\"" else f"getattr({words.module}, {kind})"
    return f"({given['in'][0]}).{words.cast}({to})"


def _broadcast_like(words: Words, given: Inputs, attrs: Text) -> str:
    x, like, axes = given["x"][0], given["like"][0], attrs["broadcast_axes"]
    sizes = f"1 if axis in {axes} else size for axis, size in enumerate({like}.shape)"
    text = x if axes in ("()", "[]") else f"{x}.reshape(tuple({sizes}))"
    return words.call("broadcast_to", text, f"{like}.shape")


def _sum_like(words: Words, given: Inputs, attrs: Text) -> str:
    if attrs["axis"] in ("()", "[]"):
        return given["x"][0]
    return f"{words.reduced('sum', given['x'][0], attrs['axis'])}.reshape({given['like'][0]}.shape)"


#: What both write alike.
_ROWS = {
    "multiply": "{x} * {y}",
    "pow": "{x} ** {y}",
    "broadcast_mul": "{x} * {y}",
    "broadcast_add": "{x} + {y}",
    "broadcast_sub": "{x} - {y}",
    "broadcast_div": "{x} / {y}",
    "broadcast_pow": "{x} ** {y}",
    "broadcast_equal": "{x} == {y}",
    "broadcast_not_equal": "{x} != {y}",
    "broadcast_less": "{x} < {y}",
    "broadcast_less_equal": "{x} <= {y}",
    "broadcast_greater": "{x} > {y}",
    "broadcast_greater_equal": "{x} >= {y}",
    "broadcast_maximum": "{m}.maximum({x}, {y})",
    "broadcast_minimum": "{m}.minimum({x}, {y})",
    "scalar_mul": "{in} * {operand}",
    "scalar_add": "{in} + {operand}",
    "scalar_div": "{in} / {operand}",
    "scalar_pow": "{in} ** {exponent}",
    "scalar_mul_by_tensor": "{x} * {scalar}",
    "scalar_add_by_tensor": "{x} + {scalar}",
    "scalar_sub_by_tensor": "{x} - {scalar}",
    "scalar_div_by_tensor": "{x} / {scalar}",
    "negative": "-{x}",
    "abs": "{m}.abs({x})",
    "sign": "{m}.sign({x})",
    "square": "{m}.square({x})",
    "sqrt": "{m}.sqrt({x})",
    "exp": "{m}.exp({x})",
    "expm1": "{m}.expm1({x})",
    "log": "{m}.log({x})",
    "log1p": "{m}.log1p({x})",
    "sin": "{m}.sin({x})",
    "cos": "{m}.cos({x})",
    "tan": "{m}.tan({x})",
    "tanh": "{m}.tanh({x})",
    "sinh": "{m}.sinh({x})",
    "cosh": "{m}.cosh({x})",
    "reciprocal": "{m}.reciprocal({x})",
    "floor": "{m}.floor({x})",
    "ceil": "{m}.ceil({x})",
    "rsqrt": "1 / {m}.sqrt({x})",
    "relu": "{in} * ({in} > 0)",
    "identity": "{in}",
    "copy": "{in}",
    "zero_like": "{m}.zeros_like({like})",
    "ones_like": "{m}.ones_like({like})",
    "where": "{m}.where({condition} != 0, {x}, {y})",
    "cast_like": "({in}).{cast}({dtype_like}.dtype)",
    "reshape": "{in}.reshape({shape})",
    "reshape_like": "{in}.reshape({like}.shape)",
    "squeeze": "{in}.reshape(tuple(size for axis, size in enumerate({in}.shape) if axis not in {axes}))",
    "flip": "{m}.flip({x}, {axis})",
    "slice": "{x}[tuple(slice(*part) for part in zip({start}, {stop}, {step}))]",
    "broadcast_to": "{m}.broadcast_to({x}, {shape})",
    "clip_by_scalar_grad": "{m}.where(({x} >= {floating_min}) & ({x} <= {floating_max}), {dy}, {m}.zeros_like({dy}))",
    "softmax_grad": "{y} * ({dy} - ({dy} * {y}).sum({dim}=-1, {keeps}=True))",
    "log_softmax_grad": "{dy} - {m}.exp({y}) * {dy}.sum({dim}=-1, {keeps}=True)",
    "sigmoid_grad": "{dy} * {y} * (1 - {y})",
    "relu_grad": "{dy} * ({y} > 0)",
    "exp_grad": "{dy} * {m}.exp({x})",
    "log_grad": "{dy} / {x}",
    "log1p_grad": "{dy} / (1 + {x})",
    "sqrt_grad": "0.5 * {dy} / {m}.sqrt({x})",
    "rsqrt_grad": "-0.5 * {dy} / ({x} * {m}.sqrt({x}))",
    "square_grad": "2 * {dy} * {x}",
    "abs_grad": "{dy} * {m}.sign({x})",
    "sin_grad": "{dy} * {m}.cos({x})",
    "cos_grad": "-{dy} * {m}.sin({x})",
    "tan_grad": "{dy} * (1 + {m}.square({m}.tan({x})))",
    "sinh_grad": "{dy} * {m}.cosh({x})",
    "cosh_grad": "{dy} * {m}.sinh({x})",
    "tanh_grad": "{dy} * (1 - {m}.square({m}.tanh({x})))",
    "expm1_grad": "{dy} * {m}.exp({x})",
    "reciprocal_grad": "-{dy} / {m}.square({x})",
    "scalar_pow_grad": "{dy} * {exponent} * {x} ** ({exponent} - 1)",
    "leaky_relu_grad": "{m}.where({x} > 0, {dy}, {alpha} * {dy})",
    "elu_grad": "{m}.where({x} > 0, {dy}, {alpha} * {m}.exp({x}) * {dy})",
}
#: {op type: expression of (words, {argument: texts}, {attribute: text})} of those that are no rows.
_STEPS: Mapping[str, BuiltinStep] = {
    "add_n": lambda words, given, attrs: " + ".join(given["in"]),
    "cast": _cast,
    "matmul": _matmul,
    "batch_matmul": _matmul,
    "broadcast_matmul": _matmul,
    "reduce_sum": _reduction("sum"),
    "reduce_mean": _reduction("mean"),
    "reduce_max": _reduction("max", "amax"),
    "reduce_sum_like": _sum_like,
    "broadcast_like": _broadcast_like,
}
#: The op types that have a form in exported files.
BUILTIN_STEPS = frozenset({*_ROWS, *_STEPS, *TORCH_WORDS.rows})


def builtin_step(type: str, words: Words, given: Inputs, attrs: Text) -> str:
    """Return a built-in op as an expression.

    Args:
        type: the op type, one of ``BUILTIN_STEPS``.
        words: the framework's.
        given: {argument: texts}.
        attrs: {attribute: text}.
    """
    if type in _STEPS:
        return _STEPS[type](words, given, attrs)
    operand = attrs.get("int_operand" if attrs.get("has_int_operand") == "True" else "float_operand", "")
    own = {"m": words.module, "cast": words.cast, "dim": words.axis, "keeps": words.keepdims, "operand": operand}
    names = {name: items[0] for name, items in given.items()}
    return words.rows.get(type, _ROWS.get(type, "")).format(**{**own, **attrs, **names})
