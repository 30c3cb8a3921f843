"""The corpus of torch, each name checked in this process: ``python -m tests.campaigns.torch_functions [NAME...]``.

Prints each verdict that is not the expected one (of the names given: each), and figures.
"""

from __future__ import annotations

import sys
import time

from opkit.checker import Status
from tests.corpus.torch_corpus import FILES, checked, is_expected, names_in

_BAD = (Status.FAIL, Status.ERROR)


def main() -> None:
    """Check what is named, or all."""
    wanted = set(sys.argv[1:])
    times = []
    for file in FILES:
        good = count = 0
        for name in names_in(file):
            if wanted and name not in wanted:
                continue
            begun = time.process_time()
            report = checked(file, name)
            times.append((time.process_time() - begun, name))
            expected = is_expected(file, name, report)
            count, good = count + 1, good + expected
            if wanted or not expected:
                print(f"{file} {name}: {report.status.value}, {times[-1][0]:.1f} s", report.notes, flush=True)
                for item in report.checks:
                    if item.status in (*_BAD, Status.UNDECIDED):
                        print(f"    {item.status.value} {item.code} {item.message[:200]}", flush=True)
        print(f"{file}: {good} of {count} as expected", flush=True)
    times.sort()
    if times:
        slowest = ", ".join(f"{name} {seconds:.1f}" for seconds, name in times[-5:])
        middle, most = times[len(times) // 2][0], times[len(times) * 9 // 10][0]
        print(f"seconds of the processor: median {middle:.2f}, nine tenths {most:.2f}; the longest: {slowest}")


if __name__ == "__main__":
    main()
