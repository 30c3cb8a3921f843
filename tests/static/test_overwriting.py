"""``paddle.assign(x, output)``, ``increment`` and ``out=`` in graphs: the Variable means the new value from there on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opkit.paddle as paddle


@pytest.fixture(autouse=True)
def _graphs() -> Iterator[None]:
    paddle.enable_static()
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        yield
    paddle.disable_static()


def run(*fetches: object) -> list[list[object]]:
    return [array.tolist() for array in paddle.static.Executor().run(fetch_list=list(fetches))]


def test_what_is_assigned_is_read_from_there_on() -> None:
    """What read the Variable before keeps what it had."""
    target = paddle.full([2], 1.0)
    before = target * 10.0
    paddle.assign(np.array([5.0, 6.0], np.float32), target)
    assert run(target, before, target + 1.0) == [[5.0, 6.0], [10.0, 10.0], [6.0, 7.0]]


def test_a_persistable_variable_counts_runs() -> None:
    """``increment`` of it takes place in every run, whatever is fetched."""
    count = paddle.static.create_global_var([1], 0, "int64", persistable=True)
    paddle.increment(count)
    executor = paddle.static.Executor()
    executor.run(paddle.static.default_startup_program())
    executor.run()
    assert [executor.run(fetch_list=[count])[0].tolist() for _ in range(2)] == [[2], [3]]


def test_a_loop_that_increments_ends() -> None:
    """The body returns what it incremented, a whole number."""
    ten = paddle.full([1], 10, "int64")
    start = paddle.zeros([1], "int64")
    (found,) = paddle.static.nn.while_loop(lambda i: paddle.less_than(i, ten), lambda i: [paddle.increment(i)], [start])
    assert run(found) == [[10]]


def test_a_logical_function_writes_into_out() -> None:
    """``out=`` gets the result and is returned."""
    yes, no = paddle.full([1], True, "bool"), paddle.full([1], False, "bool")
    target = paddle.full([1], False, "bool")
    assert paddle.logical_or(yes, no, out=target) is target
    assert run(target) == [[True]]
