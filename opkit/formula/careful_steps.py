"""Rewriting what spans an axis: softmax, logsumexp, a variance written as a difference of means; then every expression.

The rules for one element are ``careful``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy

from opkit.formula import language as f
from opkit.formula.careful import careful
from opkit.formula.graph import Formula, LogSumExp, Operation, Reduce, Softmax, expressions, operands
from opkit.formula.language import Expr


def substitute(operation: Operation, change: Callable[[Expr], Expr]) -> Operation:
    """Return the operation with each of its operands changed."""
    names = ("left", "right") if hasattr(operation, "left") else ("operand",)
    return replace(operation, **{name: change(getattr(operation, name)) for name in names})


def careful_steps(formula: Formula) -> None:
    """Rewrite what spans an axis, then every expression; drop the steps that nothing reads any more."""
    for symbol, operation in list(formula.steps.items()):
        if isinstance(operation, Reduce) and operation.kind == "mean" and isinstance(operation.operand, sympy.exp):
            lme = LogSumExp(operation.operand.args[0], operation.axes, operation.keepdims, is_mean=True)
            if _reads(formula, sympy.log(symbol)):
                _put(formula, sympy.log(symbol), formula.step(lme, "lme"))
        if isinstance(operation, Reduce) and operation.kind == "sum" and isinstance(operation.operand, sympy.exp):
            (u,) = operation.operand.args
            u = _unshifted(formula, u, operation)
            _replace(formula, _as_softmax(formula, symbol, operation.operand, u, operation))
            if _reads(formula, sympy.log(symbol)):
                lse = formula.step(LogSumExp(u, operation.axes, operation.keepdims), "lse")
                _put(formula, sympy.log(symbol), lse)
    for symbol, operation in list(formula.steps.items()):
        if isinstance(operation, Softmax) and not operation.log and _reads(formula, sympy.log(symbol)):
            log_p = formula.step(Softmax(operation.operand, operation.axes, log=True), "log_p")
            _put(formula, sympy.log(symbol), log_p)
    _variances(formula)
    roots = {
        sympy.sqrt(symbol): f.root(symbol)
        for symbol, step in formula.steps.items()
        if isinstance(step, Reduce)
        and (step.kind == "var" or (step.kind in ("sum", "mean") and step.operand.as_base_exp()[1] == 2))
    }
    _replace(formula, lambda expr: expr.subs(roots))
    formula.texts |= {roots[made]: text for made, text in formula.texts.items() if made in roots}
    prune(formula)
    written = [*formula.outputs.values(), *(expr for step in formula.steps.values() for expr in operands(step))]
    formula.written = {careful(expr): expr for expr in written}
    _replace(formula, careful)


def _as_softmax(formula: Formula, total: Expr, exp: Expr, u: Expr, operation: Reduce) -> Callable[[Expr], Expr]:
    def change(expr: Expr) -> Expr:
        if not operation.keepdims or not expr.has(exp) or not expr.has(total) or isinstance(operation.axes, type(None)):
            return expr
        return expr.replace(
            lambda node: node.is_Mul and exp in node.args and 1 / total in node.args,
            lambda node: node / exp * total * formula.step(Softmax(u, operation.axes), "p"),
        )

    return change


def _unshifted(formula: Formula, u: Expr, operation: Reduce) -> Expr:
    """U - max(u) is u for a softmax, which shifts by itself."""
    for symbol, other in formula.steps.items():
        if not isinstance(other, Reduce) or other.kind != "max" or not other.keepdims:
            continue
        if other.axes == operation.axes and sympy.expand(u + symbol - other.operand) == 0:
            return other.operand
    return u


def _variances(formula: Formula) -> None:
    """mean(u*u) - mean(u)**2 cancels; it is the variance."""
    means = {s: o for s, o in formula.steps.items() if isinstance(o, Reduce) and o.kind == "mean"}
    for first, squares in means.items():
        for second, plain in means.items():
            same = squares.axes == plain.axes and squares.keepdims == plain.keepdims
            both = same and any(expr.has(first) and expr.has(second) for expr in expressions(formula))
            if both and sympy.expand(squares.operand - plain.operand**2) == 0:
                variance = formula.step(Reduce("var", plain.operand, plain.axes, plain.keepdims), "variance")
                _put(formula, first, variance + second**2)


def _reads(formula: Formula, part: Expr) -> bool:
    return any(expr.has(part) for expr in expressions(formula))


def _put(formula: Formula, old: Expr, new: Expr) -> None:
    _replace(formula, lambda expr: expr.subs(old, new))


def _replace(formula: Formula, change: Callable[[Expr], Expr]) -> None:
    for symbol, operation in list(formula.steps.items()):  # a change may add steps
        formula.steps[symbol] = substitute(operation, change)
    formula.outputs = {name: change(expr) for name, expr in formula.outputs.items()}


def prune(formula: Formula) -> None:
    """Drop the steps that no output needs, and put each step after those that it reads."""
    ordered: dict[Expr, Operation] = {}

    def visit(symbol: Expr) -> None:
        if symbol in ordered or symbol not in formula.steps:
            return
        for expr in operands(formula.steps[symbol]):
            for inner in sorted(expr.free_symbols, key=str):
                visit(inner)
        ordered[symbol] = formula.steps[symbol]

    for expr in formula.outputs.values():
        for symbol in sorted(expr.free_symbols, key=str):
            visit(symbol)
    formula.steps = ordered
