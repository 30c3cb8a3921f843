"""A hand-made run that holds one of everything a report can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from opkit.checker import Case, CheckResult, Evidence, OpReport, Report, Slopes, Status
from opkit.diagnostics import Diagnostic, Note, Severity, SourceText
from opkit.errors import Location

KERNEL = """import numpy as np


def forward(args):
    (x,) = args
    return np.maximum(x, 0)


def backward(args):
    (y, dy) = args
    return -(y > 0) * dy
"""


@dataclass
class HandMade:
    """A run as reporters see it."""

    report: Report
    diagnostics: tuple[Diagnostic, ...] = ()
    saved: Mapping[tuple[int, int], str] = field(default_factory=dict)
    is_interrupted: bool = False
    seconds: float = 1.25


def _jacobian(where: Location) -> CheckResult:
    case = Case({"in": np.ones((3, 4))}, {"alpha": 0.1}, "normal", 7)
    errors = np.zeros((12, 12))
    errors[np.arange(12), np.arange(12)] = np.linspace(1e-6, 2, 12)
    errors[0, 5] = np.nan
    slopes = Slopes(np.geomspace(1e-8, 1e-1, 8), np.linspace(-0.01, 0, 8), np.linspace(1, 1.01, 8), -1.0, 5)
    return CheckResult(
        "jacobian",
        Status.FAIL,
        "GC101",
        "the gradient has the wrong sign",
        "in",
        "out",
        case.to_json(),
        1.0,
        -1.0,
        2.1e-11,
        1.3e-10,
        where,
        Evidence(case, (np.ones((3, 4)),), (1, 2), (1, 2), errors, slopes, "sign"),
        9,
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HandMade:
    """A run over four ops: clean, failed, crashed, undecided."""
    monkeypatch.chdir(tmp_path)
    Path("user_relu").mkdir()
    Path("user_relu/user_relu_py_kernel.py").write_text(KERNEL)
    where = Location("user_relu/user_relu_py_kernel.py", 11)
    hold = CheckResult("jacobian", Status.PASS, "GC101", input="x", output="y", detectable=1e-9, cases=12)
    skip = CheckResult("scalar", Status.SKIP, "GC161", "the infer function accepts no 0-d input")
    dtype = CheckResult(
        "dtype", Status.FAIL, "GC140", 'gradient is "float64" for a <float32> input, & so on', "in",
        expected="float32", actual="float64", where=Location("gone.py", 3),
    )  # fmt: skip
    crash = CheckResult(
        "crash", Status.ERROR, "GC191", "the process was killed by SIGSEGV in the user's backward\x00",
        case={"x": {"shape": [2], "dtype": "float64", "regime": "normal", "seed": 0}}, expected=float("nan"),
    )  # fmt: skip
    unsure = CheckResult("jacobian", Status.UNDECIDED, "GC101", "the kernel computes in float16", "x", "y", bound=0.25)
    ops = (
        OpReport("user_tanh_forward", (hold, skip), "ops/user_tanh", 0.41, ("12 shapes, 3 regimes",)),
        OpReport("user_relu_forward", (_jacobian(where), dtype, hold), "user_relu", 0.5, notes=("x is a constant",)),
        OpReport("layers.py::Crash", (crash,), None, 0.1),
        OpReport("layers.py::Noisy", (unsure, hold), None, 0.2),
    )
    return HandMade(Report("0.1.0", 0, ops), saved={(1, 0): "3fa2b81c09"})


@pytest.fixture
def diagnostics() -> tuple[Diagnostic, ...]:
    """One error with a note, one warning without a place."""
    source = SourceText('REGISTER_USER_OP("user_relu_forward")\n  .Input("in");\n', "user relu/spec.cpp")
    start = source.text.index('"in"')
    return (
        Diagnostic(
            "SPEC030", Severity.ERROR, "no argument 'x', 100%: sure", source.span(start, start + 4),
            (Note("declared here", source.span(0, 16)),), "did you mean 'in'?",
        ),
        Diagnostic("PROJ010", Severity.WARNING, "no device_sub_tag", None),
    )  # fmt: skip
