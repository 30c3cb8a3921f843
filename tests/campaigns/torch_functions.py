"""The corpus of torch Functions and library ops, each checked in this process: ``python -m tests.campaigns.torch_functions``.

Arguments are names to check, all without any. Prints a line for each verdict that is not the expected one, and figures.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from opkit.checker import OpReport, Options, Status, check
from opkit.project.module import load_module
from opkit.verify.isolation.watch import SingleProcess
from opkit.verify.subjects.foreign.framework import loaded_frameworks

FOLDER = Path(__file__).parents[1] / "corpus" / "torch_files"


def checked(module: object, name: str) -> OpReport:
    """Check one name of a module, with the cases and exceptions of its file."""
    names = vars(module)
    (framework,) = (item for item in loaded_frameworks() if item.knows(names[name]))
    served = framework.named(names[name], names, name, Options())
    if served.reports:
        return served.reports[0]
    return check(SingleProcess().over(served.checkables[0]), Options())


def own_names(module: object) -> list[str]:
    """Return the custom functions that a module defines itself."""
    framework = next(loaded_frameworks())
    return [
        name
        for name, value in vars(module).items()
        if framework.knows(value) and getattr(value, "__module__", module.__name__) == module.__name__
    ]


def main() -> None:
    """Check what is named, or all."""
    sys.path.insert(0, str(FOLDER))
    wanted = set(sys.argv[1:])
    times = []
    for file, is_right in (
        ("right", True),
        ("tricky", True),
        ("faults", False),
        ("library", True),
        ("library_faults", False),
    ):
        if not (FOLDER / f"{file}.py").exists():
            continue
        module = load_module(str(FOLDER / f"{file}.py"))
        sys.modules[file] = module
        bad = count = 0
        for name in own_names(module):
            if wanted and name not in wanted:
                continue
            count += 1
            begun = time.process_time()
            report = checked(module, name)
            times.append(time.process_time() - begun)
            good = report.status is (Status.PASS) if is_right else report.status in (Status.FAIL, Status.ERROR)
            if not good or wanted:
                bad += not good
                print(f"{file:8} {name:24} {report.status.value} {times[-1]:.1f}s", flush=True)
                for item in report.checks:
                    if item.status in (Status.FAIL, Status.ERROR, Status.UNDECIDED):
                        print(f"         {item.status.value} {item.code} {item.message[:230]}", flush=True)
            if (not good and wanted) or (not good and not is_right):
                print("         notes", [note[:160] for note in report.notes], flush=True)
        print(f"{file}: {count - bad} of {count} as expected", flush=True)
    times.sort()
    if times:
        print(
            f"seconds: median {times[len(times) // 2]:.2f}, nine tenths {times[len(times) * 9 // 10]:.2f}, most {times[-1]:.1f}"
        )


if __name__ == "__main__":
    main()
