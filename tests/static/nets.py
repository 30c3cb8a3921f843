"""Small graphs that several tests build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import opkit.paddle as paddle
from opkit import static
from opkit.ir import Variable

X = np.arange(6, dtype=np.float32).reshape(2, 3) / 4


def fed(name: str = "x", shape: Sequence[Any] = (2, 3), dtype: str = "float32", *, stops: bool = False) -> Variable:
    """Return something to feed that takes a gradient."""
    variable = paddle.static.data(name, shape, dtype)
    variable.stop_gradient = stops
    return variable


def made(name: str, shape: Sequence[int] = (2, 3), dtype: str = "float32") -> Variable:
    """Return a Variable to be an output."""
    return static.default_main_program().current_block().create_var(name=name, dtype=dtype, shape=shape)


def run(feed: Any = None, fetch: Any = None, program: Any = None, **options: Any) -> list[Any]:
    """Run startup and a program once."""
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    return executor.run(program, feed={"x": X} if feed is None else feed, fetch_list=fetch, **options)


def tanh(x: Any) -> Any:
    return np.tanh(x)


def tanh_grad(y: Any, dy: Any) -> Any:
    return np.array(dy) * (1 - np.square(np.array(y)))


def py_tanh(x: Variable, name: str) -> Variable:
    """Return tanh of x by py_func."""
    return paddle.static.py_func(tanh, x, made(name, x.shape, x.dtype), tanh_grad, x)


def chain(length: int, shape: Sequence[int] = (2, 3), function: Callable[..., Any] = tanh) -> tuple[Variable, Variable]:
    """Return (input, mean of a chain of py_funcs)."""
    x = fed(shape=shape)
    h = x
    for i in range(length):
        h = paddle.static.py_func(function, h, made(f"o_{i}", shape), tanh_grad, h)
    return x, paddle.mean(h)
