"""What the builders promise beyond shapes and derivatives: ties, promotion, extremes, messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.ir import TensorDesc
from tests.ops.cases import named


def tensor(values: Any, dtype: Any = None) -> Tensor:
    return Tensor(np.array(values, dtype), stop_gradient=False)


def gradients(build: Callable[..., Any], *values: Any) -> list[list[float]]:
    """Return the gradients of the sum of the result."""
    inputs = [tensor(value, "float64") for value in values]
    return [found._data.tolist() for found in grad([build(*inputs)], inputs) if found is not None]


# ---- ties and kinks, as Paddle 2.6.2 has them ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("build", "values", "expected"),
    [
        (ops.maximum, ([1.0, 2, 3], [1.0, 3, 2]), [[0, 0, 1], [1, 1, 0]]),
        (ops.minimum, ([1.0, 2, 3], [1.0, 3, 2]), [[0, 1, 0], [1, 0, 1]]),
        (ops.reduce_max, ([3.0, 1, 3],), [[1, 0, 1]]),
        (ops.reduce_min, ([1.0, 1, 3],), [[1, 1, 0]]),
        (ops.amax, ([3.0, 1, 3],), [[0.5, 0, 0.5]]),
        (lambda x: ops.clip(x, 1, 2), ([0.0, 1, 1.5, 2, 3],), [[0, 1, 1, 1, 0]]),
        (lambda x: ops.clip_inside(x, 1, 2), ([0.0, 1, 1.5, 2, 3],), [[0, 0, 1, 0, 0]]),
        (ops.relu, ([0.0, -1, 1],), [[0, 0, 1]]),
        (lambda x: ops.leaky_relu(x, 0.5), ([0.0, -1, 1],), [[1, 0.5, 1]]),
        (ops.abs, ([0.0, -1, 1],), [[0, -1, 1]]),
        (ops.relu6, ([0.0, 6, 7, 3],), [[0, 0, 0, 1]]),
        (ops.hardsigmoid, ([-3.0, 3],), [[0, 0]]),
        (ops.hardtanh, ([-1.0, 1, 0],), [[0, 0, 1]]),
        (ops.norm, ([0.0, 0],), [[0, 0]]),
        (lambda x: ops.pow(x, 2), ([0.0, 1],), [[0, 2]]),
        (lambda x: ops.max_pool(ops.reshape(x, (1, 1, 2, 2)), 2), ([1.0, 1, 1, 1],), [[1, 0, 0, 0]]),
    ],
)
def test_gradient_where_the_slope_jumps(build: Callable[..., Any], values: Any, expected: Any) -> None:
    """At ties and corners the gradient is Paddle 2.6.2's."""
    assert gradients(build, *values) == expected


def test_gradient_of_a_product_is_finite_at_zeros() -> None:
    """The gradient of a product is that of the others, also where an element is 0 (Paddle gives NaN)."""
    assert gradients(ops.reduce_prod, [0.0, 2, 3]) == [[6, 0, 0]]
    assert gradients(ops.reduce_prod, [0.0, 0, 3]) == [[0, 0, 0]]


def test_rounding_of_halves() -> None:
    """Paddle's round goes away from 0, OneFlow's to even."""
    halves = tensor([0.5, 1.5, 2.5, -0.5, 0.49999999999999994])
    assert ops.round(halves)._data.tolist() == [1, 2, 3, -1, 0]
    assert ops.round_half_even(halves)._data.tolist() == [0, 2, 2, 0, 0]


def test_integer_division_rounds_down() -> None:
    """``//`` and ``%`` take the divisor's sign, as Paddle 2.6.2's."""
    x, y = Tensor(np.array([-3, 3])), Tensor(np.array([2, -2]))
    assert ops.floor_div(x, y)._data.tolist() == [-2, -2]
    assert ops.floor_mod(x, y)._data.tolist() == [1, -1]


# ---- promotion -------------------------------------------------------------------------------------------------------
TWO_DTYPES = [("float32", "float64"), ("float32", "int64"), ("int32", "int64"), ("bool", "float32"), ("uint8", "int32")]
PAIRS = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_div",
    "floor_mod",
    "pow",
    "maximum",
    "equal",
    "less",
    "atan2",
    "bitwise_and",
]


@pytest.mark.parametrize(("left", "right"), TWO_DTYPES)
@pytest.mark.parametrize("build", PAIRS)
def test_tensors_of_two_dtypes_do_not_meet(build: str, left: str, right: str) -> None:
    """Builders promote nothing: the error names both operands."""
    x, y = Tensor(np.ones(2, left)), Tensor(np.ones(2, right))
    with pytest.raises(DtypeError, match=rf"{left}\[2\] and {right}\[2\]: the dtypes must be the same"):
        getattr(ops, build)(x, y)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("number", [2, 1.5, True, np.float64(1.5), np.int64(2)])
def test_a_number_takes_the_dtype_of_the_tensor(dtype: str, number: Any) -> None:
    """A Python or numpy number never widens a float tensor."""
    x = Tensor(np.ones(2, dtype))
    for build in (ops.add, ops.sub, ops.mul, ops.div, ops.maximum, ops.floor_mod):
        assert build(x, number)._data.dtype == dtype
        assert build(number, x)._data.dtype == dtype
    assert ops.pow(x, number)._data.dtype == dtype


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_stay_integers(dtype: str) -> None:
    """Sums, means, quotients and rounding keep the dtype of integers; quotients are cut off towards 0."""
    x, y = Tensor(np.array([7, -7, 6], dtype)), Tensor(np.array([2, 2, -3], dtype))
    for found, expected in (
        (ops.div(x, y), [3, -3, -2]),
        (ops.div(x, 2), [3, -3, 3]),
        (ops.div(6, y), [3, 3, -2]),
        (ops.reduce_sum(x), 6),
        (ops.reduce_mean(x), 2),
        (ops.add(x, 1), [8, -6, 7]),
        (ops.abs(x), [7, 7, 6]),
        (ops.sign(x), [1, -1, 1]),
        (ops.floor(x), [7, -7, 6]),
        (ops.round(x), [7, -7, 6]),
    ):
        assert found._data.dtype == dtype
        assert found._data.tolist() == expected


def test_functions_of_real_numbers_refuse_integers() -> None:
    """Exp of an integer tensor is an error that names the operand."""
    for build in (ops.exp, ops.tanh, ops.relu, ops.elu, ops.gelu, ops.var):
        with pytest.raises(DtypeError, match=r"got int64\[2\]: it takes floating-point tensors"):
            build(Tensor(np.array([1, 2])))


def test_a_fraction_does_not_meet_an_integer_tensor() -> None:
    """An integer tensor cannot hold 1.5, and nothing is promoted."""
    for build in (ops.add, ops.mul, ops.div, ops.pow, ops.maximum, ops.less):
        with pytest.raises(DtypeError, match=r"int64\[2\] and the number 1\.5"):
            build(Tensor(np.array([1, 2])), 1.5)


def test_a_sum_of_bools_needs_a_dtype() -> None:
    """What a sum of bools counts in is said, not guessed."""
    flags = Tensor(np.array([True, True]))
    with pytest.raises(DtypeError, match="got bool"):
        ops.reduce_sum(flags)
    assert ops.reduce_sum(flags, dtype="int64")._data == 2


def test_integers_divided_by_zero_are_an_error() -> None:
    """There is no integer for it, so none is made up."""
    x = Tensor(np.array([1, 2]))
    for build in (lambda: ops.div(x, 0), lambda: ops.div(x, Tensor(np.array([1, 0])))):
        with pytest.raises(ZeroDivisionError):
            build()


# ---- extremes --------------------------------------------------------------------------------------------------------
def test_sigmoids_do_not_overflow() -> None:
    """Far out, sigmoid, softplus and log_sigmoid have their limits, without a warning."""
    far = tensor([-1000.0, -40.0, 0.0, 40.0, 1000.0])
    np.testing.assert_allclose(ops.sigmoid(far)._data, [0, math.exp(-40), 0.5, 1, 1], rtol=1e-14)
    np.testing.assert_allclose(ops.softplus(far)._data, [0, math.exp(-40), math.log(2), 40, 1000], rtol=1e-14)
    np.testing.assert_allclose(ops.log_sigmoid(far)._data, [-1000, -40, -math.log(2), -math.exp(-40), 0], rtol=1e-14)
    assert np.isfinite(grad([ops.softplus(far)], [far])[0]._data).all()


def test_softmax_of_large_logits() -> None:
    """Softmax, log_softmax, logsumexp and cross entropies work from the maximum down."""
    logits = tensor([[1000.0, 0.0, -1000.0]])
    assert ops.softmax(logits)._data.tolist() == [[1, 0, 0]]
    assert ops.log_softmax(logits)._data.tolist() == [[0, -1000, -2000]]
    assert ops.logsumexp(logits)._data == 1000
    _, loss = ops.sparse_softmax_cross_entropy(logits, Tensor(np.array([2])))
    assert loss._data.tolist() == [2000]
    assert ops.logsumexp(tensor([-np.inf, -np.inf]))._data == -np.inf


def test_infinities_and_nan_pass_without_warnings() -> None:
    """Division by 0, log of 0 and overflow are values, not warnings."""
    x = tensor([0.0, -1.0, 1e308])
    assert ops.div(1.0, x)._data[0] == np.inf
    assert ops.log(x)._data[0] == -np.inf
    assert np.isnan(ops.sqrt(x)._data[1])
    assert ops.mul(x, 10.0)._data[2] == np.inf
    assert ops.cast(tensor([np.nan, 1e300]), "float32")._data.dtype == "float32"


@pytest.mark.parametrize(("build", "exact"), [(ops.erf, math.erf), (ops.erfc, math.erfc)])
def test_error_functions_to_the_last_places(build: Any, exact: Callable[[float], float]) -> None:
    """Both agree with the C library to 4 units in the last place over their whole range."""
    x = np.concatenate([np.linspace(-6, 26, 4001), [0.46875, 4.0, -4.0, 1e-300, 0.0]])
    expected = np.array([exact(value) for value in x])
    np.testing.assert_allclose(build(Tensor(x))._data, expected, rtol=9e-16)


def test_digamma_and_its_derivatives() -> None:
    """The value digamma(1) is -gamma, polygamma(1, 1) is pi**2/6, and the reflection holds."""
    assert ops.digamma(tensor([1.0]))._data[0] == pytest.approx(-0.5772156649015329, rel=1e-14)
    assert ops.digamma(tensor([-0.5]))._data[0] == pytest.approx(0.03648997397857652, rel=1e-12)
    assert ops.polygamma(tensor([1.0]), 1)._data[0] == pytest.approx(math.pi**2 / 6, rel=1e-14)


def test_half_sums_are_exact_to_half_precision() -> None:
    """A sum or mean of many halves does not stall where adding halves one by one would."""
    ones = Tensor(np.full((5000, 2), 0.1, "float16"))
    assert ops.reduce_sum(ones, 0)._data.tolist() == pytest.approx([500, 500], rel=2e-3)
    assert ops.reduce_mean(ones, 0)._data.tolist() == pytest.approx([0.1, 0.1], rel=2e-3)


# ---- messages --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ops.add(tensor(np.ones((2, 3))), tensor(np.ones(4))), ["broadcast_add", "[2, 3]", "[4]"]),
        (
            lambda: ops.matmul(tensor(np.ones((2, 3))), tensor(np.ones((2, 3)))),
            ["matmul", "[2, 3]", "inner sizes 3 and 2"],
        ),
        (lambda: ops.reshape(tensor(np.ones(6)), (4, -1)), ["reshape", "6 elements", "(4, -1)"]),
        (lambda: ops.transpose(tensor(np.ones((2, 3))), (0, 0)), ["transpose", "(0, 0)"]),
        (lambda: ops.reduce_sum(tensor(np.ones(2)), 3), ["reduce_sum", "axis 3"]),
        (lambda: ops.concat([tensor(np.ones((2, 3))), tensor(np.ones((3, 3)))], 1), ["concat", "[2, 3]", "[3, 3]"]),
        (lambda: ops.split(tensor(np.ones(5)), 2), ["split", "2 equal"]),
        (lambda: ops.gather(tensor(np.ones(3)), Tensor(np.array([5]))), ["gather", "index 5", "size 3"]),
        (lambda: ops.bias_add(tensor(np.ones((2, 3))), tensor(np.ones(2))), ["bias_add", "[2, 3]", "[2]"]),
        (lambda: ops.broadcast_to(tensor(np.ones(3)), (2, 4)), ["broadcast_to", "[3]", "[2, 4]"]),
        (
            lambda: ops.sparse_softmax_cross_entropy(tensor(np.ones((2, 3))), Tensor(np.array([0, 3]))),
            ["label 3", "3 classes"],
        ),
        (
            lambda: ops.conv(tensor(np.ones((1, 2, 3, 3))), tensor(np.ones((1, 2, 5, 5)))),
            ["conv2d", "kernel is larger"],
        ),
        (lambda: ops.reduce_max(tensor(np.ones((0, 2)))), ["there are no elements to choose from"]),
    ],
)
def test_shape_errors_name_the_op_and_its_operands(build: Callable[[], Any], words: list[str]) -> None:
    """Shapes that do not fit are a ShapeError, which is a ValueError, that names op and operands."""
    with pytest.raises(ShapeError) as caught:
        build()
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)


def test_dtype_errors_name_the_op_and_its_operands() -> None:
    """Nothing is promoted in matmul (Paddle 2.6); the message shows both dtypes."""
    with pytest.raises(DtypeError, match=r"matmul.*float32\[2, 2\] and float64\[2, 2\]"):
        ops.matmul(tensor(np.ones((2, 2)), "float32"), tensor(np.ones((2, 2))))
    with pytest.raises(DtypeError, match="negative"):
        ops.neg(Tensor(np.array([True])))
    with pytest.raises(DtypeError, match="labels must be integers"):
        ops.sparse_softmax_cross_entropy(tensor(np.ones((2, 3))), tensor([0.0, 1.0]))


def test_an_index_out_of_range_is_an_index_error() -> None:
    """``except IndexError`` catches it too."""
    with pytest.raises(IndexError):
        ops.gather(tensor([1.0, 2.0]), Tensor(np.array([-1])))


def test_unknown_arguments_of_a_named_op_offer_the_nearest() -> None:
    """A user's registration with a wrong name is told the right one."""
    with pytest.raises(UsageError, match="int_operand"):
        named("scalar_mul", {"in": [tensor([1.0])]}, {"int_operandd": 2})
    with pytest.raises(UsageError, match="multiply"):
        ops.BUILTIN.get("multipli")


def test_strict_ops_refuse_to_broadcast() -> None:
    """OneFlow's ``multiply`` and ``add_n`` take operands of one shape."""
    with pytest.raises(ShapeError, match="multiply"):
        ops.multiply(tensor(np.ones((2, 3))), tensor(np.ones(3)))
    with pytest.raises(ShapeError, match="add_n"):
        ops.add_n([tensor(np.ones((2, 3))), tensor(np.ones(3))])


# ---- inference with unknown sizes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "expected"),
    [
        ("broadcast_add", [(-1, 3), (3,)], {}, (-1, 3)),
        ("broadcast_add", [(-1, 1), (1, 4)], {}, (-1, 4)),
        ("broadcast_add", [(-1,), (5,)], {}, (5,)),
        ("matmul", [(-1, 3), (3, 4)], {"transpose_a": False, "transpose_b": False}, (-1, 4)),
        ("reshape", [(-1, 6)], {"shape": (-1, 2, 3)}, (-1, 2, 3)),
        ("concat", [(-1, 2), (-1, 3)], {"axis": 1}, (-1, 5)),
        ("concat", [(-1, 2), (4, 2)], {"axis": 0}, (-1, 2)),
        ("reduce_sum", [(-1, 3)], {"axis": (1,), "keepdims": True}, (-1, 1)),
        ("flatten", [(-1, 2, 3)], {"start_dim": 1, "end_dim": -1}, (-1, 6)),
        ("one_hot", [(-1,)], {"depth": 7, "dtype": "float32"}, (-1, 7)),
    ],
)
def test_unknown_sizes_propagate(op: str, shapes: Any, attrs: dict[str, Any], expected: Any) -> None:
    """-1 stays where nothing tells the size, and goes where something does."""
    dtype = "int64" if op == "one_hot" else "float32"
    (found,) = ops.BUILTIN.get(op).infer([TensorDesc(shape, dtype) for shape in shapes], attrs)
    assert found.shape == expected


def test_known_sizes_that_cannot_fit_are_refused_before_the_run() -> None:
    """Only what is known is compared."""
    infer = ops.BUILTIN.get("broadcast_add").infer
    with pytest.raises(ShapeError, match="3 and 4"):
        infer([TensorDesc((-1, 3), "float32"), TensorDesc((-1, 4), "float32")], {})
