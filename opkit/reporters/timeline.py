"""When ops ran, as an SVG drawing: a lane per thread, the costliest ops in colours of their own.

Colours come from the page's style sheet, by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

#: How many ops have a colour of their own; the others share one.
COLOURS = 7
_WIDTH, _LANE, _GAP, _LEFT, _BOTTOM = 960, 26, 6, 76, 34
#: Calls that begin and end within the same column are drawn as one: what took longest there shows.
_COLUMNS = _WIDTH - _LEFT - 8
_TICKS = 5

Event = tuple[str, float, float, int, str]


def timeline_svg(events: Sequence[Event], ranks: Mapping[str, int]) -> str:
    """Draw calls over time.

    Args:
        events: (op, begin, seconds, thread, what it made), times in seconds.
        ranks: op -> which of the costliest it is; COLOURS for all others.

    Returns:
        an ``<svg>`` element; "" where there is nothing to draw.
    """
    first = min((begin for _, begin, *_ in events), default=0.0)
    last = max((begin + seconds for _, begin, seconds, *_ in events), default=0.0)
    if last <= first:
        return ""
    threads = list(dict.fromkeys(thread for *_, thread, _ in events))
    height = len(threads) * (_LANE + _GAP) + _BOTTOM
    parts = [f'<svg class="timeline" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="when each op ran">']
    for number, thread in enumerate(threads):
        top = number * (_LANE + _GAP)
        label = "main" if number == 0 and len(threads) == 1 else f"thread {number + 1}"
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{top + 18}" text-anchor="end">{label}</text>')
        parts.append(f'<rect class="lane" x="{_LEFT}" y="{top}" width="{_COLUMNS}" height="{_LANE}"/>')
        own = [event for event in events if event[3] == thread]
        parts += _calls(own, ranks, top, first, _COLUMNS / (last - first))
    parts += _ticks(last - first, height - _BOTTOM)
    return "".join([*parts, "</svg>"])


def _calls(events: Sequence[Event], ranks: Mapping[str, int], top: float, first: float, scale: float) -> Iterator[str]:
    shown: dict[int, tuple[Event, int]] = {}  # column -> the longest call that begins there, and how many do
    for event in events:
        column = int((event[1] - first) * scale)
        before = shown.get(column)
        longest = event if before is None or event[2] > before[0][2] else before[0]
        shown[column] = (longest, 1 + (before[1] if before is not None else 0))
    for column, ((name, begin, seconds, _, made), count) in sorted(shown.items()):
        others = f", and {count - 1} more calls" if count > 1 else ""
        said = f"{name}: {seconds * 1e6:.1f} us at {(begin - first) * 1e3:.2f} ms, {made}{others}"
        width = max(seconds * scale, 1.0)
        yield (
            f'<rect class="op-{ranks.get(name, COLOURS)}" x="{_LEFT + column}" y="{top}" width="{width:.1f}" '
            f'height="{_LANE}"><title>{escape(said)}</title></rect>'
        )


def _ticks(seconds: float, top: float) -> Iterator[str]:
    for number in range(_TICKS):
        share = number / (_TICKS - 1)
        x = _LEFT + share * _COLUMNS
        anchor = "end" if number == _TICKS - 1 else "middle" if number else "start"
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + 5}"/>'
        said = f"{share * seconds * 1e3:.3g} ms"
        yield f'<text class="tick" x="{x:.1f}" y="{top + 20}" text-anchor="{anchor}">{said}</text>'
