"""The scores as an SVG drawing: of each checker the share of faults found, and of right ops accused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.verdicts.score import Score
from opkit.reporters.figures import fixed

__all__ = ["picture"]

_WIDTH, _LEFT, _BAR, _ROW = 640.0, 170.0, 340.0, 26.0
_STYLE = """
svg { --ink: #1c1e21; --soft: #5d646d; --paper: #fff; --found: #18794e; --false: #c62a2f; --rule: #dfe2e6; }
@media (prefers-color-scheme: dark) { svg { --ink: #eceef0; --soft: #a0a8b0; --paper: #15171a; --found: #4cc38a;
--false: #ff7a7f; --rule: #33383e; } }
text { fill: var(--ink); font: 13px system-ui, sans-serif; } .soft { fill: var(--soft); }
.paper { fill: var(--paper); } .rule { fill: var(--rule); }
.found { fill: var(--found); } .false { fill: var(--false); }
"""


def picture(scores: Sequence[Score]) -> str:
    """Draw a bar for each checker of each kind."""
    rows = [row for score in scores for row in _rows(score)]
    height = 44 + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" role="img" '
        'aria-label="faults found and right ops accused, by checker">',
        f"<title>Faults found and right ops accused, by checker</title><style>{fixed(_STYLE)}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="soft" x="{_LEFT:g}" y="18">faults found (green), right ops accused (red)</text>',
    ]
    for place, (name, found, accused) in enumerate(rows):
        y = 32 + place * _ROW
        if found is None:
            parts.append(f'<text class="soft" x="8" y="{y + 13:g}">{escape(name)}</text>')
            continue
        parts.append(f'<text x="20" y="{y + 13:g}">{escape(name)}</text>')
        parts += _bar(y, found[0] / max(found[1], 1), "found", 9)
        parts += _bar(y + 10, (accused or (0, 1))[0] / max((accused or (0, 1))[1], 1), "false", 5)
        said = f"{found[0]} of {found[1]}; {(accused or (0, 0))[0]} of {(accused or (0, 0))[1]}"
        parts.append(f'<text class="soft" x="{_LEFT + _BAR + 10:g}" y="{y + 13:g}">{said}</text>')
    return "".join([*parts, "</svg>\n"])


def _rows(score: Score) -> Iterator[tuple[str, tuple[int, int] | None, tuple[int, int] | None]]:
    yield score.kind, None, None
    for checker in score.checkers:
        found, accused = score.total(score.faults, checker), score.total(score.right, checker)
        yield checker, (found.accused, found.total), (accused.accused, accused.total)


def _bar(y: float, share: float, kind: str, tall: float) -> list[str]:
    place = f'x="{_LEFT:g}" y="{y:g}" height="{tall:g}"'
    return [
        f'<rect class="rule" {place} width="{_BAR:g}"/>',
        f'<rect class="{kind}" {place} width="{_BAR * share:.1f}"/>',
    ]
