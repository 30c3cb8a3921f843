"""Prove what OneFlow's own definitions claim about devices, for the op types that are built in here.

    python benchmarks/sbp_builtin.py FOLDER [--seconds S] [-v] [OP...]

FOLDER is oneflow/user/ops of OneFlow v0.4.0. The definitions are OneFlow's, the kernels opkit's. Prints a line per op:
how many of its signatures hold, which do not, and what was not tried and why.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import opkit.ops  # noqa: F401 (registers the built-in op types)
from opkit.checker import Arg, Attr, Checkable, OpReport, Options, Status
from opkit.checker.claims.engine import check_claims
from opkit.ir import TensorDesc
from opkit.ops import BUILTIN
from opkit.spec import CompiledOp, compile_spec
from opkit.verify.subjects.raw_kernel import claims_of


class OutOfTime(BaseException):
    """An op took longer than it may."""


def give_up(number: int, frame: object) -> None:
    """Leave the op, whatever it is doing.

    Raises:
        OutOfTime: always.
    """
    raise OutOfTime("no verdict in time")


def checkable(compiled: CompiledOp) -> Checkable:
    """Return an op with OneFlow's definition and opkit's kernel."""
    names = [arg.name for arg in compiled.outputs if not arg.is_optional]

    def run(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        given = {
            name: list(value) if isinstance(value, (list, tuple)) else [value]
            for name, value in arrays.items()
            if value is not None
        }
        bound = BUILTIN.get(compiled.name).bind(given, dict(attrs), dict.fromkeys(names, 1))
        made = bound.opdef.kernel(*bound.inputs, **bound.attrs)
        results = list(made) if isinstance(made, tuple) else [made]
        by_name = {name: np.asarray(item) for (name, _), item in zip(bound.output_names, results)}
        return [by_name[name] for name in names]

    def infer(descs: Mapping[str, Sequence[TensorDesc]], attrs: Mapping[str, Any]) -> list[TensorDesc]:
        given = {name: list(items) for name, items in descs.items() if items}
        found = compiled.infer(given, dict(attrs))
        return [found[name][0] for name in names]

    claims = claims_of(compiled)
    return Checkable(
        compiled.name,
        tuple(Arg(arg.name, arg.is_optional, arg.is_variadic or arg.count > 1, arg.count) for arg in compiled.inputs),
        tuple(Arg(name) for name in names),
        run,
        attrs=tuple(Attr(attr.name, attr.type, attr.default) for attr in compiled.attrs.values()),
        infer=infer,
        claims=replace(claims, outputs=tuple(names)) if len(names) == len(compiled.outputs) else claims,
    )


def line_of(report: OpReport) -> tuple[str, str]:
    """Return a verdict and what is behind it."""
    false = [item for item in report.checks if item.status in (Status.FAIL, Status.ERROR)]
    held = [
        item.message.partition(" holds")[0]
        for item in report.checks
        if item.code == "SBP201" and item.status is Status.PASS
    ]
    if any(item.code.startswith("GC") for item in false):
        return "no cases", "; ".join(item.message for item in false)[:160]
    if false:
        return "refuted", " | ".join(item.message for item in false)
    if not held:
        return "untried", "; ".join(item.message for item in report.checks)[:160]
    return "proved", ", ".join(held)


def main() -> int:
    """Prove all and print a line for each; exit 1 where a claim is refuted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--limit", type=int, default=60, help="seconds after which an op is given up")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what could be claimed too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, give_up)
    counts: Counter[str] = Counter()
    for file in sorted(options.folder.glob("*.cpp")):
        for name, compiled in compile_spec(file).ops.items():
            if name not in BUILTIN or not compiled.makes_claims or (options.ops and name not in options.ops):
                continue
            signal.alarm(options.limit)
            try:
                report = check_claims(checkable(compiled), Options(seconds=options.seconds))
            except (Exception, OutOfTime) as error:
                counts["error"] += 1
                print(f"error     {name:28} {type(error).__name__}: {error}"[:200])
                continue
            finally:
                signal.alarm(0)
            verdict, what = line_of(report)
            counts[verdict] += 1
            print(f"{verdict:<9} {name:28} {what}"[:400])
            if options.verbose:
                for item in report.checks:
                    if item.code == "SBP210":
                        print(f"          + {item.message}")
            sys.stdout.flush()
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
