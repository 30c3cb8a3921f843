"""A drawing as SVG: boxes by kind, bands behind them, gradients dashed; light and dark as the reader's system is.

Where things stand is ``layered``'s.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise

from opkit.cli.drawing import BANDS, Arrow, Box, Drawing
from opkit.cli.layered import Layout, Rectangle, layered

_LONGEST = 38
_TITLE_HEIGHT, _LINE_HEIGHT, _PADDING = 18.0, 15.0, 9.0
_TITLE_WIDTH, _LINE_WIDTH = 8.3, 6.75
#: Classes begin with "g-", so that they can stand in any page.
STYLE = """.g { --g-ink: #1c1e21; --g-soft: #5d646d; --g-paper: #ffffff; --g-op: #f6f7f8; --g-rule: #8d949c;
  --g-custom: #0b68cb; --g-data: #e8f3ec; --g-held: #fdf3dc; --g-result: #efeafc; --g-gradient: #b4432f;
  --g-forward: #f3f7fc; --g-backward: #fcf4f3; --g-update: #f4faf4; }
@media (prefers-color-scheme: dark) { .g { --g-ink: #eceef0; --g-soft: #a7afb7; --g-paper: #15171a; --g-op: #24282d;
  --g-rule: #6b737b; --g-custom: #6fb3ff; --g-data: #1d3326; --g-held: #3a3118; --g-result: #2b2544;
  --g-gradient: #ff9d8a; --g-forward: #171d25; --g-backward: #231b1b; --g-update: #18211a; } }
.g text { fill: var(--g-ink); font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.g .g-title { font: 600 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.g .g-line { font-size: 11px; fill: var(--g-soft); }
.g .g-name { font: 600 12px system-ui, sans-serif; fill: var(--g-soft); letter-spacing: .04em; }
.g .g-band { stroke: none; } .g .g-forward { fill: var(--g-forward); } .g .g-backward { fill: var(--g-backward); }
.g .g-update { fill: var(--g-update); }
.g .g-box rect { fill: var(--g-op); stroke: var(--g-rule); } .g .g-data rect { fill: var(--g-data); }
.g .g-held rect { fill: var(--g-held); } .g .g-result rect { fill: var(--g-result); }
.g .g-custom rect { stroke: var(--g-custom); stroke-width: 2.5; } .g .g-custom .g-title { fill: var(--g-custom); }
.g .g-arrow { fill: none; stroke: var(--g-rule); stroke-width: 1.3; }
.g .g-gradient { stroke: var(--g-gradient); stroke-dasharray: 5 4; }
.g .g-head { fill: var(--g-rule); } .g .g-head-gradient { fill: var(--g-gradient); }
.g .g-paper { fill: var(--g-paper); }
.g .g-box:hover rect { stroke-width: 2.5; }"""


def svg(drawing: Drawing, *, number: int = 0) -> str:
    """Return a drawing as an ``<svg>`` element that stands alone.

    Args:
        drawing: what is drawn.
        number: tells pictures of one page apart.
    """
    sizes = {name: _size(box) for name, box in drawing.nodes.items()}
    ends = [(arrow.start, arrow.end) for arrow in drawing.edges]
    places = layered(sizes, ends, {name: BANDS.index(box.band) for name, box in drawing.nodes.items()})
    width, height = max(places.width, 120.0), max(places.height, 40.0)
    parts = [
        f'<svg class="g" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{_text(drawing.title)}">',
        f"<title>{_text(drawing.title)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{_head(number, 'g-head')}{_head(number, 'g-head-gradient')}</defs>",
        f'<rect class="g-paper" width="{width:.0f}" height="{height:.0f}"/>',
        *_bands(places, width),
        *(_arrow(arrow, path, number) for arrow, path in zip(drawing.edges, places.paths)),
        *(_box(box, places.boxes[name]) for name, box in drawing.nodes.items()),
        "</svg>",
    ]
    return "\n".join(parts)


def _size(box: Box) -> tuple[float, float]:
    wide = [len(_short(box.text)) * _TITLE_WIDTH, *(len(_short(line)) * _LINE_WIDTH for line in box.lines)]
    return max(wide) + 2 * _PADDING + 4, _TITLE_HEIGHT + len(box.lines) * _LINE_HEIGHT + 2 * _PADDING - 2


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


def _text(text: str) -> str:
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _head(number: int, name: str) -> str:
    return (
        f'<marker id="{name}-{number}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="{name}" d="M0,0L8,4L0,8z"/></marker>'
    )


def _bands(places: Layout, width: float) -> list[str]:
    if len(places.bands) < 2:
        return []
    found = []
    for band, (top, bottom) in places.bands.items():
        found.append(
            f'<rect class="g-band g-{BANDS[band]}" x="6" y="{top:.1f}" width="{width - 12:.1f}" '
            f'height="{bottom - top:.1f}" rx="8"/>'
            f'<text class="g-name" x="18" y="{top + 19:.1f}">{BANDS[band]}</text>'
        )
    return found


def _arrow(arrow: Arrow, path: list[tuple[float, float]], number: int) -> str:
    steps = [f"M{path[0][0]:.1f},{path[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(path):
        middle = (y + to_y) / 2
        steps.append(f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}")
    more, head = (" g-gradient", "g-head-gradient") if arrow.is_gradient else ("", "g-head")
    said = f"<title>{_text(arrow.text)}</title>" if arrow.text else ""
    return f'<path class="g-arrow{more}" d="{" ".join(steps)}" marker-end="url(#{head}-{number})">{said}</path>'


def _box(box: Box, at: Rectangle) -> str:
    classes = f"g-box g-{box.kind}" + (" g-custom" if box.is_custom else "")
    radius = {"op": 5, "held": 3}.get(box.kind, at.height / 2 if not box.lines else 14)
    middle = at.x + at.width / 2
    whole = "\n".join(map(_text, (box.text, *box.lines, *([box.place] if box.place else []))))
    parts = [
        f'<g class="{classes}"><title>{whole}</title>',
        f'<rect x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" height="{at.height:.1f}" rx="{radius:g}"/>',
        _row("g-title", middle, at.y + _PADDING + 11, box.text),
    ]
    for index, line in enumerate(box.lines):
        parts.append(_row("g-line", middle, at.y + _PADDING + 11 + (index + 1) * _LINE_HEIGHT, line))
    return "".join([*parts, "</g>"])


def _row(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{_text(_short(text))}</text>'
