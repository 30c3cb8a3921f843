"""Check every function of the JAX corpus: ``python -m tests.campaigns.jax_functions [NAME...]``; JAX must be installed."""

from __future__ import annotations

import sys
import time

from opkit.checker import Status
from tests.verify.test_jax import names_in, report_of


def main(wanted: list[str]) -> int:
    """Print a line for each function and the counts; 1 where a verdict is not as it should be."""
    wrong = 0
    for file, passes in (("right", True), ("faults", False)):
        names = [name for name in names_in(file) if not wanted or name in wanted]
        bad = 0
        for name in names:
            start = time.perf_counter()
            report = report_of(file, name)
            is_good = (report.status is Status.PASS) if passes else report.status in (Status.FAIL, Status.ERROR)
            bad += not is_good
            codes = sorted({item.code for item in report.checks if item.status in (Status.FAIL, Status.ERROR)})
            print(f"{'ok ' if is_good else 'BAD'} {file:6} {name:22} {time.perf_counter() - start:6.2f} s {codes}")
        print(f"{file}: {len(names) - bad} of {len(names)} as they should be")
        wrong += bad
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
