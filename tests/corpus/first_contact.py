"""First contact: functions by authors who had not read the checker, each judged by an oracle of its own.

``tests/campaigns/data/first/FRAMEWORK/index.json`` says of each what it is; ``oracle.py`` there is how that was found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from opkit.checker import OpReport, Status

FOLDER = Path(__file__).parents[1] / "campaigns" / "data" / "first"
FRAMEWORKS = ("pylayer", "torch", "jax")


@dataclass(frozen=True)
class First:
    """One function.

    Args:
        path: its file.
        name: in it.
        kind: right, faulty or surrogate.
        is_letter: whether it is right where it is meant to be used, and wrong by rules 1 to 3 elsewhere.
    """

    path: Path
    name: str
    kind: str
    is_letter: bool

    @property
    def target(self) -> str:
        """What the command line is given."""
        return f"{self.path}::{self.name}"


def functions_of(framework: str) -> list[First]:
    """Return the functions of a framework's set, in the order of its index."""
    folder = FOLDER / framework
    rows = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return [First(folder / row["file"], row["name"], row["kind"], bool(row.get("letter"))) for row in rows]


def outcome(report: OpReport) -> str:
    """Return the status, and whether a pass names what is not served."""
    is_line = report.status is Status.PASS and any(note.startswith("not served") for note in report.notes)
    return "pass with a line" if is_line else report.status.value
