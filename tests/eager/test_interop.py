"""numpy and Tensors: views without copies, ufuncs that keep the graph, what would lose a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.eager.methods import UFUNCS


def leaf() -> Any:
    """Return a leaf that takes a gradient."""
    return paddle.to_tensor([0.3, 0.6], stop_gradient=False)


def test_asarray_is_a_read_only_view() -> None:
    """np.asarray shares memory and refuses writes; numpy() copies."""
    x = leaf()
    view = np.asarray(x)
    assert np.shares_memory(view, x._data)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    assert not np.shares_memory(x.numpy(), x._data)
    assert np.array(x).flags.writeable


def test_to_tensor_copies_what_others_can_see() -> None:
    """A named array is copied; so is a view, a read-only view of a Tensor, and one held in a container."""
    mine = np.ones(3, np.float32)
    taken = paddle.to_tensor(mine)
    mine[0] = 9
    assert taken.numpy().tolist() == [1.0, 1.0, 1.0]
    held = [np.ones(3, np.float32)]
    taken = paddle.to_tensor(held[0])
    held[0][0] = 9
    assert taken.numpy().tolist() == [1.0, 1.0, 1.0]
    taken = paddle.to_tensor(mine[1:])
    mine[1] = 9
    assert taken.numpy().tolist() == [1.0, 1.0]
    source = paddle.ones([2])
    taken = paddle.to_tensor(np.asarray(source))
    source.fill_(5.0)
    assert taken.numpy().tolist() == [1.0, 1.0]


def test_to_tensor_copies_what_a_closure_or_attribute_holds() -> None:
    """Arrays reached through other names than a plain variable are not temporaries."""

    class Holder:
        array = np.ones(2, np.float32)

    array = np.ones(2, np.float32)

    def through_closure() -> Any:
        return paddle.to_tensor(array)

    first, second = through_closure(), paddle.to_tensor(Holder.array)
    array[0] = Holder.array[0] = 9
    assert first.numpy().tolist() == [1.0, 1.0]
    assert second.numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("ufunc", [f for f in UFUNCS if f.nin == 1 and f not in (np.arccosh, np.logical_not)])
def test_ufuncs_of_one_operand_keep_value_and_graph(ufunc: Any) -> None:
    """np.f(Tensor) is a Tensor with numpy's values, and differentiates where the op does."""
    x = leaf()
    result = ufunc(x)
    np.testing.assert_allclose(np.asarray(result), ufunc(np.asarray(x)), rtol=1e-6)
    if result.dtype == paddle.float32 and not result.stop_gradient:
        result.sum().backward()
        assert x.grad.shape == [2]


def test_operators_with_arrays_on_either_side() -> None:
    """Array and Tensor meet in a Tensor that keeps the graph."""
    x = leaf()
    for result in (
        np.ones(2, "float32") * x,
        x * np.ones(2, "float32"),
        np.float32(2) * x,
        np.ones((2, 2), "float32") @ x,
    ):
        assert isinstance(result, paddle.Tensor)
        assert not result.stop_gradient


def test_a_ufunc_without_an_op_would_lose_the_gradient() -> None:
    """It is a TypeError that names the ufunc; on a Tensor without gradient it just computes."""
    with pytest.raises(TypeError, match=r"numpy\.hypot has no op"):
        np.hypot(leaf(), 1.0)
    with pytest.raises(TypeError, match=r"numpy\.add"):
        np.add.reduce(leaf())
    assert isinstance(np.hypot(paddle.ones([2]), 1.0), np.ndarray)
    with paddle.no_grad():
        assert np.hypot(leaf(), 1.0).shape == (2,)


def test_python_values() -> None:
    """float, int, bool, index, len, iteration and item of small Tensors."""
    one = paddle.to_tensor(2)
    assert (float(one), int(one), bool(one), [0, 1, 5][one], one.item()) == (2.0, 2, True, 5, 2)
    assert [t.item() for t in paddle.to_tensor([1, 2])] == [1, 2]
    with pytest.raises(TypeError, match="one element"):
        float(paddle.ones([2]))
    with pytest.raises(ValueError, match="item"):
        paddle.ones([2]).item()
