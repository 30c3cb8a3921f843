"""Stubs: with which arguments an API function is called, and what is tried next where that did not go through.

A parameter that may be a blob gets one; others keep their defaults, or take the default of the attribute they go into.

Reading: what an API function does with its parameters, as far as its syntax tree shows.

It helps to choose stubs, and to know where a value came from; findings by tree are ``opkit.project.api_check``'s.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Any

from opkit.errors import OpkitError
from opkit.ir import TensorDesc
from opkit.ops.core.types import Function
from opkit.record import mutable, record
from opkit.spec import CompiledOp

_LIST_WORD = re.compile(r"list|tuple|sequence|iterable|collection", re.IGNORECASE)
_LIST_NAME = re.compile(r"(?:^|_)(?:list|inputs|blobs|tensors|values|xs)$")


@mutable
class ApiReading:
    """One function of an API file.

    Args:
        line: of its definition.
        op_types: the op types that it names as constants.
        inputs: {parameter: inputs that it goes into}.
        attrs: {parameter: attributes that it goes into}.
        counts: parameters that give the number of an output.
        lists: parameters that are used or described as a list.
        values: {attribute: the names that its value is made of}.
        calls: the names of functions that it calls.
        returns_a_value: whether a ``return`` of it has a value, or it yields.
    """

    line: int
    op_types: list[str] = field(default_factory=list)
    inputs: dict[str, list[str]] = field(default_factory=dict)
    attrs: dict[str, list[str]] = field(default_factory=dict)
    counts: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    returns_a_value: bool = False


def read_functions(tree: ast.Module) -> dict[str, ApiReading]:
    """Return what the functions at the top of a file do, by name."""
    found: dict[str, ApiReading] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = _read(node)
    return found


def _read(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ApiReading:
    reading = ApiReading(function.lineno)
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    parameters = {item.arg for item in arguments}
    reading.lists = {item.arg for item in arguments if _is_list(item, ast.get_docstring(function) or "")}
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            _read_call(node, reading, parameters)
        elif isinstance(node, (ast.Yield, ast.YieldFrom)) or (isinstance(node, ast.Return) and node.value is not None):
            reading.returns_a_value = True
        reading.lists.update(_used_as_lists(node) & parameters)
    return reading


def _is_list(argument: ast.arg, docstring: str) -> bool:
    """Whether a parameter's annotation, name or description says that it is a list."""
    if argument.annotation is not None and _LIST_WORD.search(ast.unparse(argument.annotation)):
        return True
    lines = (line for line in docstring.splitlines() if re.search(rf"\b{re.escape(argument.arg)}\b", line))
    return bool(_LIST_NAME.search(argument.arg)) or any(_LIST_WORD.search(line) for line in lines)


def _used_as_lists(node: ast.AST) -> set[str]:
    """Return the names that a node uses as lists: iterated, indexed, unpacked, measured."""
    used: list[ast.AST] = []
    if isinstance(node, (ast.For, ast.comprehension)):
        used.append(node.iter)
    elif isinstance(node, (ast.Subscript, ast.Starred)):
        used.append(node.value)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("len", "list", "tuple", "enumerate", "zip"):
        used.extend(node.args)
    return {item.id for item in used if isinstance(item, ast.Name)}


def _read_call(node: ast.Call, reading: ApiReading, parameters: set[str]) -> None:
    if isinstance(node.func, ast.Name):
        reading.calls.add(node.func.id)
        return
    method = getattr(node.func, "attr", "")
    given = [*node.args, *(item.value for item in node.keywords)]
    text = given[0].value if given and isinstance(given[0], ast.Constant) else None
    if method == "Op" and isinstance(text, str):
        reading.op_types.append(text)
    if len(given) < 2 or not isinstance(text, str):
        return
    names = set(_names(given[1]))
    if method == "Attr":
        reading.values.setdefault(text, set()).update(names)
    for name in names & parameters:
        if method == "Input":
            reading.inputs.setdefault(name, []).append(text)
        elif method == "Attr":
            reading.attrs.setdefault(name, []).append(text)
        elif method == "Output":
            reading.counts.add(name)


def _names(node: ast.expr) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and not hasattr(builtins, item.id):
            yield item.id


#: What a parameter called ``name`` gets.
MADE_UP = "opkit_trial"


class StubKind(Enum):
    """What a parameter gets."""

    DEFAULT = "its own default"
    BLOB = "a blob"
    BLOBS = "a list of blobs"
    VALUE = "a value of an attribute"


@record
class StubGuess:
    """What a parameter gets, and for VALUE which value."""

    kind: StubKind
    value: Any = None


@record
class CallPlan:
    """One way to call a function.

    Args:
        guesses: by parameter, in order.
        is_full: whether nothing that an op needs was left out: a fact of such a call is one of every call.
        rank: number of axes of blobs of which nothing is known, 0 for what the definition accepts.
        extra: how many blobs ``*args`` gets.
    """

    guesses: Mapping[str, StubGuess]
    is_full: bool = True
    rank: int = 0
    extra: int = 0

    def having(self, name: str, guess: StubGuess) -> CallPlan:
        """Return the plan with another guess for one parameter."""
        return replace(self, guesses={**self.guesses, name: guess})

    @property
    def invented(self) -> set[str]:
        """The parameters whose values were made up."""
        return {name for name, guess in self.guesses.items() if guess.kind is StubKind.VALUE}


@mutable
class Uses:
    """The definitions that a function may be about, and what its tree says.

    Args:
        reading: None where the function's tree was not found.
        ops: the directory's op types.
    """

    reading: ApiReading | None
    ops: Mapping[str, CompiledOp]
    named: Sequence[CompiledOp] = field(init=False)

    def __post_init__(self) -> None:
        wanted = self.reading.op_types if self.reading is not None else []
        self.named = [self.ops[name] for name in wanted if name in self.ops] or list(self.ops.values())

    def input_of(self, parameter: str) -> str | None:
        """Return the input that a parameter goes into, by the tree or by its name."""
        known = {arg.name for op in self.named for arg in op.inputs}
        by_tree = self.reading.inputs.get(parameter, []) if self.reading is not None else []
        return next((name for name in (*by_tree, parameter) if name in known), None)

    def attr_value(self, parameter: str) -> StubGuess | None:
        """Return a fitting value for a parameter that goes into an attribute, by the tree or by its name."""
        by_tree = self.reading.attrs.get(parameter, []) if self.reading is not None else []
        for name in (*by_tree, parameter):
            for op in self.named:
                if name in op.attrs:
                    return StubGuess(StubKind.VALUE, op.attrs[name].default)
        return None

    def is_list(self, parameter: str) -> bool:
        """Whether a parameter is a list of blobs by what it is called or used for, or by the input it goes into."""
        if self.reading is not None and parameter in self.reading.lists:
            return True
        name = self.input_of(parameter)
        declared = [arg for op in self.named for arg in op.inputs if arg.name == name]
        return bool(declared) and all(arg.is_variadic or arg.count > 1 for arg in declared)


def first_plans(function: Function, uses: Uses) -> Iterator[CallPlan]:
    """Give the plan in which nothing is left out, then the one with the function's own defaults."""
    parameters = list(inspect.signature(function).parameters.values())
    open_ends = [item for item in parameters if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
    full: dict[str, StubGuess] = {}
    lean: dict[str, StubGuess] = {}
    is_full = not open_ends
    for item in parameters:
        if item in open_ends:
            continue
        if item.default is item.empty:
            full[item.name] = lean[item.name] = _required(item.name, uses)
        else:
            lean[item.name] = StubGuess(StubKind.DEFAULT)
            full[item.name] = _where_none(item, uses)
            is_full = is_full and not isinstance(item.default, (tuple, list, dict, set))
    extra = 1 if any(item.kind is item.VAR_POSITIONAL for item in open_ends) else 0
    yield CallPlan(full, is_full, extra=extra)
    if lean != full:
        yield CallPlan(lean, False, extra=extra)


def _required(name: str, uses: Uses) -> StubGuess:
    if uses.input_of(name) is None:
        if uses.reading is not None and name in uses.reading.counts:
            return StubGuess(StubKind.VALUE, 1)
        value = uses.attr_value(name)
        if value is not None:
            return value
        if name in ("name", "op_name", "prefix", "scope"):
            return StubGuess(StubKind.VALUE, MADE_UP)
    return StubGuess(StubKind.BLOBS if uses.is_list(name) else StubKind.BLOB)


def _where_none(item: inspect.Parameter, uses: Uses) -> StubGuess:
    """Return what a parameter with a default gets where nothing is to be left out."""
    if item.default is None and uses.input_of(item.name) is not None:
        return _required(item.name, uses)
    value = uses.attr_value(item.name) if item.default is None else None
    return value or StubGuess(StubKind.DEFAULT)


def varied(plan: CallPlan, uses: Uses) -> Iterator[CallPlan]:
    """Give other plans, for a function that raised an error on stubs: other shapes, other kinds of arguments."""
    for rank in (4, 2, 1, 3):
        yield replace(plan, rank=rank)
    if plan.extra:
        yield from (replace(plan, extra=count) for count in (2, 3, 0))
    open_names = [
        name for name, guess in plan.guesses.items() if guess.kind is StubKind.BLOB and uses.input_of(name) is None
    ]
    for value in (1, 0.5, "same", [1, 1], True):
        for name in open_names:
            # Such a value may end in a name: what is found with it proves nothing.
            yield replace(plan.having(name, StubGuess(StubKind.VALUE, value)), is_full=False)
    for name in open_names:
        yield plan.having(name, StubGuess(StubKind.BLOBS))


_SHAPES: tuple[tuple[int, ...], ...] = ((4, 4), (4,), (2, 3, 4, 4), (2, 3, 4), (1,), (2, 4, 6, 6, 6))
_MOST_TRIALS = 200


def plausible(op: CompiledOp) -> dict[str, TensorDesc]:
    """Return a shape and dtype per input that the op's definition accepts, or a guess where none is found soon."""
    names = [arg.name for arg in op.inputs]
    counts = {arg.name: max(arg.count, 1) for arg in op.inputs}
    for descs in itertools.islice(_choices(len(names)), _MOST_TRIALS):
        chosen = dict(zip(names, descs))
        try:
            op.infer({name: [desc] * counts[name] for name, desc in chosen.items()})
        except (OpkitError, ArithmeticError, LookupError, TypeError, ValueError):
            continue
        return chosen
    return dict.fromkeys(names, TensorDesc(_SHAPES[0], "float32"))


def _choices(count: int) -> Iterator[Iterable[TensorDesc]]:
    """Give descriptions of that many inputs: all alike first, then one of integers, then of different shapes."""
    for shape in _SHAPES:
        yield [TensorDesc(shape, "float32")] * count
    for shape, place in itertools.product(_SHAPES, range(count)):
        yield [TensorDesc(shape, "int32" if place == index else "float32") for index in range(count)]
    for shapes in itertools.product(_SHAPES[:4], repeat=count):
        yield [TensorDesc(shape, "float32") for shape in shapes]
