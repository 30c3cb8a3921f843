"""A Python function as a formula: its assignments and what it returns; parameters with a default are attributes."""

from __future__ import annotations

import ast
from pathlib import Path

from opkit.errors import Location, UsageError, unknown
from opkit.record import record


@record
class FunctionText:
    """What a function says.

    Args:
        text: its body as a formula.
        inputs: the parameters without a default, in order.
        outputs: the names of what it returns.
        attrs: ``NAME:TYPE=DEFAULT`` of the parameters with a default.
    """

    text: str
    inputs: list[str]
    outputs: list[str]
    attrs: list[str]


def read_function(path: Path, name: str) -> FunctionText:
    """Read a function of a file, without running it.

    Args:
        path: a Python file.
        name: a function at its top level, of assignments and one return.

    Raises:
        UsageError: the file or function is not there, or holds what no formula has; with file and line.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is not Python: {error}") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        raise unknown(f"{path} has no function", name, functions, has="it has").error(UsageError)
    return _Function(path, functions[name]).read()


class _Function:
    def __init__(self, path: Path, node: ast.FunctionDef) -> None:
        self.path, self.node = path, node

    def refuse(self, node: ast.AST, why: str, help: str = "") -> UsageError:
        place = Location(
            str(self.path), getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1, self.node.name
        )
        return UsageError(f"{self.node.name}: {why}", where=place, help=help)

    def read(self) -> FunctionText:
        inputs, attrs = self._parameters()
        body = list(self.node.body)
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        if not body or not isinstance(body[-1], ast.Return) or body[-1].value is None:
            raise self.refuse(body[-1] if body else self.node, "the last statement must return the results")
        lines = [self._assignment(statement) for statement in body[:-1]]
        taken = {*inputs, *(text.partition(":")[0] for text in attrs), *(line.partition(" = ")[0] for line in lines)}
        value = body[-1].value
        results = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        outputs: list[str] = []
        for result in results:
            if isinstance(result, ast.Name) and result.id not in inputs:
                outputs.append(result.id)
                continue
            name = next(name for name in ("y", "z", "w", *(f"y{index}" for index in range(99))) if name not in taken)
            taken.add(name)
            lines.append(f"{name} = {ast.unparse(result)}")
            outputs.append(name)
        return FunctionText("\n".join(lines), inputs, outputs, attrs)

    def _parameters(self) -> tuple[list[str], list[str]]:
        arguments = self.node.args
        if arguments.vararg or arguments.kwarg:
            raise self.refuse(self.node, "an op has a fixed list of inputs, not *args or **kwargs")
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
        pairs = [*zip(plain, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        inputs = [parameter.arg for parameter, default in pairs if default is None]
        return inputs, [self._attr(parameter, default) for parameter, default in pairs if default is not None]

    def _attr(self, parameter: ast.arg, default: ast.expr) -> str:
        try:
            value = ast.literal_eval(default)
        except ValueError:
            value = None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(
                default, f"the default of {parameter.arg!r} must be a number", "an attribute of a formula is one"
            )
        return f"{parameter.arg}:{'int' if isinstance(value, int) else 'float'}={value!r}"

    def _assignment(self, statement: ast.stmt) -> str:
        if (
            isinstance(statement, ast.AnnAssign)
            and statement.value is not None
            and isinstance(statement.target, ast.Name)
        ):
            return f"{statement.target.id} = {ast.unparse(statement.value)}"
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            return f"{statement.targets[0].id} = {ast.unparse(statement.value)}"
        raise self.refuse(
            statement, f"a formula has assignments and a return, not {ast.unparse(statement).splitlines()[0]!r}",
            "write the op by hand: opkit new NAME, with this function as its forward kernel",
        )  # fmt: skip
