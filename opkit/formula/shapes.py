"""The shapes of a formula's arrays as terms over the inputs' shapes.

Inputs that meet element by element have the same shape; a reduced array that keeps its axes meets the array that it
came from. Nothing else broadcasts: what the definition checks is then one line an input.
"""

from __future__ import annotations

from typing import TypeAlias

from opkit.errors import UsageError
from opkit.formula.graph import Axes, Count, Expand, Formula, LogSumExp, MatMul, Operation, Reduce, Softmax, Swap
from opkit.formula.language import Expr
from opkit.record import record


@record
class Root:
    """The shape of an input."""

    name: str


@record
class Scalar:
    """One number."""


@record
class Less:
    """A shape without some of its axes, or with size 1 there."""

    of: Term
    axes: Axes
    keepdims: bool


@record
class Product:
    """The shape of a matrix product."""

    left: Term
    right: Term


@record
class Swapped:
    """A shape with its last two axes exchanged."""

    of: Term


Term: TypeAlias = "Root | Scalar | Less | Product | Swapped"


class Shapes:
    """The shapes of a formula; of what its gradient adds too, once ``add`` was told of it.

    Args:
        formula: its steps in order.

    Raises:
        UsageError: two arrays meet whose shapes cannot be related.
    """

    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._bound: dict[str, Term] = {}
        self._known: dict[str, Term] = {name: Root(name) for name in formula.inputs}
        self._known |= {name: Scalar() for name in formula.attrs}
        self._order = {name: index for index, name in enumerate(formula.inputs)}
        for symbol, operation in formula.steps.items():
            self.add(symbol, operation)
        self.outputs = {name: self.of(expr) for name, expr in formula.outputs.items()}
        self.outputs = {name: self.resolve(term) for name, term in self.outputs.items()}

    def add(self, symbol: Expr, operation: Operation) -> None:
        """Learn the shape of a step."""
        self._known[symbol.name] = self._step(operation)

    def let(self, name: str, term: Term) -> None:
        """Give a name a shape."""
        self._known[name] = term

    def given(self, name: str) -> Term:
        """Return the shape of an array by its name."""
        return self.resolve(self._known[name])

    def of(self, expr: Expr) -> Term:
        """Return the shape of an expression, its symbols known."""
        result: Term = Scalar()
        for symbol in sorted(
            expr.free_symbols, key=lambda item: (self._order.get(item.name, len(self._order)), item.name)
        ):
            result = self._meet(result, self.resolve(self._known[symbol.name]), expr)
        return self.resolve(result)

    def resolve(self, term: Term) -> Term:
        """Return the term over those inputs whose shapes are free."""
        match term:
            case Root(name):
                return self.resolve(self._bound[name]) if name in self._bound else term
            case Less(of, axes, keepdims):
                inner = self.resolve(of)
                return Scalar() if isinstance(inner, Scalar) else Less(inner, axes, keepdims)
            case Product(left, right):
                return Product(self.resolve(left), self.resolve(right))
            case Swapped(of):
                inner = self.resolve(of)
                return inner.of if isinstance(inner, Swapped) else Swapped(inner)
        return term

    def _step(self, operation: Operation) -> Term:
        match operation:
            case Reduce() | LogSumExp():
                of = self.of(operation.operand)
                if operation.axes is None and not operation.keepdims:
                    return Scalar()
                return self.resolve(Less(of, operation.axes, operation.keepdims))
            case Softmax():
                return self.of(operation.operand)
            case MatMul():
                return Product(self.of(operation.left), self.of(operation.right))
            case Swap():
                return self.resolve(Swapped(self.of(operation.operand)))
            case Expand():
                of = self.of(operation.operand)
                return Less(of.of, of.axes, True) if isinstance(of, Less) else of
            case Count():
                return Scalar()

    def _meet(self, a: Term, b: Term, expr: Expr) -> Term:
        if a == b or isinstance(b, Scalar):
            return a
        if isinstance(a, Scalar):
            return b
        if self.keeps_axes(b, a):
            return a
        if self.keeps_axes(a, b):
            return b
        if self._bind(a, b):
            return self.resolve(a)
        raise UsageError(
            f"in {self._formula.said(expr)!r} arrays meet whose shapes differ: {describe(a)} and {describe(b)}",
            help="reduce with keepdims=True where the result meets the array that it came from",
        )

    def keeps_axes(self, small: Term, large: Term) -> bool:
        """Whether ``small`` is ``large`` with some axes of size 1."""
        while isinstance(small, Less) and small.keepdims:
            small = small.of
            if small == large:
                return True
        return False

    def _bind(self, a: Term, b: Term) -> bool:
        if isinstance(a, Root) and isinstance(b, Root):
            later, first = sorted((a, b), key=lambda root: -self._order[root.name])
            self._bound[later.name] = first
            return True
        for root, other in ((a, b), (b, a)):
            if isinstance(root, Root) and root.name not in roots(other):
                self._bound[root.name] = other
                return True
        if isinstance(a, Less) and isinstance(b, Less) and (a.axes, a.keepdims) == (b.axes, b.keepdims):
            return self._bind(a.of, b.of)
        if isinstance(a, Swapped) and isinstance(b, Swapped):
            return self._bind(a.of, b.of)
        return False


def roots(term: Term) -> set[str]:
    """Return the inputs whose shapes a term reads."""
    match term:
        case Root(name):
            return {name}
        case Less(of) | Swapped(of):
            return roots(of)
        case Product(left, right):
            return roots(left) | roots(right)
    return set()


def describe(term: Term) -> str:
    """Return the shape in words."""
    match term:
        case Root(name):
            return f"the shape of {name}"
        case Less(of, axes, keepdims):
            where = (
                "all axes" if axes is None else f"axis {axes if isinstance(axes, str) else ', '.join(map(str, axes))}"
            )
            return f"{describe(of)} {'with size 1 along' if keepdims else 'without'} {where}"
        case Product(left, right):
            if isinstance(left, Root) and isinstance(right, Root):
                return f"the shape of {left.name} @ {right.name}"
            return "the shape of the matrix product"
        case Swapped(of):
            return f"{describe(of)} with its last two axes exchanged"
    return "one number"
