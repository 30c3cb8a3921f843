"""Words decide nothing: ``python -m tests.campaigns.words [FRAMEWORK...]``.

Checks each function that its authors wrote without knowing the checker twice, the second time with other names of
parameters, a false docstring and no comments, and prints every outcome that differs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import opkit
from tests.corpus.first_contact import FRAMEWORKS, functions_of, outcome
from tests.corpus.words import reworded


def outcomes(targets: list[str]) -> list[str]:
    """Return the outcome of each target."""
    return [outcome(opkit.gradcheck(target, timeout=90.0, replay=False).ops[0]) for target in targets]


def main() -> None:
    """Compare the sets that are named, or all."""
    for framework in sys.argv[1:] or FRAMEWORKS:
        rows = functions_of(framework)
        with TemporaryDirectory() as folder:
            written = {path: reworded(path, Path(folder)) for path in {row.path for row in rows}}
            before = outcomes([row.target for row in rows])
            after = outcomes([f"{written[row.path]}::{row.name}" for row in rows])
        differing = [
            f"{row.name} ({row.path.name}): {one}, with other words {other}"
            for row, one, other in zip(rows, before, after)
            if one != other
        ]
        print(*differing, f"{framework}: {len(differing)} of {len(rows)} outcomes differ", sep="\n")


if __name__ == "__main__":
    main()
