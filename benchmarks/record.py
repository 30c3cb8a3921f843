"""The record of a benchmark that compares opkit with a peer: written as JSON, and compared with an earlier one.

Only ratios are compared: times are of one machine and one hour. What is measured is each benchmark's own business.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import opkit

#: A ratio that grew by more than this lost.
MARGIN = 1.15


@dataclass(frozen=True)
class Row:
    """What one thing takes: microseconds per call of opkit and of the peer (0 where it is absent), and the aim."""

    opkit: float
    peer: float
    aim: float

    @property
    def ratio(self) -> float | None:
        """How many times the peer's time opkit takes."""
        return self.opkit / self.peer if self.peer else None


def write(path: Path, rows: Mapping[str, Row]) -> None:
    """Write rows, with the versions that they were measured with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = {"versions": _versions(), "rows": {name: _rounded(row) for name, row in rows.items()}}
    path.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def _rounded(row: Row) -> dict[str, float]:
    return {name: round(value, 2) for name, value in asdict(row).items()}


def read(path: Path) -> dict[str, Row]:
    """Return the rows of a record; none where there is no file."""
    if not path.exists():
        return {}
    return {name: Row(**row) for name, row in json.loads(path.read_text(encoding="utf-8"))["rows"].items()}


def summary(rows: Mapping[str, Row], record: Mapping[str, Row]) -> list[str]:
    """Return lines: how many aims are met, which are not, and each ratio that lost against the record."""
    measured = {name: row.ratio for name, row in rows.items() if row.ratio is not None}
    missed = [f"{name} {ratio:.2f}" for name, ratio in measured.items() if ratio > rows[name].aim]
    lines = [f"{len(measured) - len(missed)} of {len(measured)} aims are met; above: {', '.join(missed) or 'none'}"]
    for name, ratio in measured.items():
        before = record[name].ratio if name in record else None
        if before is not None and ratio > before * MARGIN:
            lines.append(f"lost: {name} takes {ratio:.2f} times the peer's time, {before:.2f} in the record")
    return lines


def table(rows: Mapping[str, Row]) -> list[str]:
    """Return the rows as a table in Markdown."""
    lines = ["| what (elements or shape) | opkit, us | torch, us | ratio | aim |", "|---|---:|---:|---:|---:|"]
    for name, row in rows.items():
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"| {name.replace('**', '^')} | {row.opkit:.1f} | {row.peer:.1f} | {ratio} | {row.aim:.2f} |")
    return lines


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "opkit": opkit.__version__}
    for name in ("numpy", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
