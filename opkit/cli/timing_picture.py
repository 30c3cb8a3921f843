"""Time per call over size: a picture as SVG, both axes logarithmic, and a page with it and the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from opkit.project.timing import WAYS, Row

_COLOURS = {"python": "#0b68cb", "cpp": "#b4432f", "empty": "#8d949c", "copy": "#3a8a4d"}
_WIDTH, _HEIGHT, _LEFT, _TOP = 560.0, 320.0, 70.0, 40.0


def timing_svg(title: str, rows: Sequence[Row]) -> str:
    """Return the picture of what was measured."""
    sizes = [math.log10(max(row.elements, 1)) for row in rows]
    times = [math.log10(value) for row in rows for value in row.seconds.values()]
    low, high = math.floor(min(times)), math.ceil(max(times))
    wide = max(max(sizes) - min(sizes), 1e-9)

    def place(size: float, seconds: float) -> str:
        x = _LEFT + (size - min(sizes)) / wide * (_WIDTH - _LEFT - 90)
        y = _TOP + (high - math.log10(seconds)) / max(high - low, 1) * (_HEIGHT - _TOP - 50)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title><rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{_LEFT:.0f}" y="22" font-size="14">{escape(title)}: seconds per call over elements</text>',
    ]
    for power in range(low, high + 1):
        x, y = place(min(sizes), 10.0**power).split(",")
        parts.append(f'<path d="M{x} {y}H{_WIDTH - 90:.0f}" stroke="#e3e5e8"/>')
        parts.append(f'<text x="{_LEFT - 8:.0f}" y="{float(y) + 4:.1f}" text-anchor="end">1e{power} s</text>')
    for size, row in zip(sizes, rows):
        x = place(size, 10.0**low).split(",")[0]
        parts.append(f'<text x="{x}" y="{_HEIGHT - 28:.0f}" text-anchor="middle">{row.elements}</text>')
    for way in WAYS:
        points = [place(size, row.seconds[way]) for size, row in zip(sizes, rows) if way in row.seconds]
        if points:
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{_COLOURS[way]}" stroke-width="2"/>'
            )
            x, y = points[-1].split(",")
            parts.append(f'<text x="{float(x) + 6:.1f}" y="{float(y) + 4:.1f}" fill="{_COLOURS[way]}">{way}</text>')
    return "\n".join([*parts, "</svg>", ""])


def timing_page(title: str, rows: Sequence[Row]) -> str:
    """Return a page of HTML with the picture and a table of microseconds."""
    heads, *table = timing_table(rows)
    lines = [f"<tr>{''.join(f'<td>{text}</td>' for text in cells)}</tr>" for cells in table]
    head = "".join(f"<th>{name}</th>" for name in heads)
    return "\n".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            "<style>body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
            "td,th{padding:.2em .8em;text-align:right}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            timing_svg(title, rows),
            f"<p>Microseconds per call, the fastest of five rounds.</p><table><tr>{head}</tr>",
            *lines,
            "</table></body></html>",
            "",
        ]
    )


def timing_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the heads and rows of a table of microseconds by size and way, "-" where one was not measured."""
    ways = [way for way in WAYS if any(way in row.seconds for row in rows)]
    table = [("elements", *ways)]
    for row in rows:
        times = (f"{row.seconds[way] * 1e6:,.2f}" if way in row.seconds else "-" for way in ways)
        table.append((f"{row.elements:,}", *times))
    return table
