"""docs/devices.md: its example runs, and its report is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.test_commands import opkit

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "devices.md").read_text()


def test_the_example_runs() -> None:
    """With its own assertions."""
    *_, block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "devices.md", "exec"), {})


def test_the_report_is_what_the_command_prints() -> None:
    """But for the time."""
    (shown,) = re.findall(r"\$ opkit sbp sample_ops/row_softmax\n(.*?)```", PAGE, re.DOTALL)
    ran = opkit(ROOT, "sbp", "sample_ops/row_softmax", COLUMNS="100", XDG_CACHE_HOME="")
    settled = [re.sub(r" +\d+\.\d\d s", " T s", text) for text in (shown, ran.stdout)]
    assert settled[1].startswith(settled[0].rstrip("\n"))


def test_the_picture_is_what_the_command_draws() -> None:
    """The page shows it, and ``benchmarks/devices_picture.py`` makes the very same."""
    from benchmarks.devices_picture import TARGET, picture

    assert f"({TARGET.name})" in PAGE
    assert TARGET.read_text() == picture()
