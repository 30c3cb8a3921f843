"""Half precision against float32 (GC207), where a function of JAX takes bfloat16 or float16.

The same values run in both; only what is off in most entries is a fault, since rounding moves values across jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from opkit.checker.model.agreement import mostly_agree
from opkit.checker.model.own import Fault
from opkit.verify.subjects.foreign.halves import difference
from opkit.verify.subjects.jax.arrays import is_open
from opkit.verify.subjects.jax.device import Device

#: Values beyond this in float32 may overflow on the way in float16.
_SMALL = 100.0
_Places = Sequence[tuple[str, "int | None"]]


class HalfRunner(Protocol):
    """What is needed of a runner: its leaves, and the function and its gradient as functions of leaves."""

    device: Device

    def flat(self, arrays: Mapping[str, Any]) -> tuple[list[np.ndarray], list[tuple[str, int | None]]]:
        """Return the arrays of every input in order, and which input each belongs to."""

    def open_places(self, leaves: Sequence[Any], places: _Places) -> list[int]:
        """Return the leaves that take a gradient."""

    def function_of(self, places: _Places, attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """Return leaves -> the leaves of the result."""

    def gradient_of(self, places: _Places, attrs: Mapping[str, Any], opened: Sequence[int]) -> Callable[..., Any]:
        """Return (leaves, incoming gradients of the float results) -> gradients of the open leaves."""


def half_precision(
    runner: HalfRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC207: results and gradients in bfloat16 and float16 against float32; what is not served there is a line."""
    leaves, places = runner.flat(arrays)
    opened = runner.open_places(leaves, places)
    function = runner.function_of(places, attrs)
    lines: list[Fault] = []
    for dtype in (np.dtype(jax.numpy.bfloat16), np.dtype(np.float16)):
        narrow = [leaf.astype(dtype) if leaf.dtype.kind == "f" else leaf for leaf in leaves]
        wide = [leaf.astype(np.float32) if leaf.dtype == dtype else leaf for leaf in narrow]
        try:
            expected, actual = values_of(runner, function, *wide), values_of(runner, function, *narrow)
        except Exception:  # user code: it does not take the dtype
            continue
        if dtype == np.float16 and any(_largest([item]) > _SMALL for item in expected):
            continue
        eps = float(jax.numpy.finfo(dtype).eps)
        if not all(np.isfinite(item).all() for item in _wide(actual) if item.dtype.kind == "f"):
            lines.append(Fault(f"{dtype.name}, in which the function gives NaN or infinity", is_line=True))
            continue
        if not mostly_agree(_wide(expected), _wide(actual), eps, _largest(leaves)):
            return [Fault(f"the function gives other results in {dtype.name} than in float32")]
        seeds = [np.asarray(dout).astype(dtype) for dout in douts if is_open(dout)]
        if not opened or not seeds:
            continue
        gradient = runner.gradient_of(places, attrs, opened)
        try:
            wanted = values_of(runner, gradient, wide, [seed.astype(np.float32) for seed in seeds])
            found = values_of(runner, gradient, narrow, seeds)
        except Exception as error:  # user code
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            lines.append(Fault(f"{dtype.name}, in which the rule raises ({text})", is_line=True))
            continue
        for place, one, other in zip(opened, wanted, found):
            (exact,), (given,) = _wide([one]), _wide([other])
            found_off = difference(exact, given, dtype.name, eps, _wide(douts), _wide(actual), leaves)
            if found_off:
                name = places[place][0]
                return [Fault(f"the gradient of {name} {found_off}", input=name)]
    return lines


def values_of(runner: HalfRunner, function: Callable[..., Any], *args: Any) -> list[np.ndarray]:
    """Return what a function gives, from its traced program; JAX runs what numpy cannot at this precision."""
    traced = jax.make_jaxpr(function)(*args)
    leaves = jax.tree.leaves(args)
    try:
        return [np.asarray(item) for item in runner.device.prepared(function, traced)(*args)]
    except Exception:
        return [np.asarray(item) for item in jax.core.eval_jaxpr(traced.jaxpr, traced.consts, *leaves)]


def _wide(items: Sequence[Any]) -> list[np.ndarray]:
    return [item.astype(np.float32) if is_open(item) else item for item in map(np.asarray, items)]


def _largest(items: Sequence[np.ndarray]) -> float:
    """Return the largest magnitude among floats."""
    sizes = [
        float(np.abs(item.astype(np.float32)).max(initial=0.0)) for item in map(np.asarray, items) if is_open(item)
    ]
    return max(sizes, default=0.0)
