"""Linking: units become Python functions, on first use, and what they raise becomes an InferError.

A traceback through such a function shows the lines of the definition file.
"""

from __future__ import annotations

import ast
import linecache
import math
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from opkit.diagnostics import SourceText
from opkit.errors import InferError, Location, OpkitError
from opkit.spec.library.table import DATA_TYPES
from opkit.spec.lower.program import SpecProgram
from opkit.spec.lower.units import Unit
from opkit.spec.runtime import arithmetic, containers, framework, hashing, sbp, sbp_contexts
from opkit.spec.runtime import gradient_contexts as gradients
from opkit.spec.runtime import objects as values
from opkit.spec.runtime.arithmetic import METER, show
from opkit.spec.runtime.containers import between
from opkit.spec.runtime.faults import FatalError, FaultError, RefusalError
from opkit.spec.text.lexer import Token

__all__ = ["Linker"]

#: Characters of what a check of the definition file says about a failure.
_LONGEST_MESSAGE = 2_000
_NUMBERS = (
    "invalid",
    "char",
    "float32",
    "float64",
    "int8",
    "int32",
    "int64",
    "uint8",
    "of_record",
    "float16",
    "tensor_buffer",
    "bool",
)


def _dtype_of(number: int) -> str:
    if 0 <= number < len(_NUMBERS):
        return _NUMBERS[number]
    raise FatalError(f"{number} is not a DataType")


def _domain(function: Callable[..., float]) -> Callable[..., float]:
    def call(*args: float) -> float:
        try:
            return float(function(*args))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return call


def _accumulate(first: Any, last: Any, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    for item in between(first, last):
        start = step(start, item)
    return start


def _find_if(first: Any, last: Any, test: Callable[[Any], bool]) -> Any:
    for place, item in enumerate(between(first, last)):
        if test(item):
            return first + place
    return last


def _equal(first: Any, last: Any, other: Any) -> bool:
    count = len(between(first, last))
    return bool(between(first, last) == between(other, other + count))


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Any, Any], Any]:
    def find(first: Any, last: Any) -> Any:
        items = between(first, last)
        return first + items.index(choose(items)) if items else last

    return find


def _unique(first: Any, last: Any) -> Any:
    items = between(first, last)
    return containers.write_from(
        first, [item for place, item in enumerate(items) if not place or items[place - 1] != item]
    )


def _base_names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in (arithmetic, containers, values):
        names.update({name: getattr(module, name) for name in module.__all__})
    names.update(framework.FUNCTIONS)
    names.update(
        Sbp=sbp.Sbp,
        Distribution=sbp.Distribution,
        SbpBuilder=sbp_contexts.SbpBuilder,
        OpBuilder=gradients.OpBuilder,
        make_map=hashing.make_map,
        RefusalError=RefusalError,
        FatalError=FatalError,
        dtype_of=_dtype_of,
        dtype_number=_NUMBERS.index,
        accumulate=_accumulate,
        find_if=_find_if,
        equal=_equal,
        max_element=_extreme(max),
        min_element=_extreme(min),
        unique=_unique,
        math_ceil=_domain(math.ceil),
        math_floor=_domain(math.floor),
        math_sqrt=_domain(math.sqrt),
        math_pow=_domain(math.pow),
        math_log=_domain(math.log),
        math_exp=_domain(math.exp),
        math_round=_domain(lambda a: math.floor(abs(a) + 0.5) * (1 if a >= 0 else -1)),
        math_log2=_domain(math.log2),
        math_fabs=_domain(math.fabs),
    )
    return names


_BASE = _base_names()


class Linker:
    """The Python functions of a program; ``globals`` is the namespace in which they run."""

    def __init__(self, program: SpecProgram) -> None:
        self.program = program
        self.globals: dict[str, Any] = {**_BASE, "__builtins__": __builtins__, "__name__": "opkit.spec.generated"}
        sites = program.sites

        def text(site: int, given: list[Any], parts: tuple[Any, ...]) -> str:
            more = _clipped("".join(map(show, parts)))
            said = sites[site].text
            if "Error" in said.split("(", 1)[0]:
                return more or said
            message = f"{said} failed"
            if given:
                message += f" ({' vs '.join(_clipped(show(item)) for item in given)})"
            return f"{message}: {more}" if more else message

        def failed(site: int, given: list[Any], *parts: Any) -> FatalError:
            return FatalError(text(site, given, parts), site)

        def refused(site: int, given: list[Any], *parts: Any) -> RefusalError:
            return RefusalError(text(site, given, parts), site)

        def fail(site: int, given: list[Any], *parts: Any) -> None:
            raise failed(site, given, *parts)

        def not_null(site: int, value: Any) -> Any:
            if value is None:
                raise failed(site, [])
            return value

        self.globals.update(failed=failed, refused=refused, fail=fail, not_null=not_null)
        self.linked: set[str] = set()
        self.places: dict[tuple[str, int], Token] = {}

    def function(self, unit: Unit) -> Callable[..., Any]:
        """Return the function of a unit, after linking all that it refers to."""
        if unit.name not in self.linked:
            for item in reversed(self.program.reachable(unit)):
                self._link(item)
        found: Callable[..., Any] = self.globals[unit.name]
        return found

    def evaluate(self, code: str) -> Any:
        """Evaluate generated code of a constant expression."""
        METER.reset()
        return eval(compile(code, "<constant>", "eval"), self.globals)

    def _link(self, unit: Unit) -> None:
        if unit.name in self.linked:
            return
        self.linked.add(unit.name)
        tokens = self.program.tree.tokens
        home = _home(tokens[unit.lines[0][1]])
        lines = []
        for _, index in unit.lines:
            line, token = _line(tokens[index], home)
            lines.append(line)
            self.places.setdefault((home.path, line), token)
        tree = ast.parse(unit.source)
        for node in ast.walk(tree):
            if isinstance(node, (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.ExceptHandler)):
                node.lineno = node.end_lineno = lines[node.lineno - 1]
                node.col_offset = node.end_col_offset = 0
        if not os.path.exists(home.path):
            shown = home.text.splitlines(keepends=True)
            linecache.cache[home.path] = (len(home.text), None, shown, home.path)
        exec(compile(tree, home.path, "exec"), self.globals)

    # -- running ------------------------------------------------------------------------------

    def run(self, unit: Unit, what: str, *args: Any) -> Any:
        """Call a unit; whatever stops it becomes an InferError at a line of the definition file.

        Args:
            unit: the unit.
            what: what was being done, for messages.
            args: its arguments.

        Raises:
            InferError: a check failed, or C++ leaves undefined what the definition does.
        """
        METER.steps = METER.moved = 0
        try:
            return (self.globals[unit.name] if unit.name in self.linked else self.function(unit))(*args)
        except OpkitError:
            raise
        except Exception as error:
            raise self._stopped(error, unit, what) from error

    def run_within(self, unit: Unit, what: str, *args: Any) -> Any:
        """Call a unit as part of a call that is running: what it does counts in that call's bounds."""
        try:
            return self.function(unit)(*args)
        except OpkitError:
            raise
        except Exception as error:
            raise self._stopped(error, unit, what) from error

    def _stopped(self, error: Exception, unit: Unit, what: str) -> InferError:
        """Return the InferError, at a line of the definition file, for an exception of a unit's code."""
        where = self.where(error, unit)
        if isinstance(error, FaultError):
            return InferError(f"{what}: {error.message}", where=where)
        token = self.places.get((where.file, where.line)) if where is not None else None
        # The compiled text, not the file: that may have been edited since.
        line = token.source.line(where.line).strip() if token is not None and where is not None else ""
        return InferError(f"{what}: {_said(error)}" + (f": {line}" if line else ""), where=where)

    def where(self, error: BaseException, unit: Unit) -> Location | None:
        """Return the place in the definition file at which an exception was raised."""
        if isinstance(error, FaultError) and isinstance(error.site, int):
            return self.program.sites[error.site].span.location
        frame: TracebackType | None = error.__traceback__
        found: tuple[str, int] | None = None
        while frame is not None:
            if frame.tb_frame.f_globals is self.globals:
                found = (frame.tb_frame.f_code.co_filename, frame.tb_lineno)
            frame = frame.tb_next
        if found is None:
            return self.program.tree.span(unit.node).location
        token = self.places.get(found)
        return Location(found[0], found[1], token.span.col if token is not None else 0)


def _said(error: Exception) -> str:
    """Say in the definition's words what a Python exception means."""
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str) and ":" in error.args[0]:
        name, _, kind = error.args[0].rpartition(":")
        return f"the op has no attribute {name!r} of type {kind}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    text = str(error)
    if isinstance(error, (AttributeError, TypeError)) and "NoneType" in text:
        return "a null pointer is used"
    if isinstance(error, NameError):
        return "a variable is read before it has a value"
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, RecursionError):
        return "the recursion does not end"
    return f"{type(error).__name__}: {text}"


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "..."


def _home(token: Token) -> SourceText:
    return token.source if token.origin is None else token.origin.source


def _line(token: Token, home: SourceText) -> tuple[int, Token]:
    """Return the line of a token in a file, and the token that stands there."""
    place = token
    if token.source is not home and token.origin is not None and token.origin.source is home:
        place = token.origin
    return place.source.position(place.start)[0], place


__all__ += ["DATA_TYPES"]
