"""The C++ text of a formula's kernel: expressions of numpy as expressions of one element, and the loops around them.

Values of the whole call are double, as Python computes them; those of rows and elements have the kernel's type T.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from opkit.formula.cpp_body import CALL, ELEMENT, ROW, Body, Let, Reduce, Result
from opkit.formula.definition import CPP_WORDS
from opkit.formula.helpers import HELPERS
from opkit.record import record

_SAME = (
    "exp", "expm1", "log", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot", "floor",
    "ceil", "abs", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma",
)  # fmt: skip
_ARCS = ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
_STD = {name: name for name in _SAME} | {f"arc{name}": f"a{name}" for name in _ARCS}
_STD |= {"rint": "nearbyint", "round": "nearbyint"}
#: Functions that the template of the kernel file defines.
_OWN = frozenset(("square", "sign", "heaviside", "maximum", "minimum", "logaddexp"))
#: Names of the kernel's own, and of C++.
_TAKEN = CPP_WORDS | _OWN | frozenset(("T", "shape", "row", "rows", "i", "j", "first", "along", "inner", "axis_at"))
_RENAMED = {"max": "maximum", "min": "minimum"}
_BINARY = {ast.Add: ("+", 1), ast.Sub: ("-", 1), ast.Mult: ("*", 2), ast.Div: ("/", 2)}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_LOOSE, _SUM, _TERM, _ATOM = range(4)


@record
class _Value:
    """A C++ expression: its text, what it belongs to, how tightly it binds, whether it is true or false."""

    text: str
    level: int
    binds: int = _ATOM
    is_bool: bool = False

    def within(self, binds: int) -> str:
        return f"({self.text})" if self.binds < binds else self.text

    def as_t(self, binds: int = _LOOSE) -> str:
        """Return it as a value of the kernel's type."""
        if self.level > CALL and not self.is_bool:
            return self.within(binds)
        return f"T({self.text})"


class _Writer:
    """Writes expressions.

    Args:
        levels: of names.
        own: gets the functions that the text calls.
    """

    def __init__(self, levels: Mapping[str, int], own: set[str]) -> None:
        self.levels, self.own = levels, own
        self.bools: set[str] = set()

    def value(self, node: ast.expr) -> _Value:
        """Return an expression in C++."""
        match node:
            case ast.Constant(bool() as given):
                return _Value(str(given).lower(), CALL, is_bool=True)
            case ast.Constant(int() | float() as given):
                return _Value(repr(float(given)), CALL)
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(attr=name):
                return _Value({"pi": "3.141592653589793", "e": "2.718281828459045"}[name], CALL)
            case ast.UnaryOp(ast.USub(), operand):
                inner = self.value(operand)
                text = inner.as_t(_TERM) if inner.is_bool else inner.within(_TERM)
                return _Value(f"-{text}", inner.level, _TERM)
            case ast.BinOp(left, ast.Pow(), right):
                return self._power(left, right)
            case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as op, right):
                joint = "&&" if isinstance(op, ast.BitAnd) else "||"
                one, other = self.value(left), self.value(right)
                text = f"{one.within(_ATOM)} {joint} {other.within(_ATOM)}"
                return _Value(text, max(one.level, other.level), _LOOSE, is_bool=True)
            case ast.BinOp(left, op, right):
                sign, binds = _BINARY[type(op)]
                one, other = self.value(left), self.value(right)
                parts = self._alike(one, other, binds, binds + 1)
                return _Value(f"{parts[0]} {sign} {parts[1]}", max(one.level, other.level), binds)
            case ast.Compare(left, [op], [right]):
                one, other = self.value(left), self.value(right)
                parts = self._alike(one, other, _SUM, _SUM)
                level = max(one.level, other.level)
                return _Value(f"{parts[0]} {_COMPARED[type(op)]} {parts[1]}", level, _LOOSE, is_bool=True)
            case ast.Call():
                return self._call(node)
        raise AssertionError(ast.dump(node))

    def _name(self, name: str) -> _Value:
        if name == "along":
            return _Value("double(along)", CALL)
        if name == "elements":
            return _Value("double(shape.elem_cnt())", CALL)
        return _Value(spelled(name), self.levels.get(name, CALL), is_bool=name in self.bools)

    @staticmethod
    def _alike(one: _Value, other: _Value, left: int, right: int) -> tuple[str, str]:
        """Return two operands of one type."""
        if max(one.level, other.level) > CALL or one.is_bool or other.is_bool:
            return one.as_t(left), other.as_t(right)
        return one.within(left), other.within(right)

    def _power(self, left: ast.expr, right: ast.expr) -> _Value:
        base, exponent = self.value(left), self.value(right)
        level = max(base.level, exponent.level)
        whole = right.value if isinstance(right, ast.Constant) else None
        if whole in (2, 3):
            self.own.add("square")
            text = base.as_t() if level > CALL else base.text
            if whole == 2:
                return _Value(f"square({text})", level)
            if isinstance(left, ast.Name):
                return _Value(f"{text} * square({text})", level, _TERM)
        parts = self._alike(base, exponent, _LOOSE, _LOOSE)
        return _Value(f"std::pow({parts[0]}, {parts[1]})", level)

    def _call(self, node: ast.Call) -> _Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "size_of":
            axis = ast.unparse(node.args[0])
            place = f"shape.NumAxes() - {axis[1:]}" if axis[0] == "-" else axis
            return _Value("double(along)" if not _is_number(axis) else f"double(shape.At({place}))", CALL)
        values = [self.value(item) for item in node.args]
        level = max(item.level for item in values)
        if name == "number":
            return _Value(values[0].as_t(), max(level, ROW))
        if name == "where":
            one, other = self._alike(values[1], values[2], _SUM, _SUM)
            if level > CALL:
                one, other = values[1].as_t(_SUM), values[2].as_t(_SUM)
            return _Value(f"({values[0].within(_SUM)} ? {one} : {other})", level)
        texts = [item.as_t() if level > CALL or item.is_bool else item.text for item in values]
        if name == "clip":
            self.own |= {"minimum", "maximum"}
            return _Value(f"minimum(maximum({texts[0]}, {texts[1]}), {texts[2]})", level)
        name = _RENAMED.get(name, name)
        if name in _STD:
            return _Value(f"std::{_STD[name]}({', '.join(texts)})", level)
        assert name in _OWN or name in HELPERS, name
        self.own.add(name)
        return _Value(f"{name}({', '.join(texts)})", level)


def spelled(name: str) -> str:
    """Return a formula's name as the kernel has it."""
    return f"{name}_" if name in _TAKEN else name


def kernel_lines(body: Body, inputs: Sequence[str], own: set[str]) -> list[str]:
    """Return the lines of Compute after its pointers: ``in_NAME`` and ``out_NAME``, and ``shape`` of whole arrays.

    Args:
        body: the kernel.
        inputs: that it reads.
        own: gets the functions that the lines call.
    """
    writer = _Writer(body.levels, own)
    reads: dict[int, list[str]] = {level: [] for level in (CALL, ROW, ELEMENT)}
    for name in inputs:
        reads[body.levels[name]].append(name)
    for step in body.steps:  # what is true or false, before anything is printed
        if isinstance(step, Let) and writer.value(step.value).is_bool and step.name not in body.stored:
            writer.bools.add(step.name)
    own.clear()
    lines = [
        f"const {_type(writer, step)} {spelled(step.name)} = {_text(writer, step)};"
        for step in body.steps
        if isinstance(step, Let) and step.level == CALL
    ]
    if body.axis is None:
        lines.append("FOR_RANGE(int64_t, i, 0, shape.elem_cnt()) {")
        lines += _indented(
            _pass(writer, body, [step for step in body.steps if isinstance(step, Result)], reads[ELEMENT], set())
        )
        return [*lines, "}"]
    lines += _rows(body.axis)
    lines += [f"std::vector<T> kept_{name}(along);" for name in sorted(body.stored)]
    is_last = body.axis in ("", "-1") or body.axis.endswith(" -1)")
    lines.append("FOR_RANGE(int64_t, row, 0, rows) {")
    if not is_last:
        lines.append("  const int64_t first = row / inner * along * inner + row % inner;")
    inside = [f"const T {spelled(name)} = in_{name}[row];" for name in reads[ROW] if _is_read(body, name)]
    ready: set[str] = set()
    for step in body.steps:
        if isinstance(step, Reduce):
            inside += _loop(_pass(writer, body, [step], reads[ELEMENT], ready), step, is_last, writer)
        elif step.level == ROW and isinstance(step, Let):
            inside.append(f"const {_type(writer, step)} {spelled(step.name)} = {_text(writer, step)};")
    results = [step for step in body.steps if isinstance(step, Result)]
    inside += [f"out_{step.name}[row] = {_text(writer, step)};" for step in results if step.level <= ROW]
    whole = [step for step in results if step.level == ELEMENT]
    if whole:
        inside += _loop(_pass(writer, body, whole, reads[ELEMENT], ready), None, is_last, writer)
    return [*lines, *_indented(inside), "}"]


def _is_read(body: Body, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for step in body.steps for node in ast.walk(step.value))


def _rows(axis: str) -> list[str]:
    """Return the lines that say how many rows there are, and how their elements lie."""
    if axis == "":
        return ["const int64_t along = shape.elem_cnt(), rows = 1;"]
    if not _is_number(axis) and not axis.startswith("("):
        name = spelled(axis)
        return [
            f"const int64_t axis_at = static_cast<int64_t>({name}) + ({name} < 0 ? shape.NumAxes() : 0);",
            "const int64_t along = shape.At(axis_at), inner = shape.Count(axis_at + 1);",
            "const int64_t rows = shape.Count(0, axis_at) * inner;",
        ]
    axes = sorted(map(int, axis.strip("()").replace(",", " ").split()))
    low, high = (f"shape.NumAxes() - {-item}" if item < 0 else str(item) for item in (axes[0], axes[-1]))
    if axes[-1] == -1:
        return [f"const int64_t along = shape.Count({low}), rows = shape.Count(0, {low});"]
    return [
        f"const int64_t along = shape.Count({low}, {high} + 1), inner = shape.Count({high} + 1);",
        f"const int64_t rows = shape.Count(0, {low}) * inner;",
    ]


def _is_number(axis: str) -> bool:
    return axis.lstrip("-").isdigit()


def _pass(
    writer: _Writer, body: Body, steps: Sequence[Reduce | Result], inputs: Sequence[str], ready: set[str]
) -> list[str]:
    """Return what one pass does with an element; what is stored is ready after it."""
    lets = body.needed(steps, ready)
    used = {node.id for step in (*lets, *steps) for node in ast.walk(step.value) if isinstance(node, ast.Name)}
    lines = [f"const T {spelled(name)} = in_{name}[i];" for name in inputs if name in used]
    lines += [f"const T {spelled(name)} = kept_{name}[j];" for name in sorted(ready & used)]
    for let in lets:
        if let.name in body.stored:
            lines.append(f"const T {spelled(let.name)} = kept_{let.name}[j] = {writer.value(let.value).as_t()};")
            ready.add(let.name)
        else:
            lines.append(f"const {_type(writer, let)} {spelled(let.name)} = {_text(writer, let)};")
    for step in steps:
        if isinstance(step, Result):
            lines.append(f"out_{step.name}[i] = {_text(writer, step)};")
        elif step.kind == "sum":
            lines.append(f"{spelled(step.name)}_sum += {writer.value(step.value).as_t()};")
        else:
            own = "maximum" if step.kind == "max" else "minimum"
            writer.own.add(own)
            lines.append(f"{spelled(step.name)} = {own}({spelled(step.name)}, {writer.value(step.value).as_t()});")
    return lines


def _loop(inside: Sequence[str], step: Reduce | None, is_last: bool, writer: _Writer) -> list[str]:
    """Return a loop over the elements of a row, with what a reduction needs before and after it."""
    name = spelled(step.name) if step is not None else ""
    place = "row * along + j" if is_last else "first + j * inner"
    loop = ["FOR_RANGE(int64_t, j, 0, along) {", f"  const int64_t i = {place};", *_indented(inside), "}"]
    if step is None:
        return loop
    if step.kind == "sum":
        loop[:1] = [f"#pragma omp simd reduction(+ : {name}_sum)", "for (int64_t j = 0; j < along; ++j) {"]
        return [f"double {name}_sum = 0;", *loop, f"const T {name} = static_cast<T>({name}_sum);"]
    return [f"T {name} = {'-' if step.kind == 'max' else ''}std::numeric_limits<T>::infinity();", *loop]


def _text(writer: _Writer, step: Let | Result) -> str:
    value = writer.value(step.value)
    is_plain = isinstance(step, Let) and (step.level == CALL or value.is_bool)
    return value.text if is_plain else value.as_t()


def _type(writer: _Writer, step: Let) -> str:
    return "bool" if step.name in writer.bools else "double" if step.level == CALL else "T"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def helper_texts(own: set[str]) -> list[str]:
    """Return the functions of formulas that kernels call, in C++; ``own`` gets what these call."""
    return ["\n".join(_helper(name, own)) for name in HELPERS if name in own]


def _helper(name: str, own: set[str]) -> list[str]:
    """Translate the text of a helper, whose argument and variables all have the type T."""
    tree = ast.parse(HELPERS[name]).body[0]
    assert isinstance(tree, ast.FunctionDef)
    argument = tree.args.args[0].arg
    writer = _Writer({argument: ELEMENT}, own)
    levels = writer.levels = dict(writer.levels)
    lines = [
        f"// {(ast.get_docstring(tree) or '').splitlines()[0]}",
        "template<typename T>",
        f"T {name}(T {argument}) {{",
    ]

    def put(statements: Sequence[ast.stmt], indent: str) -> None:
        for item in statements:
            match item:
                case ast.Assign([ast.Name(target)], ast.Call(ast.Name("sum"), [ast.GeneratorExp(element, [clause])])):
                    levels[target] = ELEMENT
                    lines.append(f"{indent}T {target} = 0;")
                    step = ast.Assign([ast.Name(target)], ast.BinOp(ast.Name(target), ast.Add(), element))
                    put([ast.For(clause.target, clause.iter, [step], [])], indent)
                case ast.Assign([ast.Name(target)], given):
                    value = writer.value(given)
                    if value.is_bool:
                        writer.bools.add(target)
                    head = "" if target in levels else "const bool " if value.is_bool else "T "
                    levels[target] = ELEMENT
                    lines.append(f"{indent}{head}{target} = {value.text if value.is_bool else value.as_t()};")
                case ast.For(ast.Name(target), over, inside, _):
                    numbers = eval(compile(ast.Expression(over), "<helper>", "eval"))  # ranges and numbers of our own
                    lines.append(
                        f"{indent}for (const double {target} : {{{', '.join(repr(float(one)) for one in numbers)}}}) {{"
                    )
                    put(inside, indent + "  ")
                    lines.append(f"{indent}}}")
                case ast.Return(given) if given is not None:
                    lines.append(f"{indent}return {writer.value(given).as_t()};")

    put(tree.body, "  ")
    return [*lines, "}"]
