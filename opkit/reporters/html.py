"""A run as one self-contained HTML page: no script, font or picture from elsewhere.

The page's layout is in page.html; this module fills it.

A matrix of errors as an SVG drawing: a cell per entry with its value, of a large one a picture, and the axes' names.

Colours are ``heatmap``'s scale; what is zero and the words are coloured by the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from opkit.checker import CheckResult, Status
from opkit.diagnostics import codes, explain, render_text
from opkit.reporters.figures import Curve, Matrices, bounds_figure, figure_of
from opkit.reporters.heatmap import HeatMap, colors, heat_map
from opkit.reporters.layout import filled
from opkit.reporters.plot import slope_plot
from opkit.reporters.prose import prose
from opkit.reporters.run import Finding, RunView, counts, subject
from opkit.reporters.text import held
from opkit.reporters.values import case_text, look_of, place_of, source_lines, value_text

#: A longer side than this is a picture without cells.
LARGEST = 48
_LEFT, _TOP, _SIDE, _THIN = 46.0, 24.0, 300.0, 12.0


def matrix_svg(errors: np.ndarray, heat: HeatMap, down: str, across: str) -> str:
    """Draw |error| over a Jacobian.

    Args:
        errors: (input elements, output elements).
        heat: the same as a picture, for its scale.
        down: what the rows are.
        across: what the columns are.
    """
    longer = max(heat.rows, heat.columns)
    cell = max(1.0, min(24.0, _SIDE / longer))
    width, height = (min(max(count * cell, _THIN), 2 * _SIDE) for count in (heat.columns, heat.rows))
    wide, tall = width / heat.columns, height / heat.rows
    room = max(_LEFT + width + 12, 150)
    parts = [
        f'<svg class="matrix" viewBox="0 0 {room:g} {_TOP + max(height + 4, 7 * len(down)):g}" '
        f'width="{room:g}" role="img" aria-label="errors over the Jacobian">',
        f'<text class="tick" x="{_LEFT:g}" y="10">{across}</text>',
        f'<text class="tick" text-anchor="end" transform="rotate(-90 10 {_TOP:g})" x="10" y="{_TOP:g}">{down}</text>',
        f'<rect class="zero" x="{_LEFT:g}" y="{_TOP:g}" width="{width:g}" height="{height:g}"/>',
    ]
    for count, is_down in ((heat.rows, True), (heat.columns, False)):
        for place in dict.fromkeys((0, count - 1)):
            at = (place + 0.5) * (tall if is_down else wide)
            x, y = (_LEFT - 4, _TOP + at + 4) if is_down else (_LEFT + at, _TOP - 3)
            anchor = "end" if is_down else "middle"
            parts.append(f'<text class="tick" text-anchor="{anchor}" x="{x:g}" y="{y:g}">{place}</text>')
    if longer > LARGEST:
        box = f'x="{_LEFT:g}" y="{_TOP:g}" width="{width:g}" height="{height:g}"'
        return "".join([*parts, f'<image href="{heat.uri}" {box} preserveAspectRatio="none"/></svg>'])
    matrix = np.abs(np.asarray(errors, dtype=np.float64)).reshape(heat.rows, heat.columns)
    pixels = colors(matrix, heat.low, heat.high)
    for row, column in zip(*np.nonzero((matrix != 0) | ~np.isfinite(matrix))):
        colour = ",".join(str(int(part)) for part in pixels[row, column, :3])
        said = f"<title>input {row}, output {column}: {matrix[row, column]:.3g}</title>"
        parts.append(
            f'<rect x="{_LEFT + column * wide:g}" y="{_TOP + row * tall:g}" width="{wide:g}" height="{tall:g}" '
            f'fill="rgb({colour})">{said}</rect>'
        )
    return "".join([*parts, "</svg>"])


def html_report(
    run: RunView,
    invocation: str = "",
    made: str = "",
    portraits: Mapping[str, Sequence[Curve | Matrices]] | None = None,
) -> str:
    """Return the page.

    Args:
        run: what it shows.
        invocation: the command line that made it, "" for none.
        made: when, "" where that is left out.
        portraits: what was measured of its ops, by name, for pictures.
    """
    return filled(
        "page.html",
        run.report.opkit,
        invocation,
        made,
        run=run,
        counts=counts(run.report),
        diagnostics=render_text(run.diagnostics),
        ops=[op_data(run, place, portraits or {}) for place in range(len(run.report.ops))],
    )


def op_data(run: RunView, place: int, portraits: Mapping[str, Sequence[Curve | Matrices]]) -> dict[str, Any]:
    """Return what a template shows of an op."""
    op = run.report.ops[place]
    seen = [Finding(op, result, run.saved.get((place, index), "")) for index, result in enumerate(op.checks)]
    shown = (Status.FAIL, Status.ERROR, Status.UNDECIDED)
    return {
        "anchor": f"op-{place}",
        "name": op.op,
        "dir": os.path.relpath(op.dir) if op.dir and Path(op.dir).is_relative_to(Path.cwd()) else op.dir,
        "status": op.status.value,
        "seconds": f"{op.seconds:.2f}",
        "power": _share(op.detectable),
        "notes": op.notes,
        "tried": op.tried,
        "portraits": [figure_of(item) for item in portraits.get(op.op, ())],
        "bounds": bounds_figure(op.checks),
        "held": held(op),
        "rests_on": op.rests_on,
        "checks": [_row(item.result) for item in seen],
        "findings": [_finding(item) for item in seen if item.result.status in shown],
    }


def _share(detectable: float | None) -> str:
    return "" if detectable is None else f"{detectable:.1e}"


def _row(result: CheckResult) -> dict[str, Any]:
    return {
        "status": result.status.value,
        "code": result.code,
        "check": result.check,
        "subject": subject(result),
        "title": result.title,
        "message": result.message,
        "cases": result.cases,
        "power": _share(result.detectable),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    result, evidence = finding.result, finding.result.evidence
    heat = heat_map(evidence.errors) if evidence is not None and evidence.errors is not None else None
    slopes = evidence.slopes if evidence is not None else None
    return {
        **_row(result),
        "repro": finding.repro,
        "rows": list(_facts(result)),
        "source": _source(result),
        "heat": heat,
        "matrix": Markup(_matrix(result, heat)),
        "meaning": Markup(prose(explain(result.code))) if result.code in codes() else "",
        "plot": Markup(slope_plot(slopes)) if slopes is not None else "",
        "element": slopes.element if slopes is not None else "",
        "claimed": value_text(slopes.claimed) if slopes is not None else "",
    }


def _facts(result: CheckResult) -> Iterator[tuple[str, str]]:
    if at := place_of(result):
        yield "at", at
    if result.expected is not None or result.actual is not None:
        yield "expected", value_text(result.expected)
        yield "actual", value_text(result.actual)
    if result.bound is not None:
        yield "bound", value_text(result.bound, 3)
    if result.detectable is not None:
        yield "smallest visible", value_text(result.detectable, 3)
    if result.case:
        yield "case", case_text(result.case)
    if looks := look_of(result):
        yield "looks", looks
    if result.hint:
        yield "hint", result.hint
    if result.consequences:
        yield "from this", ", ".join(f"{item.code} {item.message}" for item in result.consequences)


def _source(result: CheckResult) -> str:
    if result.where is None:
        return ""
    lines = _around(source_lines(result.where, 40), result.where.line)
    marks = (f"\n{'>' if number == result.where.line else ' '}{number:>5} | {line}" for number, line in lines)
    return f"--> {result.where}" + "".join(marks)


def _around(lines: Sequence[tuple[int, str]], line: int) -> list[tuple[int, str]]:
    """Return a whole function where its first line is meant, else what stands close by."""
    own = next((text for number, text in lines if number == line), "")
    if not own.lstrip().startswith(("def ", "class ")):
        return [item for item in lines if abs(item[0] - line) <= 4]
    depth = len(own) - len(own.lstrip())
    last = line
    for number, text in lines:
        is_inside = not text.strip() or len(text) - len(text.lstrip()) > depth
        if number > line and not is_inside:
            break
        last = number if number > line and text.strip() else last
    return [item for item in lines if line - 1 <= item[0] <= last]


def _matrix(result: CheckResult, heat: HeatMap | None) -> str:
    """Return a drawing of the errors, "" for those without a finite entry."""
    evidence = result.evidence
    if heat is None or heat.is_broken or evidence is None:
        return ""
    names = (escape(f"{result.input or 'input'} element"), escape(f"{result.output or 'output'} element"))
    return matrix_svg(np.asarray(evidence.errors), heat, *names)
