"""Branches and loops of graphs: programs of their own, run by one op of the outer one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opkit import static
from opkit.errors import GraphError, UsageError
from opkit.ir import Program, TensorDesc
from opkit.ops import reduce_sum, scalar_add, scalar_mul
from opkit.static.branches import branch, loop, trace
from opkit.static.names import guard_names
from opkit.static.parameters import data

HIGH, LOW = np.array([3.0]), np.array([-3.0])


@pytest.fixture(autouse=True)
def program() -> Iterator[Program]:
    """Each test builds in a program of its own."""
    program = Program()
    with guard_names(), static.program_guard(program, Program()):
        yield program


def _run(program: Program, feed: np.ndarray, *fetches: Any) -> list[Any]:
    return [item.tolist() for item in static.Executor().run(program, {"x": feed}, list(fetches))]


def _counted(calls: list[float], x: Any) -> Any:
    out = static.default_main_program().blocks[0].declare(f"out{len(calls)}", x.desc)

    def double(array: np.ndarray) -> np.ndarray:
        calls.append(float(array[0]))
        return array * 2

    return static.py_func(double, x, out)


def test_only_the_chosen_branch_runs(program: Program) -> None:
    """A Python function in the other one is not called, and ops of both are not in the outer program."""
    x = data("x", [1], "float64")
    calls: list[float] = []
    y = branch(x > 0, lambda: _counted(calls, x), lambda: scalar_mul(x, 5.0))
    assert [_run(program, LOW, y), calls] == [[[-15.0]], []]
    assert [_run(program, HIGH, y), calls] == [[[6.0]], [3.0]]
    assert [op.type for op in program.blocks[0].ops][-1] == "cond"
    assert not {"py_func", "scalar_mul"} & {op.type for op in program.blocks[0].ops}


def test_what_a_nested_branch_reads_is_handed_on(program: Program) -> None:
    """Through both programs, with its gradient."""
    x = data("x", [1], "float64")
    x.stop_gradient = False
    deep = lambda: branch(x > 1, lambda: scalar_mul(x, 2.0), lambda: scalar_add(x, 1.0))  # noqa: E731
    y = branch(x > 0, deep, lambda: scalar_mul(x, 7.0))
    (slope,) = static.gradients([y], [x])
    assert _run(program, HIGH, y, slope) == [[6.0], [2.0]]
    assert _run(program, np.array([0.5]), y, slope) == [[1.5], [1.0]]
    assert _run(program, LOW, y, slope) == [[-21.0], [7.0]]


def test_a_loop_that_does_not_begin(program: Program) -> None:
    """Its Variables come out as they went in, and so does the gradient."""
    x = data("x", [1], "float64")
    x.stop_gradient = False
    (y,) = loop(lambda a: a > 5, lambda a: scalar_mul(a, 0.5), [x])
    (slope,) = static.gradients([reduce_sum(scalar_mul(y, 3.0))], [x])
    assert _run(program, HIGH, y, slope) == [[3.0], [3.0]]
    assert _run(program, np.array([12.0]), y, slope) == [[3.0], [0.75]]


@pytest.mark.parametrize(
    "cond", [lambda a: a, lambda a: [a > 5, a > 5], lambda a: static.py_func(np.signbit, a, _pair())], ids=["float", "two", "pair"]
)
def test_the_condition_of_a_loop_is_one_bool(program: Program, cond: Any) -> None:
    x = data("x", [1], "float64")
    with pytest.raises(UsageError, match="one bool Variable of one element"):
        loop(cond, lambda a: scalar_mul(a, 0.5), [x])


def _pair() -> Any:
    return static.default_main_program().blocks[0].declare("pair", TensorDesc((2,), "bool"))


def test_branches_must_agree(program: Program) -> None:
    """In number, dtype and axes of what they return."""
    x = data("x", [1], "float64")
    with pytest.raises(UsageError, match="return 1 and 2 Variables"):
        branch(x > 0, lambda: x, lambda: [x, x])
    with pytest.raises(UsageError, match="float64 and bool"):
        branch(x > 0, lambda: x, lambda: x > 0)
    with pytest.raises(ValueError, match="differ in their axes"):
        branch(x > 0, lambda: x, lambda: reduce_sum(x))


def test_a_branch_does_not_write_outside(program: Program) -> None:
    """An op whose result is a Variable of the outer program is refused."""
    x = data("x", [1], "float64")
    outer = program.blocks[0].declare("outer", x.desc)
    with pytest.raises(GraphError, match="'outer' of another program"):
        trace(lambda: static.py_func(np.negative, x, outer))
