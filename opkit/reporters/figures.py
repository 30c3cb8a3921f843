"""Figures of an op: what was measured of it, drawn as SVG, each with a table of the same numbers beside it.

Colours come from the page's style sheet, by class; nothing is measured here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

import numpy as np

from opkit.checker import CheckResult, Status
from opkit.record import entity, record
from opkit.reporters.run import subject

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _GAP = 620.0, 190.0, 62.0, 14.0, 22.0, 30.0
#: More rows of a table are left out, those where the gradient is wrong last.
_ROWS = 16
_CELL = 44.0
#: Room for the word "difference" above a matrix of one column.
_NARROWEST = 64.0
#: Curves that differ by less of their size are shown as flat.
_FLAT = 1e-4
_DECLARED = "of the declared SURROGATE"


@entity
class Curve:
    """One input of an elementwise op over its domain, the others as they were drawn.

    Args:
        input, output: their names.
        x: where, ascending.
        y: forward's results there.
        given: backward's gradient.
        measured: the derivative by differences.
        is_wrong: where the two differ by more than differences can be off.
        others: what the other inputs and attributes were, in words.
        jumps: the places in ``x`` after which the derivative jumps.
        is_declared: whether what is measured is the declared surrogate, and not forward.
    """

    input: str
    output: str
    x: np.ndarray
    y: np.ndarray
    given: np.ndarray
    measured: np.ndarray
    is_wrong: np.ndarray
    others: str = ""
    jumps: Sequence[int] = ()
    is_declared: bool = False


@entity
class Matrices:
    """The derivative of an output by an input, on one case: (input elements, output elements).

    Args:
        is_declared: whether it is the one of the declared surrogate, and not of forward.
    """

    input: str
    output: str
    expected: np.ndarray
    given: np.ndarray
    is_wrong: np.ndarray
    others: str = ""
    is_declared: bool = False


@record
class Figure:
    """A drawing, what it shows in a sentence, and its numbers as the rows of a table, the first the heads."""

    svg: str
    caption: str
    rows: Sequence[Sequence[str]]


def figure_of(portrait: Curve | Matrices) -> Figure:
    """Draw what was measured."""
    return _curve(portrait) if isinstance(portrait, Curve) else _matrices(portrait)


def standing_alone(figure: Figure) -> str:
    """Return the drawing as the text of an SVG file, with its own colours, light and dark."""
    look = files("opkit.reporters").joinpath("look.css").read_text(encoding="utf-8")
    colours = [line for line in look.splitlines() if "--" in line and ("svg.figure" in line or not line.endswith("{"))]
    style = "\n".join(
        colours[:4] + [line for line in look.splitlines() if line.startswith("svg.figure") and "var(" in line]
    )
    style = fixed(style.replace(":root", "svg").replace("svg.figure", "svg") + "\nsvg .paper { fill: var(--paper); }")
    head, _, rest = figure.svg.partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    text = f"{head}><title>{escape(figure.caption)}</title><style>{style}</style>"
    return f'{text}<rect class="paper" width="100%" height="100%"/>{rest}\n'


def fixed(style: str) -> str:
    """Return a style with values for its variables, light and dark: few readers of SVG but browsers know variables.

    Args:
        style: the variables, those for the dark after ``@media``; then a rule or several in each line.
    """
    light, dark = (dict(re.findall(r"(--[\w-]+): (#\w+)", part)) for part in style.split("@media", 1))
    rules = [line for line in style.splitlines() if "{" in line and "--" not in line.replace("var(--", "")]

    def with_values(lines: Sequence[str], values: Mapping[str, str]) -> str:
        return "\n".join(re.sub(r"var\((.*?)\)", lambda found: values[found[1]], line) for line in lines)

    coloured = with_values([line for line in rules if "var(" in line], {**light, **dark})
    return f"{with_values(rules, light)}\n@media (prefers-color-scheme: dark) {{\n{coloured}\n}}"


# -- curves -----------------------------------------------------------------------------------------------------------
def _curve(curve: Curve) -> Figure:
    label = f"{curve.output} and its gradient over {curve.input}"
    parts = [_open(_WIDTH, 2 * _HEIGHT, label)]
    for low, high in _stretches(curve):
        x0, x1 = (_across(curve, value) for value in (low, high))
        place = f'x="{x0:.1f}" y="{_TOP:g}" width="{max(x1 - x0, 2):.1f}" height="{2 * _HEIGHT - 52:g}"'
        parts.append(f'<rect class="wrong" {place}><title>wrong from {low:.4g} to {high:.4g}</title></rect>')
    parts += _panel(curve, 0.0, f"{curve.output} = forward({curve.input})", [("value", curve.y)])
    lines = [("measured", curve.measured), ("given", curve.given)]
    parts += _panel(curve, _HEIGHT, f"d{curve.output}/d{curve.input}", lines)
    wrong = [f"about {low:.4g} to {high:.4g}" if low < high else f"at {low:.4g}" for low, high in _stretches(curve)]
    said = f"Above: {curve.output} over {curve.input}{curve.others}. Below: backward's gradient (line) on the measured "
    said += f"derivative{f' {_DECLARED}' * curve.is_declared} (wide). "
    said += f"They differ where it is shaded: {', '.join(wrong)}." if wrong else "They agree."
    places = np.unique(np.linspace(0, len(curve.x) - 1, _ROWS).astype(int))
    if curve.is_wrong.any() and not curve.is_wrong[places].any():
        places = np.union1d(places, np.flatnonzero(curve.is_wrong)[:4])
    rows = [[curve.input, curve.output, "backward's gradient", "measured", ""]]
    columns = (curve.x, curve.y, curve.given, curve.measured)
    rows += [[*(f"{values[i]:.6g}" for values in columns), "wrong" * bool(curve.is_wrong[i])] for i in places]
    return Figure("".join([*parts, "</svg>"]), said, rows)


def _stretches(curve: Curve) -> list[tuple[float, float]]:
    """Return the stretches of x in which the gradient is wrong."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], curve.is_wrong.astype(int), [0]])))
    return [(float(curve.x[start]), float(curve.x[end - 1])) for start, end in zip(edges[::2], edges[1::2])]


def _across(curve: Curve, value: float) -> float:
    low, high = float(curve.x[0]), float(curve.x[-1])
    return _LEFT + (value - low) / ((high - low) or 1.0) * (_WIDTH - _LEFT - _RIGHT)


def _panel(curve: Curve, top: float, title: str, lines: Sequence[tuple[str, np.ndarray]]) -> Iterator[str]:
    shown = np.concatenate([values[np.isfinite(values)] for _, values in lines])
    low, high = (float(np.quantile(shown, share)) for share in (0.01, 0.99)) if shown.size else (0.0, 1.0)
    scale = max(abs(low), abs(high))
    is_flat = high - low <= _FLAT * scale  # what is left is the rounding of differences
    room = max(scale, 1.0) * 0.1 if is_flat else (high - low) * 0.12
    low, high = low - room, high + room
    first, last = top + _TOP, top + _HEIGHT - _GAP

    def down(value: float) -> float:
        return min(max(last - (value - low) / (high - low) * (last - first), first), last)

    yield f'<path class="axis" d="M{_LEFT:g},{first:g}V{last:g}H{_WIDTH - _RIGHT:g}"/>'
    yield _text(_LEFT, first - 7, title)
    middle = (low + high) / 2
    for value in [middle if abs(middle) > _FLAT * room else 0.0] if is_flat else ticks(low, high, 5):
        yield _text(_LEFT - 6, down(value) + 4, f"{value:.5g}", "end")
    for value in ticks(float(curve.x[0]), float(curve.x[-1]), 6):
        yield _text(_across(curve, value), last + 15, f"{value:.5g}", "middle")
    for name, values in lines:
        for run in _runs(values, () if values is curve.y else curve.jumps):
            path = " ".join(f"{_across(curve, curve.x[i]):.1f},{down(values[i]):.1f}" for i in run)
            yield f'<polyline class="{name}" points="{path}"/>'


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return the multiples of a round number between two ends, 0 among them where it lies there."""
    raw = (high - low) / about or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    return [step * count for count in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _runs(values: np.ndarray, jumps: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indices of what is finite without a gap or a jump."""
    run: list[int] = []
    for index, is_shown in enumerate([*np.isfinite(values), False]):
        if is_shown:
            run.append(index)
        if run and (not is_shown or index in jumps):
            yield run
            run = []


# -- matrices ---------------------------------------------------------------------------------------------------------
def _matrices(portrait: Matrices) -> Figure:
    expected, given, is_wrong = portrait.expected, portrait.given, portrait.is_wrong
    (rows, columns), difference = expected.shape, given - expected
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))) or 1.0
    cell = _CELL if columns <= 8 else max(16.0, 264.0 / columns)
    width, height = max(columns * cell, _NARROWEST), rows * min(cell, 26.0)
    label = f"the derivative of {portrait.output} by {portrait.input}: expected, given and their difference"
    parts = [_open(3 * (width + 34), height + 46, label)]
    for place, (title, values) in enumerate((("expected", expected), ("given", given), ("difference", difference))):
        left = place * (width + 34) + 28
        agrees = ~is_wrong & np.isfinite(difference) & (place == 2)
        parts.append(_text(left, 14, title))
        parts += _cells(values, is_wrong & (place > 0), agrees, left, cell, scale)
    parts.append(_text(28, height + 40, f"down: {portrait.input}, across: {portrait.output}"))
    count = int(is_wrong.sum())
    said = f"The derivative of {portrait.output} (across) by {portrait.input} (down), "
    said += f"{f'{_DECLARED}, ' * portrait.is_declared}by element{portrait.others}: "
    wrong = f"{count} of {is_wrong.size} are wrong, those with a frame."
    said += wrong if count else "all agree at this size."
    table = [[f"{portrait.input} element", f"{portrait.output} element", "expected", "given", "difference"]]
    order = np.argsort(-np.where(np.isfinite(difference), np.abs(difference), np.inf), axis=None, kind="stable")[:_ROWS]
    for index in order:
        row, column = divmod(int(index), columns)
        numbers = (expected[row, column], given[row, column], difference[row, column])
        table.append([str(row), str(column), *(f"{value:.6g}" for value in numbers)])
    return Figure("".join([*parts, "</svg>"]), said, table)


def _cells(
    values: np.ndarray, is_wrong: np.ndarray, agrees: np.ndarray, left: float, cell: float, scale: float
) -> Iterator[str]:
    tall = min(cell, 26.0)
    for (row, column), value in np.ndenumerate(values):
        share = min(abs(float(value)) / scale, 1.0) if math.isfinite(value) else 1.0
        kind = "zero" if value == 0 or agrees[row, column] else "up" if value > 0 else "down"
        x, y = left + column * cell, 22 + row * tall
        frame = " framed" if is_wrong[row, column] else ""
        opacity = 1.0 if kind == "zero" else 0.08 + 0.4 * math.sqrt(share)  # numbers stand on it
        yield f'<rect class="{kind}{frame}" x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" height="{tall - 1:.1f}"'
        yield f' fill-opacity="{opacity:.2f}"><title>input {row}, output {column}: {value:.6g}</title></rect>'
        if cell == _CELL:
            yield _text(x + (cell - 1) / 2, y + tall / 2 + 4, _short(value), "middle", "value")


# -- all checks -------------------------------------------------------------------------------------------------------
def bounds_figure(checks: Sequence[CheckResult]) -> Figure | None:
    """Draw, of each check that compares numbers, the error against its bound; None where there is none.

    What failed has its error beyond the bound; what passed, the smallest error that it would have seen.
    """
    seen = [item for check in checks if (item := _measured(check)) is not None]
    if not seen:
        return None
    logs = [math.log10(value) for _, error, bound in seen for value in (error, bound) if value]
    low, high = math.floor(min(logs)) - 0.3, math.ceil(max(logs)) + 0.3
    left, tall = 190.0, 20.0
    height = len(seen) * tall + 40

    def across(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * (_WIDTH - left - _RIGHT)

    parts = [_open(_WIDTH, height, "error against bound of every check that compares numbers")]
    rows = [["check", "of", "status", "error", "bound"]]
    for place, (check, error, bound) in enumerate(seen):
        y = 16 + place * tall
        name = f"{check.code} {subject(check)}"
        parts.append(_text(left - 8, y + 4, name[:26], "end"))
        parts.append(f'<line class="axis" x1="{left:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:g}" y2="{y:g}"/>')
        if bound:
            parts.append(
                f'<line class="bound" x1="{across(bound):.1f}" x2="{across(bound):.1f}" y1="{y - 7:g}" y2="{y + 7:g}"/>'
            )
        if error:
            parts.append(f'<circle class="{check.status.value}" cx="{across(error):.1f}" cy="{y:g}" r="4.5"/>')
        rows.append(
            [check.code, subject(check), check.status.value, *(f"{v:.2e}" if v else "" for v in (error, bound))]
        )
    powers = range(math.ceil(low), math.floor(high) + 1, max(1, round((high - low) / 8)))
    parts += [_text(across(10.0**power), height - 8, f"1e{power}", "middle") for power in powers]
    said = (
        "Error against bound, of every check that compares numbers. A dot is an error that was found; a bar is its "
        "bound, or, of what holds, the smallest error that would have been seen."
    )
    return Figure("".join([*parts, "</svg>"]), said, rows)


def _measured(check: CheckResult) -> tuple[CheckResult, float | None, float | None] | None:
    if check.status is Status.PASS:
        return (check, None, check.detectable) if check.detectable else None
    try:
        error = abs(float(check.actual) - float(check.expected))
    except (TypeError, ValueError, OverflowError):
        return None
    bound = check.bound if check.bound and math.isfinite(check.bound) else None
    return (check, error, bound) if math.isfinite(error) and error > 0 else None


def _open(width: float, height: float, label: str) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg class="figure" {size} role="img" aria-label="{escape(label)}">'


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "tick") -> str:
    return f'<text class="{kind}" text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _short(value: float) -> str:
    """Return a number in at most six characters where it can be: what does not fit a cell hides its neighbours."""
    forms = [f"{value:.{digits}g}" for digits in (3, 2, 1)]
    return next((text for text in forms if len(text) <= 6), f"{value:.0e}")
