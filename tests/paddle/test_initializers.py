"""Initializers: called on a Tensor, subclassed, told apart by class, and their widths. Facts of Paddle 2.6.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import UsageError
from opkit.paddle.nn import initializer as init


@pytest.fixture
def graph() -> Iterator[None]:
    """Build a graph for the length of a test."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            yield
    finally:
        paddle.disable_static()


def test_a_call_fills_a_parameter() -> None:
    """Calling an initializer gives a parameter its values, in place, and it stays a trained leaf."""
    weight = paddle.create_parameter([3, 2], "float32")
    held = weight
    assert init.Constant(3.0)(weight) is None
    assert held.numpy().tolist() == [[3.0, 3.0]] * 3
    assert not weight.stop_gradient
    assert weight.is_leaf


def test_a_call_fills_any_tensor() -> None:
    """A buffer is filled as a parameter is, in its own dtype."""
    buffer = paddle.zeros([2], "float64")
    init.Assign(np.array([1, 2]))(buffer)
    assert buffer.numpy().tolist() == [1.0, 2.0]
    assert buffer.dtype == paddle.float64


@pytest.mark.usefixtures("graph")
def test_a_call_on_a_variable_is_refused() -> None:
    """A graph's parameter is not filled by a call; the message names ParamAttr."""
    with pytest.raises(UsageError, match="ParamAttr"):
        init.Constant(1.0)(paddle.create_parameter([2], "float32"))


def test_initializers_are_classes() -> None:
    """Isinstance tells initializers apart, and they share a base class."""
    assert isinstance(init.Constant(1.0), init.Constant)
    assert not isinstance(init.Normal(), init.Constant)
    assert isinstance(init.KaimingNormal(), init.Initializer)


class Sevens(init.Constant):
    """A subclass that only chooses an argument."""

    def __init__(self) -> None:
        super().__init__(7.0)


class Counted(init.Initializer):
    """A subclass with a value and attributes of its own."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, param: Any, block: Any = None) -> Any:
        """Number the elements."""
        param.set_value(np.arange(param.size, dtype="float32").reshape(param.shape))


def _eights(param: Any, block: Any) -> None:
    param.set_value(np.full(param.shape, 8.0, "float32"))


@pytest.mark.parametrize(
    ("given", "expected"), [(Sevens(), [7.0, 7.0]), (Counted("own"), [0.0, 1.0]), (_eights, [8.0, 8.0])]
)
def test_users_give_the_first_value(given: Any, expected: list[float]) -> None:
    """Subclasses, with a forward of their own or without, and functions of (parameter, block) are initializers."""
    assert paddle.create_parameter([2], "float32", default_initializer=given).numpy().tolist() == expected


@pytest.mark.usefixtures("graph")
def test_a_users_initializer_is_refused_in_a_graph() -> None:
    """A graph draws first values in its startup program, which a user's code cannot."""
    with pytest.raises(UsageError, match="Assign takes any array"):
        paddle.create_parameter([2], "float32", default_initializer=Counted("own"))


@pytest.mark.parametrize(
    ("given", "shape", "bound"),
    [
        (init.XavierUniform(fan_in=10), [1000, 20], (6 / 30) ** 0.5),
        (init.XavierUniform(fan_out=10), [1000, 20], (6 / 1010) ** 0.5),
        (init.XavierUniform(fan_in=10), [400], (6 / 410) ** 0.5),
        (init.KaimingUniform(), [400], (6 / 400) ** 0.5),
        (init.XavierUniform(10, 40), [20, 20], (6 / 50) ** 0.5),
    ],
)
def test_one_fan_may_be_given(given: Any, shape: list[int], bound: float) -> None:
    """The fan that is not given is the shape's."""
    weight = paddle.zeros(shape)
    given(weight)
    largest = float(weight.abs().max())
    assert 0.95 * bound < largest <= bound


def test_truncated_normal_takes_no_cutoffs() -> None:
    """Paddle 2.6.2 cuts off at two standard deviations, always."""
    with pytest.raises(TypeError):
        init.TruncatedNormal(0.0, 1.0, -0.5, 0.5)  # type: ignore[call-arg]


def test_a_range_the_wrong_way_round_is_refused() -> None:
    """Uniform's low is at most its high."""
    with pytest.raises(UsageError, match="low is at most high"):
        init.Uniform(1.0, -1.0)


def test_constant_needs_a_number() -> None:
    """None is not a value."""
    with pytest.raises(ValueError, match="got None"):
        init.Constant(None)  # type: ignore[arg-type]
