"""Parts of graphs with a gradient of their own: what a copy for inference keeps, second order, wrong functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import ShapeError
from opkit.paddle import static
from opkit.static.own_gradient import OwnGradientError
from opkit.static.py_func import StaticModeError

part = static.nn.static_pylayer
X = np.array([[0.5, -1.0]], "float32")


@pytest.fixture
def x() -> Iterator[Any]:
    """A Variable of a fresh program that takes a gradient."""
    paddle.enable_static()
    try:
        with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
            fed = static.data("x", [None, 2], "float32")
            fed.stop_gradient = False
            yield fed
    finally:
        paddle.disable_static()


def run(*fetches: Any) -> list[Any]:
    return [item.tolist() for item in static.Executor().run(feed={"x": X}, fetch_list=list(fetches))]


def test_a_saved_part_computes_forward_without_its_gradient(x: Any, tmp_path: Path) -> None:
    """In a copy for inference the op with the rule is gone, so the file needs no function."""
    y = part(paddle.exp, [x], lambda dy: dy * 3)
    static.save_inference_model(tmp_path / "net", [x], [y], static.Executor())
    program, feeds, fetches = static.load_inference_model(tmp_path / "net", static.Executor())
    assert [op.type for op in program.global_block().ops].count("static_pylayer") == 0
    got = static.Executor().run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    np.testing.assert_allclose(got, np.exp(X))


def test_the_gradient_has_a_gradient(x: Any) -> None:
    """The ops that backward builds are ordinary ones, read here beside the incoming gradient."""
    y = part(lambda a: a * 1.0, [x], lambda dy: dy * x)
    (first,) = static.gradients(paddle.sum(y * y), [x])  # 2 y x, which is 2 x squared
    (second,) = static.gradients(first, [x])  # through y: 2 x times backward's own x; beside it: 2 y
    assert run(first, second) == [[[0.5, 2.0]], [[1.5, 0.0]]]


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (lambda a: [a, 3.0], lambda dy: dy, "forward returns Variables, got float"),
        (lambda a: a, lambda dy: (dy, dy), "one gradient per input, 1, it returned 2"),
        (lambda a: a, lambda dy: 3.0, "backward returns Variables or None, got float"),
    ],
)
def test_wrong_functions_are_named(x: Any, forward: Any, backward: Any, message: str) -> None:
    """What a function returned is said when it is asked."""
    with pytest.raises(OwnGradientError, match=message):
        static.gradients(part(forward, [x], backward), [x])


def test_a_gradient_has_the_shape_of_its_input(x: Any) -> None:
    """Another shape is refused while the graph is built."""
    with pytest.raises(ShapeError, match=r"the gradient of 'x' has shape \[2\], expected \[-1, 2\]"):
        static.gradients(part(lambda a: a, [x], lambda dy: paddle.sum(dy, 0)), [x])


def test_dynamic_mode_has_pylayers() -> None:
    """The error says so."""
    paddle.disable_static()
    with pytest.raises(StaticModeError, match=r"paddle\.autograd\.PyLayer"):
        part(paddle.exp, [paddle.ones([2])], lambda dy: dy)
