"""Formats: a function of JAX, and its gradient, in any floating-point format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from opkit.verify.subjects.jax.arrays import is_open
from opkit.verify.subjects.jax.half import HalfRunner, values_of


def in_format(
    runner: HalfRunner,
    arrays: Mapping[str, Any],
    attrs: Mapping[str, Any],
    douts: Sequence[np.ndarray] | None,
    format: str,
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Run a function in a format; see ``opkit.checker.model.reference.InFormat``."""
    dtype = np.dtype(getattr(jax.numpy, format))
    with jax.enable_x64(format == "float64"):
        leaves, places = runner.flat(arrays)
        leaves = [leaf.astype(dtype) if leaf.dtype.kind == "f" else leaf for leaf in leaves]
        outputs = values_of(runner, runner.function_of(places, attrs), *leaves)
        wide = [item.astype(np.float64) if is_open(item) else item for item in outputs]
        if douts is None:
            return wide, {}
        opened = runner.open_places(leaves, places)
        given = [douts[index] if index < len(douts) else np.zeros(item.shape) for index, item in enumerate(outputs)]
        seeds = [seed.astype(item.dtype) for seed, item in zip(given, outputs) if is_open(item)]
        found = values_of(runner, runner.gradient_of(places, attrs, opened), leaves, seeds)
    gradients: dict[str, Any] = {}
    for place, item in zip(opened, found):
        name, index = places[place]
        if index is None:
            gradients[name] = item.astype(np.float64)
        else:  # every leaf of a list has its place
            gradients.setdefault(name, [None] * len(arrays[name]))[index] = item.astype(np.float64)
    return wide, gradients
