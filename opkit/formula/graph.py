"""A formula as a list of steps: element by element expressions, and the operations over axes between them.

An expression's symbols stand for inputs, attributes and earlier steps. Nothing is derived or written here.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

import sympy

from opkit.formula.language import Expr
from opkit.record import mutable, record

#: None for all axes, the axes themselves, or the name of an attribute that holds one.
Axes: TypeAlias = "tuple[int, ...] | str | None"


@record
class Swap:
    """The transpose of the last two axes."""

    operand: Expr


@record
class _Along:
    operand: Expr
    axes: Axes


@record
class Softmax(_Along):
    """exp(operand) over its sum along one axis; or the logarithm of that."""

    log: bool = False


@record
class LogSumExp(_Along):
    """log(sum(exp(operand))) over axes; or log(mean(exp(operand)))."""

    keepdims: bool
    is_mean: bool = False


@record
class Expand(_Along):
    """Axes that a reduction dropped, put back with size 1."""


@record
class Count(_Along):
    """How many elements of an expression's shape lie along the axes: a Python number."""


@record
class MatMul:
    """The product of two stacks of matrices with the same leading axes."""

    left: Expr
    right: Expr


@record
class Reduce:
    """A sum, mean, variance, largest or smallest element over axes."""

    kind: Literal["sum", "mean", "var", "max", "min"]
    operand: Expr
    axes: Axes
    keepdims: bool


Operation: TypeAlias = Reduce | Softmax | LogSumExp | MatMul | Swap | Expand | Count


@mutable
class Formula:
    """What a text says.

    Args:
        inputs: names of the arrays, in the order of the op's inputs.
        attrs: names of the attributes that it reads.
        steps: symbol -> operation, in the order of computation.
        outputs: name -> expression.
        source: name -> the text of the output's formula as the user wrote it.
        written: a rewritten expression -> the expression as it was written, whose derivative may be the shorter one.
        texts: the expression of what is computed over axes -> its text as the user wrote it.
    """

    inputs: list[str]
    attrs: list[str]
    steps: dict[Expr, Operation] = field(default_factory=dict)
    outputs: dict[str, Expr] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    written: dict[Expr, Expr] = field(default_factory=dict)
    texts: dict[Expr, str] = field(default_factory=dict)

    def said(self, expr: Expr) -> str:
        """Return an expression in the words of the formula."""
        return str(expr.xreplace({made: sympy.Symbol(text) for made, text in self.texts.items()}))

    def step(self, operation: Operation, hint: str) -> Expr:
        """Return the symbol of an operation: the one that it has already, or a new one named after ``hint``."""
        for symbol, known in self.steps.items():
            if known == operation:
                return symbol
        taken = {*self.inputs, *self.attrs, *(symbol.name for symbol in self.steps)}
        name, number = hint, 2
        while name in taken:
            name, number = f"{hint}_{number}", number + 1
        positive = isinstance(operation, Count) or (isinstance(operation, Softmax) and not operation.log)
        symbol = sympy.Symbol(name, real=True, positive=True) if positive else sympy.Symbol(name, real=True)
        self.steps[symbol] = operation
        return symbol


def expressions(formula: Formula) -> list[Expr]:
    """Return what the steps of a formula work on, and its outputs."""
    return [expr for operation in formula.steps.values() for expr in operands(operation)] + [*formula.outputs.values()]


def operands(operation: Operation) -> tuple[Expr, ...]:
    """Return the expressions that an operation reads."""
    if isinstance(operation, MatMul):
        return (operation.left, operation.right)
    return (operation.operand,)
