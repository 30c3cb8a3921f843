"""A call that ends its process costs itself and what is like it; what it counts is as the rules say."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from opkit.checker import Case, OpReport, Options
from opkit.checker.model.report import CheckResult, FatalCall, Status
from opkit.checker.search.fatal import FatalCallError, refusing
from opkit.verify import RunOptions, run_targets
from opkit.verify.isolation.supervisor import can_fork
from tests.verify.opdirs import SQUARE, make_op

pytestmark = [
    pytest.mark.skipif(not can_fork(), reason="isolation by processes of one's own"),
    pytest.mark.xdist_group("fatal calls"),  # one run of the file of layers
]

QUICK = RunOptions(Options(effort=0.5), timeout=60, replay=False)

#: Functions of which each ends its process under a condition; those with cases are below.
_LAYERS = """
import os
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Right(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 2 * x * dy


def dies(condition, factor=2):
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        if condition(x.numpy()):
            os.abort()
        return factor * x * dy
    return staticmethod(backward)


class Empty(Right):
    backward = dies(lambda x: x.size == 0)


class EmptyForward(Right):
    @staticmethod
    def forward(ctx, x):
        if x.size == 0:
            os._exit(3)
        ctx.save_for_backward(x)
        return x * x


class Equal(Right):
    backward = dies(lambda x: x.ndim == 2 and x.shape[0] == x.shape[1] > 0)


class Generic(Right):
    backward = dies(lambda x: x.ndim == 2 and x.size > 0)


class Huge(Right):
    backward = dies(lambda x: x.size and abs(x).max() > 5000)


class Always(Right):
    backward = dies(lambda x: True)


class WrongToo(Right):
    backward = dies(lambda x: x.size == 0, 3)


class Declared(Right):
    backward = dies(lambda x: x.shape == (5,))


class DeclaredFirst(Right):
    backward = dies(lambda x: x.shape == (3,))


class DeclaredEmpty(Right):
    backward = dies(lambda x: x.size == 0)


class Two(Right):
    backward = dies(lambda x: x.shape in ((5,), (2, 4)))


class OneValue(Right):
    backward = dies(lambda x: x.shape == (2, 4) and x[0, 0] == 7)


def drawn(rng):
    for shape in ((3,), (2, 4), (5,)):
        yield {"x": rng.standard_normal(shape)}


cases_Declared = cases_DeclaredFirst = cases_Two = drawn


def cases_DeclaredEmpty(rng):
    yield {"x": rng.standard_normal(3)}
    yield {"x": rng.standard_normal(0)}


def cases_OneValue(rng):
    yield {"x": np.array([[7, 2, 1, 0.5], [1, 2, 3, 4]])}
    yield {"x": rng.standard_normal((2, 4))}
"""


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OpReport]:
    """One run over the file."""
    path = tmp_path_factory.mktemp("fatal") / "layers.py"
    path.write_text(_LAYERS)
    reports = run_targets([f"{path}::*"], QUICK).report.ops
    return {report.op.rpartition("::")[2]: report for report in reports}


def died(report: OpReport) -> list[tuple[str, str]]:
    """Return status and message of what is said of deaths."""
    return [(item.status.value, item.message) for item in report.checks if item.code in ("GC191", "GC193")]


def decided(report: OpReport) -> bool:
    """Return whether the derivative was decided all the same."""
    return any(item.code in ("GC101", "GC102") and item.status is Status.PASS for item in report.checks)


def test_the_others_of_a_file_are_judged(layers: dict[str, OpReport]) -> None:
    """One report for each function, whatever the first look at it did while the file was loaded."""
    assert len(layers) == 13
    assert layers["Right"].status is Status.PASS


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Empty", "the process was killed by SIGABRT in the user's backward, at x of shape [0], which nothing declares"),
        ("EmptyForward", "the process ended by itself (status 3) in the user's forward, at x of shape [0], which nothing"),
        ("Equal", "the process was killed by SIGABRT in the user's backward, at x of shape [4, 4], which nothing"),
        ("Huge", "the process was killed by SIGABRT in the user's backward, at x of shape ["),
    ],
)
def test_a_special_kind_that_was_found_is_undecided(layers: dict[str, OpReport], name: str, said: str) -> None:
    """The kind is named, the rest is checked, and it is no pass."""
    assert layers[name].status is Status.UNDECIDED
    ((status, message),) = died(layers[name])
    assert status == "undecided"
    assert said in message
    assert decided(layers[name])


def test_a_generic_kind_that_forward_takes_fails(layers: dict[str, OpReport]) -> None:
    """Backward ends the process on matrices: a failure; special kinds of it are not told apart."""
    assert layers["Generic"].status is Status.FAIL
    assert [message for _, message in died(layers["Generic"])] == [
        "the process was killed by SIGABRT in the user's backward, at x of shape [3, 4]"
    ]
    assert decided(layers["Generic"])


@pytest.mark.parametrize(
    ("name", "shapes"), [("Declared", ["[5]"]), ("DeclaredFirst", ["[3]"]), ("DeclaredEmpty", ["[0]"])]
)
def test_a_declared_case_fails(layers: dict[str, OpReport], name: str, shapes: list[str]) -> None:
    """It is named, shown and kept for --repro; the other cases are checked."""
    report = layers[name]
    assert report.status is Status.FAIL
    assert [message.partition(" of shape ")[2] for _, message in died(report)] == shapes
    (finding,) = report.findings
    assert finding.evidence is not None
    assert finding.evidence.case is not None
    assert decided(report)


def test_two_fatal_kinds_are_both_named(layers: dict[str, OpReport]) -> None:
    """The second is found by a check without the first."""
    assert layers["Two"].status is Status.FAIL
    assert sorted(message.partition(" of shape ")[2] for _, message in died(layers["Two"])) == ["[2, 4]", "[5]"]
    assert decided(layers["Two"])


def test_one_value_costs_its_case_alone(layers: dict[str, OpReport]) -> None:
    """Another declared case of the same shape is checked."""
    assert layers["OneValue"].status is Status.FAIL
    assert decided(layers["OneValue"])


def test_what_always_dies_is_an_error_that_names_it(layers: dict[str, OpReport]) -> None:
    """After some calls, each unlike those before, the function as a whole is at fault."""
    assert layers["Always"].status is Status.ERROR
    (finding,) = layers["Always"].findings
    assert finding.code == "GC191"
    assert "ended their processes too" in finding.message
    assert finding.case is not None


def test_a_wrong_gradient_beside_a_death_is_found(layers: dict[str, OpReport]) -> None:
    """Both are in the report."""
    assert layers["WrongToo"].status is Status.FAIL
    assert {item.code for item in layers["WrongToo"].checks if item.status is not Status.PASS} >= {"GC101", "GC191"}


def test_an_op_directory_fails(here: Path) -> None:
    """Its infer function declares all shapes, empty ones too; no selection of checks hides it."""
    make_op(here, "op", SQUARE.replace("    return 2 *", "    import os; x.size or os.abort()\n    return 2 *"))
    for select in (frozenset(), frozenset({"GC101"})):
        (report,) = run_targets(["op"], RunOptions(Options(effort=0.5, select=select), replay=False)).report.ops
        assert report.status is Status.FAIL
        assert [status for status, _ in died(report)] == ["fail"]
        assert decided(report)


def test_a_py_func_fails_at_what_a_run_used(here: Path) -> None:
    """A run declares its points; the process that ran the script is not the one that dies."""
    (here / "job.py").write_text(
        """
import os
import numpy as np
import paddle
from paddle.autograd import PyLayer


def square(x):
    return np.asarray(x) ** 2


def gradient(x, y, dy):
    if len(CALLS) > 1 and np.asarray(x).shape == (3, 4):
        os.abort()
    CALLS.append(1)
    return 2 * np.asarray(x) * np.asarray(dy)


CALLS = []
paddle.enable_static()
main = paddle.static.Program()
with paddle.static.program_guard(main, paddle.static.Program()):
    x = paddle.static.data("x", [-1, 4], "float64")
    x.stop_gradient = False
    y = main.current_block().create_var(name="y", dtype="float64", shape=[-1, 4])
    paddle.static.py_func(square, x, y, gradient)
    (g,) = paddle.static.gradients([y], [x])
exe = paddle.static.Executor()
for rows in (3, 2):
    exe.run(main, feed={"x": np.linspace(-1, 1, 4 * rows).reshape(rows, 4)}, fetch_list=[g])
"""
    )
    (report,) = run_targets(["job.py"], QUICK).report.ops
    assert report.status is Status.FAIL
    assert died(report) == [
        ("fail", "the process was killed by SIGABRT in the user's backward, at x of shape [3, 4]")
    ]
    assert decided(report)


def test_all_attempts_end_with_the_time(here: Path) -> None:
    """Where the time is over before a check without the fatal call ends, the op is an error that names both."""
    slow = "    import os, time; time.sleep(0.15)\n    x.size == 1 and os.abort()\n    return 2 *"
    make_op(here, "op", SQUARE.replace("    return 2 *", slow))
    started = time.monotonic()
    (report,) = run_targets(["op"], RunOptions(Options(effort=0.5), timeout=3, replay=False)).report.ops
    assert time.monotonic() - started < 12
    assert report.status is not Status.PASS
    assert report.status is not Status.UNDECIDED


def test_claims_are_not_judged_without_a_fatal_call(here: Path) -> None:
    """What opkit sbp proves holds on all inputs: there the op is an error."""
    make_op(here, "op", SQUARE.replace("    return x *", "    import os; x.size == 1 and os.abort()\n    return x *"))
    (report,) = run_targets(["op"], RunOptions(Options(effort=0.5), command="sbp", replay=False)).report.ops
    assert report.status is not Status.PASS


def refused(fatal: list[Case], is_declared: bool, **inputs: np.ndarray) -> bool:
    """Return whether a call is refused after fatal ones."""
    finding = CheckResult("crash", Status.ERROR, "GC191", "died")
    try:
        refusing([FatalCall(finding, case, True) for case in fatal], is_declared)(inputs, {})
    except FatalCallError:
        return True
    return False


def test_what_is_like_a_fatal_call_is_refused() -> None:
    """A found case costs its kind and special ones of it, a declared one itself, two their shapes."""
    one, other, square = np.ones((3, 4)), np.zeros((5, 2)), np.ones((2, 2))
    assert refused([Case({"x": one})], False, x=other)
    assert refused([Case({"x": one})], False, x=square)
    assert not refused([Case({"x": square})], False, x=one)
    assert not refused([Case({"x": one})], False, x=one.astype(np.float32))
    assert not refused([Case({"x": one})], False, x=np.ones(3))
    assert refused([Case({"x": one})], True, x=np.ones((3, 4)))
    assert not refused([Case({"x": one})], True, x=other)
    assert not refused([Case({"x": one})], True, x=2 * one)
    assert refused([Case({"x": one}), Case({"x": 3 * one})], True, x=2 * one)
    assert refused([Case({"x": np.ones(0)})], True, x=np.ones((3, 0)))
    assert not refused([Case({"x": np.ones(0)})], True, x=one)
    assert refused([Case({"x": 2000 * one})], False, x=np.full(3, 5000.0))
    assert not refused([Case({"x": 2000 * one})], False, x=one)


_TORCH = """
import os
import torch


class Empty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.numel() or os.abort()
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return 2 * x * dy


class Declared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        x.shape == (5,) and os.kill(os.getpid(), 9)
        return 2 * x * dy


def cases_Declared(rng):
    yield {"x": rng.standard_normal(5)}
    yield {"x": rng.standard_normal(3)}
"""
_JAX = """
import os
import jax


def pair(name, condition):
    function = jax.custom_vjp(lambda x: x * x)

    def backward(x, dy):
        condition(x) and os.abort()
        return (2 * x * dy,)

    function.defvjp(lambda x: (x * x, x), backward)
    return function


Empty = pair("Empty", lambda x: x.size == 0)
Declared = pair("Declared", lambda x: x.shape == (5,))


def cases_Declared(rng):
    yield {"x": rng.standard_normal(5)}
    yield {"x": rng.standard_normal(3)}
"""


@pytest.mark.peer
@pytest.mark.parametrize(("framework", "text"), [("torch", _TORCH), ("jax", _JAX)])
def test_functions_of_torch_and_jax(here: Path, framework: str, text: str) -> None:
    """In fresh interpreters, where the look while loading may die too: undecided where found, a failure where declared."""
    pytest.importorskip(framework)
    (here / "f.py").write_text(text)
    found, declared = run_targets(["f.py::Empty", "f.py::Declared"], QUICK).report.ops
    assert [status for status, _ in died(found)] == ["undecided"]
    assert decided(found)
    assert [status for status, _ in died(declared)] == ["fail"]
    assert decided(declared)
