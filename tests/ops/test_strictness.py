"""The shared builders are strict where frameworks differ; Paddle's rules hold in its facade alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.paddle as paddle
from opkit import ops
from opkit.eager import Tensor
from opkit.errors import ShapeError, UsageError


def _ones(*shape: int) -> Tensor:
    return Tensor(np.ones(shape, np.float32))


# ---- reshape ---------------------------------------------------------------------------------------------------------
def test_a_size_of_0_is_a_size() -> None:
    """Six elements do not fill an axis of size 0."""
    with pytest.raises(ShapeError, match="do not fill"):
        ops.reshape(_ones(2, 3), (0, 3))


def test_a_kept_axis_has_the_size_of_the_input() -> None:
    """What the shape says there does not count."""
    assert tuple(ops.reshape(_ones(2, 3, 4), (7, -1), kept=[0]).shape) == (2, 12)


def test_an_axis_that_is_not_there_cannot_be_kept() -> None:
    """The message names the shape and the axes."""
    with pytest.raises(ShapeError, match=r"\(2, 3\) lacks some of the axes \(0, 2\)"):
        ops.reshape(_ones(2, 3), (1, 6, 1), kept=(0, 2))


def test_paddle_keeps_the_size_where_a_0_stands() -> None:
    """paddle.reshape's documentation: 0 copies the size of that axis; a tensor without elements keeps its 0."""
    assert paddle.reshape(paddle.ones([2, 3, 4]), [0, -1]).shape == [2, 12]
    assert paddle.reshape(paddle.ones([0, 3]), [3, 0]).shape == [3, 0]


@pytest.mark.parametrize(
    ("declared", "shape", "expected"),
    [
        ([-1, 3, 4], [0, 12], [-1, 12]),
        ([-1, 3, 4], [0, -1], [-1, -1]),
        ([-1, -1, 4], [0, 0, 2, 2], [-1, -1, 2, 2]),
        ([-1, -1, 4], [0, -1], [-1, -1]),
    ],
)
def test_paddle_keeps_sizes_that_only_the_run_knows(declared: Any, shape: Any, expected: Any) -> None:
    """A 0 stands for a size that is unknown when the program is built; the gradient has the input's shape."""
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            x = paddle.static.data("x", declared, "float32")
            x.stop_gradient = False
            y = paddle.reshape(x, shape)
            assert list(y.shape) == expected
            (grad,) = paddle.static.gradients([paddle.sum(y * y)], [x])
        value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        found, slope = paddle.static.Executor().run(main, feed={"x": value}, fetch_list=[y, grad])
    finally:
        paddle.disable_static()
    assert found.shape == value.reshape([value.shape[i] if n == 0 else n for i, n in enumerate(shape)]).shape
    assert np.array_equal(slope, 2 * value)


# ---- squeeze ---------------------------------------------------------------------------------------------------------
def test_a_named_axis_must_have_size_1() -> None:
    """Nothing is left out silently."""
    with pytest.raises(ShapeError, match=r"the axes \(0, 1\) of \(2, 1\) must have size 1"):
        ops.squeeze(_ones(2, 1), (0, 1))


def test_without_axes_all_of_size_1_go() -> None:
    """Left out, or empty."""
    assert tuple(ops.squeeze(_ones(1, 2, 1)).shape) == (2,)
    assert tuple(ops.squeeze(_ones(1, 2, 1), ()).shape) == (2,)


def test_oneflow_refuses_an_axis_of_another_size() -> None:
    """OneFlow v0.4's squeeze_op.cpp checks that each axis has size 1."""
    with pytest.raises(ShapeError, match="must have size 1"):
        flow.squeeze(_ones(2, 1), [0])


def test_paddle_leaves_an_axis_of_another_size() -> None:
    """paddle.squeeze's documentation: such an axis is not changed."""
    assert paddle.squeeze(paddle.ones([2, 1]), [0, 1]).shape == [2]
    assert paddle.squeeze(paddle.ones([2, 1]), 0).shape == [2, 1]


# ---- clip ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("clip", "expected"),
    [(ops.clip, [0, 1, 1, 1, 0]), (ops.clip_inside, [0, 0, 1, 0, 0]), (paddle.clip, [0, 0, 1, 0, 0])],
)
def test_the_gradient_at_the_bounds(clip: Any, expected: list[int]) -> None:
    """It passes, except by Paddle's rule."""
    x = Tensor(np.array([0.0, 1.0, 1.5, 2.0, 3.0], np.float32), stop_gradient=False)
    clip(x, 1.0, 2.0).sum().backward()
    assert x.grad.numpy().tolist() == expected


@pytest.mark.parametrize("clip", [ops.clip, ops.clip_inside])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_integers_are_clipped_to_integers_within_the_bounds(clip: Any, dtype: str) -> None:
    """Bounds between integers are drawn in, those beyond the dtype hold nothing back."""
    x = Tensor(np.array([0, 1, 2, 3, 100], dtype))
    assert clip(x, 0.5, 2.5).numpy().tolist() == [1, 1, 2, 2, 2]
    assert clip(x, -1e30, 1e30).numpy().tolist() == [0, 1, 2, 3, 100]
    assert clip(x, min=2).numpy().dtype == dtype


# ---- scatter, einsum -------------------------------------------------------------------------------------------------
def test_paddle_sums_the_updates_of_a_row_from_0() -> None:
    """paddle.scatter without overwrite: the old row does not count; opkit.ops replaces rows only."""
    x, rows = paddle.ones([3, 1]), paddle.to_tensor(np.array([[2.0], [3.0], [4.0]], np.float32))
    index = paddle.to_tensor(np.array([0, 0, 2]))
    assert paddle.scatter(x, index, rows, overwrite=False).numpy().ravel().tolist() == [5, 1, 4]
    with pytest.raises(TypeError):
        ops.scatter(x, index, rows, overwrite=False)  # type: ignore[call-arg]


def test_only_paddle_makes_an_assertion_error_of_an_equation() -> None:
    """opkit.ops raises a UsageError, which paddle.einsum makes an AssertionError too."""
    with pytest.raises(AssertionError, match="has 2 terms"):
        paddle.einsum("ij,jk->ik", paddle.ones([2, 2]))
    with pytest.raises(UsageError) as caught:
        ops.einsum("ij,jk->ik", [_ones(2, 2)])
    assert not isinstance(caught.value, AssertionError)
