"""The row of an embedding that stands for padding. Facts of Paddle 2.6.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle import nn


@pytest.mark.parametrize(("padding", "row"), [(None, None), (-1, 3), (-4, 0), (2, 2)])
def test_a_negative_row_counts_from_the_end(padding: int | None, row: int | None) -> None:
    """padding_idx=-1 is the last row: it starts as zeros, reads as zeros and takes no gradient."""
    layer = nn.Embedding(4, 2, padding_idx=padding)
    zeros = [index for index, values in enumerate(layer.weight.numpy()) if not values.any()]
    assert zeros == ([] if row is None else [row])
    layer.weight.set_value(np.ones((4, 2), "float32"))
    found = layer(paddle.to_tensor([0, 1, 2, 3]))
    found.sum().backward()
    expected = [0.0 if index == row else 1.0 for index in range(4)]
    assert found.numpy()[:, 0].tolist() == expected
    assert layer.weight.grad.numpy()[:, 0].tolist() == expected


def test_the_row_is_printed_as_given() -> None:
    """A layer prints the padding_idx that it was made with."""
    assert repr(nn.Embedding(4, 2, padding_idx=-1)) == "Embedding(4, 2, padding_idx=-1, sparse=False)"


def test_graphs_count_from_the_end() -> None:
    """static.nn.embedding reads the last row as zeros."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [4], "int64")
            start: Any = paddle.ParamAttr(initializer=nn.initializer.Constant(1.0))
            found = paddle.static.nn.embedding(x, [4, 2], padding_idx=-1, param_attr=start)
            executor = paddle.static.Executor()
            executor.run(paddle.static.default_startup_program())
            (values,) = executor.run(feed={"x": np.arange(4)}, fetch_list=[found])
    finally:
        paddle.disable_static()
    assert values[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0]
