"""A small matrix of errors as an SVG drawing: a cell per entry with its value, and the axes' names.

Colours are ``heatmap``'s scale; what is zero and the words are coloured by the page.
"""

from __future__ import annotations

import numpy as np

from opkit.reporters.heatmap import HeatMap, colors

#: A longer side than this is a picture without cells.
LARGEST = 48
_LEFT, _TOP, _SIDE = 46.0, 24.0, 300.0


def matrix_svg(errors: np.ndarray, heat: HeatMap, down: str, across: str) -> str:
    """Draw |error| over a Jacobian.

    Args:
        errors: (input elements, output elements).
        heat: the same as a picture, for its scale.
        down: what the rows are.
        across: what the columns are.
    """
    matrix = np.abs(np.asarray(errors, dtype=np.float64)).reshape(heat.rows, heat.columns)
    cell = max(4.0, min(24.0, _SIDE / max(heat.rows, heat.columns)))
    width, height = heat.columns * cell, heat.rows * cell
    pixels = colors(matrix, heat.low, heat.high)
    parts = [
        f'<svg class="matrix" viewBox="0 0 {max(_LEFT + width + 4, 150):g} {_TOP + height + 4:g}" '
        f'width="{max(_LEFT + width + 4, 150):g}" role="img" aria-label="errors over the Jacobian">',
        f'<text class="tick" x="{_LEFT:g}" y="10">{across}</text>',
        f'<text class="tick" text-anchor="end" transform="rotate(-90 10 {_TOP:g})" x="10" y="{_TOP:g}">{down}</text>',
        f'<rect class="zero" x="{_LEFT:g}" y="{_TOP:g}" width="{width:g}" height="{height:g}"/>',
    ]
    for index, count, is_down in ((0, heat.rows, True), (0, heat.columns, False)):
        for place in dict.fromkeys((index, count - 1)):
            at = (place + 0.5) * cell
            x, y = (_LEFT - 4, _TOP + at + 4) if is_down else (_LEFT + at, _TOP - 3)
            anchor = "end" if is_down else "middle"
            parts.append(f'<text class="tick" text-anchor="{anchor}" x="{x:g}" y="{y:g}">{place}</text>')
    for row, column in zip(*np.nonzero((matrix != 0) | ~np.isfinite(matrix))):
        colour = ",".join(str(int(part)) for part in pixels[row, column, :3])
        said = f"<title>input {row}, output {column}: {matrix[row, column]:.3g}</title>"
        parts.append(
            f'<rect x="{_LEFT + column * cell:g}" y="{_TOP + row * cell:g}" width="{cell:g}" height="{cell:g}" '
            f'fill="rgb({colour})">{said}</rect>'
        )
    return "".join([*parts, "</svg>"])
