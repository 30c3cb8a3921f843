"""Model updates: each device changes its part of a variable and of its state.

Source: OneFlow v0.4.0, user/ops/model_update_ops.cpp.
"""

from __future__ import annotations

from opkit.distribute.way import Facts, Way, Ways
from opkit.sharding import BROADCAST, split


def _update(facts: Facts) -> Ways:
    """Model, gradient and state are split alike; the rate is whole."""
    for axis in range(facts.rank):
        inputs = tuple(
            None if shape is None else BROADCAST if index == 2 else split(axis)
            for index, shape in enumerate(facts.inputs)
        )
        yield Way(inputs, ())


def _assign(facts: Facts) -> Ways:
    for axis in range(facts.rank):
        yield Way((split(axis), split(axis)), ())


RULES = {
    **dict.fromkeys(("sgd_update", "momentum_update", "adam_update", "rmsprop_update"), _update),
    "assign": _assign,
}
