"""The debugger stops in the user's function at the call that a finding is about; without it, asking for one is said."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from opkit.checker import Options
from opkit.verify import RunOptions, run_targets
from opkit.verify.debugging import debug_targets
from tests.verify.opdirs import SQUARE, make_op

QUICK = RunOptions(Options(effort=0.05), timeout=20, replay=False)


def debugged(monkeypatch: pytest.MonkeyPatch, words: str, name: str) -> tuple[str, list[str], list[str]]:
    """Debug a target; return what pdb printed, what was said, and the statuses."""
    said: list[str] = []
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(words))
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])  # this process serves the frameworks from here on
    outcome = debug_targets([name], QUICK, said.append)
    return printed.getvalue(), said, [op.status.value for op in outcome.report.ops]


def test_a_wrong_gradient_stops_at_backwards_first_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failing inputs are there to be looked at."""
    make_op(here, "wrong", SQUARE.replace("2 * x", "3 * x"))
    printed, said, statuses = debugged(monkeypatch, "n\nn\np 'sum', float(x.sum()) is not None\nq\n", "wrong")
    assert "wrong_py_kernel.py" in printed
    assert "backward()" in printed
    assert "('sum', True)" in printed
    assert said[0].startswith("wrong_forward: GC101")
    assert statuses == ["fail"]


def test_a_kernel_that_raises_stops_where_it_raised(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame is the user's innermost, whatever numpy or opkit called."""
    kernel = SQUARE.replace(
        "return 2 * x * dy", "if x.ndim == 2:\n        raise ValueError('two')\n    return 2 * x * dy"
    )
    make_op(here, "raises", kernel)
    printed, said, statuses = debugged(monkeypatch, "p 'ndim', x.ndim\nq\n", "raises")
    assert "('ndim', 2)" in printed
    assert "raise ValueError('two')" in printed
    assert any("where it raised" in line for line in said)
    assert statuses in (["fail"], ["error"])


LAYER = """
import paddle
from paddle.autograd import PyLayer


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * WRONG
"""


@pytest.mark.parametrize("wrong", ["x", "x.none"])
def test_a_pylayer_stops_in_its_backward(here: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """Whether the gradient is wrong or raises, the frame is backward's."""
    (here / "layer.py").write_text(LAYER.replace("WRONG", wrong))
    printed, _, statuses = debugged(monkeypatch, "p 'dy', dy.shape\nq\n", "layer.py::Square")
    assert "backward()" in printed
    assert "('dy', [3, 4])" in printed
    assert statuses == ["fail"]


CUBES = {
    "torch": """
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return 2 * dy * x**2
""",
    "jax": """
import jax

Cube = jax.custom_vjp(lambda x: x**3)
Cube.defvjp(lambda x: (x**3, x), lambda x, dy: (2 * dy * x**2,))
""",
}


@pytest.mark.peer
@pytest.mark.parametrize(("name", "where"), [("torch", "--Call--\n> {}("), ("jax", "")])
def test_no_framework_stands_before_the_users_function(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    """Its own Python is stepped over; that a traced function is not called again is said."""
    pytest.importorskip(name)
    (here / "cubes.py").write_text(CUBES[name])
    printed, said, statuses = debugged(monkeypatch, "q\n", "cubes.py::Cube")
    assert statuses == ["fail"]
    assert printed.startswith(where.format(here / "cubes.py"))
    assert ("not called again" in said[-1]) is not bool(printed)


def test_nothing_stops_a_right_op(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a finding there is no debugger."""
    make_op(here, "right")
    assert debugged(monkeypatch, "", "right") == ("", [], ["pass"])


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_breakpoint_without_a_terminal_is_said_so(here: Path, call: str) -> None:
    """It accuses no gradient, names the line, and says what to do."""
    make_op(here, "stops", SQUARE.replace("return 2 * x", f"{call}\n    return 2 * x"))
    (op,) = run_targets(["stops"], QUICK).report.ops
    (finding,) = op.findings
    assert finding.code == "GC193"
    assert "--pdb" in finding.message
    assert finding.where is not None
    assert finding.where.file == "stops/stops_py_kernel.py"


def test_what_a_failing_op_prints_is_shown_with_its_finding(here: Path) -> None:
    """The last lines are a note; a right op's are not shown."""
    make_op(here, "a_wrong", SQUARE.replace("return 2 * x", "print('seen', x.ndim)\n    return 3 * x"))
    make_op(here, "b_right", SQUARE.replace("return 2 * x", "print('seen', x.ndim)\n    return 2 * x"))
    wrong, right = run_targets(["."], QUICK).report.ops
    assert any("seen" in note for note in wrong.notes)
    assert not any("seen" in note for note in right.notes)


def test_prints_go_to_standard_error_where_asked_for(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """``-s``: as they are printed, at loading and in calls; standard output is the report's."""
    make_op(here, "talks", SQUARE.replace("return 2 * x", "print('called')\n    return 2 * x") + "\nprint('loaded')\n")
    run_targets(["talks"], RunOptions(QUICK.check, timeout=20, replay=False, shows_output=True))
    out, err = capfd.readouterr()
    assert "called" in err
    assert "loaded" in err
    assert out == ""
