"""Branches and loops of graphs: functions that are built into programs of their own, run by one op of the outer one.

Only the chosen branch runs. What a function reads of the outer program is fed to its program; parameters that it makes
belong to the outermost one. Straight programs are ``opkit.static.builder``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UsageError
from opkit.ir import Block, Program, TensorDesc, Variable
from opkit.ops.basis.creation import identity
from opkit.ops.core.opdef import ArgDef, OpDef
from opkit.ops.core.types import Function
from opkit.record import mutable
from opkit.static.backward import gradients
from opkit.static.builder import append, build_in, building
from opkit.static.executor import Executor
from opkit.static.parameters import data
from opkit.static.py_func import arguments_of

Arrays = Sequence[ndarray]


class BranchResultError(UsageError, TypeError):
    """A branch or a loop's body gives something that its op cannot return."""


class BranchProgram(Program):
    """The program of one function.

    Args:
        outer: the program in which the function is called.
    """

    def __init__(self, outer: Program) -> None:
        super().__init__(outer._dialect)
        self.outer: Program = outer
        self.captured: dict[Variable, Variable] = {}

    def adopt(self, variable: Variable) -> Variable | None:
        """Return what stands here for a Variable of an outer program, None for one of another program."""
        held = self.captured.get(variable)
        if held is not None:
            return held
        if variable.block.program is not self.outer:
            inner = self.outer.adopt(variable)
            return None if inner is None else self.adopt(inner)
        return self._take(variable)

    def _take(self, variable: Variable) -> Variable:
        twin = _fed(self, f"{variable.name}@OUTER{variable.value.version}", variable.desc)
        twin.stop_gradient = variable.stop_gradient
        self.captured[variable] = twin
        return twin


def _fed(program: Program, name: str, desc: TensorDesc) -> Variable:
    with build_in(program):
        return data(name, desc.shape, desc.dtype)


# ---- tracing ---------------------------------------------------------------------------------------------------------
@mutable
class Branch:
    """A function as a program.

    Args:
        program: its program.
        takes: the Variables that stand for its arguments.
        gives: its results.
        backward: the program with its backward ops, the feeds of the incoming gradients, and the gradients by feed.
    """

    program: BranchProgram
    takes: list[Variable]
    gives: list[Variable]
    backward: tuple[Program, list[str], dict[str, Variable]] | None = None
    runner: Executor = field(default_factory=Executor)

    @property
    def reads(self) -> list[Variable]:
        """The Variables of the outer program that it reads."""
        return list(self.program.captured)

    @property
    def feeds(self) -> list[Variable]:
        """What a run is fed: its arguments, then what it reads."""
        return [*self.takes, *self.program.captured.values()]

    def run(self, arrays: Arrays) -> list[ndarray]:
        """Return its results."""
        return self.runner.run(self.program, _feed(self.feeds, arrays), self.gives)

    def differentiate(self) -> None:
        """Append its backward ops, to a copy."""
        if self.backward is not None:
            return
        program = self.program.clone()
        block = program.blocks[0]
        goals = [variable for variable in self.gives if variable.desc.dtype.startswith("float")]
        seeds = [_fed(program, f"{variable.name}@INCOMING", variable.desc) for variable in goals]
        inputs = [block.vars[variable.name] for variable in self.feeds]
        targets = [block.vars[variable.name] for variable in goals]
        found = gradients(targets, inputs, seeds) if goals and inputs else []
        names = ["" if variable not in goals else f"{variable.name}@INCOMING" for variable in self.gives]
        given = {item.name: slope for item, slope in zip(inputs, found) if slope is not None}
        self.backward = program, names, given

    def slopes(self, arrays: Arrays, incoming: Sequence[ndarray | None]) -> list[ndarray]:
        """Return the gradients of all that it is fed, zeros where none flows."""
        self.differentiate()
        assert self.backward is not None
        program, names, given = self.backward
        feed = _feed(self.feeds, arrays)
        values = self.run(arrays) if any(dy is None for dy in incoming) else [None] * len(names)
        for name, dy, value in zip(names, incoming, values):
            if name:
                feed[name] = np.zeros_like(value) if dy is None else dy
        wanted = [given[variable.name] for variable in self.feeds if variable.name in given]
        got = iter(self.runner.run(program, feed, wanted))
        return [next(got) if item.name in given else np.zeros_like(a) for item, a in zip(self.feeds, arrays)]


def _feed(variables: Sequence[Variable], arrays: Arrays) -> dict[str, ndarray]:
    return {variable.name: array for variable, array in zip(variables, arrays, strict=True)}


def trace(function: Function, arguments: Sequence[Variable] = ()) -> tuple[Branch, Any]:
    """Build a function into a program of its own.

    Returns:
        the branch, and what the function returned: None, Variables, or lists, tuples and dicts of them.

    Raises:
        BranchResultError: it returned something else.
    """
    program = BranchProgram(building.main)
    takes = [_fed(program, f"{item.name}@LOOP{i}", item.desc) for i, item in enumerate(arguments)]
    for inner, outer in zip(takes, arguments):
        inner.stop_gradient = outer.stop_gradient
    with build_in(program, building.role):
        returned = function(*takes)
        gives = [_own(program, item) for item in leaves(returned)]
    return Branch(program, takes, gives), returned


def _own(program: BranchProgram, item: Any) -> Variable:
    if not isinstance(item, Variable):
        raise BranchResultError(
            f"a branch of a graph returns Variables, or lists, tuples and dicts of them, got {type(item).__name__}",
            help="make a Variable of a number first",
        )
    # A copy, since what is fed is not computed here, and one Variable may be returned twice.
    result: Variable = identity(item)
    return result


def leaves(structure: Any) -> list[Any]:
    """Return what nested lists, tuples and dicts hold, in order; of None nothing."""
    if structure is None:
        return []
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in leaves(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in leaves(item)]
    return [structure]


def refilled(structure: Any, values: list[Any]) -> Any:
    """Return a structure with its leaves replaced by values, which are used up."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        filled = {key: refilled(structure[key], values) for key in sorted(structure)}
        return {key: filled[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        items = [refilled(item, values) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return values.pop(0)


# ---- two branches ----------------------------------------------------------------------------------------------------
def branch(pred: Variable, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Append an op that runs one of two functions.

    Args:
        pred: bool, one element.
        true_fn: its branch where it is true.
        false_fn: its branch where it is false.

    Returns:
        what the functions return, with Variables of the current program.

    Raises:
        BranchResultError: the functions return differing structures or dtypes, or no Variables.
        ShapeError: their results differ in the number of axes.
    """
    (yes, shown), (no, _) = trace(true_fn), trace(false_fn)
    if len(yes.gives) != len(no.gives):
        raise BranchResultError(f"the branches return {len(yes.gives)} and {len(no.gives)} Variables", help=_SAME)
    descs = [_joined(a.desc, b.desc, "the branches") for a, b in zip(yes.gives, no.gives)]
    reads = list(dict.fromkeys([*yes.reads, *no.reads]))
    places = {variable: i for i, variable in enumerate(reads)}
    held = [(item, [places[variable] for variable in item.reads]) for item in (no, yes)]

    def chosen(pred: ndarray, arrays: Arrays) -> tuple[Branch, list[int], list[ndarray]]:
        item, spots = held[int(bool(np.asarray(pred).reshape(-1)[0]))]
        return item, spots, [arrays[spot] for spot in spots]

    def kernel(pred: ndarray, *arrays: ndarray) -> Any:
        item, _, given = chosen(pred, arrays)
        return _result(item.run(given))

    def slope_kernel(pred: ndarray, *arrays: ndarray) -> Any:
        item, spots, given = chosen(pred, arrays[: len(reads)])
        slopes = [np.zeros_like(array) for array in arrays[: len(reads)]]
        for spot, slope in zip(spots, item.slopes(given, arrays[len(reads) :])):
            slopes[spot] = slope
        return _result(slopes)

    outputs = _append("cond", kernel, slope_kernel, [pred, *reads], descs, skipped=1)
    return refilled(shown, outputs)


_SAME = "both functions return the same structure of Variables"


def _joined(one: TensorDesc, two: TensorDesc, what: str) -> TensorDesc:
    if one.dtype != two.dtype:
        raise BranchResultError(f"{what} give {one.dtype} and {two.dtype}", help=_SAME + ", of the same dtypes")
    if one.ndim != two.ndim:
        raise ShapeError(f"{what} give shapes {list(one.shape)} and {list(two.shape)}, which differ in their axes")
    return TensorDesc(tuple(a if a == b else -1 for a, b in zip(one.shape, two.shape)), one.dtype)


# ---- a loop ----------------------------------------------------------------------------------------------------------
def loop(cond: Function, body: Function, start: Sequence[Variable]) -> list[Variable]:
    """Append an op that calls ``body`` with its own results while ``cond`` of them is true.

    Args:
        cond: returns a bool Variable of one element.
        body: returns as many Variables as it takes.
        start: the first arguments.

    Returns:
        the last ones.

    Raises:
        BranchResultError: a function returns something else.
        ShapeError: a result of ``body`` has other axes than its argument.
    """
    test, _ = trace(cond, start)
    step, _ = trace(body, start)
    if len(test.gives) != 1 or test.gives[0].desc.dtype != "bool" or set(test.gives[0].desc.shape) - {1, -1}:
        raise BranchResultError("the condition of a loop returns one bool Variable of one element")
    if len(step.gives) != len(start):
        raise BranchResultError(f"the body of a loop returns {len(step.gives)} Variables, it takes {len(start)}")
    descs = [_joined(a.desc, b.desc, "a loop's start and body") for a, b in zip(start, step.gives)]
    reads = list(dict.fromkeys([*test.reads, *step.reads]))
    places = {variable: i for i, variable in enumerate(reads)}
    count, spots = len(start), [places[variable] for variable in step.reads]

    def states(arrays: Arrays, *, all_of_them: bool) -> list[list[ndarray]]:
        outer = arrays[count:]
        found = [list(arrays[:count])]
        while bool(test.run([*found[-1], *(outer[places[item]] for item in test.reads)])[0].reshape(-1)[0]):
            found.append(step.run([*found[-1], *(outer[spot] for spot in spots)]))
            if not all_of_them:
                del found[0]
        return found

    def kernel(*arrays: ndarray) -> Any:
        return _result([np.array(item) for item in states(arrays, all_of_them=False)[-1]])

    def slope_kernel(*arrays: ndarray) -> Any:
        given, incoming = arrays[: count + len(reads)], list(arrays[count + len(reads) :])
        passed = states(given, all_of_them=True)[:-1]
        outer = [np.zeros_like(array) for array in given[count:]]
        if not passed:
            incoming = [np.zeros_like(a) if dy is None else dy for a, dy in zip(given, incoming)]
        for state in reversed(passed):
            slopes = step.slopes([*state, *(given[count + spot] for spot in spots)], incoming)
            incoming = list(slopes[:count])
            for spot, slope in zip(spots, slopes[count:]):
                outer[spot] = outer[spot] + slope
        return _result([*incoming, *outer])

    return _append("while_loop", kernel, slope_kernel, [*start, *reads], descs, skipped=0)


# ---- the ops ---------------------------------------------------------------------------------------------------------
def _result(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _append(
    name: str,
    kernel: Function,
    slope_kernel: Function,
    inputs: Sequence[Variable],
    descs: Sequence[TensorDesc],
    *,
    skipped: int,
) -> list[Variable]:
    """Append an op with a gradient; the first ``skipped`` inputs take none."""
    block: Block = building.main.blocks[0]
    takers = inputs[skipped:]

    def rule(step: Any, douts: Sequence[Any]) -> Sequence[Any]:
        slope = OpDef(
            name=f"{name}_grad",
            inputs=(*arguments_of("x", len(inputs)), *(ArgDef(f"dy{i}", is_optional=True) for i in range(len(douts)))),
            outputs=arguments_of("dx", len(takers)),
            kernel=slope_kernel,
            infer=lambda given, attrs: [item.desc for item in takers],
            is_random=True,
        )
        found = append(building.main.blocks[0], slope, [*step.inputs, *douts], {})
        for variable in found:
            variable.stop_gradient = False
        return [*[None] * skipped, *found]

    names = tuple(f"x{i}" for i in range(len(inputs)))
    op = OpDef(
        name=name,
        inputs=arguments_of("x", len(inputs)),
        outputs=arguments_of("out", len(descs)),
        kernel=kernel,
        infer=lambda given, attrs: list(descs),
        grad=rule,
        reads=names,
        is_random=True,  # the functions may be; and a py_func in one of them must not be folded away
        has_side_effect=True,
    )
    return append(block, op, inputs, {})
