"""Groups of parameters, and parameters with a rate or a regularizer of their own. Facts of Paddle 2.6.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle import nn, optimizer
from opkit.paddle.regularizer import L1Decay, L2Decay


def _parameter(values: list[float], rate: float = 0.5, regularizer: Any = None) -> Any:
    start = nn.initializer.Assign(np.array(values, "float32"))
    attr = paddle.ParamAttr(learning_rate=rate, regularizer=regularizer, initializer=start)
    return paddle.create_parameter([len(values)], "float32", attr=attr)


def _trained(made: Callable[[Any], Any], regularizer: Any = None, **group: Any) -> list[float]:
    """Return parameters of two groups after two steps; the first group has options of its own."""
    w = _parameter([1.0, -2.0, 3.0], regularizer=regularizer)
    b = _parameter([0.5], regularizer=regularizer)
    chosen = made([{"params": [w], **group}, {"params": [b]}])
    for step in range(2):
        ((w * w).sum() * (step + 1) + b * b * 2).backward()
        chosen.step()
        chosen.clear_grad()
    return [round(float(value), 5) for value in [*w.numpy(), *b.numpy()]]


MADE: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda groups: optimizer.SGD(0.1, groups),
    "sgd with decay": lambda groups: optimizer.SGD(0.1, groups, weight_decay=0.3),
    "momentum": lambda groups: optimizer.Momentum(0.1, 0.9, groups),
    "adam": lambda groups: optimizer.Adam(0.1, parameters=groups, weight_decay=0.3),
    "adamw": lambda groups: optimizer.AdamW(0.1, parameters=groups),
    "lamb": lambda groups: optimizer.Lamb(0.1, parameters=groups),
}


@pytest.mark.parametrize(
    ("kind", "group", "expected"),
    [
        # The rate of the parameter, 0.5, and its regularizer are replaced by the group's, or by the defaults.
        ("sgd", {}, [0.48, -0.96, 1.44, 0.18]),
        ("sgd", {"learning_rate": 0.1}, [0.9408, -1.8816, 2.8224, 0.18]),
        ("sgd", {"weight_decay": 0.7}, [0.3869, -0.7738, 1.1607, 0.18]),
        ("sgd", {"weight_decay": L1Decay(0.7)}, [0.368, -0.848, 1.328, 0.18]),
        ("sgd", {"grad_clip": nn.ClipGradByNorm(0.1)}, [0.99465, -1.98931, 2.98396, 0.18]),
        ("sgd with decay", {}, [0.4389, -0.8778, 1.3167, 0.16245]),
        ("sgd with decay", {"weight_decay": None}, [0.4389, -0.8778, 1.3167, 0.16245]),
        ("sgd with decay", {"weight_decay": 0.0}, [0.48, -0.96, 1.44, 0.16245]),
        # Options of the update itself.
        ("momentum", {"momentum": 0.5}, [0.38, -0.76, 1.14, 0.0]),
        ("adam", {"beta1": 0.5, "epsilon": 0.1}, [0.80222, -1.79842, 2.79716, 0.30119]),
        ("lamb", {"beta1": 0.5, "epsilon": 0.1}, [0.59953, -1.58586, 2.57878, 0.405]),
        # AdamW's weight_decay is its own, and leaves the regularizer of the parameter.
        ("adamw", {}, [0.80008, -1.79858, 2.79675, 0.3003]),
        ("adamw", {"weight_decay": 0.7}, [0.67321, -1.53859, 2.40365, 0.3003]),
        ("lamb", {"weight_decay": 0.7}, [0.59072, -1.58817, 2.58469, 0.405]),
    ],
)
def test_a_group_decides(kind: str, group: dict[str, Any], expected: list[float]) -> None:
    """A group's rate, decay, clip and options hold for its parameters, and those of the optimizer where it has none."""
    assert _trained(MADE[kind], L2Decay(0.2), **group) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    ("kind", "expected"), [("adamw", [0.85124, -1.85009, 2.8487]), ("lamb", [0.69264, -1.691, 2.6884])]
)
def test_a_regularizer_of_a_parameter_holds_beside_decoupled_decay(kind: str, expected: list[float]) -> None:
    """AdamW and Lamb add a parameter's own regularizer to its gradient."""
    w = _parameter([1.0, -2.0, 3.0], regularizer=L2Decay(0.2))
    chosen = {"adamw": optimizer.AdamW, "lamb": optimizer.Lamb}[kind](0.1, parameters=[w])  # type: ignore[operator]
    for step in range(3):
        ((w * w).sum() * (step + 1)).backward()
        chosen.step()
        chosen.clear_grad()
    assert w.numpy().tolist() == pytest.approx(expected, abs=2e-5)


def test_graphs_add_it_too() -> None:
    """In a graph AdamW adds a parameter's own regularizer as it does in dynamic mode."""

    def trained() -> np.ndarray:
        w = _parameter([1.0, -2.0], regularizer=L1Decay(0.5))
        loss = (w * w).sum()
        chosen = optimizer.AdamW(0.1, parameters=None if static else [w])
        if not static:
            for _ in range(2):
                (w * w).sum().backward()
                chosen.step()
                chosen.clear_grad()
            return w.numpy()  # type: ignore[no-any-return]
        chosen.minimize(loss)
        executor = paddle.static.Executor()
        executor.run(paddle.static.default_startup_program())
        for _ in range(2):
            executor.run()
        return np.array(paddle.static.global_scope().find_var(w.name).get_tensor())

    static = False
    dynamic = trained()
    static = True
    paddle.enable_static()
    try:
        with (
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            assert trained() == pytest.approx(dynamic, abs=1e-6)
    finally:
        paddle.disable_static()


def test_a_parameter_is_in_one_group() -> None:
    """Two groups with one parameter are refused."""
    w = _parameter([1.0])
    with pytest.raises(ValueError, match="two groups"):
        optimizer.SGD(0.1, [{"params": [w]}, {"params": w}])


def test_what_is_not_a_clip_is_refused() -> None:
    """grad_clip, and the scheduler of set_lr_scheduler, are what they say."""
    with pytest.raises(TypeError, match="ClipGradBy"):
        optimizer.SGD(0.1, [_parameter([1.0])], grad_clip=3)
    with pytest.raises(TypeError, match="LRScheduler"):
        optimizer.SGD(0.1, [_parameter([1.0])]).set_lr_scheduler(0.1)  # type: ignore[arg-type]


class Halved(nn.clip.ClipGradBase):
    """A clip of a user's."""

    def _dygraph_clip(self, params_grads: Any) -> Any:
        return [(parameter, gradient / 2) for parameter, gradient in params_grads]


def test_users_clip_by_a_class_of_their_own() -> None:
    """A subclass of ClipGradBase is a clip."""
    w = _parameter([1.0], rate=1.0)
    chosen = optimizer.SGD(0.1, [w], grad_clip=Halved())
    (w * 4).sum().backward()
    chosen.step()
    assert w.numpy().tolist() == pytest.approx([0.8])
