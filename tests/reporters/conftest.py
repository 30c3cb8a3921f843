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


@pytest.fixture
def sbp_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HandMade:
    """A run of sbp: a false claim with another of the same cause, one that holds, one to add, an op without claims."""
    monkeypatch.chdir(tmp_path)
    Path("user_norm").mkdir()
    line = '  ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).Split(user_op::OpArg("y", 0), i).Build();\n'
    Path("user_norm/user_norm_cpp_def.cpp").write_text(f"FOR_RANGE(int64_t, i, 0, n) {{\n{line}}}\n")
    where = Location("user_norm/user_norm_cpp_def.cpp", 2, 21)
    case = Case({"x": np.ones((4, 3))}, {}, "normal", 7)
    other = CheckResult(
        "claim", Status.FAIL, "SBP201", "S(2) -> S(2) does not hold on 2 devices", output="y", where=where
    )
    false = CheckResult(
        "claim", Status.FAIL, "SBP201", "S(1) -> S(1) does not hold on 2 devices: y[0, 2] differs", output="y",
        case={**case.to_json(), "devices": 2}, expected=0.25, actual=0.5, bound=2e-13, where=where,
        evidence=Evidence(case, output_element=(0, 2)), consequences=(other,),
    )  # fmt: skip
    holds = CheckResult("claim", Status.PASS, "SBP201", "S(0) -> S(0) holds on 30 cuts", where=where, cases=10)
    more = CheckResult(
        "unclaimed", Status.PASS, "SBP210", "could also be S(1) -> P; it holds on 24 cuts", where=where,
        hint='ctx->NewBuilder().Split(user_op::OpArg("x", 0), 1).PartialSum(user_op::OpArg("y", 0)).Build();',
    )  # fmt: skip
    none = CheckResult("claims", Status.PASS, "SBP211", "the definition claims no signature")
    ops = (
        OpReport("user_norm_forward", (false, holds), "user_norm", 0.5, ("12 cases over 2, 3 and 4 devices",)),
        OpReport("user_sum_forward", (holds, more), "user_sum", 0.25, notes=(f"{more.message}: {more.hint}",)),
        OpReport("user_plain_forward", (none,), "user_plain", 0.1, notes=("the definition claims no signature",)),
    )
    return HandMade(Report("0.1.0", 0, ops, "sbp"))
