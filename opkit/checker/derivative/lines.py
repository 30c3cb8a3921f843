"""Lines: running a case, or an elementwise function, along lines and settling its derivative there.

The bridge between what can be called and the ladder; knows nothing of names or verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.estimate import Estimate
from opkit.checker.derivative.ladder import settle, steps_for
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import resolution_of, widened
from opkit.checker.model.thresholds import BLOCK, RESOLUTION, STEPS
from opkit.checker.model.types import ArrayMap


class Line:
    """The reference of a case along x + t u.

    Args:
        ev: the prepared case.
        ways: u, of each input that moves.
        of_forward: whether forward itself is run, not the function whose derivative backward is.
    """

    def __init__(self, ev: Evaluator, ways: Mapping[InputLeaf, ndarray], of_forward: bool = False) -> None:
        self._ev, self._ways = ev, list(ways.values())
        self._arrays = [ev.array(leaf) for leaf in ways]
        self._buffers, self._moving = ev.movable(list(ways), of_forward)

    def at(self, step: float) -> ndarray:
        """Return the values (J,) at x + step u, NaN where there are none; the next call may write into them."""
        for buffer, array, way in zip(self._buffers, self._arrays, self._ways):
            buffer[...] = array + step * way
        return self._ev.value_of(self._moving)

    def ladder(self, steps: ndarray) -> tuple[ndarray, ndarray]:
        """Return the values (1, K, J) at steps (K,) to both sides."""
        above, below = (np.stack([self.at(sign * step).copy() for step in steps])[None] for sign in (1.0, -1.0))
        return above, below


def derivative(
    function: ArrayMap,
    points: ndarray,
    eps: float = RESOLUTION,
) -> Estimate:
    """Estimate f' of an elementwise function at every point at once (one ladder for all).

    Args:
        function: float array (n,) -> float array (n,), each element on its own.
        points: (n,).
        eps: resolution of what the function returns.

    Returns:
        An Estimate of one line with J = n values, each along its own step.

    Example:
        >>> found = derivative(np.sin, np.array([0.5]))
        >>> bool(abs(found.value[0, 0] - np.cos(0.5)) <= found.bound[0, 0] < 1e-9)
        True
    """
    points = np.asarray(points)
    sizes = np.abs(points).astype(np.float64)
    magnitude = np.where(sizes > 0, sizes, 1.0)
    steps = steps_for(magnitude, STEPS, resolution_of(points))
    with np.errstate(all="ignore"):
        above = [(points + step).astype(points.dtype) for step in steps.T]
        below = [(points - step).astype(points.dtype) for step in steps.T]
        plus, minus = (np.stack([widened(function(item)) for item in side])[None] for side in (above, below))
        base = widened(function(points))
        up = np.stack([item.astype(np.float64) - points for item in above])[None]
        down = np.stack([points - item.astype(np.float64) for item in below])[None]
    found = []
    for start in range(0, max(points.size, 1), BLOCK):
        block = slice(start, start + BLOCK)
        values = plus[..., block], minus[..., block], base[block], up[..., block], down[..., block]
        found.append(settle(*values, np.array([eps]), magnitude[None, block]))
    named = {item.name: np.concatenate([getattr(one, item.name) for one in found], axis=1) for item in fields(Estimate)}
    return Estimate(**named)
