"""The profile of a run as one self-contained HTML page: what each op costs, and when it ran.

The numbers are gathered elsewhere (``opkit.ops.core.profile``); the page's layout is in profile.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from opkit.ops.core.profile import Profile, ProfileRow
from opkit.reporters.layout import filled
from opkit.reporters.timeline import COLOURS, timeline_svg


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
