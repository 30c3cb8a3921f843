"""From a formula to the lines of a numpy kernel, written as a person would: named parts, no repeated work.

What only attributes and counts decide is a Python number and goes through ``math``, so that a float32 array stays one.

The module is long because it is one printer: one method for each form of an expression.
"""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable

import sympy

from opkit.errors import UsageError
from opkit.formula import graph
from opkit.formula import language as f
from opkit.formula.helpers import HELPERS
from opkit.formula.language import FUNCTIONS, Expr
from opkit.formula.shapes import Scalar, Shapes, Term

_SPELLED = {
    function.symbolic: (function.array, function.scalar)
    for function in FUNCTIONS.values()
    if function.symbolic is not sympy.sqrt
}
_SYMBOLS = {sympy.Gt: ">", sympy.Ge: ">=", sympy.Lt: "<", sympy.Le: "<="}
_NAMES = {
    "sigmoid": "s",
    "exp": "e",
    "tanh": "t",
    "softplus": "sp",
    "log": "log_x",
    "erf": "erf_x",
    "erfc": "tail",
    "absolute": "size",
    "sign": "side",
    "step": "above",
    "root": "length",
}
#: Functions that come to 0 where their arguments are large.
_FADING = (sympy.exp, f.sigmoid, f.sech, f.erfc, f.bose, f.inverse_expm1)
_LOW, _SUM, _TERM, _FACTOR, _POWER, _ATOM = range(6)


class Kernel:
    """The lines of one kernel.

    Args:
        formula: what it computes.
        shapes: the shapes of its steps.
        targets: {output: the array whose shape the result has, or "" for one number}.
    """

    def __init__(self, formula: graph.Formula, shapes: Shapes, targets: dict[str, str]) -> None:
        self.formula, self.shapes, self.targets = formula, shapes, targets
        self.scalars = {*formula.attrs} | {s.name for s, op in formula.steps.items() if isinstance(op, graph.Count)}
        self.taken = {*formula.inputs, *formula.attrs, "args", "attrs", "np", "math", *HELPERS}
        self.names: dict[Expr, str] = {sympy.Symbol(name, real=True): name for name in formula.inputs + formula.attrs}
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.imports: set[str] = set()
        self.repeated = self._repeats()
        self.results = [self._result(name, expr) for name, expr in formula.outputs.items()]

    # -- what gets a name ---------------------------------------------------------------------------------------------
    def _repeats(self) -> set[Expr]:
        counts: Counter[Expr] = Counter()

        def visit(expr: Expr, top: bool) -> None:
            if expr.is_Atom and expr not in self.formula.steps:
                return
            counts[expr] += 1
            if counts[expr] > 1 and self._worth(expr):
                return
            if expr in self.formula.steps:
                for inner in graph.operands(self.formula.steps[expr]):
                    visit(inner, False)
            for inner in expr.args:
                visit(inner, False)

        for expr in self.formula.outputs.values():
            visit(expr, True)
        return {expr for expr, count in counts.items() if count > 1 and self._worth(expr)}

    def _worth(self, expr: Expr) -> bool:
        if expr in self.formula.steps:
            return not isinstance(self.formula.steps[expr], graph.Count | graph.Swap)
        has_step = any(symbol in self.formula.steps for symbol in expr.free_symbols)
        if isinstance(expr, sympy.Piecewise):
            return has_step or not _is_indicator(expr)
        if _is_condition(expr) or self._is_scalar(expr):
            return False
        if expr.is_Add and has_step:
            return True
        if isinstance(expr, sympy.Function):
            return True
        if expr.is_Pow:
            return not expr.exp.is_integer
        return (expr.is_Add or expr.is_Mul) and int(expr.count_ops()) >= 3

    def _is_scalar(self, expr: Expr) -> bool:
        return all(symbol.name in self.scalars for symbol in expr.free_symbols)

    def _fresh(self, hint: str) -> str:
        name, number = hint, 2
        while name in self.taken or keyword.iskeyword(name):
            name, number = f"{hint}{number}" if not hint[-1].isdigit() else f"{hint}_{number}", number + 1
        self.taken.add(name)
        return name

    def _hint(self, expr: Expr) -> str:
        if expr in self.formula.steps:
            name, _, number = str(expr.name).rpartition("_")
            return name if number.isdigit() else str(expr.name)
        if _is_indicator(expr):
            return "attains"
        if expr.is_Add and any(
            isinstance(step, graph.Reduce) and step.kind == "mean" and -symbol in expr.args
            for symbol, step in self.formula.steps.items()
        ):
            return "centred"
        if isinstance(expr, sympy.Function) and not isinstance(expr, sympy.Piecewise):
            return _NAMES.get(type(expr).__name__, type(expr).__name__[:1].lower())
        if expr.is_Pow and expr.exp in (sympy.Rational(1, 2), sympy.Rational(-1, 2)):
            return "root" if expr.exp > 0 else "scale"
        return next((name for name in ("u", "v", "w") if name not in self.taken), "u")

    # -- results ------------------------------------------------------------------------------------------------------
    def _result(self, name: str, expr: Expr) -> str:
        text = self.text(expr, _SUM)
        own, target = self.shapes.of(expr), self.targets[name]
        if not target:
            return f"np.reshape({text}, 1)"
        wanted = self.shapes.given(target)
        if isinstance(own, Scalar) and isinstance(wanted, Scalar):
            return f"np.reshape({text}, 1)"
        if own != wanted:
            if expr == 0:
                return f"np.zeros_like({target})"
            return f"np.broadcast_to({text}, {target}.shape)"
        return text

    # -- text ---------------------------------------------------------------------------------------------------------
    def text(self, expr: Expr, level: int = _SUM) -> str:
        """Return Python for the expression, in parentheses where it binds less than ``level``."""
        if expr in self.names:
            return self.names[expr]
        if expr in self.repeated:
            self.repeated.discard(expr)
            text, _ = self._write(expr)
            name = self._fresh(self._hint(expr))
            self.lines.append(f"{name} = {text}")
            self.names[expr] = name
            return name
        text, own = self._write(expr)
        return f"({text})" if own < level else text

    def _write(self, expr: Expr) -> tuple[str, int]:
        if expr in self.formula.steps:
            return self._operation(self.formula.steps[expr])
        if expr.is_Rational:
            return _number(expr)
        if expr == sympy.pi or expr == sympy.E:
            self.imports.add("math")
            return ("math.pi" if expr == sympy.pi else "math.e"), _ATOM
        if expr.is_Add:
            return self._add(expr)
        if expr.is_Mul:
            return self._multiply(expr)
        if expr.is_Pow:
            return self._power(expr)
        if isinstance(expr, sympy.Piecewise):
            return self._piecewise(expr)
        if _is_condition(expr):
            return self._condition(expr)
        return self._call(expr)

    def _call(self, expr: Expr) -> tuple[str, int]:
        if type(expr) not in _SPELLED:
            raise UsageError(f"the formula or its derivative holds {expr}, which no kernel can compute")
        array, scalar = _SPELLED[type(expr)]
        if self._is_scalar(expr) and scalar:
            return f"{self._module(scalar)}({', '.join(self.text(item) for item in expr.args)})", _ATOM
        if array == "np.heaviside":
            return f"np.heaviside({self.text(expr.args[0])}, 0.5)", _ATOM
        if array == "softplus":
            return f"np.logaddexp({self.text(expr.args[0])}, 0)", _ATOM
        if "." not in array:
            self.helpers.add(array)
        return f"{array}({', '.join(self.text(item) for item in expr.args)})", _ATOM

    def _module(self, spelled: str) -> str:
        if spelled.startswith("math."):
            self.imports.add("math")
        return spelled

    def _add(self, expr: Expr) -> tuple[str, int]:
        terms = sorted(expr.args, key=self._place)
        text = self._mask(terms[0]) if _is_indicator(terms[0]) else self.text(terms[0], _SUM)
        for term in terms[1:]:
            if _is_indicator(term):
                text += f" + {self._mask(term)}"
                continue
            if _is_indicator(-term):
                text += f" - {self._mask(-term)}"
            elif term.could_extract_minus_sign() and not (term in self.names or term in self.repeated):
                text += f" - {self.text(-term, _TERM)}"
            else:
                text += f" + {self.text(term, _TERM)}"
        return text, _SUM

    def _place(self, term: Expr) -> tuple[bool, int, str]:
        """Where a term stands in a sum: a 1 first, bare names and numbers late, what is subtracted last."""
        if self._is_scalar(term):
            rank = 0 if term == 1 else 3
        else:
            rank = 2 if term.is_Symbol and term not in self.formula.steps else 1
        return (term.could_extract_minus_sign(), rank, str(term))

    def _multiply(self, expr: Expr) -> tuple[str, int]:
        if expr.could_extract_minus_sign() and expr.args[0] == -1:
            return f"-{self.text(-expr, _TERM)}", _TERM
        fading = {factor for factor in expr.args if isinstance(factor, _FADING)}
        for factor in expr.args if fading else ():  # exp(-x) * (1 - x**2): where x**2 overflows it would be 0 * inf
            is_sum = factor.is_Add and factor not in self.repeated and factor not in self.names
            if is_sum and any(map(_is_short, factor.atoms(sympy.Pow))):
                self.repeated |= fading - {*self.names}
                return self._add(sympy.Add(*(term * (expr / factor) for term in factor.args)))
        coefficient, rest = expr.as_coeff_Mul()
        above: list[Expr] = []
        below: list[Expr] = []
        for factor in sympy.Mul.make_args(rest):
            base, power = factor.as_base_exp()
            under = power.is_number and power.is_negative
            if isinstance(factor, sympy.exp):
                under, base, power = False, factor, sympy.Integer(1)
            if factor in self.names or factor in self.repeated:
                under = False
                above.append(factor)
                continue
            if under:
                below.append(base**-power)
            else:
                above += [base] * power if fading and _is_short(factor) else [factor]
        above.sort(key=self._rank)
        below.sort(key=self._rank)
        if fading and (len(above) > 2 or coefficient != 1):  # exp(-x) * x * x rather than x**2 * exp(-x)
            above.sort(key=lambda factor: self._rank(factor)[0] > 2 and not isinstance(factor, _FADING))
        coefficient, above, below = self._roots(coefficient, above, below)
        front = ""
        if coefficient.q != 1 and (coefficient.q <= 12 or (coefficient.p == 1 and coefficient.q < 200)):
            below = [sympy.Integer(coefficient.q), *below]
            coefficient = sympy.Integer(coefficient.p)
        if coefficient < 0:
            front, coefficient = "-", -coefficient
        if coefficient != 1 or not above:
            above = [coefficient, *above]
        text = self._factors(above)
        if not any(self._is_array(factor) for factor in above):
            masks = [factor for factor in above if _is_indicator(factor)]
            if masks:
                others = [factor for factor in above if factor is not masks[0]]
                text = " * ".join(filter(None, [self._factors(others), self._mask(masks[0])]))
        sides = [
            factor.base for factor in below if factor.is_Pow and factor.exp == 2 and isinstance(factor.base, f.hypot)
        ]
        below = [factor for factor in below if factor.as_base_exp()[0] not in sides]
        if below:
            under = self._factors(below)
            text += f" / ({under})" if len(below) > 1 or (" * " in under and not under.endswith(")")) else f" / {under}"
        for side in sides:  # x / h / h rather than x / h ** 2, which overflows
            text += 2 * f" / {self.text(side, _FACTOR)}"
        return front + text, _TERM

    def _roots(self, number: Expr, above: list[Expr], below: list[Expr]) -> tuple[Expr, list[Expr], list[Expr]]:
        """Write sqrt(2) / 2 as 1 / sqrt(2), and sqrt(2) / sqrt(pi) as sqrt(2 / pi)."""
        half = sympy.Rational(1, 2)
        up = [factor for factor in above if factor.is_Pow and factor.exp == half and factor.base.is_number]
        down = [factor for factor in below if factor.is_Pow and factor.exp == half and factor.base.is_number]
        if up and down:
            above = [factor for factor in above if factor not in up]
            below = [factor for factor in below if factor not in down]
            inside = sympy.Mul(*(factor.base for factor in up)) / sympy.Mul(*(factor.base for factor in down))
            return number, [sympy.Pow(inside, half, evaluate=False), *above], below
        for factor in up:
            if factor.base.is_Integer and number.q % factor.base == 0:
                above = [other for other in above if other != factor]
                return number * factor.base, above, [factor, *below]
        return number, above, below

    def _is_array(self, factor: Expr) -> bool:
        return not self._is_scalar(factor) and not _is_indicator(factor)

    def _mask(self, indicator: Expr) -> str:
        """A comparison as an array of the dtype that the kernel computes in; a bool times a float would be float64."""
        return f"({self._condition(indicator.args[0].cond)[0]}).astype({self._array_of(indicator)}.dtype)"

    def _rank(self, factor: Expr) -> tuple[int, str]:
        if factor.is_number:
            return (0, str(factor))
        if factor.is_Symbol and factor.name in self.scalars:
            return (1, factor.name)
        if factor.is_Symbol and factor.name.startswith("d") and factor.name[1:] + "" in self.shapes.outputs:
            return (2, factor.name)
        if factor.is_Symbol:
            return (3, factor.name)
        return (5 if _is_indicator(factor) else 4, str(factor))

    def _factors(self, factors: Iterable[Expr]) -> str:
        return " * ".join(self.text(factor, _FACTOR) for factor in factors)

    def _power(self, expr: Expr) -> tuple[str, int]:
        base, exponent = expr.args
        scalar = self._is_scalar(expr)
        if exponent.is_number and exponent.is_negative:
            under = self.text(base**-exponent, _FACTOR)
            return f"1 / {under}", _TERM
        if exponent == sympy.Rational(1, 2):
            return f"{self._module('math.sqrt') if scalar else 'np.sqrt'}({self.text(base)})", _ATOM
        if exponent == 2 and not scalar and not base.is_Symbol and base not in self.names and base not in self.repeated:
            return f"np.square({self.text(base)})", _ATOM
        if self._is_scalar(base) and not self._is_scalar(exponent):
            return f"np.exp({self.text(exponent * sympy.log(base))})", _ATOM
        return f"{self.text(base, _ATOM)} ** {self.text(exponent, _POWER)}", _POWER

    def _piecewise(self, expr: Expr) -> tuple[str, int]:
        if _is_indicator(expr):
            return self._condition(expr.args[0].cond)[0], _LOW
        (value, condition), *rest = expr.args
        other = rest[0].expr if len(rest) == 1 else sympy.Piecewise(*rest)
        text = f"np.where({self._condition(condition)[0]}, {self.text(value)}, {self.text(other)})"
        if self._is_scalar(value) and self._is_scalar(other):
            like = self._array_of(condition)
            text += f".astype({like}.dtype)"
        return text, _ATOM

    def _array_of(self, expr: Expr) -> str:
        names = sorted(symbol.name for symbol in expr.free_symbols if symbol.name in self.formula.inputs)
        return names[0] if names else self.formula.inputs[0]

    def _condition(self, expr: Expr) -> tuple[str, int]:
        if isinstance(expr, sympy.ITE | sympy.Not):  # a comparison of what is chosen by another comparison
            expr = sympy.to_nnf(expr)
        if isinstance(expr, sympy.And | sympy.Or):
            joint = " & " if isinstance(expr, sympy.And) else " | "
            return joint.join(f"({self._condition(item)[0]})" for item in sorted(expr.args, key=str)), _LOW
        if expr in (sympy.true, sympy.false):
            return str(bool(expr)), _ATOM
        if self._is_scalar(expr.lhs) or expr.lhs in self.formula.steps:
            expr = expr.reversed
        left, right = expr.lhs, expr.rhs
        return f"{self.text(left, _SUM)} {_SYMBOLS[type(expr)]} {self.text(right, _SUM)}", _LOW

    # -- operations ---------------------------------------------------------------------------------------------------
    def _operation(self, operation: graph.Operation) -> tuple[str, int]:
        match operation:
            case graph.Reduce():
                extra = f", axis={_axes(operation.axes)}" if operation.axes is not None else ""
                extra += ", keepdims=True" if operation.keepdims else ""
                if _is_indicator(operation.operand):
                    extra += f", dtype={self._array_of(operation.operand)}.dtype"
                return f"np.{operation.kind}({self.text(operation.operand, _LOW)}{extra})", _ATOM
            case graph.Softmax():
                name = "log_softmax" if operation.log else "softmax"
                self.helpers.add(name)
                return f"{name}({self.text(operation.operand)}, axis={_axes(operation.axes)})", _ATOM
            case graph.LogSumExp():
                name = "logmeanexp" if operation.is_mean else "logsumexp"
                self.helpers.add(name)
                extra = f", axis={_axes(operation.axes)}" if operation.axes is not None else ""
                extra += ", keepdims=True" if operation.keepdims else ""
                return f"{name}({self.text(operation.operand)}{extra})", _ATOM
            case graph.MatMul():
                return f"{self.text(operation.left, _FACTOR)} @ {self.text(operation.right, _POWER)}", _TERM
            case graph.Swap():
                return f"np.swapaxes({self.text(operation.operand)}, -1, -2)", _ATOM
            case graph.Expand():
                return f"np.expand_dims({self.text(operation.operand)}, {_axes(operation.axes)})", _ATOM
            case graph.Count():
                return self._count(operation)

    def _count(self, operation: graph.Count) -> tuple[str, int]:
        array = self._named(self.shapes.of(operation.operand), operation.operand)
        if operation.axes is None:
            return f"{array}.size", _ATOM
        axes = operation.axes if isinstance(operation.axes, tuple) else (operation.axes,)
        return " * ".join(f"{array}.shape[{axis}]" for axis in axes), _ATOM if len(axes) == 1 else _TERM

    def _named(self, term: Term, expr: Expr) -> str:
        """Return the name of an array of the shape: an input where one has it."""
        for name in self.formula.inputs:
            if self.shapes.given(name) == term:
                return name
        text = self.text(expr)
        if text.isidentifier():
            return text
        name = self._fresh("u")
        self.lines.append(f"{name} = {text}")
        self.names[expr] = name
        return name


def _axes(axes: graph.Axes) -> str:
    if isinstance(axes, tuple):
        return str(axes[0]) if len(axes) == 1 else str(axes)
    return str(axes)


def _is_short(expr: Expr) -> bool:
    return bool(expr.is_Pow and expr.exp.is_Integer and 1 < expr.exp < 5 and expr.base.is_Symbol)


def _is_indicator(expr: Expr) -> bool:
    return (
        isinstance(expr, sympy.Piecewise) and len(expr.args) == 2 and expr.args[0].expr == 1 and expr.args[1].expr == 0
    )


def _is_condition(expr: Expr) -> bool:
    return isinstance(
        expr, sympy.core.relational.Relational | sympy.logic.boolalg.BooleanFunction | sympy.logic.boolalg.BooleanAtom
    )


def _number(value: Expr) -> tuple[str, int]:
    if value.q == 1:
        return str(value), _ATOM if value >= 0 else _TERM
    if value.q <= 12 and float(value) != round(float(value), 4):
        return f"{value.p} / {value.q}", _TERM
    return repr(float(value)), _ATOM if value >= 0 else _TERM


def write(formula: graph.Formula, shapes: Shapes, targets: dict[str, str]) -> Kernel:
    """Write a kernel's lines."""
    return Kernel(formula, shapes, targets)
