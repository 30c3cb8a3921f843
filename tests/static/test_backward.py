"""Gradients in graphs: append_backward, gradients, their names, and what takes none."""

from __future__ import annotations

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import static
from opkit.errors import ShapeError, UsageError
from tests.static.nets import X, fed, made, py_tanh, run


def test_gradients_of_everything_between_are_fetchable() -> None:
    """After append_backward each Variable on the way has its gradient as NAME@GRAD."""
    x = fed()
    y = x * x
    z = y + 1.0
    static.append_backward(paddle.mean(z + y))
    found = run(fetch=["x@GRAD", f"{y.name}@GRAD", f"{z.name}@GRAD"])
    np.testing.assert_allclose(found[0], 4 * X / 6, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.full((2, 3), 2 / 6), rtol=1e-6)
    np.testing.assert_allclose(found[2], np.full((2, 3), 1 / 6), rtol=1e-6)


def test_append_backward_returns_parameters_with_gradients() -> None:
    """Pairs of parameters and gradients come back; an untrainable parameter is left out."""
    x = fed(stops=True)
    y = paddle.static.nn.fc(x, 2, bias_attr=paddle.ParamAttr(trainable=False))
    pairs = static.append_backward(paddle.mean(y))
    assert [(parameter.name, gradient.name) for parameter, gradient in pairs] == [("fc_0.w_0", "fc_0.w_0@GRAD")]
    np.testing.assert_allclose(run(fetch=[pairs[0][1]])[0], np.repeat(X.sum(0)[:, None] / 4, 2, 1), rtol=1e-6)


def test_parameter_list_and_no_grad_set() -> None:
    """Only listed parameters are returned; nothing flows through Variables of no_grad_set."""
    x = fed(stops=True)
    hidden = paddle.static.nn.fc(x, 2)
    loss = paddle.mean(paddle.static.nn.fc(hidden, 2))
    assert [p.name for p, _ in static.append_backward(loss, ["fc_1.w_0"])] == ["fc_1.w_0"]
    assert [p.name for p, _ in static.append_backward(loss, no_grad_set={hidden.name})] == ["fc_1.w_0", "fc_1.b_0"]


def test_what_takes_no_gradient() -> None:
    """gradients() leaves out inputs that stop it and inputs that the target does not depend on."""
    x, y = fed(stops=True), fed("y")
    loss = paddle.mean(paddle.static.nn.fc(x, 2))
    assert paddle.static.gradients(loss, [x, y]) == []
    assert static.gradients(loss, [x, y]) == [None, None]


def test_several_targets_and_their_weights() -> None:
    """Gradients of several targets are summed, weighted by target_gradients."""
    x, w = fed(), fed("w", stops=True)
    (plain,) = paddle.static.gradients([x * x, x * 3.0], [x])
    (weighted,) = paddle.static.gradients(x * x, x, target_gradients=w)
    found = run({"x": X, "w": X + 1}, [plain, weighted])
    np.testing.assert_allclose(found[0], 2 * X + 3, rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * X * (X + 1), rtol=1e-6)


def test_gradients_of_gradients() -> None:
    """Built-in ops are differentiated again and again."""
    x = fed()
    (first,) = paddle.static.gradients(x * x * x, x)
    (second,) = paddle.static.gradients(first, x)
    (third,) = paddle.static.gradients(second, x)
    found = run(fetch=[first, second, third])
    for array, expected in zip(found, (3 * X**2, 6 * X, np.full_like(X, 6))):
        np.testing.assert_allclose(array, expected, rtol=1e-5)


def test_gradients_of_a_variable_inside() -> None:
    """The gradient of a Variable inside the graph is found, and flows on to what is behind it."""
    x = fed()
    y = py_tanh(x, "y")
    by_y, by_x = paddle.static.gradients(paddle.sum(y * y), [y, x])
    found = run(fetch=[by_y, by_x])
    np.testing.assert_allclose(found[0], 2 * np.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * np.tanh(X) * (1 - np.tanh(X) ** 2), rtol=1e-5)


def test_setting_stop_gradient_after_building_is_too_late() -> None:
    """An output that was made while its inputs stopped gradients takes none later."""
    x = fed(stops=True)
    y = x * 2.0
    x.stop_gradient = False
    assert paddle.static.gradients(y, x) == []


def test_bad_arguments() -> None:
    """A loss that is not a Variable, wrong counts and wrong shapes are refused."""
    x = fed()
    with pytest.raises(TypeError, match="Variable as loss, got int"):
        static.append_backward(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="targets"):
        static.gradients([], [x])
    with pytest.raises(UsageError, match="1 targets and 2 target gradients"):
        static.gradients(x * 2.0, x, [x, x])
    with pytest.raises(ShapeError, match=r"has shape \(3,\)"):
        static.gradients(x * 2.0, x, made("w", (3,)))


def test_errors_in_gradient_rules_name_the_forward_line() -> None:
    """The user's line of the forward op is named where its gradient fails while it runs."""
    x = fed()

    def wrong(x: np.ndarray, out: np.ndarray, dout: np.ndarray) -> np.ndarray:
        raise KeyError("backward's own")

    static.py_func(np.tanh, x, made("o"), wrong)
    static.append_backward(paddle.mean(static.default_main_program().global_block().var("o")))
    with pytest.raises(KeyError, match="backward's own") as caught:
        run(fetch=["x@GRAD"])
    assert any("py_func_grad[wrong]" in note and __file__ in note for note in caught.value.__notes__)
