"""One-sided slopes at a kink as an SVG drawing: the slopes of both sides as the step shrinks, and the claimed value.

Colours come from the page's style sheet, by class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from opkit.checker import Slopes
from opkit.reporters.figures import ticks

_WIDTH, _HEIGHT = 460.0, 220.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 12.0, 12.0, 40.0
#: The left side is drawn wide under the right one, so that both show where they agree.
_RADIUS = {"left": 4.5, "right": 2}


def slope_plot(slopes: Slopes) -> str:
    """Draw the slopes over the logarithm of the step.

    Returns:
        an ``<svg>`` element; "" where no point is finite.
    """
    steps = np.asarray(slopes.steps, dtype=np.float64)
    sides = [np.asarray(side, dtype=np.float64) for side in (slopes.left, slopes.right)]
    shown = np.concatenate([side[np.isfinite(side)] for side in sides])
    is_usable = np.isfinite(steps) & (steps > 0)
    if not shown.size or not is_usable.any():
        return ""
    claimed = float(slopes.claimed)
    values = [*shown.tolist(), *([claimed] if math.isfinite(claimed) else [])]
    low, high = _padded(min(values), max(values))
    logs = np.log10(np.where(is_usable, steps, 1.0))
    first, last = _padded(float(logs[is_usable].min()), float(logs[is_usable].max()), 0.03)

    def x(value: float) -> float:
        return _LEFT + (value - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="one-sided slopes">']
    parts += _axes(first, last, low, high, x, y)
    for name, side in zip(("left", "right"), sides):
        shown_at = [(a, b) for a, b, good in zip(logs, side, is_usable) if good and math.isfinite(b)]
        parts += _line(name, [(x(a), y(b)) for a, b in shown_at], [(10.0**a, b) for a, b in shown_at])
    if math.isfinite(claimed):
        at = y(claimed)
        parts.append(f'<line class="claimed" x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{at:.1f}" y2="{at:.1f}"/>')
    parts.append("</svg>")
    return "".join(parts)


def _padded(low: float, high: float, share: float = 0.1) -> tuple[float, float]:
    room = (high - low) * share or max(abs(high), 1.0) * share
    return low - room, high + room


def _line(name: str, points: Sequence[tuple[float, float]], values: Sequence[tuple[float, float]]) -> Iterator[str]:
    if points:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        yield f'<polyline class="{name}" points="{path}"/>'
        for (a, b), (step, slope) in zip(points, values):
            said = f"<title>from the {name}, step {step:.1e}: {slope:.6g}</title>"
            yield f'<circle class="{name}" cx="{a:.1f}" cy="{b:.1f}" r="{_RADIUS[name]}">{said}</circle>'


def _axes(
    first: float, last: float, low: float, high: float, x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    yield f'<path class="axis" d="M{_LEFT:g},{_TOP:g}V{bottom:g}H{right:g}"/>'
    values = ticks(low, high, 8)
    digits = next((n for n in range(3, 9) if len({f"{value:.{n}g}" for value in values}) == len(values)), 9)
    for value in values:
        said = f"{value:.{digits}g}"
        yield f'<text class="tick" text-anchor="end" x="{_LEFT - 6:g}" y="{y(value) + 4:.1f}">{said}</text>'
    for power in _powers(first, last):
        yield f'<text class="tick" text-anchor="middle" x="{x(power):.1f}" y="{bottom + 16:g}">1e{power}</text>'
    yield f'<text class="tick" text-anchor="end" x="{right:g}" y="{_HEIGHT - 6:g}">step</text>'
    middle = (_TOP + bottom) / 2
    turned = f'transform="rotate(-90 12 {middle:g})"'
    yield f'<text class="tick" text-anchor="middle" x="12" y="{middle:g}" {turned}>slope</text>'


def _powers(first: float, last: float) -> list[int]:
    powers = list(range(math.ceil(first), math.floor(last) + 1))
    stride = max(1, math.ceil(len(powers) / 6))
    return powers[::stride]
