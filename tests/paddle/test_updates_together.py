"""Optimizers: small parameters that are updated together change as each alone does, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.ops.core.observers import observe

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"weight_decay": 0.01},
    "Momentum": {"use_nesterov": True},
    "Adagrad": {"learning_rate": 0.1, "initial_accumulator_value": 0.5},
    "Adadelta": {},
    "RMSProp": {"learning_rate": 0.1, "centered": True, "momentum": 0.5},
    "Adam": {},
    "AdamW": {"apply_decay_param_fun": lambda name: name.endswith("a")},
    "Adamax": {},
    "Lamb": {},
}
SHAPES = [(3, 4), (5,), (1,), (2, 2, 2), (200, 200), (4,)]


def trained(kind: str, *, is_observed: bool) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Return the parameters and the states after some steps, the last without one gradient; and the updates seen."""
    rng = np.random.default_rng(0)
    parameters = []
    for index, shape in enumerate(SHAPES):
        parameter = paddle.create_parameter(list(shape), "float64" if index == 5 else "float32")
        parameter.name = f"{index}{'ab'[index % 2]}"
        parameter.set_value(rng.normal(size=shape).astype(parameter._data.dtype))
        parameters.append(parameter)
    optimizer = getattr(paddle.optimizer, kind)(parameters=parameters, **OPTIMIZERS[kind])
    seen = []
    for step in range(4):
        for index, parameter in enumerate(parameters):
            parameter._grad = None
            if step < 3 or index:
                parameter.grad = paddle.to_tensor(rng.normal(size=SHAPES[index]).astype(parameter._data.dtype))
        if is_observed:
            with observe(lambda op, inputs, attrs, outputs, seconds: seen.append(op.name)):
                optimizer.step()
        else:
            optimizer.step()
    states = [tensor.numpy() for name, tensor in sorted(optimizer.state_dict().items())]
    return [parameter.numpy() for parameter in parameters], states, len(seen)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_parameters_updated_together_change_as_alone(kind: str) -> None:
    """Values and states are those of updates one by one, which is what an observer sees."""
    values, states, _ = trained(kind, is_observed=False)
    alone, states_alone, seen = trained(kind, is_observed=True)
    assert seen == 4 * len(SHAPES) - 1
    for found, wanted in zip([*values, *states], [*alone, *states_alone], strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_update_of_small_parameters_is_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters of one dtype with equal options are given to the update laid end to end."""
    sizes: list[int] = []

    def run(op: Any, arrays: Any, options: Any) -> None:
        sizes.append(arrays[0].size)
        op.kernel(*arrays, **options)

    monkeypatch.setattr("opkit.paddle.optimizer.optimizer.run_kernel", run)
    parameters = [paddle.create_parameter([3, 4], "float32"), paddle.create_parameter([5], "float32")]
    for parameter in parameters:
        parameter.grad = paddle.ones_like(parameter)
    paddle.optimizer.Adam(parameters=parameters).step()
    assert sizes == [17]
