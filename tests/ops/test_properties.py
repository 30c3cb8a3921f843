"""Properties of the built-in ops over random shapes, slices and geometries."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.errors import ShapeError
from opkit.ir import TensorDesc

small = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
numbers = st.floats(-4, 4, width=64)


def arrays(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def tensor(array: np.ndarray) -> Tensor:
    return Tensor(array, stop_gradient=False)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=4), st.integers(0, 99))
@settings(deadline=None, max_examples=80)
def test_broadcast_operands_get_gradients_of_their_shapes(shapes: Any, seed: int) -> None:
    """The gradient of an operand that was broadcast is the cotangent summed to its shape."""
    x, y = (tensor(arrays(shape, seed + i)) for i, shape in enumerate(shapes.input_shapes))
    z = ops.mul(x, y)
    assert z._data.shape == shapes.result_shape
    weight = arrays(shapes.result_shape, seed + 7)
    dx, dy = grad([z], [x, y], [Tensor(weight)])
    for found, own, other in ((dx, x, y), (dy, y, x)):
        assert found._data.shape == own._data.shape
        full = weight * np.broadcast_to(other._data, shapes.result_shape)
        lead = full.ndim - own._data.ndim
        axes = (*range(lead), *(i + lead for i, n in enumerate(own._data.shape) if n == 1))
        np.testing.assert_allclose(found._data, full.sum(axes, keepdims=True).reshape(own._data.shape), atol=1e-12)


@given(small, small)
@settings(deadline=None)
def test_inference_broadcasts_as_numpy_does(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Where numpy finds a common shape inference finds it too, and where numpy refuses it refuses."""
    infer = ops.BUILTIN.get("broadcast_add").infer
    descs = [TensorDesc(first, "float32"), TensorDesc(second, "float32")]
    try:
        expected = np.broadcast_shapes(first, second)
    except ValueError:
        try:
            infer(descs, {})
        except ShapeError:
            return
        raise AssertionError(f"inference accepted {first} and {second}") from None
    assert infer(descs, {})[0].shape == expected


@given(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4), st.data())
@settings(deadline=None)
def test_split_and_concat_undo_each_other(shape: tuple[int, ...], data: st.DataObject) -> None:
    """The pieces of a tensor, joined again, are the tensor; so are their gradients."""
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    cut = data.draw(st.integers(0, size))
    x = tensor(arrays(shape, 1))
    y = ops.concat(ops.split(x, [cut, size - cut], axis), axis)
    assert np.array_equal(y._data, x._data)
    weight = arrays(shape, 2)
    assert np.array_equal(grad([y], [x], [Tensor(weight)])[0]._data, weight)


@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), st.data())
@settings(deadline=None)
def test_slices_are_numpys(shape: tuple[int, ...], data: st.DataObject) -> None:
    """The slice op reads what numpy's indexing reads, and its gradient writes there."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    part = data.draw(st.slices(shape[axis]))
    assume(part.step is None or part.step > 0)
    start, stop, step = part.indices(shape[axis])
    x = tensor(arrays(shape, 3))
    index = tuple(part if i == axis else slice(None) for i in range(len(shape)))
    y = ops.slice(x, [axis], [start], [stop], [step])
    assert np.array_equal(y._data, x._data[index])
    weight = arrays(y._data.shape, 4)
    expected = np.zeros(shape)
    expected[index] = weight
    assert np.array_equal(grad([y], [x], [Tensor(weight)])[0]._data, expected)


@given(st.integers(1, 6), st.lists(st.integers(0, 5), min_size=0, max_size=12), st.integers(0, 2))
@settings(deadline=None)
def test_gather_and_segment_sum_are_adjoint(width: int, picks: list[int], axis: int) -> None:
    """<gather(x, i), w> = <x, segment_sum(w, i)>, repeated and missing indices included."""
    shape = [width, 2, 3]
    shape[axis], shape[0] = 6, shape[axis] if axis else 6
    index = Tensor(np.array(picks, np.int64))
    x = Tensor(arrays(tuple(shape), 5))
    y = ops.gather(x, index, axis)
    weight = arrays(y._data.shape, 6)
    summed = ops.unsorted_segment_sum(Tensor(weight), index, 6, axis)
    np.testing.assert_allclose((y._data * weight).sum(), (x._data * summed._data).sum(), atol=1e-10)


@given(
    size=st.tuples(st.integers(3, 7), st.integers(3, 7)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    groups=st.sampled_from([1, 2]),
    last=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_the_three_products_of_a_convolution_are_adjoint(
    size: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, groups: int, last: bool
) -> None:
    """<conv(x, w), g> = <x, dx> = <w, dw> for every geometry."""
    assume(all(n + 2 * p > d * (k - 1) for n, p, d, k in zip(size, padding, dilations, kernel)))
    x, w = arrays((2, 4, *size), 8), arrays((6, 4 // groups, *kernel), 9)
    if last:
        x, w = np.moveaxis(x, 1, -1).copy(), np.moveaxis(w, 1, -1).copy()
    values = [tensor(x), tensor(w)]
    layout = "channels_last" if last else "channels_first"
    y = ops.conv(*values, None, strides, padding, dilations, groups, layout)
    g = arrays(y._data.shape, 10)
    dx, dw = grad([y], values, [Tensor(g)])
    inner = (y._data * g).sum()
    np.testing.assert_allclose((dx._data * x).sum(), inner, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((dw._data * w).sum(), inner, rtol=1e-9, atol=1e-9)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-700, 700)))
@settings(deadline=None)
def test_softmax_is_a_distribution(x: np.ndarray) -> None:
    """Rows are not negative, sum to 1, and agree with exp(log_softmax)."""
    y = ops.softmax(Tensor(x))._data
    assert (y >= 0).all()
    np.testing.assert_allclose(y.sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(ops.log_softmax(Tensor(x))._data), y, rtol=1e-9, atol=1e-300)


@given(st.lists(numbers, min_size=1, max_size=8))
@settings(deadline=None)
def test_blocks_change_no_bit(values: list[float]) -> None:
    """What is computed block by block is bit-equal to the same elements computed alone."""
    few = np.array(values)
    many = np.resize(few, 70_000)
    for build in (ops.gelu, ops.sigmoid, ops.silu, ops.elu):
        whole = build(Tensor(many))._data
        assert np.array_equal(whole[: few.size], build(Tensor(many[: few.size].copy()))._data)
        assert np.array_equal(whole, np.resize(whole[: few.size], many.size))
