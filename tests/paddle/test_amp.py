"""``paddle.amp``: nothing is cast on the CPU; the scaler of losses does its arithmetic."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import AutogradError, UsageError
from opkit.paddle.amp import casting


def _net() -> tuple[Any, Any]:
    net = paddle.nn.Linear(2, 1, weight_attr=paddle.nn.initializer.Constant(1.0), bias_attr=False)
    return net, paddle.optimizer.SGD(1.0, parameters=net.parameters())


def _scaled_step(scaler: Any, net: Any, optimizer: Any, is_finite: bool = True) -> None:
    scaler.scale(net(paddle.ones([1, 2])).sum()).backward()
    if not is_finite:
        net.weight.grad.set_value(np.full((2, 1), np.inf, "float32"))
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()


# ---- casting ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", ["O0", "OD", "O1", "O2"])
def test_auto_cast_keeps_float32(level: str) -> None:
    """As on Paddle 2.6.2's CPU, at every level."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with paddle.amp.auto_cast(level=level):
            assert paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype == paddle.float32


def test_it_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first use warns, at the script's line; the next does not."""
    monkeypatch.setattr(casting, "_told", set())
    with pytest.warns(UserWarning, match="no effect on the CPU") as caught, paddle.amp.auto_cast():
        pass
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with paddle.amp.auto_cast():
            pass
        with paddle.amp.auto_cast(enable=False):
            pass


def test_casting_checks_its_arguments() -> None:
    """Levels, dtypes and lists that contradict each other are refused (ValueError, as in Paddle)."""
    for options in ({"level": "O9"}, {"dtype": "int8"}, {"custom_white_list": ["relu"], "custom_black_list": ["relu"]}):
        with pytest.raises(ValueError, match=r"amp:|auto_cast"), paddle.amp.auto_cast(**options):  # type: ignore[arg-type]
            pass
    with pytest.raises(UsageError, match="level"):
        paddle.amp.decorate(paddle.nn.Linear(1, 1), level="O0")


def test_decorate_hands_back_what_it_gets() -> None:
    """A network alone, or with its optimizer; parameters stay float32."""
    net, optimizer = _net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert paddle.amp.decorate(net, level="O2") is net
        assert paddle.amp.decorate(net, optimizer, level="O2") == (net, optimizer)
    assert net.weight.dtype == paddle.float32


def test_bfloat16_is_a_name() -> None:
    """It can be compared with a Tensor's dtype; no Tensor has it."""
    assert paddle.ones([1]).dtype != paddle.bfloat16
    assert paddle.bfloat16 == paddle.bfloat16
    assert repr(paddle.bfloat16) == "paddle.bfloat16"
    assert not paddle.amp.is_bfloat16_supported()
    for make in (lambda: paddle.ones([1], paddle.bfloat16), lambda: paddle.ones([1]).astype("bfloat16")):
        with pytest.raises(TypeError, match="bfloat16"):
            make()


# ---- the scaler ------------------------------------------------------------------------------------------------------
def test_a_scaled_step_is_the_plain_step() -> None:
    """The factor on the loss is divided out of the gradients."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
    scaled = scaler.scale(net(paddle.ones([1, 2])).sum())
    assert float(scaled) == 2048.0
    scaled.backward()
    assert net.weight.grad.tolist() == [[1024.0], [1024.0]]
    scaler.unscale_(optimizer)
    assert net.weight.grad.tolist() == [[1.0], [1.0]]
    scaler.step(optimizer)
    assert net.weight.tolist() == [[0.0], [0.0]]


def test_the_factor_grows_after_finite_steps() -> None:
    """After ``incr_every_n_steps`` of them, and the count begins anew."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_ratio=4.0, incr_every_n_steps=2)
    factors = []
    for _ in range(4):
        _scaled_step(scaler, net, optimizer)
        factors.append(float(scaler.state_dict()["scale"][0]))
    assert factors == [8.0, 32.0, 32.0, 128.0]


def test_a_step_that_is_not_finite_is_left_out() -> None:
    """The parameters stay, and after ``decr_every_n_nan_or_inf`` such steps the factor shrinks."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, decr_every_n_nan_or_inf=2, incr_every_n_steps=2)
    before = net.weight.tolist()
    _scaled_step(scaler, net, optimizer)
    moved = net.weight.tolist()
    assert moved != before
    for factor in (8.0, 4.0):
        _scaled_step(scaler, net, optimizer, is_finite=False)
        assert net.weight.tolist() == moved
        assert float(scaler.state_dict()["scale"][0]) == factor
    assert scaler.state_dict()["incr_count"] == 0


def test_minimize_is_unscale_step_and_update() -> None:
    """The optimizer's step is taken once and the factor updated."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=1)
    loss = scaler.scale(net(paddle.ones([1, 2])).sum())
    loss.backward()
    scaler.minimize(optimizer, loss)
    assert net.weight.tolist() == [[0.0], [0.0]]
    assert float(scaler.state_dict()["scale"][0]) == 16.0


def test_the_order_of_calls_is_checked() -> None:
    """Unscaling twice, stepping twice, unscaling after the step (RuntimeError, as in Paddle)."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler()
    scaler.scale(net(paddle.ones([1, 2])).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(AutogradError, match="twice"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(AutogradError, match="twice"):
        scaler.step(optimizer)
    with pytest.raises(AutogradError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(TypeError, match="takes a Tensor"):
        scaler.scale(3.0)


def test_a_scaler_that_is_off_does_nothing() -> None:
    """Losses pass, steps are taken, the state is empty."""
    net, optimizer = _net()
    scaler = paddle.amp.GradScaler(enable=False)
    _scaled_step(scaler, net, optimizer)
    assert net.weight.tolist() == [[0.0], [0.0]]
    assert scaler.state_dict() == {}
    assert not scaler.is_enable()


def test_its_state_is_restored() -> None:
    """Factor, rule and counts."""
    net, optimizer = _net()
    first = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=3)
    _scaled_step(first, net, optimizer)
    second = paddle.amp.GradScaler()
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == first.state_dict()
    with pytest.raises(RuntimeError, match="empty"):
        second.load_state_dict({})


def test_ratios_are_checked() -> None:
    """A ratio on the wrong side of 1 is an AssertionError, as in Paddle."""
    for options in ({"incr_ratio": 1.0}, {"decr_ratio": 1.0}):
        with pytest.raises(AssertionError, match="ratio must be"):
            paddle.amp.GradScaler(**options)
