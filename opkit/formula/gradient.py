"""The backward of a formula: reverse mode over its steps, and within a step sympy's derivative of each element.

The result is a formula again, whose inputs are the forward's inputs and the incoming gradients.
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from opkit.errors import UsageError
from opkit.formula import language as f
from opkit.formula.careful import careful, guarded
from opkit.formula.careful_steps import prune, substitute
from opkit.formula.graph import (
    Axes,
    Count,
    Expand,
    Formula,
    LogSumExp,
    MatMul,
    Operation,
    Reduce,
    Softmax,
    Swap,
    expressions,
    operands,
)  # fmt: skip
from opkit.formula.language import Expr
from opkit.formula.shapes import Less, Scalar, Shapes, Term


def backward(formula: Formula, shapes: Shapes) -> Formula:
    """Derive the gradients of every input.

    Args:
        formula: a forward formula.
        shapes: its shapes; the shapes of the backward's own steps are added.

    Returns:
        a formula with the outputs ``d<input>``; its inputs are those that it reads, then ``d<output>`` each.

    Raises:
        UsageError: a derivative is not in the language.
    """
    return _Reverse(formula, shapes).run()


class _Reverse:
    def __init__(self, formula: Formula, shapes: Shapes) -> None:
        self.forward, self.shapes = formula, shapes
        incoming = [f"d{name}" for name in formula.outputs]
        self.result = Formula(inputs=[*formula.inputs, *incoming], attrs=list(formula.attrs), steps=dict(formula.steps))
        self.adjoints: dict[str, list[Expr]] = {}

    def run(self) -> Formula:
        for name, expr in self.forward.outputs.items():
            self.shapes.let(f"d{name}", self.shapes.outputs[name])
            self.spread(expr, sympy.Symbol(f"d{name}", real=True))
        for symbol, operation in reversed(self.forward.steps.items()):
            if symbol.name in self.adjoints:
                self.through(symbol, operation, self.total(symbol.name))
        result = self.result
        plain = _kinks(self.forward) < 2
        result.outputs = {f"d{name}": self.total(name) for name in self.forward.inputs}
        if plain:
            for symbol, operation in list(result.steps.items()):
                result.steps[symbol] = substitute(operation, _plain)
            result.outputs = {name: _plain(expr) for name, expr in result.outputs.items()}
        prune(result)
        read = {symbol.name for expr in expressions(result) for symbol in expr.free_symbols}
        incoming = [f"d{name}" for name in self.forward.outputs]
        result.inputs = [name for name in result.inputs if name in read or name in incoming]
        axes = [getattr(operation, "axes", None) for operation in result.steps.values()]
        result.attrs = [name for name in result.attrs if name in read or name in axes]
        return result

    def total(self, name: str) -> Expr:
        return sum(self.adjoints.get(name, []), sympy.Integer(0))

    def step(self, operation: Operation, hint: str) -> Expr:
        symbol = self.result.step(operation, hint)
        self.shapes.add(symbol, operation)
        return symbol

    def spread(self, expr: Expr, gradient: Expr) -> None:
        """Add gradient * d expr / d symbol to the adjoint of each array that the expression reads."""
        whole = self.shapes.of(expr)
        for symbol in sorted(expr.free_symbols, key=str):
            if symbol.name in self.forward.attrs:
                continue
            slope = self.slope(expr, symbol)
            if slope == 0:
                continue
            term = self.shapes.of(symbol)
            self.adjoints.setdefault(symbol.name, []).append(self.sum_to(gradient * slope, whole, term))

    def slope(self, expr: Expr, symbol: Expr) -> Expr:
        """The derivative of each element: of the rewritten expression or of the written one, whichever is shorter."""
        forms = {expr, self.forward.written.get(expr, expr)}
        try:
            return guarded(min((best(careful(form.diff(symbol))) for form in sorted(forms, key=str)), key=_cost))
        except NotImplementedError as error:
            raise UsageError(f"the derivative of {error} is not in the language of formulas") from None

    def sum_to(self, expr: Expr, whole: Term, term: Term) -> Expr:
        """Add up what reaches an array that was broadcast."""
        if whole == term:
            return expr
        if isinstance(term, Scalar):
            return self._summed(expr, whole, None, False)
        steps: list[Axes] = []
        while isinstance(term, Less) and term != whole:
            steps.append(term.axes)
            term = term.of
        for axes in reversed(steps):
            expr = self._summed(expr, whole, axes, True)
            whole = Less(whole, axes, True)
        return expr

    def _summed(self, expr: Expr, whole: Term, axes: Axes, keepdims: bool) -> Expr:
        if self.shapes.of(expr) == whole:
            same, varies = self._constant_along(expr, whole, axes)
            return same * self.step(Reduce("sum", varies, axes, keepdims), "total")
        full = next(
            symbol
            for symbol in (sympy.Symbol(name, real=True) for name in self.result.inputs)
            if self.shapes.of(symbol) == whole
        )
        return expr * self.step(Count(full, axes), "n")

    def _constant_along(self, expr: Expr, whole: Term, axes: Axes) -> tuple[Expr, Expr]:
        """Split a product into what is the same along the axes, which a sum can leave outside, and the rest."""
        same, varies = sympy.Integer(1), sympy.Integer(1)
        for factor in sympy.Mul.make_args(expr):
            term = self.shapes.of(factor)
            if isinstance(term, Scalar) or (axes is not None and term == Less(whole, axes, True)):
                same *= factor
            else:
                varies *= factor
        return (same, varies) if self.shapes.of(varies) == whole else (sympy.Integer(1), expr)

    def through(self, symbol: Expr, operation: Operation, gradient: Expr) -> None:
        """Pass the gradient of a step's result on to what the step read."""
        match operation:
            case Reduce():
                self._reduce(symbol, operation, gradient)
            case Softmax():
                inner = self.step(
                    Reduce("sum", gradient if operation.log else gradient * symbol, operation.axes, True), "total"
                )
                if operation.log:
                    self.spread(operation.operand, gradient - sympy.exp(symbol) * inner)
                elif any(power.base == symbol and power.exp.is_negative for power in gradient.atoms(sympy.Pow)):
                    self.spread(operation.operand, sympy.expand(gradient * symbol) - symbol * inner)  # it may be 0
                else:
                    self.spread(operation.operand, symbol * (gradient - inner))
            case LogSumExp():
                total = self.step(replace(operation, is_mean=False), "lse")
                back, value = self.expand(gradient, operation), self.expand(total, operation)
                self.spread(operation.operand, back * sympy.exp(operation.operand - value))
            case MatMul():
                left = self.step(MatMul(gradient, self.swapped(operation.right)), "product")
                right = self.step(MatMul(self.swapped(operation.left), gradient), "product")
                self.shapes.let(left.name, self.shapes.of(operation.left))
                self.shapes.let(right.name, self.shapes.of(operation.right))
                self.spread(operation.left, left)
                self.spread(operation.right, right)
            case Swap():
                self.spread(operation.operand, self.swapped(gradient))

    def swapped(self, expr: Expr) -> Expr:
        known = self.result.steps.get(expr)
        return known.operand if isinstance(known, Swap) else self.step(Swap(expr), "transposed")

    def expand(self, expr: Expr, operation: Reduce | LogSumExp) -> Expr:
        """Put back the axes that a reduction dropped, so that its gradient meets the operand."""
        if operation.keepdims or operation.axes is None:
            return expr
        known = self.result.steps.get(expr)
        if isinstance(known, Reduce | LogSumExp):
            return self.step(replace(known, keepdims=True), expr.name)
        number, rest = expr.as_coeff_Mul()
        return number * self.step(Expand(rest, operation.axes), "grad")

    def _reduce(self, symbol: Expr, operation: Reduce, gradient: Expr) -> None:
        operand = operation.operand
        back = self.expand(gradient, operation)
        if operation.kind in ("mean", "var"):
            back = back / self.step(Count(operand, operation.axes), "n")
        if operation.kind == "var":
            mean = self.step(Reduce("mean", operand, operation.axes, operation.axes is not None), "mean")
            back = 2 * back * (operand - mean)
        if operation.kind in ("max", "min"):
            # The share of each element that attains it: more than one share the gradient.
            extreme = self.expand(symbol, operation)
            attains = sympy.Piecewise(
                (1, sympy.Ge(operand, extreme) if operation.kind == "max" else sympy.Le(operand, extreme)), (0, True)
            )
            back = (
                back * attains / self.step(Reduce("sum", attains, operation.axes, operation.axes is not None), "ties")
            )
        self.spread(operand, back)


def _kinks(formula: Formula) -> int:
    """How many kinks there are that might cancel each other."""
    kinks = (f.maximum, f.minimum, f.absolute, f.clip)
    expressions = [*formula.outputs.values(), *(expr for step in formula.steps.values() for expr in operands(step))]
    return len({node for expr in expressions for node in expr.atoms(sympy.Function) if isinstance(node, kinks)})


def _plain(expr: Expr) -> Expr:
    """A single kink cancels with no other: a comparison says it in fewer words."""

    def compare(u: Expr) -> Expr:
        if u.is_Add:
            low = sum((term for term in u.args if term.could_extract_minus_sign() or term.is_number), sympy.Integer(0))
            if low != 0 and u != low:
                return sympy.Piecewise((1, u - low > -low), (0, True))
        return sympy.Piecewise((1, -u < 0) if u.could_extract_minus_sign() else (1, u > 0), (0, True))

    return expr.replace(f.step, compare)


def best(slope: Expr) -> Expr:
    """Return the derivative in its shortest form of the same value."""
    slope = _complements(slope)
    forms = [slope, sympy.factor_terms(slope)]
    if slope.is_Add and not slope.has(sympy.Piecewise):
        for change in (sympy.together, sympy.factor):
            try:
                forms.append(careful(change(slope)))
                forms.append(careful(_expanded(change(slope))))
            except (sympy.PolynomialError, NotImplementedError, AttributeError):
                continue
    return min(forms, key=_cost).replace(lambda node: node.is_Mul, _spread)


def _spread(product: Expr) -> Expr:
    """Put a small factor into a sum, where whole numbers stand for it that a short format cannot hold."""
    number, rest = product.as_coeff_Mul()
    inner = next((item for item in sympy.Mul.make_args(rest) if item.is_Add), None)
    if inner is None or not number.is_Rational or number.q < 1000:
        return product
    return sympy.Mul(rest / inner, sympy.Add(*(number * term for term in inner.args)))


def _complements(slope: Expr) -> Expr:
    """Write step(-u) as 1 - step(u) where both occur."""
    for one in sorted(slope.atoms(f.step), key=str):
        for other in slope.atoms(f.step):
            if one != other and sympy.expand(one.args[0] + other.args[0]) == 0:
                return sympy.expand(slope.subs(other, 1 - one))
    return slope


def _expanded(expr: Expr) -> Expr:
    numerator, denominator = sympy.fraction(expr)
    return careful(sympy.expand(numerator)) / denominator


def _cost(expr: Expr) -> int:
    """The length as a reader feels it; growing functions and long numbers weigh more."""
    functions = [node for node in sympy.preorder_traversal(expr) if isinstance(node, sympy.Function)]
    growing = sum(isinstance(node, sympy.exp | sympy.sinh | sympy.cosh) for node in functions)
    numbers = [node for node in sympy.preorder_traversal(expr) if node.is_Rational]
    digits = sum(4 * max(0, len(str(number.p)) - 2) for number in numbers)
    # A quotient in whose limit both sides vanish is worse than any length.
    hollow = 50 * expr.has(f.sinc, f.dsinc) * any(node.is_Pow and node.exp.is_negative for node in expr.args)
    return int(expr.count_ops() + 2 * len(functions) + growing + digits + hollow)
