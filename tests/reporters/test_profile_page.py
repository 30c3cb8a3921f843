"""The page of a profile: what ops cost, and when they ran."""

import json
import re

from opkit.ops.core.profile import Profile, ProfileRow
from opkit.reporters.profile_page import COLOURS, profile_json, profile_page, timeline_svg


def profile(events: int = 3) -> Profile:
    """Return the profile of a made-up run: a costly op with a hostile name, one call of which was not kept, and tanh."""
    made = Profile(start=0.0)
    made.rows["<b>slow</b>"] = ProfileRow(2, 0.03, 0.02, 4_000_000, 3_000_000)
    made.rows["tanh"] = ProfileRow(events, 0.01, 0.001, 0, 0)
    made.events.append(("<b>slow</b>", 0.0, 0.02, 1, "float32[3]"))
    made.events.extend(("tanh", 0.02 + 0.001 * item, 0.001, 1, "float32[3]") for item in range(events))
    return made


def test_the_page_has_every_op_the_costliest_first() -> None:
    """Names are text, shares are of the time in ops, and what is left out of the drawing is said."""
    page = profile_page(profile(), "1.2", "opkit run --profile job.py", "today")
    assert "<b>slow" not in page
    assert re.findall(r'<td class="op mono">(.*?)<span', page) == ["&lt;b&gt;slow&lt;/b&gt;", "tanh"]
    assert re.findall(r"([\d.]+%)</td>", page) == ["75.0%", "25.0%"]
    assert "40.00 ms in 5 calls of 2 ops" in page
    assert "The last 1 calls are only in the table." in page
    assert 'data-copy="opkit run --profile job.py"' in page


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """No script, font or picture is loaded; both colour schemes are there, and one main landmark."""
    page = profile_page(profile(), "1.2")
    assert not re.search(r'(src|href)="(?!#)|https?://|@import|url\(', page)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<main>") == 1


def test_a_run_without_ops_is_a_page_too() -> None:
    """It says so, and draws nothing."""
    page = profile_page(Profile(), "1.2")
    assert "No op ran." in page
    assert "<svg" not in page


def test_the_timeline_merges_what_shares_a_column() -> None:
    """However many calls there are, the drawing stays small, and the longest of a column is named."""
    many = [("tanh", item * 1e-6, 5e-7, 7, "float32[3]") for item in range(100_000)]
    drawn = timeline_svg([*many, ("slow", 0.05, 0.01, 7, "float32[3]")], {"slow": 0, "tanh": 1})
    assert drawn.count("<rect") < 1_000
    assert re.search(r"<title>slow: 10000.0 us at 50.00 ms, float32\[3\], and \d+ more calls</title>", drawn)


def test_each_thread_has_a_lane_and_rare_ops_share_a_colour() -> None:
    """Threads are numbered in the order in which they came; an op without a rank has the last colour."""
    drawn = timeline_svg([("a", 0.0, 1.0, 11, ""), ("b", 0.0, 1.0, 12, "")], {"a": 0})
    assert drawn.count('class="lane"') == 2
    assert re.findall(r"thread \d", drawn) == ["thread 1", "thread 2"]
    assert f'class="op-{COLOURS}"' in drawn


def test_json_has_seconds_and_bytes() -> None:
    """The numbers are those of the rows, and can be written."""
    data = json.loads(json.dumps(profile_json(profile(), "1.2")))
    assert [item["op"] for item in data["ops"]] == ["<b>slow</b>", "tanh"]
    assert data["ops"][0] | {"op": ""} == {
        "op": "",
        "calls": 2,
        "seconds": 0.03,
        "slowest": 0.02,
        "made_bytes": 4_000_000,
        "most_bytes": 3_000_000,
    }
