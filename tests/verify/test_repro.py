"""A failure is kept as data and a short script that needs numpy only."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import Case, Options
from opkit.errors import UsageError
from opkit.verify import RunOptions, run_targets, write_repro
from opkit.verify.failures.framework_repro import framework_lines
from opkit.verify.failures.store import Failure
from tests.verify.opdirs import SQUARE, make_op

QUICK = RunOptions(Options(effort=0.05), timeout=30)


def run_script(script: Path) -> str:
    """Run a script with an interpreter that cannot import opkit."""
    blocked = "import sys, runpy; sys.modules['opkit'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", blocked, str(script)], capture_output=True, text=True, cwd=script.parent, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wrong_entry_is_shown_by_the_users_own_kernels(here: Path) -> None:
    """The script prints the slopes on both sides and what backward gives, running the kernel file itself."""
    make_op(here, "one", SQUARE.replace("2 * x", "-2 * x"))
    outcome = run_targets(["one"], QUICK)
    saved = next(iter(outcome.saved.values()))
    data, script = write_repro(saved, here / "out")
    assert data.name == f"repro_{saved}.npz"
    text = script.read_text()
    assert "opkit" not in text.split('"""')[2]
    assert len(text.split('"""')[2].splitlines()) < 35
    lines = dict(
        line.split(":", 1) for line in run_script(script).splitlines() if line.startswith(("slope", "backward"))
    )
    slope, claimed = float(lines["slope from the right"]), float(lines["backward gives"])
    assert claimed == pytest.approx(-slope, rel=1e-4)


def test_a_broken_contract_is_shown_with_dtypes_and_repetition(here: Path) -> None:
    """A float64 result for float32 inputs is seen in the script's output."""
    make_op(here, "one", SQUARE.replace("return x * x", "return x * x * np.float64(1)"))
    outcome = run_targets(["one"], QUICK)
    assert outcome.report.status.value == "fail"
    _, script = write_repro(next(iter(outcome.saved.values())), here)
    out = run_script(script)
    assert "float64" in out
    assert "arguments unchanged: True" in out


def test_a_layers_failure_is_shown_by_recorded_values(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only opkit can run is shown by slopes that the check measured; no process is forked."""
    (here / "layers.py").write_text(
        "import numpy as np\nfrom opkit.eager import PyLayer, Tensor\n\n\nclass Bad(PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.x = x.numpy()\n        return Tensor(np.sin(ctx.x))\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return Tensor(-dy.numpy() * np.cos(ctx.x))\n"
    )
    outcome = run_targets(["layers.py::Bad"], QUICK)
    monkeypatch.setattr("os.fork", lambda: pytest.fail("forked"))
    data, script = write_repro(next(iter(outcome.saved.values())), here)
    assert "slope" in run_script(script)
    with np.load(data) as arrays:
        assert {"steps", "left", "right", "x_0"} <= set(arrays.files)


def test_an_unknown_id_is_a_usage_error(here: Path) -> None:
    """The message says how to get an id."""
    with pytest.raises(UsageError, match="no failure 'abc123'"):
        write_repro("abc123", here)
    with pytest.raises(UsageError):
        write_repro("../../etc", here)


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_an_option_after_one_that_is_left_out_keeps_its_place(here: Path, framework: str) -> None:
    """The script of a framework's function calls it by position: what is left out has its default there."""
    (here / "act.py").write_text(f"import {framework}\n")
    case = Case({"x": np.ones(2), "scale": None}, {"causal": False})
    failure = Failure("0", ("GC101", "x", "y0"), case, facts={"op": f"{here / 'act.py'}::Act"})
    written = framework_lines(failure, RunOptions())
    assert written is not None
    names: dict[str, Any] = {"inspect": inspect}
    lines = written[1]
    exec("\n".join(lines[lines.index("def arguments(function, values):") : lines.index("    return args") + 1]), names)
    assert names["arguments"](lambda ctx, x, scale=None, causal=True: x, {"x": 1, "causal": False}) == [1, None, False]


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_wrong_derivative_along_a_direction_is_shown_along_one(here: Path, framework: str) -> None:
    """Of an input with too many elements no single one is at fault; the script, which is Python, draws a direction of its own."""
    (here / "act.py").write_text(f"import {framework}\n")
    failure = Failure("0", ("GC102", "x", ""), Case({"x": np.ones(2)}, {}), facts={"op": f"{here / 'act.py'}::Act", "element": [0]})
    written = framework_lines(failure, RunOptions())
    assert written is not None
    text = "\n".join(written[1])
    compile(text, "repro.py", "exec")
    assert 'print("slope along a direction:"' in text
