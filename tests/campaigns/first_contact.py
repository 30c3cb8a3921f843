"""Functions that the checker's authors did not write: ``python -m tests.campaigns.first_contact [FRAMEWORK...]``.

Prints what is not a pass of a right function or a failure of a faulty one, and a table of outcomes.
"""

from __future__ import annotations

import sys
from collections import Counter

import opkit
from opkit.checker import Status
from tests.corpus.first_contact import FRAMEWORKS, First, functions_of, outcome


def main() -> None:
    """Check the sets that are named, or all."""
    for framework in sys.argv[1:] or FRAMEWORKS:
        rows = functions_of(framework)
        counts: dict[str, Counter[str]] = {}
        for row in rows:
            kind = f"{row.kind} (letter)" if row.is_letter else row.kind
            (counts.setdefault(kind, Counter()))[_checked(row)] += 1
        for kind, found in counts.items():
            print(f"{framework} {kind}: " + ", ".join(f"{count} {what}" for what, count in found.most_common()))


def _checked(row: First) -> str:
    ops = opkit.gradcheck(row.target, timeout=90.0, replay=False).ops
    report = max(ops, key=lambda op: (op.status is Status.FAIL, op.status is Status.ERROR, op.status is not Status.SKIP))
    found = outcome(report)
    good = {"right": ("pass", "pass with a line"), "faulty": ("fail",), "surrogate": ("undecided",)}[row.kind]
    if found not in good:
        print(f"{row.kind} {row.name} ({row.path.name}): {found}, {report.seconds:.1f} s", flush=True)
        for item in report.checks:
            if item.status not in (Status.PASS, Status.SKIP):
                print(f"    {item.status.value} {item.code} {item.message[:260]}", flush=True)
    return found


if __name__ == "__main__":
    main()
