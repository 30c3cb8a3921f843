"""What each tuned threshold decides: ``python -m tests.campaigns.thresholds [NAME...]``; a campaign, not part of the tests.

For each tuned entry of the table (or those named) the directories of the corpus are checked with half of it and with
twice as much, one process for each. Prints how many statuses change, and of which rows, beside those of the table as it
is: where none change, the value has room on both sides; where some do, they are what it stands on.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

__all__ = ["main"]

NAME = "opkit.checker.model.thresholds"
TABLE = Path(__file__).resolve().parents[2] / "opkit" / "checker" / "model" / "thresholds.py"
TIMES = (0.5, 2.0)
WORKERS = 2


def tuned() -> list[str]:
    """Return the names of the tuned numbers, in the order of the table."""
    found, reason = [], ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("#: "):
            reason += line
            continue
        names = re.match(r"([A-Z_, ]+) = ", line)
        if names and "Tuned" in reason:
            found += names[1].split(", ")
        reason = ""
    return found


def statuses(name: str, times: float) -> dict[str, str]:
    """Check the corpus of directories in this process, with a number of the table changed; before opkit is imported."""
    table = ModuleType(NAME)
    exec(compile(TABLE.read_text(), TABLE, "exec"), vars(table))
    if name:
        setattr(table, name, changed(getattr(table, name), times))
    sys.modules[NAME] = table

    from tests.corpus.loading import report_of
    from tests.corpus.mutants import MUTANTS
    from tests.corpus.ops import OPS

    found: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for number, (op, mutant) in enumerate([*((op, None) for op in OPS.values()), *((OPS[row.op], row) for row in MUTANTS)]):
            place = Path(folder) / str(number)
            place.mkdir()
            report = report_of(op, place, mutant)
            found[mutant.label if mutant else op.name] = "does not build" if report is None else report.status.value
    return found


def changed(value: object, times: float) -> object:
    """Return a number times a factor, a count to the nearest whole number, of several numbers each."""
    if isinstance(value, tuple):
        return tuple(changed(item, times) for item in value)
    if isinstance(value, int):
        return max(1, round(value * times))
    return value * times if isinstance(value, float) else value


def main() -> None:
    """Print a line for each number and factor."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(statuses(sys.argv[2], float(sys.argv[3]))))
        return
    names = sys.argv[1:] or tuned()
    with ThreadPoolExecutor(WORKERS) as pool:
        base = pool.submit(_run, "", 1.0)
        rows = [(name, times, pool.submit(_run, name, times)) for name in names for times in TIMES]
        expected = base.result()
        print(f"{len(expected)} directories", flush=True)
        for name, times, run in rows:
            found = run.result()
            differ = [f"{row}: {expected[row]} -> {found[row]}" for row in expected if expected[row] != found.get(row)]
            print(f"{name} x {times:g}: {len(differ)} differ" + "".join(f"\n    {row}" for row in differ), flush=True)


def _run(name: str, times: float) -> dict[str, str]:
    command = [sys.executable, "-m", "tests.campaigns.thresholds", "--one", name, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=TABLE.parents[3])
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
