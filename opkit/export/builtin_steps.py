"""Built-in ops that gradients use, as expressions of a framework's array code.

Only op types whose meaning is one expression stand here; others keep an op from leaving.
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
        cast, permute: texts with {x} and {to}.
        sigmoid, softmax: functions; softmax is over the last axis.
    """

    module: str
    axis: str
    keepdims: str
    cast: str
    permute: str
    sigmoid: str
    softmax: str

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
    "torch", "dim", "keepdim", "({x}).to({to})", "({x}).permute({to})", "torch.sigmoid({x})", "torch.softmax({x}, -1)"
)
JAX_WORDS = Words(
    "jnp", "axis", "keepdims", "({x}).astype({to})", "jnp.transpose({x}, {to})", "jax.nn.sigmoid({x})",
    "jax.nn.softmax({x}, -1)",
)  # fmt: skip

Inputs = Mapping[str, Sequence[str]]
Text = Mapping[str, str]
BuiltinStep = Callable[[Words, Inputs, Text], str]


def _tuple(text: str) -> str:
    return f"({text[1:-1].rstrip(',')},)" if text[:1] in "([" else text


def _is_literal(text: str) -> bool:
    return text[:1] in "([-0123456789"


def _operand(attrs: Text) -> str:
    return attrs["int_operand"] if attrs.get("has_int_operand") == "True" else attrs["float_operand"]


def _infix(sign: str, x: str = "x", y: str = "y") -> BuiltinStep:
    return lambda words, given, attrs: f"{given[x][0]} {sign} {given[y][0]}"


def _scalar(sign: str) -> BuiltinStep:
    return lambda words, given, attrs: f"{given['in'][0]} {sign} {_operand(attrs)}"


def _function(name: str, *args: str) -> BuiltinStep:
    return lambda words, given, attrs: words.call(name, *(given[arg][0] for arg in args))


def _formula(text: str) -> BuiltinStep:
    """Return an expression; ``{m}`` is the module, ``{sigmoid}(x)`` is written by name, inputs by theirs."""

    def write(words: Words, given: Inputs, attrs: Text) -> str:
        names = {name: items[0] for name, items in given.items()}
        sigmoid = words.sigmoid.format(x=names.get("x", ""))
        return text.format(m=words.module, sigmoid=sigmoid, **{**attrs, **names})

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
    return words.cast.format(x=given["in"][0], to=to)


def _squeezed(words: Words, given: Inputs, attrs: Text) -> str:
    axes = attrs["axes"]
    kept = f"size for axis, size in enumerate({given['in'][0]}.shape) if axis not in {axes}"
    return f"{given['in'][0]}.reshape(tuple({kept}))"


def _broadcast_like(words: Words, given: Inputs, attrs: Text) -> str:
    x, like, axes = given["x"][0], given["like"][0], attrs["broadcast_axes"]
    sizes = f"1 if axis in {axes} else size for axis, size in enumerate({like}.shape)"
    text = x if axes in ("()", "[]") else f"{x}.reshape(tuple({sizes}))"
    return words.call("broadcast_to", text, f"{like}.shape")


def _sum_like(words: Words, given: Inputs, attrs: Text) -> str:
    if attrs["axis"] in ("()", "[]"):
        return given["x"][0]
    return f"{words.reduced('sum', given['x'][0], attrs['axis'])}.reshape({given['like'][0]}.shape)"


def _clipped_grad(words: Words, given: Inputs, attrs: Text) -> str:
    x = given["x"][0]
    inside = f"({x} >= {attrs['floating_min']}) & ({x} <= {attrs['floating_max']})"
    return words.call("where", inside, given["dy"][0], words.call("zeros_like", given["dy"][0]))


def _softmax_grad(words: Words, given: Inputs, attrs: Text) -> str:
    y, dy = given["y"][0], given["dy"][0]
    return f"{y} * ({dy} - ({dy} * {y}).sum({words.axis}=-1, {words.keepdims}=True))"


def _log_softmax_grad(words: Words, given: Inputs, attrs: Text) -> str:
    y, dy = given["y"][0], given["dy"][0]
    return f"{dy} - {words.call('exp', y)} * {dy}.sum({words.axis}=-1, {words.keepdims}=True)"


def _div_grad(words: Words, given: Inputs, attrs: Text) -> str:
    y, z, dz = (given[name][0] for name in ("y", "z", "dz"))
    whole = f"-{dz} * {z} / {y}"
    if words.module == "torch":
        return f"({whole}).sum_to_size({y}.shape)"
    rank = f"{z}.ndim - {y}.ndim"
    sides = f"tuple(axis for axis in range({z}.ndim) if axis < {rank} or {y}.shape[axis - ({rank})] != {z}.shape[axis])"
    return f"({whole}).sum(axis={sides}).reshape({y}.shape)"


def _sliced(words: Words, given: Inputs, attrs: Text) -> str:
    parts = f"slice(*part) for part in zip({attrs['start']}, {attrs['stop']}, {attrs['step']})"
    return f"{given['x'][0]}[tuple({parts})]"


_UNARY = (
    "abs", "sign", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh",
    "reciprocal", "floor", "ceil",
)  # fmt: skip
_COMPARED = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
#: Gradients of functions of one argument, over x and dy.
_OF_X = {
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
    "sigmoid_v2_grad": "{dy} * {sigmoid} * (1 - {sigmoid})",
    "silu_grad": "{dy} * {sigmoid} * (1 + {x} * (1 - {sigmoid}))",
    "scalar_pow_grad": "{dy} * {exponent} * {x} ** ({exponent} - 1)",
    "leaky_relu_grad": "{m}.where({x} > 0, {dy}, {alpha} * {dy})",
    "elu_grad": "{m}.where({x} > 0, {dy}, {alpha} * {m}.exp({x}) * {dy})",
}
#: {op type: expression of (words, {argument: texts}, {attribute: text})}.
BUILTIN_STEPS: Mapping[str, BuiltinStep] = {
    "multiply": _infix("*"),
    "pow": _infix("**"),
    "broadcast_mul": _infix("*"),
    "broadcast_add": _infix("+"),
    "broadcast_sub": _infix("-"),
    "broadcast_div": _infix("/"),
    "broadcast_pow": _infix("**"),
    **{f"broadcast_{name}": _infix(sign) for name, sign in _COMPARED.items()},
    "broadcast_maximum": _function("maximum", "x", "y"),
    "broadcast_minimum": _function("minimum", "x", "y"),
    "elementwise_maximum": _function("maximum", "x", "y"),
    "elementwise_minimum": _function("minimum", "x", "y"),
    "broadcast_div_grad": _div_grad,
    "scalar_mul": _scalar("*"),
    "scalar_add": _scalar("+"),
    "scalar_div": _scalar("/"),
    "scalar_pow": lambda words, given, attrs: f"{given['in'][0]} ** {attrs['exponent']}",
    "scalar_mul_by_tensor": _infix("*", "x", "scalar"),
    "scalar_add_by_tensor": _infix("+", "x", "scalar"),
    "scalar_sub_by_tensor": _infix("-", "x", "scalar"),
    "scalar_div_by_tensor": _infix("/", "x", "scalar"),
    "add_n": lambda words, given, attrs: " + ".join(given["in"]),
    "negative": _formula("-{x}"),
    **{name: _function(name, "x") for name in _UNARY},
    "rsqrt": _formula("1 / {m}.sqrt({x})"),
    "sigmoid": lambda words, given, attrs: words.sigmoid.format(x=given["in"][0]),
    "sigmoid_v2": lambda words, given, attrs: words.sigmoid.format(x=given["x"][0]),
    "relu": lambda words, given, attrs: f"{given['in'][0]} * ({given['in'][0]} > 0)",
    "softmax": lambda words, given, attrs: words.softmax.format(x=given["in"][0]),
    "identity": lambda words, given, attrs: given["in"][0],
    "copy": lambda words, given, attrs: given["in"][0],
    "zero_like": _function("zeros_like", "like"),
    "ones_like": _function("ones_like", "like"),
    "where": _formula("{m}.where({condition} != 0, {x}, {y})"),
    "cast": _cast,
    "cast_like": lambda words, given, attrs: words.cast.format(x=given["in"][0], to=f"{given['dtype_like'][0]}.dtype"),
    "matmul": _matmul,
    "batch_matmul": _matmul,
    "broadcast_matmul": _matmul,
    "reshape": lambda words, given, attrs: f"{given['in'][0]}.reshape({attrs['shape']})",
    "reshape_like": lambda words, given, attrs: f"{given['in'][0]}.reshape({given['like'][0]}.shape)",
    "transpose": lambda words, given, attrs: words.permute.format(x=given["input"][0], to=attrs["perm"]),
    "expand_dims": lambda words, given, attrs: (
        f"{given['in'][0]}.unsqueeze({attrs['axis']})"
        if words.module == "torch"
        else f"jnp.expand_dims({given['in'][0]}, {attrs['axis']})"
    ),
    "squeeze": _squeezed,
    "flip": lambda words, given, attrs: words.call("flip", given["x"][0], attrs["axis"]),
    "slice": _sliced,
    "reduce_sum": lambda words, given, attrs: words.reduced(
        "sum", given["input_tensor"][0], attrs["axis"], attrs["keepdims"]
    ),
    "reduce_mean": lambda words, given, attrs: words.reduced(
        "mean", given["input_tensor"][0], attrs["axis"], attrs["keepdims"]
    ),
    "reduce_max": lambda words, given, attrs: words.reduced(
        "amax" if words.module == "torch" else "max", given["input_tensor"][0], attrs["axis"], attrs["keepdims"]
    ),
    "reduce_sum_like": _sum_like,
    "broadcast_like": _broadcast_like,
    "broadcast_to": lambda words, given, attrs: words.call("broadcast_to", given["x"][0], attrs["shape"]),
    "clip_by_scalar_grad": _clipped_grad,
    "softmax_grad": _softmax_grad,
    "log_softmax_grad": _log_softmax_grad,
    "sigmoid_grad": _formula("{dy} * {y} * (1 - {y})"),
    "relu_grad": _formula("{dy} * ({y} > 0)"),
    **{name: _formula(text) for name, text in _OF_X.items()},
}
