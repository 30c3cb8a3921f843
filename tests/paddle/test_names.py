"""Names: what opkit lacks says so; what it has agrees with numpy, in dynamic and in static mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
import opkit.paddle.nn.functional as F
from opkit.errors import AutogradError, MissingNameError
from opkit.paddle.tensor.methods import UNSUPPORTED


# ---- names that are not there ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_a_method_that_opkit_lacks_says_so(name: str) -> None:
    """Getting it raises an AttributeError that names it; hasattr is False; dir does not list it."""
    x = paddle.to_tensor([1.0])
    with pytest.raises(MissingNameError, match=f"opkit has no Tensor.{name} "):
        getattr(x, name)
    assert not hasattr(x, name)
    assert not hasattr(paddle.Tensor, name)
    assert name not in dir(x)


def test_a_missing_method_offers_the_nearest() -> None:
    """The help line names what opkit has."""
    with pytest.raises(AttributeError) as caught:
        paddle.to_tensor([1.0]).is_sparse_csr  # noqa: B018
    assert "Tensor.is_sparse" in str(caught.value)


def test_an_attribute_of_that_name_can_be_set() -> None:
    """A user's own attribute goes before the message."""
    x = paddle.to_tensor([1.0])
    x.offset = 3
    assert x.offset == 3


def test_a_static_variable_says_so_too() -> None:
    """A Variable has the same methods, and the same message for those that are missing."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [2], "float32")
            with pytest.raises(MissingNameError, match="stft"):
                x.stft()
    finally:
        paddle.disable_static()


# ---- against numpy ---------------------------------------------------------------------------------------------------
def _rng() -> np.random.Generator:
    return np.random.default_rng(4)


X = _rng().normal(size=(3, 4))
Y = _rng().uniform(0.5, 2, size=(3, 4))
S = _rng().normal(size=(3, 3)) + 3 * np.eye(3)

#: name -> (opkit's, numpy's, inputs)
ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]] = {
    "fmax": (paddle.fmax, np.fmax, [X, Y]),
    "fmin": (paddle.fmin, np.fmin, [X, Y]),
    "heaviside": (paddle.heaviside, np.heaviside, [X, Y]),
    "deg2rad": (paddle.deg2rad, np.deg2rad, [X]),
    "rad2deg": (paddle.rad2deg, np.rad2deg, [X]),
    "frac": (paddle.frac, lambda x: x - np.trunc(x), [X]),
    "kron": (paddle.kron, np.kron, [X, Y]),
    "inner": (paddle.inner, np.inner, [X, Y]),
    "cross": (lambda x, y: paddle.cross(x, y, axis=0), lambda x, y: np.cross(x, y, axis=0), [X, Y]),
    "tensordot": (lambda x, y: paddle.tensordot(x, y, [[0], [0]]), lambda x, y: np.tensordot(x, y, [[0], [0]]), [X, Y]),
    "einsum": (lambda x, y: paddle.einsum("ij,kj->ki", x, y), lambda x, y: np.einsum("ij,kj->ki", x, y), [X, Y]),
    "diff": (lambda x: paddle.diff(x, n=2), lambda x: np.diff(x, n=2), [X]),
    "diagonal": (lambda x: paddle.diagonal(x, 1), lambda x: np.diagonal(x, 1), [X]),
    "quantile": (lambda x: paddle.quantile(x, 0.3, 1), lambda x: np.quantile(x, 0.3, 1), [X]),
    "nanmean": (paddle.nanmean, np.nanmean, [np.where(X > 1, np.nan, X)]),
    "nan_to_num": (paddle.nan_to_num, np.nan_to_num, [np.where(X > 1, np.nan, X)]),
    "trapezoid": (paddle.trapezoid, np.trapezoid, [X]),
    "inv": (paddle.linalg.inv, np.linalg.inv, [S]),
    "det": (paddle.linalg.det, np.linalg.det, [S]),
    "solve": (paddle.linalg.solve, np.linalg.solve, [S, X]),
    "pinv": (paddle.linalg.pinv, np.linalg.pinv, [X]),
    "matrix_power": (lambda x: paddle.linalg.matrix_power(x, -3), lambda x: np.linalg.matrix_power(x, -3), [S]),
    "logcumsumexp": (lambda x: paddle.logcumsumexp(x, 1), lambda x: np.logaddexp.accumulate(x, 1), [X]),
    "unfold": (lambda x: x.unfold(1, 2, 1), lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1), [X]),
    "svd": (lambda x: paddle.linalg.svd(x)[1], lambda x: np.linalg.svd(x)[1], [X]),
}


@pytest.mark.parametrize("name", ROWS)
def test_values_are_numpys(name: str) -> None:
    """In float64, dynamic mode agrees with numpy."""
    ours, theirs, inputs = ROWS[name]
    found = ours(*[paddle.to_tensor(array) for array in inputs])
    np.testing.assert_allclose(found.numpy(), theirs(*inputs), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ROWS)
def test_a_program_computes_the_same(name: str) -> None:
    """The same call in a static program, sizes known, gives the dynamic values and gradients."""
    ours, _, inputs = ROWS[name]
    values = [paddle.to_tensor(array, stop_gradient=False) for array in inputs]
    result = ours(*values)
    result.sum().backward()
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            feeds = [paddle.static.data(f"x{i}", array.shape, "float64") for i, array in enumerate(inputs)]
            for feed in feeds:
                feed.stop_gradient = False
            # to_tensor and full inside the call make Variables here
            out = ours(*feeds)
            grads = paddle.static.gradients([paddle.sum(out)], feeds)
        fetched = [grad for grad in grads if grad is not None]
        run = paddle.static.Executor().run(
            main, {f"x{i}": array for i, array in enumerate(inputs)}, [out, *fetched]
        )
    finally:
        paddle.disable_static()
    np.testing.assert_array_equal(run[0], result.numpy())
    held = [value.grad.numpy() for value, grad in zip(values, grads) if grad is not None]
    for static, dynamic in zip(run[1:], held, strict=True):
        np.testing.assert_allclose(static, dynamic, rtol=1e-12, atol=1e-12)


# ---- what has no gradient --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        lambda x: paddle.linalg.eigvals(x),
        lambda x: paddle.put_along_axis(x, paddle.to_tensor([[0, 1, 2]]), paddle.ones([1, 3], "float64"), 0, "mul"),
    ],
)
def test_a_gradient_that_is_missing_is_an_error(function: Callable[..., Any]) -> None:
    """A value without a gradient rule is not silently constant."""
    x = paddle.to_tensor(S, stop_gradient=False)
    y = function(x)
    with pytest.raises(AutogradError, match="has no gradient"):
        paddle.autograd.backward([y], [paddle.to_tensor(np.ones(y.shape, y.numpy().dtype))])


# ---- random ----------------------------------------------------------------------------------------------------------
def test_random_fills_follow_their_distributions() -> None:
    """Means of the in-place draws are where they should be."""
    paddle.seed(0)
    x = paddle.zeros([20000])
    assert abs(float(x.uniform_(0.0, 4.0).mean()) - 2) < 0.05
    assert abs(float(x.normal_(3.0, 2.0).mean()) - 3) < 0.05
    assert abs(float(paddle.poisson(paddle.full([20000], 4.0)).mean()) - 4) < 0.05


def test_a_state_of_the_generator_comes_back() -> None:
    """set_rng_state makes the same numbers come again."""
    state = paddle.get_rng_state()
    first = paddle.randn([4]).tolist()
    paddle.set_rng_state(state)
    assert paddle.randn([4]).tolist() == first


def test_gumbel_softmax_keeps_its_means() -> None:
    """It draws each class by its probability."""
    paddle.seed(0)
    drawn = F.gumbel_softmax(paddle.log(paddle.to_tensor([0.2, 0.8])).expand([20000, 2]), hard=True)
    assert abs(float(drawn[:, 1].mean()) - 0.8) < 0.02


# ---- optimizers ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["Adamax", "Adadelta", "Lamb"])
def test_an_optimizer_does_the_same_in_a_program(kind: str) -> None:
    """Three steps in static mode leave the parameter where three dynamic ones do."""
    start = np.array([1.0, -2.0, 0.5], np.float32)
    w = paddle.create_parameter([3], "float32", default_initializer=paddle.nn.initializer.Assign(start))
    optimizer = getattr(paddle.optimizer, kind)(0.1, parameters=[w])
    for _ in range(3):
        (w * w).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            v = paddle.create_parameter([3], "float32", default_initializer=paddle.nn.initializer.Assign(start))
            getattr(paddle.optimizer, kind)(0.1).minimize(paddle.sum(v * v))
        executor = paddle.static.Executor()
        executor.run(startup)
        for _ in range(3):
            executor.run(main)
        (held,) = executor.run(main.clone(for_test=True), fetch_list=[v])
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(held, w.numpy(), rtol=1e-6)


# ---- layers in a program ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: paddle.nn.GroupNorm(2, 4), (2, 4, 3)),
        (lambda: paddle.nn.InstanceNorm2D(3), (2, 3, 2, 2)),
        (lambda: paddle.nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 2, 2)),
        (lambda: paddle.nn.LSTM(3, 2), (2, 4, 3)),
        (lambda: paddle.nn.TransformerEncoderLayer(4, 2, 8, 0.0), (2, 3, 4)),
        (lambda: paddle.nn.PixelShuffle(2), (1, 4, 2, 2)),
        (lambda: paddle.nn.Unfold(2), (1, 2, 3, 3)),
    ],
)
def test_a_layer_computes_the_same_in_a_program(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    """Built in static mode with the same parameters, a layer gives the dynamic values."""
    x = _rng().normal(size=shape).astype(np.float32)
    layer = make()
    expected = layer(paddle.to_tensor(x))
    expected = expected[0] if isinstance(expected, tuple) else expected
    held = [parameter.numpy() for parameter in layer.parameters()]
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            twin = make()
            out = twin(paddle.static.data("x", shape, "float32"))
            out = out[0] if isinstance(out, tuple) else out
        executor = paddle.static.Executor()
        executor.run(startup)
        for parameter, value in zip(twin.parameters(), held, strict=True):
            parameter.set_value(value)
        (found,) = executor.run(main, {"x": x}, [out])
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)
