"""Model updates: each device changes its part of a variable and of its state.

Source: OneFlow v0.4.0, user/ops/model_update_ops.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.distribute.way import Facts, Way
from opkit.sharding import BROADCAST, split


def _update(facts: Facts) -> Iterator[Way]:
    """Model, gradient and state are split alike; the rate is whole."""
    model = facts.given(0)
    for axis in range(len(model)):
        inputs = tuple(
            None if shape is None else BROADCAST if index == 2 else split(axis)
            for index, shape in enumerate(facts.inputs)
        )
        yield Way(inputs, ())


def _assign(facts: Facts) -> Iterator[Way]:
    for axis in range(len(facts.given(0))):
        yield Way((split(axis), split(axis)), ())


RULES = {
    "sgd_update": _update,
    "momentum_update": _update,
    "adam_update": _update,
    "rmsprop_update": _update,
    "assign": _assign,
}
