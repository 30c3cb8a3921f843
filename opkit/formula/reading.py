"""From the text of a formula to its steps: Python's expression syntax, numpy's names, broadcasting left out.

Every refusal names the place in the text, what was expected and the next step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

import sympy

from opkit.errors import UsageError, did_you_mean, nearest, unknown
from opkit.formula.bounds import check_constant, check_number, check_power, check_text, parsed
from opkit.formula.graph import Axes, Formula, LogSumExp, MatMul, Reduce, Softmax, Swap
from opkit.formula.language import FUNCTIONS, MACROS, Expr

_CONSTANTS = {"pi": sympy.pi, "e": sympy.E}
_REDUCTIONS = {
    "sum": "sum",
    "mean": "mean",
    "average": "mean",
    "var": "var",
    "max": "max",
    "amax": "max",
    "min": "min",
    "amin": "min",
}
_OVER_AXES = (*_REDUCTIONS, "std", "norm", "softmax", "log_softmax", "logsumexp", "matmul", "dot", "transpose", "where")
_HINTS = {"sum": "total", "mean": "mean", "var": "variance", "max": "largest", "min": "smallest"}
_COMPARISONS = {ast.Gt: sympy.Gt, ast.GtE: sympy.Ge, ast.Lt: sympy.Lt, ast.LtE: sympy.Le}


#: What the result of an expression is called: the first that it does not read.
_RESULTS = ("y", "z", "w", "out")


def read(text: str, attrs: Iterable[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Formula:
    """Read a formula: an expression, or assignments separated by ``;`` or new lines.

    Args:
        text: ``"x * sigmoid(beta * x)"``, ``"y = x * cos(t); z = x * sin(t)"``.
        attrs: the names that are attributes; every other free name is an input.
        inputs: the inputs in the order wanted; in the order of their first use where left out.
        outputs: the outputs' names; the assigned names that nothing else reads where left out, ``y`` for an expression
            (``z``, ``w`` or ``out`` where it reads a ``y``).

    Returns:
        the formula, its expressions as they were written.

    Raises:
        UsageError: it cannot be read, or uses something that the language does not have.
    """
    statements = _statements(text)
    reader = _Reader(text, list(attrs), list(inputs))
    for name, node in statements:
        reader.assign(name, node)
    return reader.finish(statements, list(outputs))


def _statements(text: str) -> list[tuple[str, ast.expr]]:
    check_text(text)
    try:
        lines = [line.strip() for line in text.replace(";", "\n").splitlines()]
        body = parsed("\n".join(lines).strip())
    except SyntaxError as error:
        raise UsageError(
            f"the formula {text!r} is not an expression: {error.msg} at column {error.offset}",
            help='write it as in numpy, such as "x * sigmoid(beta * x)", or "y = x*cos(t); z = x*sin(t)"',
        ) from None
    if not body:
        raise UsageError(
            "the formula is empty", help='for example --from "x * sigmoid(beta * x)" --attr beta:float=1.0'
        )
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        return [(_free_name(body[0].value), body[0].value)]
    found: list[tuple[str, ast.expr]] = []
    for statement in body:
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
            raise UsageError(f"expected NAME = EXPRESSION, got {ast.unparse(statement)!r}")
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            raise UsageError(f"expected a name left of '=', got {ast.unparse(target)!r}")
        found.append((target.id, statement.value))
    return found


def _free_name(node: ast.expr) -> str:
    """Return what the result of an expression is called: y, where that is not an input."""
    taken = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    return next(name for name in (*_RESULTS, *(f"y{index}" for index in range(len(taken) + 1))) if name not in taken)


class _Reader:
    def __init__(self, text: str, attrs: list[str], inputs: list[str]) -> None:
        self.text = text
        self.declared = inputs
        self.assigned: dict[str, Expr] = {}
        self.read: set[str] = set()
        self.formula = Formula(inputs=list(inputs), attrs=[])
        self.attrs = attrs

    # -- statements ---------------------------------------------------------------------------------------------------
    def assign(self, name: str, node: ast.expr) -> None:
        if name in self.attrs or name in self.formula.inputs:
            raise UsageError(f"{name!r} is assigned, and is an input or attribute too")
        if name in self.assigned:
            raise UsageError(f"{name!r} is assigned twice")
        self.assigned[name] = self.expression(node)

    def finish(self, statements: list[tuple[str, ast.expr]], outputs: list[str]) -> Formula:
        if len(outputs) == 1 and len(statements) == 1 and statements[0][0] in _RESULTS:
            ((_, node),) = statements
            self.assigned = {outputs[0]: self.assigned[statements[0][0]]}
            statements = [(outputs[0], node)]
        chosen = outputs or [name for name, _ in statements if name not in self.read]
        for name in chosen:
            if name not in self.assigned:
                raise unknown("the formula assigns no output", name, self.assigned, has="it assigns").error(UsageError)
        texts = {name: ast.unparse(node) for name, node in statements}
        formula = self.formula
        formula.outputs = {name: self.assigned[name] for name in chosen}
        formula.source = texts
        if not formula.inputs:
            raise UsageError(
                f"the formula {self.text!r} reads no array", help="a name that is not an --attr is an input"
            )
        unused = [name for name in self.declared if name not in self.used]
        if unused:
            raise UsageError(f"--input {unused[0]}: the formula does not read it")
        unread = [name for name in self.attrs if name not in formula.attrs]
        if unread:
            meant = did_you_mean(nearest(unread[0], formula.inputs, 1))
            raise UsageError(f"--attr {unread[0]}: the formula does not read it", help=meant)
        for name, expr in formula.outputs.items():
            if not any(symbol.name not in formula.attrs for symbol in expr.free_symbols):
                raise UsageError(f"output {name!r} depends on no input")
        return formula

    used: set[str]

    # -- expressions --------------------------------------------------------------------------------------------------
    def expression(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Constant):
            return self._number(node)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.expression(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            return self._where(node.test, node.body, node.orelse)
        if isinstance(node, ast.Compare | ast.BoolOp):
            raise self._refuse(node, "a comparison is a condition, not a number", "where(x > 0, a, b) chooses by it")
        if isinstance(node, ast.Attribute) and _is_module(node.value) and node.attr in _CONSTANTS:
            return _CONSTANTS[node.attr]
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return self._swap(self.expression(node.value))
        raise self._refuse(node, "formulas have numbers, names, + - * / ** @ and function calls")

    def _refuse(self, node: ast.AST, why: str, help: str = "") -> UsageError:
        return UsageError(f"the formula has {ast.unparse(node)!r}: {why}", help=help)

    def _number(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self._refuse(node, "only numbers are constants")
        check_number(node.value, ast.unparse(node))
        return sympy.Rational(repr(node.value))

    def _name(self, name: str) -> Expr:
        if name in self.assigned:
            self.read.add(name)
            return self.assigned[name]
        if name in _CONSTANTS and name not in self.declared and name not in self.attrs:
            return _CONSTANTS[name]
        if name in self.attrs:
            if name not in self.formula.attrs:
                self.formula.attrs.append(name)
        elif name not in self.formula.inputs:
            if self.declared:
                raise unknown("the formula reads", name, [*self.declared, *self.attrs], has="declared are").error(
                    UsageError
                )
            self.formula.inputs.append(name)
        self.used = getattr(self, "used", set()) | {name}
        return sympy.Symbol(name, real=True)

    def _binary(self, node: ast.BinOp) -> Expr:
        left, right = self.expression(node.left), self.expression(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                if right == 0:
                    raise self._refuse(node, "division by zero")
                return left / right
            case ast.Pow():
                check_power(left, right, ast.unparse(node))
                return left**right
            case ast.MatMult():
                return self._said(node, self._matmul(node, left, right))
        power = "; a power is **" if isinstance(node.op, ast.BitXor) else ""
        raise self._refuse(node, f"formulas have + - * / ** @{power}")

    def _condition(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Compare):
            sides = [self.expression(side) for side in (node.left, *node.comparators)]
            parts = []
            for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
                if type(op) not in _COMPARISONS:
                    raise self._refuse(node, "conditions compare by < <= > >=")
                parts.append(_COMPARISONS[type(op)](left, right))
            return sympy.And(*parts)
        if isinstance(node, ast.BoolOp | ast.BinOp):
            is_and = isinstance(node.op, ast.And | ast.BitAnd)
            if is_and or isinstance(node.op, ast.Or | ast.BitOr):
                values = node.values if isinstance(node, ast.BoolOp) else [node.left, node.right]
                return (sympy.And if is_and else sympy.Or)(*(self._condition(value) for value in values))
        raise self._refuse(node, "expected a comparison such as x > 0")

    def _where(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> Expr:
        return sympy.Piecewise((self.expression(yes), self._condition(test)), (self.expression(no), True))

    # -- calls --------------------------------------------------------------------------------------------------------
    def _call(self, node: ast.Call) -> Expr:
        name = self._function(node)
        if isinstance(node.func, ast.Attribute) and not _is_module(
            node.func.value
        ):  # x.sum(axis=-1) is sum(x, axis=-1)
            node = ast.Call(ast.Name(name), [node.func.value, *node.args], node.keywords)
        if name in ("max", "min") and len(node.args) == 2 and not node.keywords and not _is_axis(node.args[1]):
            name += "imum"
        if name == "where":
            if len(node.args) != 3 or node.keywords:
                raise self._refuse(node, "where takes a condition and two values")
            return self._where(*node.args)
        if name in _OVER_AXES:
            return self._said(node, self._over_axes(name, node))
        if node.keywords:
            raise self._refuse(node, f"{name} takes no keyword {node.keywords[0].arg!r}")
        arguments = [self.expression(argument) for argument in node.args]
        arity, build = MACROS[name] if name in MACROS else (FUNCTIONS[name].arity, FUNCTIONS[name].symbolic)
        if len(arguments) != arity:
            raise self._refuse(node, f"{name} takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}")
        made = build(*arguments)
        check_constant(made, ast.unparse(node))
        return made

    def _function(self, node: ast.Call) -> str:
        written = ast.unparse(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else written
        known = [key for key in (*FUNCTIONS, *MACROS, *_OVER_AXES) if not key.startswith("_")]
        if name not in known:
            every = f"they have {', '.join(sorted(known))}"
            if any(isinstance(part, ast.Compare) for argument in node.args for part in ast.walk(argument)):
                known, every = [], "what depends on a condition is written where(c, x, y), or x if c else y"
            raise unknown("formulas have no function", written, known, otherwise=every).error(UsageError)
        return name

    def _over_axes(self, name: str, node: ast.Call) -> Expr:
        if name in ("matmul", "dot"):
            if len(node.args) != 2 or node.keywords:
                raise self._refuse(node, f"{name} takes two arrays")
            return self._matmul(node, *(self.expression(argument) for argument in node.args))
        if not node.args:
            raise self._refuse(node, f"{name} takes an array")
        operand = self.expression(node.args[0])
        self._check_array(node, name, operand)
        if name == "transpose":
            if len(node.args) != 1 or node.keywords:
                raise self._refuse(node, "transpose swaps the last two axes and takes nothing else")
            return self._swap(operand)
        axes, keepdims = self._axes(name, node)
        formula = self.formula
        if name in ("softmax", "log_softmax"):
            if axes is None:
                axes = (-1,)
            log = name == "log_softmax"
            return formula.step(Softmax(operand, axes, log), "log_p" if log else "p")
        if name == "logsumexp":
            return formula.step(LogSumExp(operand, axes, keepdims), "lse")
        if name == "norm":
            return sympy.sqrt(formula.step(Reduce("sum", operand**2, axes, keepdims), "squares"))
        if name == "std":
            return sympy.sqrt(formula.step(Reduce("var", operand, axes, keepdims), "variance"))
        kind = _REDUCTIONS[name]
        return formula.step(Reduce(kind, operand, axes, keepdims), _HINTS[kind])  # type: ignore[arg-type]

    def _axes(self, name: str, node: ast.Call) -> tuple[Axes, bool]:
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        if len(node.args) == 2 and "axis" not in options:
            options["axis"] = node.args[1]
        elif len(node.args) > 1:
            raise self._refuse(node, f"{name} takes an array, axis= and keepdims=")
        allowed = ("axis",) if name in ("softmax", "log_softmax") else ("axis", "keepdims")
        for key in options:
            if key not in allowed:
                raise self._refuse(node, f"{name} takes {' and '.join(allowed)}, not {key!r}")
        keepdims = options.get("keepdims")
        if keepdims is not None and not (isinstance(keepdims, ast.Constant) and isinstance(keepdims.value, bool)):
            raise self._refuse(node, "keepdims is True or False")
        return self._axis(options.get("axis")), bool(keepdims is not None and keepdims.value)

    def _axis(self, node: ast.expr | None) -> Axes:
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return None
        if isinstance(node, ast.Name) and node.id in self.attrs:
            self._name(node.id)
            return node.id
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = None
        axes = value if isinstance(value, tuple) else (value,)
        if not axes or not all(isinstance(axis, int) and not isinstance(axis, bool) for axis in axes):
            raise self._refuse(node, "axis is a whole number, a tuple of them, or an int attribute")
        if len(set(axes)) != len(axes) or len({axis < 0 for axis in axes}) > 1:
            raise self._refuse(node, "axes are different ones, all counted from the front or all from the end")
        return tuple(sorted(axes))

    def _check_array(self, node: ast.expr, name: str, operand: Expr) -> None:
        if all(symbol.name in self.attrs for symbol in operand.free_symbols):
            raise self._refuse(node, f"{name} takes an array, and {operand} is one number")

    def _said(self, node: ast.expr, made: Expr) -> Expr:
        self.formula.texts.setdefault(made, ast.unparse(node))
        return made

    def _matmul(self, node: ast.expr, left: Expr, right: Expr) -> Expr:
        for side in (left, right):
            self._check_array(node, "@", side)
        return self.formula.step(MatMul(left, right), "product")

    def _swap(self, operand: Expr) -> Expr:
        for symbol, operation in self.formula.steps.items():
            if symbol == operand and isinstance(operation, Swap):
                return operation.operand
        return self.formula.step(Swap(operand), "transposed")


def _is_module(node: ast.expr) -> bool:
    return ast.unparse(node) in ("np", "numpy", "math", "np.linalg", "numpy.linalg")


def _is_axis(node: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(node), tuple)
    except ValueError:
        return False
