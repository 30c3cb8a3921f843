"""A kernel's numpy text as another library's: the same functions by other names.

Only text of ``opkit.formula.writing`` and ``helpers`` is read here; what a formula computes is decided there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from opkit.formula.design import Design, wrapped
from opkit.formula.helpers import HELPERS, STAND_INS
from opkit.record import record

_TENSORS_ALONE = frozenset({"maximum", "minimum", "hypot", "logaddexp", "arctan2"})


@record
class Dialect:
    """How an array library spells what numpy's kernels say.

    Args:
        prefix: of its functions.
        names: {function of numpy, or helper: its own, or a text with ``{0}`` for the argument}; a function that has its
            own name here is one of ``STAND_INS``.
        keywords: {keyword of numpy: its own; "" where the argument is cast instead}.
        tensor: a number as a tensor, with ``{0}`` for one of the same dtype and ``{1}`` for the number; "" where
            numbers will do.
        tensors_alone: the functions of numpy that take no numbers.
        bounded: the function that keeps a tensor above ``min`` or below ``max``.
        variance: the keyword that asks for numpy's variance.
    """

    prefix: str
    names: Mapping[str, str] = field(default_factory=dict)
    keywords: Mapping[str, str] = field(default_factory=dict)
    tensor: str = ""
    tensors_alone: frozenset[str] = _TENSORS_ALONE
    bounded: str = ""
    variance: Mapping[str, int] = field(default_factory=dict)

    def body(self, lines: Iterable[str], scalars: Collection[str], array: str) -> list[str]:
        """Return the statements of a kernel's body.

        Args:
            lines: of numpy.
            scalars: names of Python numbers among what it reads.
            array: one of the arrays that it reads.
        """
        tree = ast.parse("def kernel():\n" + "\n".join(f"    {line}" for line in lines))
        kernel = _Translator(self, scalars, array).translated(tree).body[0]
        return [ast.unparse(item) for item in kernel.body]  # type: ignore[attr-defined]

    def helpers(self, texts: Iterable[str], lines: Iterable[str]) -> list[str]:
        """Return the helpers that the library does not have itself.

        Args:
            texts: of numpy's kernels.
            lines: of both kernels' bodies in the dialect.
        """
        read = {
            node.id
            for node in ast.walk(ast.parse("\n".join(lines).replace("return ", "")))
            if isinstance(node, ast.Name)
        }
        stand_ins = [text for name, text in STAND_INS.items() if name in read and self.names.get(name) == name]
        for word, called in self.keywords.items():
            texts = [re.sub(rf"\b{word}\b", called or word, text) for text in texts]
        own = [ast.parse(text) for text in texts]
        kept = [tree for tree in own if getattr(tree.body[0], "name", "") not in self.names]
        return [
            ast.unparse(_Translator(self, (), "x").translated(tree)) + "\n"
            for tree in (*map(ast.parse, stand_ins), *kept)
        ]


TORCH = Dialect(
    "torch",
    {
        **{name: f"torch.{name}" for name in ("sigmoid", "erf", "erfc", "lgamma", "digamma")},
        **{name: f"torch.{name}" for name in ("softmax", "log_softmax", "logsumexp")},
        "max": "torch.amax",
        "min": "torch.amin",
        "rint": "torch.round",
        "expand_dims": "torch.unsqueeze",
        "heaviside": "(torch.sign({0}) + 1) / 2",
        "cbrt": "torch.sign({0}) * torch.abs({0}) ** (1 / 3)",
        "size": "numel",
        "astype": "to",
    },
    {"axis": "dim", "keepdims": "keepdim"},
    tensor="{0}.new_full((), {1})",
    bounded="torch.clamp",
    variance={"correction": 0},
)
JAX = Dialect(
    "jnp",
    {
        **{name: f"jax.nn.{name}" for name in ("sigmoid", "softmax", "log_softmax", "logsumexp")},
        **{name: f"jax.scipy.special.{name}" for name in ("erf", "erfc", "digamma")},
        "lgamma": "jax.scipy.special.gammaln",
    },
)
PADDLE = Dialect(
    "paddle",
    {
        **{f"arc{name}": f"paddle.a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
        **{name: f"paddle.{name}" for name in ("erf", "lgamma", "digamma", "logsumexp")},
        **{name: f"paddle.nn.functional.{name}" for name in ("sigmoid", "softmax", "log_softmax")},
        **{name: name for name in STAND_INS},
        "max": "paddle.amax",
        "min": "paddle.amin",
        "expand_dims": "paddle.unsqueeze",
        "swapaxes": "paddle.moveaxis",
        "heaviside": "(paddle.sign({0}) + 1) / 2",
        "cbrt": "paddle.sign({0}) * paddle.abs({0}) ** (1 / 3)",
        "clip": "paddle.minimum(paddle.maximum({0}, {1}), {2})",
        "equal": "paddle.abs({0} - {1}) <= 0",  # its == takes for equal what is within 1e-8
    },
    {"keepdims": "keepdim", "dtype": ""},
    tensor="paddle.full([], {1}, {0}.dtype)",
    tensors_alone=_TENSORS_ALONE | {"where"},
    bounded="paddle.clip",
    variance={"unbiased": False},
)
#: kind of ``opkit new`` -> the dialect of its kernels
DIALECTS = {"pylayer": PADDLE, "torch_function": TORCH, "torch_op": TORCH, "jax_function": JAX}


@record
class Translated:
    """A design's kernels in a dialect: the lines of both bodies, the helpers, whether forward may return a view."""

    forward: Sequence[str]
    backward: Sequence[str]
    helpers: Sequence[str]
    is_view: bool


def translated(design: Design, kind: str, attrs: Sequence[str]) -> Translated:
    """Return the kernels of a design as a kind of ``opkit new`` writes them: numpy's own where it has no dialect."""
    if kind not in DIALECTS:
        return Translated(design.forward, design.backward, design.helpers, is_view=False)
    dialect, array = DIALECTS[kind], next(iter(design.inputs))
    forward = dialect.body(design.forward, attrs, array)
    last = ast.parse(forward[-1].removeprefix("return "), mode="eval").body
    views = [
        dialect.names.get(name, f"{dialect.prefix}.{name}") for name in ("swapaxes", "broadcast_to", "expand_dims")
    ]
    is_view = isinstance(last, ast.Name) or (isinstance(last, ast.Call) and ast.unparse(last.func) in views)
    backward = dialect.body(design.backward, attrs, array)
    helpers = dialect.helpers(design.helpers, [*forward, *backward])
    return Translated(_wrap(forward), _wrap(backward), helpers, is_view)


def _wrap(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in wrapped(line)]


class _Translator(ast.NodeTransformer):
    """Rewrites calls; knows which names are Python numbers."""

    def __init__(self, dialect: Dialect, scalars: Collection[str], array: str) -> None:
        self.dialect, self.scalars, self.array = dialect, set(scalars), array

    def translated(self, tree: ast.Module) -> ast.Module:
        """Return the tree in the dialect."""
        self.visit(tree)
        return ast.fix_missing_locations(tree)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Note a name that stands for a number."""
        if isinstance(node.targets[0], ast.Name):
            change = self.scalars.add if self.is_scalar(node.value) else self.scalars.discard
            change(node.targets[0].id)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``np.x`` in the other library, where ``x.size`` may be a call."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "np":
            return _expr(self.dialect.names.get(node.attr, f"{self.dialect.prefix}.{node.attr}"))
        size = self.dialect.names.get("size") if node.attr == "size" else None
        return ast.Call(ast.Attribute(node.value, size, ast.Load()), [], []) if size else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``x == 0``, which a library may take in another sense."""
        self.generic_visit(node)
        form = self.dialect.names.get("equal") if isinstance(node.ops[0], ast.Eq) else None
        return _expr(form.format(ast.unparse(node.left), ast.unparse(node.comparators[0]))) if form else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A function by its other name, with its arguments in the other form."""
        name = ast.unparse(node.func)
        if name.startswith("math."):
            return node
        if name == "np.reshape":  # a loss is a number here, not a list of one
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        scalars = [self.is_scalar(item) for item in node.args]
        bare = name.removeprefix("np.")
        self.generic_visit(node)
        if name in HELPERS and name in self.dialect.names:
            node.func = _expr(self.dialect.names[name])
        return self._tensor_call(bare, node, scalars) if self.dialect.tensor else node

    def _tensor_call(self, name: str, node: ast.Call, scalars: Sequence[bool]) -> ast.expr:
        dialect = self.dialect
        for item in node.keywords:
            item.arg = dialect.keywords.get(item.arg or "", item.arg)
            if not item.arg:
                node.args[0] = ast.Call(ast.Attribute(node.args[0], "astype", ast.Load()), [item.value], [])
        node.keywords = [item for item in node.keywords if item.arg]
        if name.endswith(".astype"):
            node.func.attr = dialect.names.get("astype", "astype")  # type: ignore[attr-defined]
            return node
        if name in ("maximum", "minimum") and any(scalars):
            array, bound = node.args if scalars[1] else reversed(node.args)
            return ast.Call(
                _expr(dialect.bounded), [array], [ast.keyword("min" if name == "maximum" else "max", bound)]
            )
        if name == "broadcast_to" and scalars[0]:
            like = ast.unparse(node.args[1]).removesuffix(".shape")
            return ast.Call(_expr(f"{dialect.prefix}.full_like"), [_expr(like), node.args[0]], [])
        if name == "expand_dims" and isinstance(node.args[1], ast.Tuple):
            array = node.args[0]
            for axis in sorted(ast.literal_eval(node.args[1]), key=abs):
                array = ast.Call(node.func, [array, ast.Constant(axis)], [])
            return array
        if (
            name in ("logsumexp", "logmeanexp")
            and "axis" in dialect.keywords
            and not any(item.arg == "dim" for item in node.keywords)
        ):
            node.args.append(_expr(f"tuple(range(({ast.unparse(node.args[0])}).ndim))"))
        if name == "var":
            node.keywords += [ast.keyword(key, ast.Constant(value)) for key, value in dialect.variance.items()]
        is_open = name == "clip" and not all(scalars[1:])
        is_narrow = name in dialect.tensors_alone or is_open
        if name == "where" and all(scalars[1:]) and not is_narrow:  # of two numbers the library would make float32
            node.args[1] = self._tensor(node.args[1])
        if is_narrow or (all(scalars) and (name in HELPERS or hasattr(node.func, "value"))):
            node.args = [self._tensor(item) if is_number else item for item, is_number in zip(node.args, scalars)]
        form = dialect.names.get(name, "")
        if "{0}" not in form:
            return node
        if name == "clip" and not is_open:
            return ast.Call(_expr(dialect.bounded), node.args, [])
        return _expr(form.format(*map(ast.unparse, node.args)))

    def _tensor(self, number: ast.expr) -> ast.expr:
        return _expr(self.dialect.tensor.format(self.array, ast.unparse(number)))

    def is_scalar(self, node: ast.expr) -> bool:
        """Whether an expression is a Python number."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.scalars
        if isinstance(node, ast.UnaryOp):
            return self.is_scalar(node.operand)
        if isinstance(node, ast.BinOp):
            return self.is_scalar(node.left) and self.is_scalar(node.right)
        if isinstance(node, ast.Call):
            return ast.unparse(node.func).startswith("math.") or (
                isinstance(node.func, ast.Name) and all(map(self.is_scalar, node.args)) and node.func.id not in HELPERS
            )
        return isinstance(node, ast.Attribute | ast.Subscript) and ast.unparse(node).partition("[")[0].endswith(
            (".shape", ".size", "math.pi", "math.e")
        )


def _expr(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
