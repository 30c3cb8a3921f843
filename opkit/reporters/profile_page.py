"""The profile of a run as one self-contained HTML page: what each op costs, and when it ran.

The numbers are gathered elsewhere (``opkit.ops.core.profile``); the page's layout is in profile.html.

When ops ran, as an SVG drawing: a lane per thread, the costliest ops in colours of their own.

Colours come from the page's style sheet, by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from opkit.ops.core.profile import Profile, ProfileRow
from opkit.reporters.layout import filled

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


def profile_page(profile: Profile, version: str, invocation: str = "", made: str = "") -> str:
    """Return the page.

    Args:
        profile: of a run that has ended.
        version: opkit's.
        invocation: the command line that made it, "" for none.
        made: when, "" where that is left out.
    """
    total = sum(row.seconds for row in profile.rows.values())
    ranks = {name: min(place, COLOURS) for place, (name, _) in enumerate(profile.costliest())}
    return filled(
        "profile.html",
        version,
        invocation,
        made,
        rows=[_row(name, row, total, ranks[name]) for name, row in profile.costliest()],
        total=f"{total * 1e3:.2f}",
        calls=sum(row.calls for row in profile.rows.values()),
        timeline=Markup(timeline_svg(profile.events, ranks)),
        lost=sum(row.calls for row in profile.rows.values()) - len(profile.events),
    )


def profile_json(profile: Profile, version: str) -> dict[str, Any]:
    """Return the numbers of the page as JSON data: seconds and bytes."""
    return {
        "schema": 1,
        "opkit": version,
        "ops": [
            {
                "op": name,
                "calls": row.calls,
                "seconds": row.seconds,
                "slowest": row.slowest,
                "made_bytes": row.made_bytes,
                "most_bytes": row.most_bytes,
            }
            for name, row in profile.costliest()
        ],
    }


def _row(name: str, row: ProfileRow, total: float, rank: int) -> Mapping[str, Any]:
    share = row.seconds / total if total else 0.0
    return {
        "name": name,
        "rank": rank,
        "calls": row.calls,
        "total": f"{row.seconds * 1e3:.2f}",
        "share": f"{share:.1%}",
        "width": f"{100 * share:.2f}",
        "mean": f"{row.seconds / row.calls * 1e6:.1f}",
        "slowest": f"{row.slowest * 1e6:.1f}",
        "made": f"{row.made_bytes / 1e6:.2f}",
        "most": f"{row.most_bytes / 1e6:.2f}",
    }
