"""From the lines of a formula's numpy kernel to passes over rows: what C++ computes once, per row, per element.

A row is what the formula reduces over; without a reduction all elements are on their own. ``cpp_text`` writes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from opkit.errors import UsageError
from opkit.record import mutable

#: What a value belongs to: the whole call, a row, an element.
CALL, ROW, ELEMENT = range(3)
#: The axes of reductions as numpy's text has them; "" for all.
Axis: TypeAlias = str

_REDUCED = {"sum": "total", "max": "largest", "min": "smallest"}
_SHIFTED = {
    "softmax": ("np.exp({x} - np.max({x}))", "e", "{y} / np.sum({y})"),
    "log_softmax": ("{x} - np.max({x})", "shifted", "{y} - np.log(np.sum(np.exp({y})))"),
    "logsumexp": ("np.max({x})", "largest", "np.log(np.sum(np.exp({x} - {y}))) + {y}"),
    "logmeanexp": ("np.max({x})", "largest", "np.log1p(np.mean(np.expm1({x} - {y}))) + {y}"),
}


@mutable
class Let:
    """A named value."""

    name: str
    value: ast.expr
    level: int


@mutable
class Reduce:
    """A named number of each row: the sum, largest or smallest of a value over its elements."""

    name: str
    kind: str
    value: ast.expr
    level: int = ROW


@mutable
class Result:
    """An output."""

    name: str
    value: ast.expr
    level: int


Step: TypeAlias = "Let | Reduce | Result"


@mutable
class Body:
    """A kernel as steps.

    Args:
        steps: in the order of computation.
        levels: of every name.
        axis: what rows run along; None where nothing is reduced.
        stored: the elements' names that several passes read, and that the first of them keeps.
    """

    steps: list[Step]
    levels: dict[str, int]
    axis: Axis | None
    stored: set[str] = field(default_factory=set)

    def passes(self) -> list[list[Step]]:
        """Return the loops over a row: one for each reduction, and one for all results that have elements."""
        results: list[Step] = [step for step in self.steps if isinstance(step, Result) and step.level == ELEMENT]
        loops: list[list[Step]] = [[step] for step in self.steps if isinstance(step, Reduce)]
        return [*loops, results] if results else loops

    def needed(self, steps: Sequence[Step], ready: set[str]) -> list[Let]:
        """Return the elements' names that steps need and that are not ready, in order."""
        lets = {step.name: step for step in self.steps if isinstance(step, Let) and step.level == ELEMENT}
        wanted: set[str] = set()

        def visit(value: ast.expr) -> None:
            for name in names_in(value):
                if name in lets and name not in wanted and name not in ready:
                    wanted.add(name)
                    visit(lets[name].value)

        for step in steps:
            visit(step.value)
        return [step for name, step in lets.items() if name in wanted]


def body_of(lines: Sequence[str], levels: Mapping[str, int], results: Mapping[str, int], axis: Axis | None) -> Body:
    """Return a numpy kernel as steps.

    Args:
        lines: its statements; the last returns its results.
        levels: of its inputs and attributes.
        results: {output: level}.
        axis: what the shapes of its arguments say of its rows.

    Raises:
        UsageError: it multiplies matrices, or reduces over several sets of axes.
    """
    tree = ast.parse("\n".join(lines).replace("return ", "results = "))
    reading = _Reading(dict(levels), axis, set(_names(tree)))
    for line in tree.body:
        assert isinstance(line, ast.Assign)
        assert isinstance(line.targets[0], ast.Name)
        if line is not tree.body[-1]:
            reading.let(line.targets[0].id, line.value)
            continue
        values = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
        for (name, level), value in zip(results.items(), values):
            reading.steps.append(Result(name, reading.visit(value), level))
    body = Body(reading.steps, reading.levels, reading.axis)
    uses = [{let.name for let in body.needed(steps, set())} for steps in body.passes()]
    body.stored = {name for found in uses for name in found if sum(name in other for other in uses) > 1}
    return body


def names_in(value: ast.expr) -> Iterator[str]:
    """Yield the names that an expression reads."""
    return _names(value)


def _names(tree: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


class _Reading(ast.NodeTransformer):
    """Takes reductions out of expressions, each under a name of its own."""

    def __init__(self, levels: dict[str, int], axis: Axis | None, taken: set[str]) -> None:
        self.levels, self.axis, self._taken = levels, axis, taken | set(levels)
        self.steps: list[Step] = []
        self._known: dict[str, str] = {}

    def let(self, name: str, value: ast.expr) -> str:
        """Name a value."""
        seen = self.visit(value)
        self.levels[name] = max((self.levels.get(item, CALL) for item in names_in(seen)), default=CALL)
        self.steps.append(Let(name, seen, self.levels[name]))
        return name

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Take ``x.shape[axis]`` for a size of the whole arrays."""
        return ast.Call(ast.Name("size_of"), [node.slice], [])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Take ``x.size`` for the count of all elements."""
        return ast.Name("elements") if node.attr == "size" else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Take out a reduction; shapes alone are nothing to compute."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("expand_dims", "reshape", "broadcast_to"):
            if name == "expand_dims":
                self._along(ast.unparse(node.args[1]))
            found: ast.expr = self.visit(node.args[0])
            return found
        if name == "zeros_like":
            return ast.Constant(0)
        if name == "astype":
            assert isinstance(node.func, ast.Attribute)
            return ast.Call(ast.Name("number"), [self.visit(node.func.value)], [])
        if name in (*_REDUCED, "mean", "var", *_SHIFTED):
            options = {item.arg: ast.unparse(item.value) for item in node.keywords}
            if options.get("axis") != "rows":
                self._along(options.get("axis", ""))
            return self._reduced(name, self.visit(node.args[0]))
        node.args = [self.visit(item) for item in node.args]
        return node

    def _along(self, axis: Axis) -> None:
        if self.axis is not None and self.axis != axis:
            raise refused("reduces over several sets of axes")
        self.axis = axis

    def _reduced(self, kind: str, value: ast.expr) -> ast.expr:
        if kind in _REDUCED:
            key = f"{kind} {ast.unparse(value)}"
            if key not in self._known:
                name = self._known[key] = self._fresh(_REDUCED[kind])
                self.levels[name] = ROW
                self.steps.append(Reduce(name, kind, value))
            return ast.Name(self._known[key])
        if kind == "mean":
            total = self._reduced("sum", value)
            key = f"mean {ast.unparse(value)}"
            if key not in self._known:
                self._known[key] = self.let(self._fresh("mean"), ast.BinOp(total, ast.Div(), ast.Name("along")))
            return ast.Name(self._known[key])
        x = ast.unparse(value)
        if not isinstance(value, ast.Name):
            x = self.let(self._fresh("u"), value)
        if kind == "var":
            return self._parsed(f"np.mean(np.square({x} - np.mean({x})))")
        first, hint, last = _SHIFTED[kind]
        key = f"{kind} {x}"
        if key not in self._known:
            made = self._parsed(first.format(x=x))
            self._known[key] = made.id if isinstance(made, ast.Name) else self.let(self._fresh(hint), made)
        return self._parsed(last.format(x=x, y=self._known[key]))

    def _parsed(self, text: str) -> ast.expr:
        tree = ast.parse(text, mode="eval").body
        for node in ast.walk(tree):
            called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if isinstance(node, ast.Call) and called in (*_REDUCED, "mean", "var"):
                node.keywords = [ast.keyword("axis", ast.Name("rows"))]
        found: ast.expr = self.visit(tree)
        return found

    def _fresh(self, hint: str) -> str:
        name, number = hint, 2
        while name in self._taken:
            name, number = f"{hint}{number}", number + 1
        self._taken.add(name)
        return name


def refused(what: str, help: str = "leave out --cpp-kernel, and write the kernel by hand") -> UsageError:
    """Return the error about a formula that is not computed in C++."""
    return UsageError(
        f"--cpp-kernel computes formulas element by element and along one set of axes; this one {what}", help=help
    )
