"""``--write-cases``: what a search found becomes a cases function, on which the same check is a declared one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opkit.checker import Case, CheckResult, OpReport, Options, Status
from opkit.checker.model.dimensions import Axis
from opkit.checker.model.report import Evidence
from opkit.checker.model.trial import Trial
from opkit.errors import UsageError
from opkit.verify import RunOptions, gradcheck, run_targets
from opkit.verify.isolation.flight import Flight
from opkit.verify.targets.load import load
from opkit.verify.targets.target import resolve
from opkit.verify.workers.one_op import offer
from opkit.verify.written_cases import _line, _shortened, _spans, _text, write_cases
from tests.verify.opdirs import make_op

QUICK = RunOptions(Options(effort=0.1), timeout=60)

LAYER = """
import numpy as np
from opkit.eager import PyLayer, Tensor


class Weighted(PyLayer):
    @staticmethod
    def forward(ctx, x, w, *, scale=2.0):
        ctx.w, ctx.scale = w.numpy(), scale
        return Tensor(x.numpy() * w.numpy() * scale)

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * ctx.w * ctx.scale), None


if __name__ == "__main__":
    pass
"""


def test_what_is_written_declares_what_was_found(here: Path) -> None:
    """In the function's own file: an input without a gradient stays a constant; nothing is replaced unasked."""
    file = here / "layers.py"
    file.write_text(LAYER)
    ((where, text, _),) = write_cases(["layers.py::Weighted"], QUICK, False)
    assert (Path(where).name, text in file.read_text()) == ("layers.py", True)
    assert "def cases_Weighted(rng):" in text
    (op,) = run_targets(["layers.py::Weighted"], QUICK).report.ops
    assert op.status is Status.PASS, op.checks
    assert "cases drawn" in op.rests_on
    assert list(write_cases(["layers.py::Weighted"], QUICK, False)) == [("layers.py::Weighted", "", "")]
    assert len(list(write_cases(["layers.py"], QUICK, True))) == 1
    assert file.read_text().count("def cases_Weighted") == 1


def test_what_is_written_says_what_takes_a_gradient(here: Path) -> None:
    """Of a directory the definition says it."""
    (here / "layers.py").write_text(LAYER)
    ((_, text, _),) = write_cases(["layers.py::Weighted"], QUICK, False)
    assert "An array of floats takes a gradient, paddle.to_tensor(array) takes none." in text
    make_op(here, "square")
    ((_, text, _),) = write_cases(["square"], QUICK, False)
    assert "takes none" not in text


def test_what_is_written_of_a_module_is_read_where_it_is(here: Path) -> None:
    """In a check file, which is the target to check next."""
    (here / "layers.py").write_text(LAYER)
    ((file, _, target),) = write_cases(["layers::Weighted"], QUICK, False)
    assert (file, target) == ("check_Weighted.py", "check_Weighted.py::Weighted")
    assert "cases drawn" in run_targets([target], QUICK).report.ops[0].rests_on


def test_options_without_a_default_are_written(here: Path) -> None:
    """A right function passes on its own cases, with several values of its options, and on several shapes."""
    (here / "layers.py").write_text(LAYER.replace("*, scale=2.0", "scale: float"))
    ((_, text, _),) = write_cases(["layers.py::Weighted"], QUICK, False)
    assert text.count('"scale": ') == text.count("yield") > text.count('"scale": 0.5') > 1
    assert sum("(3, 4)" in line for line in text.splitlines()) < text.count('"x": ')
    (op,) = run_targets(["layers.py::Weighted"], QUICK).report.ops
    assert op.status is Status.PASS, op.checks
    assert len(list(write_cases(["layers.py::Weighted"], QUICK, True))) == 1
    assert '"scale": ' in (here / "layers.py").read_text()


def test_the_cases_of_a_directory_are_its_cases_file(here: Path) -> None:
    """A right op passes on them; a file that is there is left alone."""
    make_op(here, "square")
    ((where, _, _),) = write_cases(["square"], QUICK, False)
    assert Path(where) == here / "square" / "square_cases.py"
    (op,) = run_targets(["square"], QUICK).report.ops
    assert op.status is Status.PASS, op.checks
    assert list(write_cases(["square"], QUICK, False)) == [("square_forward", "", "")]
    (here / "square" / "square_cases.py").write_text("def other(rng): pass\n")
    with pytest.raises(UsageError, match="exists"):
        list(write_cases(["square"], QUICK, False))


@pytest.mark.parametrize(
    "array",
    [
        np.linspace(0.1, 0.9, 6).reshape(2, 3),
        np.arange(4.0),
        np.arange(3),
        np.array([True, False]),
        np.full((2, 2), 0.5),
        np.float32([[0.25, 0.75]]),
        np.array(0.5),
    ],
)
def test_what_is_drawn_is_of_the_shape_dtype_and_range_that_was_found(array: np.ndarray) -> None:
    """Whole numbers stay whole, shares stay shares."""
    drawn = eval(_text(array, array.ravel()), {"rng": np.random.default_rng(0), "np": np})
    assert (drawn.shape, drawn.dtype) == (array.shape, array.dtype)
    assert drawn.max() <= max(array.max(), 1.0)
    assert drawn.min() >= min(array.min(), 0.0)
    if array.dtype.kind == "f" and (array == np.round(array)).all():
        assert (drawn == np.round(drawn)).all()
    if array.ndim == 2 and np.allclose(array.sum(-1), 1):
        assert np.allclose(drawn.sum(-1), 1)


PICKED = """
import torch


class Picked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, at, k=1e-4):
        if x.ndim != 2 or at.ndim != 1:
            raise ValueError("x (n, d), at (n,)")
        ctx.save_for_backward(x, at)
        ctx.k = k
        return x.gather(1, at[:, None]) * (1 + k)

    @staticmethod
    def backward(ctx, dy):
        x, at = ctx.saved_tensors
        return torch.zeros_like(x).index_put((torch.arange(len(at)), at), dy[:, 0] * (1 + ctx.k), accumulate=True), None, None
"""


@pytest.mark.peer
def test_what_is_written_reads_well(here: Path) -> None:
    """No number has more digits than it needs, whole numbers fit each case's own sizes, and those without ones are first."""
    pytest.importorskip("torch")
    (here / "layers.py").write_text(PICKED)
    ((_, text, _),) = write_cases(["layers.py::Picked"], QUICK, False)
    yields = [line for line in text.splitlines() if "yield" in line]
    assert not re.search(r"\d\.?\d{9}", text), text
    assert '"k": 0.00013' in text
    have_ones = [bool(re.search(r"\((\d+, )*1(, \d+)*,?\)", line)) for line in yields]
    assert have_ones == sorted(have_ones)
    (op,) = run_targets(["layers.py::Picked"], QUICK).report.ops
    assert op.status is Status.PASS, op.checks


@pytest.mark.parametrize(("value", "digits", "said"), [(1e-4 * 1.3, 12, "0.00013"), ((0.1 + 0.2, 2), 12, "(0.3, 2)"), ([1 / 3, True], 4, "[0.3333, True]"), (1 / 3, 17, repr(1 / 3))])
def test_a_number_has_no_more_digits_than_are_asked_for(value: Any, digits: int, said: str) -> None:
    """In lists and tuples too."""
    assert repr(_shortened(value, digits)) == said


def test_what_forward_takes_exactly_alone_is_exact(here: Path) -> None:
    """Where rounding leaves what it takes, nothing is rounded."""
    narrow = LAYER.replace("        ctx.w,", "        if not np.allclose(w.numpy() ** 2, 2, rtol=1e-9):\n            raise ValueError\n        ctx.w,")
    (here / "layers.py").write_text(narrow)
    case = Case({"x": np.ones(2), "w": np.array([-1.0, 1.0]) * 2**0.5})
    (op,) = load(resolve(["layers.py::Weighted"])[0], QUICK, Flight()).made().checkables
    assert repr(2**0.5) in _line(op, case, "", Trial(op), _spans([case]))


def test_what_breaks_at_larger_numbers_is_found_again_by_the_cases_that_are_written(here: Path) -> None:
    """A search begins with numbers up to 2: every second case has larger ones."""
    text = (
        "from paddle.autograd import PyLayer\nimport paddle\n\n\nclass Hard(PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x * paddle.clip(x + 3.0, 0.0, 6.0) / 6.0\n\n    @staticmethod\n    def backward(ctx, dy):\n"
        "        (x,) = ctx.saved_tensor()\n        inside = paddle.cast(paddle.abs(x) < 3.0, x.dtype)\n        return dy * inside * (2.0 * x + 3.0) / 6.0\n"
    )
    (here / "hard.py").write_text(text)
    list(write_cases(["hard.py::Hard"], RunOptions(), False))
    (op,) = gradcheck(str(here / "hard.py::Hard"), replay=False).ops
    assert "cases drawn" in op.rests_on
    assert op.status is Status.FAIL


def test_whole_numbers_are_drawn_as_far_as_each_of_them_is_taken(here: Path) -> None:
    """Of a table of three rows no fourth one is drawn, by whatever seed: other cases have tables of more."""
    (here / "layers.py").write_text(
        "import numpy as np\nfrom opkit.eager import PyLayer, Tensor\n\n\nclass Rows(PyLayer):\n    @staticmethod\n"
        "    def forward(ctx, table, ids):\n        if table.ndim != 2 or ids.ndim != 1 or ids.numpy().dtype.kind != 'i':\n            raise ValueError\n"
        "        ctx.table, ctx.ids = table.numpy(), ids.numpy()\n        return Tensor(ctx.table[ctx.ids])\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        found = np.zeros_like(ctx.table)\n        np.add.at(found, ctx.ids, dy.numpy())\n"
        "        return Tensor(found), None\n"
    )
    ((_, text, _),) = write_cases(["layers.py::Rows"], RunOptions(), False)
    assert "rng.integers(0, 4, (1,))" in text, text
    draws = re.findall(r"\((\d), \d\)\), \"ids\": rng.integers\(-?\d, (\d),", text)
    assert all(int(most) <= int(rows) for rows, most in draws), text


def test_what_is_drawn_is_taken_by_whatever_seed(here: Path) -> None:
    """A number of which forward takes the positive ones alone is written as such: half of a range is refused."""
    (here / "layers.py").write_text(LAYER.replace("        ctx.w,", "        if w.numpy().ravel()[0] < 0:\n            raise ValueError\n        ctx.w,"))
    case = Case({"x": np.ones(2), "w": np.array([1.5, -1.0])})
    (op,) = load(resolve(["layers.py::Weighted"])[0], QUICK, Flight()).made().checkables
    assert 'np.array([1.5, -1.0], "float64")' in _line(op, case, "", Trial(op), _spans([case, replace(case, inputs={"x": np.ones(2), "w": np.array([-2.0, 0.5])})]))


def test_sizes_of_1_are_written_where_they_are_broadcast(here: Path) -> None:
    """Of the largest array they are not, where there are others: they are seldom meant."""
    (here / "layers.py").write_text(LAYER)
    ((_, text, _),) = write_cases(["layers.py::Weighted"], RunOptions(), False)
    shapes = [[eval(shape) for shape in re.findall(r"\((?:\d+, ?)+\d*\)", line)] for line in text.splitlines() if "yield" in line]
    assert shapes
    assert all(1 not in max(one, key=np.prod) for one in shapes), text


def searched(*recorded: Case, **axes: tuple[Axis, ...]) -> Any:
    """Return what an offer asks of an op of one input without cases."""
    return SimpleNamespace(recorded=recorded, cases=None, infer=None, declares_shapes=bool(axes))


@pytest.mark.parametrize(
    ("op", "directory", "recorded", "word"),
    [
        ("a.py::F", None, False, "a.py::F"),
        ("a.py::F#2", None, True, "a.py"),
        ("square_forward", "ops/square", False, "ops/square"),
        ("function", None, False, ""),
    ],
)
def test_an_undecided_report_offers_the_command(op: str, directory: str | None, recorded: bool, word: str) -> None:
    """In one line, where there are no cases and a target that can be named."""
    result = CheckResult("jacobian", Status.UNDECIDED, "GC101", "may be")
    checkable = searched(*[Case({})] * recorded)
    report = offer(OpReport(op, (result,), directory), checkable)
    said = [note for note in report.notes if "--write-cases" in note]
    assert [note.split()[2] for note in said] == ([word] if word else [])
    assert not offer(OpReport(op, (), directory), checkable).notes


def test_a_failure_on_several_inputs_says_how_to_declare_their_shapes() -> None:
    """They may be an accidental broadcast, or one may be meant as a number; of one input nothing is said, of declared ones nothing of shapes."""

    def noted(*sizes: int, **axes: tuple[Axis, ...]) -> bool:
        case = Case({f"x{index}": np.ones(size) for index, size in enumerate(sizes)})
        result = CheckResult("jacobian", Status.FAIL, "GC101", "wrong", evidence=Evidence(case))
        return "annotate" in "".join(offer(OpReport("a.py::F", (result,)), searched(**axes)).notes)

    assert [noted(3, 4), noted(3, 3), noted(3)] == [True, True, False]
    assert not noted(3, 4, x0=())


def test_no_cases_are_offered_for_what_no_cases_decide() -> None:
    """A hazard stays one."""
    result = CheckResult("kept_tensor", Status.UNDECIDED, "GC203", "kept", needs_more=True)
    assert not offer(OpReport("a.py::F", (result,)), searched()).notes


def test_a_cases_function_without_a_generator_is_said_to_want_one(tmp_path: Path) -> None:
    """Its line is shown."""
    (tmp_path / "a.py").write_text(f"{LAYER}\n\ndef cases_Weighted():\n    yield {{}}\n")
    (op,) = run_targets([f"{tmp_path / 'a.py'}::Weighted"], QUICK).report.ops
    (finding,) = op.findings
    assert (finding.code, finding.where.function) == ("GC183", "cases_Weighted")
    assert "takes a random generator" in finding.message
