"""A pass is confirmed in a process that looks like an ordinary run (GC199)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opkit
from opkit.checker import OpReport
from tests.verify.exploits import ANY_FRONT_END, EXPLOITS, MORE, directory_of, layer_of, script_of, torch_of
from tests.verify.opdirs import make_op

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked"),
    pytest.mark.usefixtures("fresh_interpreters"),  # what an ordinary process shows is the point
]

_MAKERS: dict[str, Callable[[str, Path], object]] = {"layer": layer_of, "directory": directory_of, "script": script_of}
_RIGHT = """

import paddle


class Square(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 2 * x * dy
"""


def reports_of(targets: list[str]) -> tuple[OpReport, ...]:
    """Check targets as the command line does."""
    return opkit.gradcheck(targets, replay=False).ops


def ordinary(report: OpReport) -> str:
    """Return the status of the confirmation, "" where there is none."""
    return next((item.status.value for item in report.checks if item.code == "GC199"), "")


@pytest.mark.parametrize("maker", _MAKERS)
def test_what_is_right_only_while_it_is_checked_fails(maker: str, here: Path) -> None:
    """Every exploit as a PyLayer, most as a Function of torch below; every third of the older ones in the other front ends."""
    told = list(EXPLOITS) if maker == "layer" else [name for name in EXPLOITS if name not in MORE][::3]
    reports = reports_of([str(_MAKERS[maker](name, here)) for name in told])
    assert {name: report.status.value for name, report in zip(told, reports)} == dict.fromkeys(told, "fail")


def test_what_the_command_line_copies_is_as_ordinary(here: Path) -> None:
    """Its interpreter is no new one: every exploit fails there too, and what is right passes and is confirmed."""
    (here / "right.py").write_text(_RIGHT)
    words = [*(str(layer_of(name, here)) for name in EXPLOITS), str(directory_of(next(iter(EXPLOITS)), here))]
    command = [sys.executable, "-m", "opkit", "gradcheck", "--format", "json", *words, "right.py::Square"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    *found, right = json.loads(done.stdout)["ops"]
    assert [item["status"] for item in found] == ["fail"] * len(words)
    assert right["status"] == "pass"
    assert {item["code"]: item["status"] for item in right["checks"]}["GC199"] == "pass"


@pytest.mark.peer
def test_functions_of_torch_are_confirmed_too(here: Path) -> None:
    """Every exploit in which the front end has a part, as a Function of torch."""
    pytest.importorskip("torch")
    reports = reports_of([torch_of(name, here) for name in EXPLOITS if name not in ANY_FRONT_END])
    assert {report.status.value for report in reports} == {"fail"}


def test_a_right_op_is_confirmed_in_each_front_end(here: Path) -> None:
    """The check is there, and passes."""
    (here / "right.py").write_text(_RIGHT)
    (here / "run.py").write_text(
        f"{_RIGHT}\n\nx = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nSquare.apply(x).sum().backward()\n"
    )
    reports = reports_of([str(make_op(here, "square")), str(here / "right.py::Square"), str(here / "run.py")])
    assert [ordinary(report) for report in reports] == ["pass", "pass", "pass"]


def test_what_refuses_to_run_where_nothing_takes_a_gradient_is_confirmed(here: Path) -> None:
    """It says so aloud, which is a line of the verdict."""
    text = _RIGHT.replace("ctx.save_", "assert not x.stop_gradient\n        ctx.save_")
    (here / "trained.py").write_text(f'{text}\n\ndef cases(rng):\n    yield {{"x": rng.normal(size=3)}}\n')
    (report,) = reports_of([str(here / "trained.py::Square")])
    assert (report.status.value, ordinary(report)) == ("pass", "pass")
    assert "not served: forward, where nothing takes a gradient: it raises there" in report.notes


def test_a_file_that_imports_the_module_beside_it_is_confirmed(here: Path) -> None:
    """As ``opkit new --kind torch_function`` lays them out; a script's runs too, from any folder."""
    (here / "beside").mkdir()
    (here / "beside" / "right.py").write_text(_RIGHT)
    (here / "beside" / "check_right.py").write_text("from right import Square\n\n__all__ = ['Square']\n")
    call = "\n\nx = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nSquare.apply(x).sum().backward()\n"
    (here / "beside" / "run.py").write_text(f"import paddle\nfrom right import Square\n{call}")
    reports = reports_of([str(here / "beside" / "check_right.py::Square"), str(here / "beside" / "run.py")])
    assert [ordinary(report) for report in reports] == ["pass", "pass"]


@pytest.mark.parametrize(
    ("wanted", "case"),
    [
        ("np.allclose(v, v.T)", "(lambda a: a + a.T)(rng.normal(size=(3, 3)))"),
        ("np.allclose(v.sum(-1), 1)", "np.eye(3) + rng.normal(size=3)[:, None] * [1, 2, -3]"),
    ],
)
def test_what_forward_refuses_is_not_asked_of_an_ordinary_process(wanted: str, case: str, here: Path) -> None:
    """It is called along a direction that leads to what forward takes."""
    text = _RIGHT.replace("ctx.save_", f"v = x.numpy()\n        assert {wanted}, 'not meant'\n        ctx.save_")
    cases = f"\n\nimport numpy as np\n\n\ndef cases(rng):\n    yield {{'x': {case}}}\n    yield {{'x': {case}}}\n"
    (here / "narrow.py").write_text(text + cases)
    (report,) = reports_of([str(here / "narrow.py::Square")])
    assert ordinary(report) == "pass", report


def test_an_op_that_draws_its_constants_anew_in_each_process_is_not_confirmed(here: Path) -> None:
    """It is no failure, since two ordinary processes differ as well; the report says so in a line."""
    text = _RIGHT.replace("import paddle", "import os\n\nimport paddle\n\nFACTOR = os.urandom(1)[0] + os.getpid()")
    (here / "drawn.py").write_text(
        text.replace("return x * x", "return FACTOR * x * x").replace("2 * x", "2 * FACTOR * x")
    )
    (report,) = reports_of([str(here / "drawn.py::Square")])
    assert (report.status.value, ordinary(report)) == ("pass", "skip")
    assert "others in each process" in "\n".join(report.notes)


def test_an_op_that_fails_is_not_asked_again(here: Path) -> None:
    """There is nothing to confirm."""
    (here / "wrong.py").write_text(_RIGHT.replace("2 * x", "3 * x"))
    (report,) = reports_of([str(here / "wrong.py::Square")])
    assert (report.status.value, ordinary(report)) == ("fail", "")


def test_a_function_of_this_process_is_not_copied() -> None:
    """A call of ``opkit.gradcheck`` with functions checks them here alone."""
    report = opkit.gradcheck(forward=np.sin, backward=lambda x, dy: dy * np.cos(x), inputs=[np.linspace(-1, 1, 5)])
    assert [ordinary(item) for item in report.ops] == [""]


def test_loading_has_a_limit_of_its_own() -> None:
    """What takes long to load is answered; silence says whether it was while loading, and how long it lasted."""
    program = """
import time
from opkit.blind.call import Kind, Origin, Request
from opkit.blind.server import Client, NoAnswerError, Opening

class Slow:
    made = fill = play = None

def asked(seconds, loading):
    client = Client.of_copy(lambda origin: time.sleep(seconds) or Slow())
    try:
        return client.ask(Opening(Origin(Kind.OP, "", ""), "", 0, {}), Request(()), loading, 0.5, time.monotonic() + 60)
    except NoAnswerError as error:
        return type(error).__name__, str(error)
    finally:
        client.close()

print(asked(1.0, 30.0))
print(asked(9.0, 0.5))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    answered, silent = done.stdout.splitlines()
    assert answered.startswith("Answers(turns=[[]")
    assert "unloaded=''" in answered
    assert silent == "('UnloadedError', 'had not loaded it within 0.5 s')"


def test_a_file_that_never_loads_elsewhere_is_undecided(here: Path) -> None:
    """However little time is left: what would not be looked at would pass."""
    text = "import sys, time\n\nwhile not any(name.startswith('opkit.checker') for name in sys.modules):\n    time.sleep(1)\n"
    (here / "hangs.py").write_text(text + _RIGHT)
    (report,) = opkit.gradcheck(str(here / "hangs.py::Square"), replay=False, timeout=10).ops
    assert (report.status.value, ordinary(report)) == ("undecided", "undecided"), str(report)


def test_compiled_modules_find_the_classes_of_dates_that_they_are_built_for() -> None:
    """Modules as pandas' lay instances out after the class that they find; one of Python's own there ends the process."""
    program = """
import datetime, importlib._bootstrap as importing
from opkit.blind.clocks import make_movable
own = datetime.date, datetime.datetime
make_movable()
dates = {"datetime": datetime}
for place in (vars(importing), {}):
    print([eval(name, place, dates) is plain for name, plain in zip(("datetime.date", "datetime.datetime"), own)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[True, True]", "[False, False]"]
