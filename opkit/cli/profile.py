"""``--profile``: the time in each op of a run, through the runtime's observer hook."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opkit.cli.console import console
from opkit.ops.mode import local
from opkit.ops.opdef import OpDef

__all__ = ["profiled"]


@dataclass(slots=True)
class _Row:
    calls: int = 0
    seconds: float = 0.0
    slowest: float = 0.0


@dataclass(slots=True)
class _Profile:
    rows: dict[str, _Row] = field(default_factory=dict)

    def observe(
        self, op: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any], seconds: float
    ) -> None:
        row = self.rows.setdefault(op.name, _Row())
        row.calls += 1
        row.seconds += seconds
        row.slowest = max(row.slowest, seconds)


@contextmanager
def profiled() -> Iterator[None]:
    """Observe every op of this thread; at the end show a table on standard error, the costliest op first."""
    profile = _Profile()
    mode = local.mode
    before, mode.observer = mode.observer, profile.observe
    try:
        yield
    finally:
        mode.observer = before
        _show(profile)


def _show(profile: _Profile) -> None:
    from rich import box
    from rich.table import Table

    total = sum(row.seconds for row in profile.rows.values())
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("op")
    for name in ("calls", "total ms", "share", "mean us", "slowest us"):
        table.add_column(name, justify="right")
    for name, row in sorted(profile.rows.items(), key=lambda item: -item[1].seconds):
        table.add_row(
            name,
            str(row.calls),
            f"{row.seconds * 1e3:.2f}",
            f"{row.seconds / total:.0%}" if total else "-",
            f"{row.seconds / row.calls * 1e6:.1f}",
            f"{row.slowest * 1e6:.1f}",
        )
    if not profile.rows:
        table.add_row("no op ran", "", "", "", "", "")
    sys.stdout.flush()
    console(sys.stderr).print(table)
