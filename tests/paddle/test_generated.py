"""Loaders of generators that a graph reads from by itself. Facts of Paddle 2.6.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import UsageError
from opkit.paddle.base.core import EOFException


def _batches() -> Iterator[Any]:
    for k in range(3):
        yield (np.full((2, 1), k, "float32"),)


@pytest.fixture
def reader() -> Iterator[Any]:
    """Return a loader, the program that reads from it, and what to fetch."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [2, 1], "float32")
            loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4, iterable=False)
            loader.set_batch_generator(_batches)
            yield loader, paddle.static.CompiledProgram(paddle.static.default_main_program()), (x * 10).sum()
    finally:
        paddle.disable_static()


def test_each_run_takes_the_next_batch(reader: Any) -> None:
    """Runs between start and reset read batch after batch; behind the last EOFException is raised, every epoch."""
    loader, program, total = reader
    executor = paddle.static.Executor()
    for _ in range(2):
        loader.start()
        found = [float(executor.run(program, fetch_list=[total])[0]) for _ in range(3)]
        with pytest.raises(EOFException):
            executor.run(program, fetch_list=[total])
        loader.reset()
        assert found == [0.0, 20.0, 40.0]


def test_an_early_reset_begins_anew(reader: Any) -> None:
    """Reset drops the batches that are left."""
    loader, program, total = reader
    executor = paddle.static.Executor()
    for _ in range(2):
        loader.start()
        executor.run(program, fetch_list=[total])
        loader.reset()
    loader.start()
    assert executor.run(program, fetch_list=[total])[0] == 0.0


def test_a_loader_that_is_not_started_is_named(reader: Any) -> None:
    """A run of the program before start says what to call."""
    _, program, total = reader
    with pytest.raises(UsageError, match="start"):
        paddle.static.Executor().run(program, fetch_list=[total])


def test_what_is_fed_is_not_read(reader: Any) -> None:
    """A feed of all that the loader gives takes the place of a batch."""
    _, program, total = reader
    fed = {"x": np.ones((2, 1), "float32")}
    assert paddle.static.Executor().run(program, feed=fed, fetch_list=[total])[0] == 20.0


def test_dynamic_mode_iterates() -> None:
    """In dynamic mode a loader is iterated over, whatever was asked for."""
    loader = paddle.io.DataLoader.from_generator(capacity=4, iterable=False)
    loader.set_batch_generator(_batches)
    assert loader.iterable
    assert [float(x.sum()) for (x,) in loader()] == [0.0, 2.0, 4.0]
