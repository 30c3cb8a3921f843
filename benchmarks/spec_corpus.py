"""Compile every spec of a folder, for instance OneFlow's oneflow/user/ops, and count what compiles.

    python benchmarks/spec_corpus.py FOLDER [--include DIR]... [-v]

Prints compiled/total for files, ops and gradients, the reasons for the rest, and the time per file.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from opkit.diagnostics import render_text
from opkit.spec import CompileResult, compile_spec


def main() -> int:
    """Compile the folder and print the counts; exit 1 where something does not compile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--include", type=Path, action="append", default=[], help="folder for #include")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every error")
    parser.add_argument("-w", "--warnings", action="store_true", help="print every warning too")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.cpp"))
    if not files:
        print(f"no .cpp file in {options.folder}", file=sys.stderr)
        return 2
    results, times = [], []
    for file in files:
        start = time.perf_counter()
        results.append(compile_spec(file, include_dirs=options.include))
        times.append(time.perf_counter() - start)
    report(files, results, times, options.verbose, options.warnings)
    return 0 if all(result.ok for result in results) else 1


def report(
    files: list[Path], results: list[CompileResult], times: list[float], is_verbose: bool, with_warnings: bool
) -> None:
    """Print counts, reasons and times."""
    ops = [op for result in results for op in result.ops.values()]
    grads = [grad for result in results for grad in result.grads.values()]
    print(f"files      {sum(result.ok for result in results)}/{len(results)}")
    print(f"ops        {sum(op.ok for op in ops)}/{len(ops)}")
    print(f"gradients  {sum(grad.ok for grad in grads)}/{len(grads)}")
    print(f"time       {sum(times):.2f} s, median file {statistics.median(times) * 1e3:.1f} ms")
    slowest = max(range(len(files)), key=times.__getitem__)
    print(f"slowest    {times[slowest] * 1e3:.0f} ms: {files[slowest].name}")
    reasons = Counter(
        f"{item.severity.value} {item.code}: {item.message}"
        for result in results
        for item in result.diagnostics
        if item.is_error or with_warnings
    )
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")
    if is_verbose or with_warnings:
        shown = [item for result in results for item in result.diagnostics if item.is_error or with_warnings]
        print(render_text(shown))


if __name__ == "__main__":
    sys.exit(main())
