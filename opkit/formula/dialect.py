"""A kernel's numpy text as torch's or JAX's: the same functions by other names.

Only text of ``opkit.formula.writing`` and ``helpers`` is read here; what a formula computes is decided there.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from opkit.formula.design import Design, wrapped
from opkit.formula.helpers import HELPERS
from opkit.record import record

_AXES = {"axis": "dim", "keepdims": "keepdim"}
#: Functions of torch that take no Python number, and those that it does not have.
_TENSORS_ALONE = frozenset({"maximum", "minimum", "hypot", "logaddexp", "arctan2"})
_FORMS = {"heaviside": "(torch.sign({0}) + 1) / 2", "cbrt": "torch.sign({0}) * torch.abs({0}) ** (1 / 3)"}


@record
class Dialect:
    """How an array library spells what numpy's kernels say.

    Args:
        prefix: of its functions.
        names: {function of numpy, or helper: its own}.
        is_torch: whether its functions take tensors alone, and ``dim`` for an axis.
    """

    prefix: str
    names: Mapping[str, str] = field(default_factory=dict)
    is_torch: bool = False

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

    def helpers(self, texts: Iterable[str]) -> list[str]:
        """Return the helpers that the library does not have itself."""
        own = [ast.parse(text) for text in texts]
        kept = [tree for tree in own if getattr(tree.body[0], "name", "") not in self.names]
        return [ast.unparse(_Translator(self, (), "x").translated(tree)) + "\n" for tree in kept]


TORCH = Dialect(
    "torch",
    {
        **{name: f"torch.{name}" for name in ("sigmoid", "erf", "erfc", "lgamma", "digamma")},
        **{name: f"torch.{name}" for name in ("softmax", "log_softmax", "logsumexp")},
        "max": "torch.amax",
        "min": "torch.amin",
        "rint": "torch.round",
        "expand_dims": "torch.unsqueeze",
    },
    is_torch=True,
)
JAX = Dialect(
    "jnp",
    {
        **{name: f"jax.nn.{name}" for name in ("sigmoid", "softmax", "log_softmax", "logsumexp")},
        **{name: f"jax.scipy.special.{name}" for name in ("erf", "erfc", "digamma")},
        "lgamma": "jax.scipy.special.gammaln",
    },
)
#: kind of ``opkit new`` -> the dialect of its kernels
DIALECTS = {"torch_function": TORCH, "torch_op": TORCH, "jax_function": JAX}


@record
class Translated:
    """A design's kernels in a dialect: the lines of both bodies, the helpers, whether forward may return a view."""

    forward: Sequence[str]
    backward: Sequence[str]
    helpers: Sequence[str]
    is_view: bool


def translated(design: Design, kind: str, attrs: Sequence[str]) -> Translated:
    """Return the kernels of a design as a kind of ``opkit new`` writes them."""
    dialect, array = DIALECTS[kind], next(iter(design.inputs))
    forward = dialect.body(design.forward, attrs, array)
    last = ast.parse(forward[-1].removeprefix("return "), mode="eval").body
    views = ("torch.swapaxes", "torch.broadcast_to", "torch.unsqueeze")
    is_view = isinstance(last, ast.Name) or (isinstance(last, ast.Call) and ast.unparse(last.func) in views)
    backward = dialect.body(design.backward, attrs, array)
    return Translated(_wrap(forward), _wrap(backward), dialect.helpers(design.helpers), is_view)


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
        """``np.x`` in the other library; ``x.size`` is a call in torch."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "np":
            return _expr(self.dialect.names.get(node.attr, f"{self.dialect.prefix}.{node.attr}"))
        is_size = node.attr == "size" and self.dialect.is_torch
        return ast.Call(ast.Attribute(node.value, "numel", ast.Load()), [], []) if is_size else node

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
        return self._torch_call(bare, node, scalars) if self.dialect.is_torch else node

    def _torch_call(self, name: str, node: ast.Call, scalars: Sequence[bool]) -> ast.expr:
        node.keywords = [ast.keyword(_AXES.get(item.arg or "", item.arg), item.value) for item in node.keywords]
        if name.endswith(".astype"):
            node.func.attr = "to"  # type: ignore[attr-defined]
            return node
        if name in _FORMS:
            return _expr(_FORMS[name].format(ast.unparse(node.args[0])))
        if name in ("maximum", "minimum") and any(scalars):
            array, bound = node.args if scalars[1] else reversed(node.args)
            return ast.Call(_expr("torch.clamp"), [array], [ast.keyword("min" if name == "maximum" else "max", bound)])
        if name == "broadcast_to" and scalars[0]:
            like = ast.unparse(node.args[1]).removesuffix(".shape")
            return ast.Call(_expr("torch.full_like"), [_expr(like), node.args[0]], [])
        if name == "expand_dims" and isinstance(node.args[1], ast.Tuple):
            array = node.args[0]
            for axis in sorted(ast.literal_eval(node.args[1]), key=abs):
                array = ast.Call(_expr("torch.unsqueeze"), [array, ast.Constant(axis)], [])
            return array
        if name == "logsumexp" and not any(item.arg == "dim" for item in node.keywords):
            node.args.append(_expr(f"tuple(range(({ast.unparse(node.args[0])}).ndim))"))
        if name == "var":
            node.keywords.append(ast.keyword("correction", ast.Constant(0)))
        if name == "where" and all(scalars[1:]):  # of two numbers torch would make float32
            node.args[1] = _expr(f"{self.array}.new_full((), {ast.unparse(node.args[1])})")
        is_narrow = name in _TENSORS_ALONE or (name == "clip" and not all(scalars[1:]))
        if is_narrow or (all(scalars) and (name in HELPERS or hasattr(node.func, "value"))):
            node.args = [
                _expr(f"{self.array}.new_full((), {ast.unparse(item)})") if is_number else item
                for item, is_number in zip(node.args, scalars)
            ]
        return node

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
