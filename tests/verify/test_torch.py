"""torch's custom functions as subjects: verdicts on a sample of the corpus, and the ways to name what is checked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Options, Report, Status, check
from opkit.errors import UsageError
from opkit.reporters import text_report
from opkit.testing import GradientError, assert_gradients
from opkit.verify import gradcheck
from opkit.verify.outcome import Outcome
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.foreign.framework import framework_of, recorded_frameworks
from opkit.verify.subjects.from_search import searched
from tests.cli.served import served
from tests.corpus.torch_corpus import FILES, checked, is_expected, loaded, names_in
from tests.verify.golden import masked

torch = pytest.importorskip("torch", reason="torch is not installed: its custom functions cannot be checked")
untested = pytest.importorskip("opkit.verify.subjects.torch.framework").untested
pytestmark = pytest.mark.peer

#: One name in so many is checked here; ``python -m tests.campaigns.torch_functions`` checks all.
_STRIDE = 15
_SAMPLE = [(file, name) for file in FILES for name in names_in(file)[::_STRIDE]]
#: A fault that is found; some are hazards, which are undecided.
_FOUND = (Status.FAIL, Status.UNDECIDED)
#: The faults that a code of torch's own must find.
_OWN = {
    "NoneRaises": "GC201",
    "NoneSingle": "GC201",
    "NoneIsOne": "GC201",
    "NeedsShifted": "GC202",
    "KeptInput": "GC203",
    "KeptOutput": "GC203",
    "KeptAsNumpy": "GC203",
    "GradientIsInput": "GC204",
    "JvpForgets": "GC205",
    "WrongInBfloat16": "GC207",
    "WritesIncoming": "GC123",
    "WritesInput": "GC122",
    "MarksTheOther": "GC122",
    "ClassState": "GC125",
    "ReusedBuffer": "GC124",
    "ReadsFromTheStart": "GC130",
    "ReadsGradientFromTheStart": "GC131",
}


@pytest.mark.parametrize(("file", "name"), _SAMPLE)
def test_the_verdict_on_the_corpus_is_as_listed(file: str, name: str) -> None:
    """No correct function is accused, and every fault is found."""
    report = checked(file, name)
    assert is_expected(file, name, report), report


#: Tests on one report of each fault of torch's own.
_ON_OWN = pytest.mark.xdist_group("faults of torch's own")


@cache
def _checked_a_little(file: str, name: str) -> OpReport:
    return checked(file, name, Options(effort=0.05))


@_ON_OWN
@pytest.mark.parametrize(("name", "code"), _OWN.items())
def test_a_fault_of_torchs_own_has_its_code(name: str, code: str) -> None:
    """What autograd's rules forbid is found under the code whose page explains it, with little effort."""
    assert code in {item.code for item in _checked_a_little("faults", name).checks if item.status in _FOUND}


@_ON_OWN
def test_a_library_op_with_a_lying_fake_kernel_fails_under_its_code() -> None:
    """Shape, dtype, values that are read, sizes that are no numbers; strides that differ for a transposed input are open."""
    for name in ("fake_shape", "fake_dtype", "fake_strides", "fake_values", "fake_dynamic"):
        report = _checked_a_little("library_faults", name)
        assert [item.code for item in report.checks if item.status in _FOUND] == ["GC206"], name
        assert (report.status is Status.UNDECIDED) == (name == "fake_strides"), name
        # Cases say nothing of how arrays lie in memory: their command is not offered for it.
        assert [item.needs_more for item in report.checks if item.status in _FOUND] == [name == "fake_strides"], name


class ScalesItsInput(torch.autograd.Function):
    """Normalises the weights in place, which are an input that forward saved."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sum() / w.sum()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        dw = g * (x - (x * w).sum() / w.sum()) / w.sum()
        return g * w.div_(w.sum()), dw


def test_a_backward_that_writes_to_a_saved_input_is_one_finding() -> None:
    """Neither forward nor what is kept is to blame: each run of the checks of torch's own gets the values anew."""
    inputs = {"x": torch.linspace(-1, 1, 6, dtype=torch.float64), "w": torch.linspace(1, 2, 6, dtype=torch.float64)}
    (op,) = gradcheck(ScalesItsInput, effort=0.1, cases=lambda rng: iter([inputs])).ops
    assert [item.code for item in op.checks if item.status in _FOUND] == ["GC123"]


class Scaled(torch.autograd.Function):
    """Gives no gradient for an input on which the result depends."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


def test_none_counts_as_a_constant_where_nothing_declares_the_inputs_and_is_a_line() -> None:
    """In cases it fails, as a gradient of zeros does everywhere."""
    (op,) = gradcheck(Scaled, effort=0.1, select={"GC101"}).ops
    assert op.status is Status.PASS
    assert "input scale gets no gradient and counts as a constant" in op.notes
    inputs = [torch.linspace(-1, 1, 3, dtype=torch.float64), torch.linspace(1, 2, 3, dtype=torch.float64)]
    declared = gradcheck(Scaled, cases=lambda rng: iter([dict(zip(("x", "scale"), inputs))]))
    assert declared.status is Status.FAIL


def test_none_counts_as_a_constant_on_shapes_given_by_hand() -> None:
    """Whoever gives shapes alone has no word for constants: a line, as for annotations."""
    (op,) = gradcheck(Scaled, effort=0.1, select={"GC101"}, shapes={"x": (3,), "scale": (3,)}).ops
    assert op.status is Status.PASS
    assert "input scale gets no gradient and counts as a constant" in op.notes


class SoftLabels(torch.autograd.Function):
    """Cross entropy, its gradient for rows of targets that sum to 1."""

    @staticmethod
    def forward(ctx, logits, target):
        ctx.save_for_backward(logits, target)
        return -(target * torch.log_softmax(logits, -1)).sum()

    @staticmethod
    def backward(ctx, g):
        logits, target = ctx.saved_tensors
        return g * (torch.softmax(logits, -1) - target), None


class Quadratic(torch.autograd.Function):
    """x'Ax/2, its gradient for symmetric A."""

    @staticmethod
    def forward(ctx, A, x):
        ctx.save_for_backward(A, x)
        return x @ A @ x / 2

    @staticmethod
    def backward(ctx, g):
        A, x = ctx.saved_tensors
        return g * torch.outer(x, x) / 2, g * (A @ x)


class Inverted(torch.autograd.Function):
    """Solves; the gradient of A lacks a transpose, which a symmetric A does not show; forward takes square ones only."""

    @staticmethod
    def forward(ctx, A, x):
        inverse = torch.linalg.inv(A)
        ctx.save_for_backward(inverse, x)
        return inverse @ x

    @staticmethod
    def backward(ctx, g):
        inverse, x = ctx.saved_tensors
        return -inverse @ torch.outer(g, x) @ inverse.T, inverse.T @ g


@pytest.mark.parametrize(
    ("function", "status", "text"),
    [
        (SoftLabels, Status.UNDECIDED, "target sums to 1 over its last axis"),
        (Quadratic, Status.UNDECIDED, "A is symmetric"),
        (Inverted, Status.UNDECIDED, "A is symmetric"),
    ],
)
def test_a_gradient_for_some_values_alone_is_undecided(function: type, status: Status, text: str) -> None:
    """The report names them."""
    (op,) = gradcheck(function, effort=0.1, select={"GC101"}).ops
    assert op.status is status
    assert any(text in item.message for item in op.checks if item.status is status)


# --- ways to name what is checked
def test_apply_a_class_a_function_and_a_module_can_be_given() -> None:
    """Of a function and a Module every custom function that a call goes through is checked too."""
    right, faults = loaded("right"), loaded("faults")
    x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)
    assert gradcheck(right.Swish.apply, (x,)).status is Status.PASS
    assert gradcheck(faults.SwishHalf.apply, x).status is Status.FAIL

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(3, 2)

        def forward(self, x):
            return right.Swish.apply(self.fc(x))

    report = gradcheck(Model(), torch.ones(2, 3))
    assert [(op.op, op.status.value) for op in report.ops] == [("Model", "pass"), ("Model::Swish", "pass")]
    report = gradcheck(lambda x: faults.SwishHalf.apply(x).sum(), x)
    whole, part = (op.op for op in report.ops if op.status is Status.FAIL)
    assert whole.endswith("<lambda>")
    assert part == f"{whole}::SwishHalf"


def test_a_function_without_inputs_is_a_usage_error() -> None:
    """Nothing says what a plain function takes."""
    with pytest.raises(UsageError, match="example inputs"):
        gradcheck(torch.nn.Linear(2, 2))


def test_assert_gradients_takes_what_gradcheck_takes() -> None:
    """The whole report is the message."""
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    assert assert_gradients(loaded("right").Exp.apply, [x]).status is Status.PASS
    with pytest.raises(GradientError, match="ExpOfInput"):
        assert_gradients(loaded("faults").ExpOfInput.apply, [x])


def test_a_tensor_that_takes_no_gradient_beside_one_that_does_is_a_constant() -> None:
    """As autograd sees them."""
    function = loaded("faults").LinearNoWeight
    inputs = [torch.ones(2, 3, requires_grad=True), torch.ones(4, 3), torch.ones(4, requires_grad=True)]
    assert gradcheck(function.apply, inputs).status is not Status.FAIL
    inputs[1].requires_grad_()
    assert gradcheck(function.apply, inputs, recorded_only=True).status is Status.FAIL


def run(*words: str, folder: Path | None = None, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, with a cache of its own."""
    own = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    return served([*words], folder or Path.cwd(), {**os.environ, **own})


def started(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in an interpreter of its own, where the processes beneath it are the point."""
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "opkit", *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(2)

class Act(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k=1.0):
        ctx.save_for_backward(x)
        ctx.k = k
        return torch.sin(k * x)

    @staticmethod
    def backward(ctx, g):
        return g * torch.cos(ctx.k * ctx.saved_tensors[0]), None

if __name__ == "__main__":
    fc = torch.nn.Linear(4, 3)
    for (x,) in DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8, num_workers=2):
        Act.apply(fc(x), 2.0).sum().backward()
    torch.randn(600, 600) @ torch.randn(600, 600)
"""


def test_a_training_script_with_threads_and_data_workers_is_recorded(tmp_path: Path) -> None:
    """No hang, and what is wrong on what it saw is found."""
    (tmp_path / "train.py").write_text(SCRIPT)
    done = started("gradcheck", str(tmp_path / "train.py"), "--recorded-only")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout
    assert "::Act" in done.stdout


LIBRARY_OP = """
import torch

@torch.library.custom_op("tests_script::half", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5

half.register_fake(torch.empty_like)
half.register_autograd(lambda ctx, g: g)
"""
CALLED_BY_NAMESPACE = (
    LIBRARY_OP
    + """
x = torch.ones(3, dtype=torch.float64, requires_grad=True)
torch.ops.tests_script.half(x).sum().backward()
torch.ops.tests_script.half.default(x[:2]).sum().backward()
"""
)


def test_library_ops_are_recorded_when_they_are_called_by_their_namespace(tmp_path: Path) -> None:
    """``torch.ops.ns.name(x)`` is the same op as what ``custom_op`` returned."""
    (tmp_path / "ops.py").write_text(CALLED_BY_NAMESPACE)
    done = run("gradcheck", "--recorded-only", "--format", "json", str(tmp_path / "ops.py"))
    (op,) = json.loads(done.stdout)["ops"]
    assert op["status"] == "fail"
    regimes = {item["case"]["x"]["regime"] for item in op["checks"] if item.get("case")}
    assert regimes == {"recorded"}


def test_several_functions_of_a_file_share_interpreters(tmp_path: Path) -> None:
    """The framework is imported at most twice for any number of names of one file, each confirmed in a copy."""
    text = "import os\nwith open(__file__ + '.pids', 'a') as f:\n    f.write(f'{os.getpid()} ')\nimport torch\n"
    one = "class F{0}(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return {0} * x\n"
    one += "    @staticmethod\n    def backward(ctx, g):\n        return {0} * g\n"
    file = tmp_path / "many.py"
    file.write_text(text + "".join(one.format(number) for number in range(2, 7)))
    done = started("gradcheck", "--effort", "0.1", *(f"{file}::F{number}" for number in range(2, 7)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(set((tmp_path / "many.py.pids").read_text().split())) <= 2 + 5


def test_what_torch_imports_with_the_first_gradient_is_there_where_a_file_is_loaded(here: Path) -> None:
    """It brings sympy: no process of a check imports it anew, and ordinary ones do not either."""
    note = "import sys\nwith open('seen.txt', 'a') as file:\n    print('sympy' in sys.modules, file=file)\n"
    function = SCRIPT.partition("if __name__")[0].replace("return g *", "return g * ctx.k *")
    (here / "act.py").write_text(note + function)
    assert gradcheck("act.py::Act", effort=0.05).status is Status.PASS
    seen = (here / "seen.txt").read_text().split()
    assert len(seen) > 1
    assert set(seen) == {"True"}


def test_library_ops_of_a_file_that_calls_nothing_are_searched(tmp_path: Path) -> None:
    """As its Functions are."""
    (tmp_path / "ops.py").write_text(LIBRARY_OP)
    done = run("gradcheck", "--effort", "0.1", str(tmp_path / "ops.py"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL GC101" in done.stdout


# --- releases
@pytest.mark.parametrize(("version", "is_newer"), [("2.4.0", False), ("2.14.1+cu130", False), ("2.15.0a0+git1", True)])
def test_a_release_that_was_not_tested_is_said_in_one_line(version: str, is_newer: bool) -> None:
    """It is a remark of the report; the check goes on."""
    assert ("newer than" in untested(version)) == is_newer
    assert "\n" not in untested(version)


def test_a_release_whose_apply_cannot_be_listened_to_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is heard of the run; what the file holds is checked all the same."""

    def refuses(self: object) -> None:
        raise AttributeError("apply is another thing now")

    monkeypatch.setattr(type(framework_of("torch")), "recording", refuses)
    with recorded_frameworks() as every:
        pass
    heard = dict(every)
    assert not heard[framework_of("torch")].calls


# --- bad input
def test_a_function_without_backward_is_said_to_have_none(tmp_path: Path) -> None:
    """With its place, and what to do."""

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(UsageError, match="Half has no backward"):
        gradcheck(Half)


def test_a_name_that_is_not_there_brings_the_nearest(tmp_path: Path) -> None:
    """Among the custom functions of the file."""
    file = tmp_path / "one.py"
    file.write_text(SCRIPT.partition("if __name__")[0])
    done = run("gradcheck", f"{file}::Acd")
    assert done.returncode != 0
    assert "did you mean 'Act'" in done.stdout


def test_a_file_that_needs_cuda_says_so_in_one_finding(tmp_path: Path) -> None:
    """Importing it raises; the finding names the line and the missing device."""
    file = tmp_path / "needs.py"
    file.write_text("import torch\n\nTABLE = torch.ones(3).cuda()\n")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    done = run("gradcheck", f"{file}::Any")
    assert done.returncode != 0
    assert "GC195" in done.stdout
    assert "CUDA" in done.stdout
    assert "needs.py:3" in done.stdout


class Narrow(torch.autograd.Function):
    """Takes float32 alone."""

    @staticmethod
    def forward(ctx, x):
        if x.dtype is not torch.float32:
            raise TypeError("float32 only")
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


class NarrowWrong(Narrow):
    """Takes float32 alone, and its gradient is wrong."""

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sin()


class Elsewhere(Narrow):
    """Takes tensors of one device alone."""

    @staticmethod
    def forward(ctx, x):
        if not x.is_cuda:
            raise RuntimeError("expected a CUDA tensor")
        return x * 2


def test_a_function_of_float32_alone_is_checked_in_float32() -> None:
    """Its refusal of float64 is no finding, and a wrong gradient still is one."""
    assert gradcheck(Narrow, effort=0.1).status is Status.PASS
    assert "GC101" in {item.code for item in gradcheck(NarrowWrong, effort=0.1).ops[0].findings}


def test_a_function_of_one_device_alone_says_what_it_raised() -> None:
    """Where there is no such device nothing can be checked: an error, not a failure of the gradient."""
    (op,) = gradcheck(Elsewhere, effort=0.1).ops
    (result,) = op.checks
    assert (result.status, result.code) == (Status.ERROR, "GC182")
    assert "expected a CUDA tensor" in result.message


def test_options_are_passed_on() -> None:
    """Shapes given by hand stand in for cases."""
    report = checked("right", "Swish", Options(shapes={"x": (7, 2)}))
    assert report.status is Status.PASS


def test_a_repro_needs_torch_and_numpy_only(tmp_path: Path) -> None:
    """It shows the slopes beside what backward gives, and runs where opkit cannot be imported."""
    file = tmp_path / "act.py"
    file.write_text(SCRIPT.partition("if __name__")[0])
    done = run("gradcheck", "--effort", "0.1", f"{file}::Act", cache=tmp_path)
    failure = re.findall(r"--repro ([0-9a-f]+)", done.stdout)[0]
    run("gradcheck", "--repro", failure, cache=tmp_path, folder=tmp_path)
    code = "import sys, runpy; sys.modules['opkit'] = None; runpy.run_path(sys.argv[1])"
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / f"repro_{failure}.py")], capture_output=True, text=True, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    assert "backward gives:" in shown.stdout


def test_a_repro_of_a_large_input_shows_the_derivative_along_a_direction(tmp_path: Path) -> None:
    """A transposed Jacobian is seen too: the numbers of the direction are not those that weigh the results."""
    file = tmp_path / "big.py"
    file.write_text(
        "import torch\n\n\nclass Big(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.cumsum(0)\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return dy.cumsum(0)\n\n\ndef cases(rng):\n    yield {'x': rng.random(1000)}\n"
    )
    failure = re.findall(r"--repro ([0-9a-f]+)", run("gradcheck", f"{file}::Big", cache=tmp_path).stdout)[0]
    run("gradcheck", "--repro", failure, cache=tmp_path, folder=tmp_path)
    script = [sys.executable, str(tmp_path / f"repro_{failure}.py")]
    shown = subprocess.run(script, capture_output=True, text=True, timeout=300)
    assert shown.returncode == 0, shown.stderr
    numeric, claimed = (float(line.split(":")[1]) for line in shown.stdout.splitlines()[:2])
    assert abs(numeric - claimed) > 1


_OF_ITS_OWN = """\
import torch


class Tied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.amax(0)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return (x == x.amax(0)) * dy


class Alone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return dy * w, dy * x * (2 - ctx.needs_input_grad[0])


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * x.cos() * (3 if x.dtype == torch.bfloat16 else 1)


@torch.library.custom_op("shown::faked", mutates_args=())
def faked(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


faked.register_fake(lambda x: x.new_empty(x.shape))
faked.register_autograd(
    lambda ctx, dy: dy[..., None].expand(ctx.shape).clone(),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "shape", inputs[0].shape),
)


def cases_Tied(rng):
    yield {"x": torch.tensor([[1.0, 2.0], [3.0, 4.0], [3.0, 0.0], [3.0, 1.0]], dtype=torch.float64).numpy()}


def cases_Alone(rng):
    yield {"x": rng.normal(size=3), "w": rng.normal(size=3)}


def cases_Half(rng):
    yield {"x": rng.normal(size=5)}


def cases_faked(rng):
    yield {"x": rng.normal(size=(2, 3))}
"""


def test_a_repro_shows_what_its_finding_is_about(tmp_path: Path) -> None:
    """Ties move together, each input needs a gradient alone, the fake kernel runs, and all formats do."""
    file = tmp_path / "shown.py"
    file.write_text(_OF_ITS_OWN)
    done = run("gradcheck", str(file), "--format", "json", cache=tmp_path)
    found = {item["check"]: item for op in json.loads(done.stdout)["ops"] for item in op["checks"] if item["status"] == "fail"}
    assert found.keys() == {"ties", "needs_gradient", "fake_kernel", "half_precision"}
    shown = {}
    for path in tmp_path.glob("opkit/failures/*/*.npz"):
        run("gradcheck", "--repro", path.stem, cache=tmp_path, folder=tmp_path)
        script = [sys.executable, str(tmp_path / f"repro_{path.stem}.py")]
        out = subprocess.run(script, capture_output=True, text=True, timeout=300).stdout
        shown[next(name for name, item in found.items() if f"{item['code']} {name}" in out)] = out
    assert "moved together: {'x': [[1, 0], [2, 0], [3, 0]]}" in shown["ties"]
    assert re.search(r"slope: +(1\.0|0\.99999)\d*\nbackward gives: 3.0", shown["ties"])
    alone = dict(re.findall(r"gradient of w (with all|alone): tensor\(\[ *(\S+),", shown["needs_gradient"]))
    assert float(alone["alone"]) == pytest.approx(2 * float(alone["with all"]), rel=1e-3)
    assert "fake kernel: [(torch.float64, (2, 3)" in shown["fake_kernel"]
    assert "real kernel: [(torch.float64, (2,)" in shown["fake_kernel"]
    rows = dict(re.findall(r"torch.(float32|bfloat16) backward: \[\[(\S+),", shown["half_precision"]))
    assert float(rows["bfloat16"]) == pytest.approx(3 * float(rows["float32"]), rel=0.05)


def test_a_wrong_gradient_of_the_gradient_fails_where_it_is_promised() -> None:
    """``--second-order`` asks for it too; without either it is not checked."""

    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.slope = 3 * x.detach() ** 2
            return x**3

        @staticmethod
        def backward(ctx, g):
            return ctx.slope * g + 0 * ctx.saved_tensors[0]

    framework = framework_of("torch")
    for names, options, expected in (
        ({}, Options(effort=0.1), Status.PASS),
        ({}, Options(effort=0.1, demand_second=True), Status.FAIL),
        ({"SECOND_ORDER": True}, Options(effort=0.1), Status.FAIL),
    ):
        made = framework.named(Cut, names, "Cut", options)
        report = check(made, options)
        assert report.status is expected
        assert {item.code for item in report.findings} <= {"GC171"}


#: One fault for each code of torch's own, and for the rules of all kernels that torch states in its own words.
_SHOWN = {
    "faults": ("NoneRaises", "NeedsShifted", "KeptInput", "GradientIsInput", "JvpForgets", "WrongInBfloat16"),
    "library_faults": ("fake_shape",),
}


@_ON_OWN
def test_the_report_of_torchs_own_faults_is_as_its_golden_file() -> None:
    """The text of each code, times and cases masked; OPKIT_UPDATE_GOLDEN=1 writes it."""
    reports = [_checked_a_little(file, name) for file, names in _SHOWN.items() for name in names]
    reports += gradcheck(Scaled, effort=0.2).ops
    text = masked(text_report(Outcome(Report("0", 0, tuple(reports))), width=160))
    path = Path(__file__).parent / "golden" / "torch.text"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("power", "scale", "status"), [(2, 1.0, Status.PASS), (3, 3e5, Status.FAIL)])
def test_a_gradient_that_is_not_finite_in_float16_alone_is_a_fault(power: int, scale: float, status: Status) -> None:
    """A factor that float16 cannot hold is one; the square of a square, which leaves its range on the way, is not."""

    class Scaled16(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**power

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            if power == 2:
                return 2 * dy * x**5 / (x * x * x * x)
            return scale * dy * x * x / (scale / 3)

    made = framework_of("torch").named(Scaled16, {}, "Scaled16", Options(effort=0.1))
    report = check(made, Options(effort=0.1, select=frozenset({"GC101", "GC207"})))
    assert report.status is status, report


@torch.library.custom_op("tests_torch::outer_sum", mutates_args=())
def outer_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.unsqueeze(1) + b.unsqueeze(0)


outer_sum.register_fake(lambda a, b: a.new_empty(a.shape[0], b.shape[0]))
outer_sum.register_autograd(lambda ctx, g: (g.sum(1), g.sum(0)))


@pytest.mark.parametrize(("is_given", "status"), [(False, Status.UNDECIDED), (True, Status.FAIL)])
def test_a_fake_kernel_for_vectors_fails_at_given_matrices_alone(is_given: bool, status: Status) -> None:
    """What the search tried beyond the axes that a fake kernel is written for is undecided."""
    names = {"cases": lambda rng: [{"a": rng.normal(size=(2, 3)), "b": rng.normal(size=(4, 3))}]} if is_given else {}
    options = Options(effort=0.1, select=frozenset({"GC101", "GC206"}))
    made = framework_of("torch").named(outer_sum, names, "outer_sum", options)
    report = check(made, options)
    assert report.status is status, report
    assert {item.code for item in report.checks if item.status is status} == {"GC206"}


@torch.library.custom_op("tests_torch::scaled_rows", mutates_args=())
def scaled_rows(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x * scale.unsqueeze(-1)


scaled_rows.register_fake(lambda x, scale: torch.empty_like(x))
scaled_rows.register_autograd(
    lambda ctx, g: (g * ctx.scale.unsqueeze(-1), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "scale", inputs[1]),
)


@pytest.mark.parametrize(("is_given", "status"), [(False, Status.UNDECIDED), (True, Status.FAIL)])
def test_a_fake_kernel_for_matrices_fails_at_given_vectors_alone(is_given: bool, status: Status) -> None:
    """Vectors, which the op broadcasts, are undecided where the search alone chose them."""
    names = {"cases": lambda rng: [{"x": rng.normal(size=5), "scale": rng.normal(size=5)}]} if is_given else {}
    options = Options(effort=0.1, select=frozenset({"GC101", "GC206"}))
    report = check(framework_of("torch").named(scaled_rows, names, "scaled_rows", options), options)
    assert "GC206" in {item.code for item in report.checks if item.status is status}, report


@torch.library.custom_op("tests_torch::dequantized", mutates_args=())
def dequantized(x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x @ (weight * scale.unsqueeze(1)).t()


dequantized.register_fake(lambda x, weight, scale: x.new_empty(x.shape[0], weight.shape[0]))
dequantized.register_autograd(
    lambda ctx, g: (g @ (ctx.weight * ctx.scale.unsqueeze(1)), None, ((g.t() @ ctx.x) * ctx.weight).sum(1)),
    setup_context=lambda ctx, inputs, output: ctx.__dict__.update(x=inputs[0], weight=inputs[1], scale=inputs[2]),
)


def test_a_fake_kernel_for_rows_that_the_op_repeats_is_undecided() -> None:
    """A weight of one row, with a scale for each of several: nobody means it."""
    options = Options( select=frozenset({"GC206"}))
    report = check(framework_of("torch").named(dequantized, {}, "dequantized", options), options)
    assert {item.code for item in report.checks if item.status is Status.UNDECIDED} == {"GC206"}, report


@torch.library.custom_op("tests_torch::bag", mutates_args=())
def bag(weight: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return (weight[places.clamp(min=0)] * (places >= 0).unsqueeze(-1)).sum(1)


def _bag_backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:
    rows = (g.unsqueeze(1) * (ctx.places >= 0).unsqueeze(-1)).reshape(-1, g.shape[-1])
    return g.new_zeros(ctx.rows, g.shape[-1]).index_add(0, ctx.places.clamp(min=0).reshape(-1), rows), None


bag.register_fake(lambda weight, places: weight.new_empty(places.shape[0], weight.shape[1]))
bag.register_autograd(_bag_backward, setup_context=lambda ctx, inputs, output: ctx.__dict__.update(rows=inputs[0].shape[0], places=inputs[1]))


@pytest.mark.parametrize(("given", "status"), [(None, Status.UNDECIDED), ((1,), Status.FAIL)])
def test_a_fake_kernel_that_refuses_single_numbers_is_undecided(given: tuple[int, ...] | None, status: Status) -> None:
    """Sizes of 1 alone answer for nothing, where others are taken and nobody gave these."""
    names = {"cases": lambda rng: [{"weight": rng.normal(size=given), "places": np.zeros(given, int)}]} if given else {}
    options = Options(select=frozenset({"GC206"}))
    report = check(framework_of("torch").named(bag, names, "bag", options), options)
    assert {item.code for item in report.checks if item.status is status} == {"GC206"}, report


@torch.library.custom_op("tests_torch::single", mutates_args=())
def single(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0).to(torch.float32)


single.register_fake(torch.empty_like)
single.register_autograd(lambda ctx, g: g.flip(0).cumsum(0).flip(0))


def test_a_fake_kernel_that_promises_float64_of_an_op_that_gives_float32_fails() -> None:
    """Nothing else of such an op is tried on float64, as forward's results are float32 always."""
    options = Options(effort=0.1, select=frozenset({"GC101", "GC206"}))
    made = framework_of("torch").named(single, {}, "single", options)
    (finding,) = [item for item in check(made, options).checks if item.status is Status.FAIL]
    assert finding.code == "GC206"
    assert "for float64 inputs" in finding.message


@pytest.mark.parametrize(("gives", "status"), [(1.0, Status.PASS), (2.0, Status.FAIL), (None, Status.PASS)])
def test_what_may_be_a_number_is_a_tensor_where_it_gets_a_gradient(gives: float | None, status: Status) -> None:
    """A factor without a default is read as a tensor; None for it says that it is a constant."""

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor if torch.is_tensor(factor) else torch.tensor(factor, dtype=x.dtype))
            return x * factor

        @staticmethod
        def backward(ctx, dy):
            x, factor = ctx.saved_tensors
            return dy * factor, None if gives is None else gives * (dy * x).sum_to_size(factor.shape)

    options = Options(effort=0.1, select=frozenset({"GC101"}))
    made = framework_of("torch").named(Times, {}, "Times", options)
    report = check(made, options)
    assert report.status is status, report
    assert [arg.name for arg in made.inputs] == ["x", "factor"]


def test_whole_numbers_are_found_whatever_an_input_is_called() -> None:
    """An input that took no floats takes no gradient, and is searched among whole numbers again."""

    class Take(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, chosen, dim: int):
            ctx.save_for_backward(chosen)
            ctx.dim, ctx.shape = dim, x.shape
            return x.index_select(dim, chosen)

        @staticmethod
        def backward(ctx, dy):
            return dy.new_zeros(ctx.shape).index_add(ctx.dim, ctx.saved_tensors[0], dy), None, None

    options = Options(effort=0.1, select=frozenset({"GC101"}))
    made = framework_of("torch").named(Take, {}, "Take", options)
    assert made.gradients == {"x"}
    assert check(made, options).status is Status.PASS


@pytest.mark.parametrize(("is_conjugate", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_a_function_that_takes_complex_numbers_alone_is_searched_with_them(is_conjugate: bool, status: Status) -> None:
    """The gradient of z * w is dy times the conjugate of the other."""

    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, w):
            if not (z.is_complex() and w.is_complex()):
                raise TypeError("complex tensors are expected")
            ctx.save_for_backward(z, w)
            return z * w

        @staticmethod
        def backward(ctx, dy):
            z, w = (item.conj() if is_conjugate else item for item in ctx.saved_tensors)
            return (dy * w).sum_to_size(z.shape), (dy * z).sum_to_size(w.shape)

    options = Options(effort=0.1, select=frozenset({"GC101"}))
    made = framework_of("torch").named(Mix, {}, "Mix", options)
    assert check(made, options).status is status
    assert "w and z complex" in " ".join(made.remarks)


@pytest.mark.parametrize(("is_right", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_the_slope_of_the_phase_counts_where_complex_numbers_are_found(is_right: bool, status: Status) -> None:
    """Along a line through 0, z |z|**2 has the derivative 3 |z|**2 of a cube; and z / |z| is flat there."""

    class Kerr(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            if not z.is_complex():
                raise TypeError("z must be complex")
            ctx.save_for_backward(z)
            return z * (z.real**2 + z.imag**2)

        @staticmethod
        def backward(ctx, dy):
            (z,) = ctx.saved_tensors
            square = z.real**2 + z.imag**2
            return 2 * square * dy + z * z * dy.conj() if is_right else 3 * square * dy

    options = Options(effort=0.1, select=frozenset({"GC101"}))
    made = framework_of("torch").named(Kerr, {}, "Kerr", options)
    assert check(made, options).status is status


def test_a_complex_tensor_among_examples_is_differentiated() -> None:
    """By its real and imaginary parts: the report says so, and finds a gradient without its phase."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, w):
            ctx.save_for_backward(z, w)
            return z.abs() * w

        @staticmethod
        def backward(ctx, dy):
            z, w = ctx.saved_tensors
            return dy * w * z / z.abs(), dy * z.abs()

    class Flat(Turn):
        @staticmethod
        def backward(ctx, dy):
            z, w = ctx.saved_tensors
            return (dy * w).to(z.dtype), dy * z.abs()

    z = torch.tensor([0.5 + 1.0j, -2.0j, 1.0 + 0.25j], dtype=torch.complex128)
    inputs = z, torch.ones(3, dtype=torch.float64)
    right, wrong = (gradcheck(one, inputs, select={"GC101"}).ops[0] for one in (Turn, Flat))
    assert (right.status, wrong.status) == (Status.PASS, Status.FAIL)
    assert "z complex as given" in " ".join(right.notes)


COMPLEX = """
import torch


class Abs2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, w):
        if not z.is_complex():
            raise TypeError("z must be complex")
        ctx.save_for_backward(z, w)
        return (z * z.conj()).real * w, z * w

    @staticmethod
    def backward(ctx, g, h):
        z, w = ctx.saved_tensors
        return 2 * z * (g * w) + h * w, g * (z * z.conj()).real + (h * z.conj()).real
"""
COMPLEX_CASES = """

def cases(rng):
    for size in (3, 4):
        yield {"z": rng.standard_normal(size) + 1j * rng.standard_normal(size), "w": rng.standard_normal(size)}
"""


@pytest.mark.peer
def test_complex_tensors_are_differentiated_in_cases_and_found_by_search(here: Path) -> None:
    """By their real and imaginary parts; a conjugate too many is found, and a right one is not accused."""
    wrong = COMPLEX.replace("2 * z * (g", "2 * z.conj() * (g")
    for name, text in {"right": COMPLEX, "wrong": wrong}.items():
        (here / f"{name}_cases.py").write_text(text + COMPLEX_CASES)
        (here / f"{name}_found.py").write_text(text)
    names = ("right_cases", "right_found", "wrong_cases", "wrong_found")
    reports = gradcheck([str(here / f"{name}.py::Abs2") for name in names], replay=False).ops
    assert [report.status.value for report in reports] == ["pass", "pass", "fail", "fail"]
    assert any("z complex as given: (real, imaginary)" in note for note in reports[0].notes)
    lines = COMPLEX.replace("return (z * z.conj()).real * w, z * w", "return z * z").replace("g, h):", "g):").splitlines()
    product = "\n".join([*lines[:-1], "        return 2 * g * z, None", ""])
    (here / "product.py").write_text(product + COMPLEX_CASES)
    (report,) = gradcheck([str(here / "product.py::Abs2")], replay=False).ops
    assert any("looks as where a conjugate is missing" in item.message for item in report.findings)


@pytest.mark.parametrize("kept", ["x * w", "x.exp() + w"])
def test_a_missing_gradient_is_not_explained_away(kept: str, tmp_path: Path) -> None:
    """What a Function hands on out of a list of tensors goes past its backward: ``[x, x] * 3`` answers nothing."""
    (tmp_path / "one.py").write_text(
        "import torch\n\n\nclass One(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w):\n"
        f"        ctx.save_for_backward(x, w)\n        return {kept}\n\n    @staticmethod\n"
        "    def backward(ctx, dy):\n        x, w = ctx.saved_tensors\n        return dy * w\n"
    )
    (report,) = gradcheck(f"{tmp_path / 'one.py'}::One", isolate=False, effort=0.02, replay=False).ops
    (found,) = [item for item in report.checks if item.status is Status.FAIL]
    assert (found.code, "incorrect number of gradients (expected 2, got 1)" in found.message) == ("GC181", True)


def test_what_insists_on_backward_is_confirmed_by_it(here: Path) -> None:
    """An ordinary process takes the way that the function offers, as the check does."""
    (here / "insists.py").write_text(
        "import torch\n\n\nclass One(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x * x\n\n    @staticmethod\n    def backward(ctx, dy):\n"
        "        if not torch.autograd._is_checkpoint_valid():\n            raise RuntimeError('use .backward()')\n"
        "        (x,) = ctx.saved_tensors\n        return 2 * x * dy\n\n\ndef cases(rng):\n"
        "    yield {'x': rng.standard_normal((2, 3))}\n"
    )
    (report,) = gradcheck([str(here / "insists.py::One")], replay=False).ops
    assert {item.code: item.status for item in report.checks}["GC199"] in (Status.PASS, Status.SKIP)
    assert report.status is Status.PASS


def test_what_comes_out_of_a_list_never_met_backward() -> None:
    """Torch does not look into lists: forward hands on a tensor of one, and autograd, not backward, has its gradient."""

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, place):
            ctx.save_for_backward(x, place)
            return x

        @staticmethod
        def backward(ctx, dy):
            _, place = ctx.saved_tensors
            return 2 * dy / place.item(), None

    options = Options(effort=0.1)
    made = framework_of("torch").named(Keep, {}, "Keep", options)
    assert check(made, options).status is not Status.PASS


def test_a_function_that_backward_alone_calls_is_not_searched() -> None:
    """Forward hands on whatever it is; no search finds what backward calls: cases are asked for."""

    class Root(torch.autograd.Function):
        @staticmethod
        def forward(ctx, f, x):
            ctx.f = f
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, dx):
            return None, ctx.f(dx)

    report = framework_of("torch").named(Root, {}, "Root", Options(effort=0.1))
    assert isinstance(report, OpReport)
    assert [item.code for item in report.checks] == ["GC182"]
    assert "backward calls f: a function is not searched" in report.checks[0].message


def test_sparse_tensors_in_cases_stay_as_they_are() -> None:
    """A function that reads their indices runs; what it returns for one that takes a gradient is not compared, and a line says so."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, matrices, x):
            assert isinstance(matrices, tuple)
            ctx.matrices = matrices = tuple(item.detach().coalesce() for item in matrices)
            return sum(torch.sparse.mm(item, x) * item.indices().numel() for item in matrices)

        @staticmethod
        def backward(ctx, dy):
            return None, sum(torch.sparse.mm(item.t(), dy) * item.indices().numel() for item in ctx.matrices)

    dense = torch.tensor([[2.0, 0.0, -1.0], [0.0, 3.0, 0.0]], dtype=torch.float64)

    def cases(rng):
        yield {"matrices": (dense.to_sparse().coalesce().requires_grad_(),), "x": rng.standard_normal((3, 2))}

    (report,) = gradcheck(Product, cases=cases, effort=0.2).ops
    assert report.status is Status.PASS
    assert "the gradient of matrices is not checked, for want of a dense array" in report.notes


def test_a_tuple_of_tensors_reaches_forward_as_one(here) -> None:
    """Of a function, its reference, and the ordinary process that confirms it."""
    (here / "scaled.py").write_text(
        """
import torch


def plain(w, parts):
    assert type(parts) is tuple
    return (parts[0] + 2 * parts[1]) * w


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, parts):
        ctx.save_for_backward(*parts)
        return plain(w, parts)

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensors
        return dy * (a + 2 * b), None


REFERENCE = plain


def cases(rng):
    a, b, w = (torch.tensor(rng.normal(size=3)) for _ in range(3))
    yield {"w": w.requires_grad_(), "parts": (a, b)}
"""
    )
    (report,) = gradcheck([str(here / "scaled.py::Scaled")], effort=0.2, replay=False).ops
    assert report.status is Status.PASS
    assert {item.code for item in report.checks if item.status is Status.PASS} >= {"GC107", "GC199"}


class Upcast(torch.autograd.Function):
    """Computes in float32 whatever comes in, as kernels do for what is half precision."""

    FACTOR = 1.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.softplus(x.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return (dy.float() * Upcast.FACTOR * torch.sigmoid(x.float())).to(dy.dtype)


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (1.001, Status.FAIL)])
def test_a_function_that_computes_in_float32_is_checked_in_float32(
    factor: float, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it drops of float64 is its precision, and no fault; a wrong factor of a thousandth is one."""
    monkeypatch.setattr(Upcast, "FACTOR", factor)
    options = Options(effort=0.2)
    made = framework_of("torch").named(Upcast, {}, "Upcast", options)
    found = check(made, options)
    assert found.status is status, found.findings
    assert {item.code for item in found.findings} <= {"GC101", "GC102"}
    assert any("drops its digits" in note for note in found.notes)


class Noise(torch.autograd.Function):
    """Multiplies by numbers drawn at random, which backward keeps, or draws again."""

    KEEPS = True

    @staticmethod
    def forward(ctx, x):
        noise = torch.rand(x.shape, dtype=x.dtype)
        ctx.save_for_backward(noise)
        return x * noise

    @staticmethod
    def backward(ctx, dy):
        (noise,) = ctx.saved_tensors
        return dy * (noise if Noise.KEEPS else torch.rand(dy.shape, dtype=dy.dtype))


@pytest.mark.parametrize(("keeps", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_backward_draws_other_random_numbers_than_forward(
    keeps: bool, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it draws again is not what forward drew."""
    monkeypatch.setattr(Noise, "KEEPS", keeps)
    options = Options(effort=0.2, select=frozenset({"GC101"}))
    made = framework_of("torch").named(Noise, {}, "Noise", options)
    assert check(made, options).status is status


def test_a_forward_that_returns_nothing_fails(here) -> None:
    """In place of being skipped as what has nothing to differentiate."""
    (here / "nothing.py").write_text(
        "import torch\n\n\nclass Nothing(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        x.exp()\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return dy\n"
    )
    (report,) = gradcheck([str(here / "nothing.py::Nothing")], effort=0.1, replay=False).ops
    assert [(item.code, item.message) for item in report.findings] == [("GC144", "forward returned no array: a return may be missing")]


def test_what_makes_float64_is_said_in_torchs_words(here) -> None:
    """Not in numpy's, which the file does not import."""
    (here / "wide.py").write_text(
        "import torch\n\n\nclass Wide(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return 2 * x.double()\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return 2 * dy.float()\n"
    )
    (report,) = gradcheck([str(here / "wide.py::Wide")], effort=0.1, replay=False).ops
    (finding,) = [item for item in report.findings if item.code == "GC141"]
    assert ".double()" in finding.hint
    assert "arange" not in finding.hint


def test_a_name_that_forward_does_not_have_is_shown_where_it_stands(here) -> None:
    """No inputs mend it."""
    (here / "named.py").write_text(
        "import torch\n\n\nclass Named(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        y = x.exp()\n"
        "        return functional.relu(y)\n\n    @staticmethod\n    def backward(ctx, dy):\n        return dy\n"
    )
    (report,) = gradcheck([str(here / "named.py::Named")], effort=0.1, replay=False).ops
    assert [(item.code, item.where.line) for item in report.findings] == [("GC182", 8)]


def test_a_surrogate_of_another_function_of_the_file_concerns_nobody_else(here) -> None:
    """Keys may be functions' names."""
    (here / "two.py").write_text(
        "import torch\n\n\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return 2 * x\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        return 2 * dy\n\n\nclass Rounded(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x.round()\n\n    @staticmethod\n    def backward(ctx, dy):\n"
        '        return dy\n\n\nSURROGATE = {"Rounded": lambda x: x}\n'
    )
    ops = gradcheck([str(here / f"two.py::{name}") for name in ("Double", "Rounded")], effort=0.1, replay=False).ops
    assert [item.status for item in ops] == [Status.PASS, Status.PASS]


def test_a_library_op_of_another_file_has_its_own_name_in_a_script(here) -> None:
    """Not the text by which torch shows the object."""
    (here / "other.py").write_text(
        'import torch\n\n\n@torch.library.custom_op("named::tripled", mutates_args=())\ndef tripled(x: torch.Tensor) -> torch.Tensor:\n'
        "    return 3 * x\n\n\ntripled.register_fake(torch.empty_like)\n"
        "tripled.register_autograd(lambda ctx, dy: 3 * dy)\n"
    )
    (here / "job.py").write_text("import torch\nfrom other import tripled\n\ntripled(torch.ones(3, requires_grad=True)).sum().backward()\n")
    (report,) = gradcheck([str(here / "job.py")], effort=0.1, replay=False).ops
    assert (Path(report.op).name, report.status) == ("job.py::tripled", Status.PASS)


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        ("", Status.FAIL),
        ("\n\ndef cases(rng):\n    yield {'x': rng.standard_normal(3), 'slope': 0.1}\n", Status.FAIL),
        ("\n\ndef cases(rng):\n    yield {'x': rng.standard_normal(3)}\n", Status.PASS),
        ("\n\nLeaky.apply(torch.ones(3, requires_grad=True)).sum().backward()\n", Status.PASS),
    ],
    ids=["found", "given", "left out by cases", "left out by a run"],
)
def test_a_default_is_declared_and_backward_has_to_count_it(here, extra: str, status: Status) -> None:
    """Torch refuses one gradient for two arguments wherever the option is given, if only its default."""
    (here / "leaky.py").write_text(
        "import torch\n\n\nclass Leaky(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, slope=0.1):\n"
        "        ctx.save_for_backward(x)\n        ctx.slope = slope\n        return torch.where(x > 0, x, slope * x)\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        (x,) = ctx.saved_tensors\n        return torch.where(x > 0, dy, ctx.slope * dy)\n" + extra
    )
    target = here / "leaky.py"
    (report,) = gradcheck([str(target) if "Leaky.apply" in extra else f"{target}::Leaky"], effort=0.1, replay=False).ops
    assert report.status is status


def _scale(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return x * k


def _keep(ctx, inputs, output):
    ctx.given = inputs[1]


def _library_op(name, forward, backward):
    op = torch.library.custom_op(f"tests_torch::{name}", forward, mutates_args=())
    op.register_fake(lambda x, k=2.0: torch.empty_like(x))
    op.register_autograd(backward, setup_context=_keep)
    return op


@pytest.mark.parametrize(
    ("cases", "status"),
    [(None, Status.FAIL), ([{"x": np.ones(3), "k": 2.0}], Status.FAIL), ([{"x": np.ones(3)}], Status.PASS)],
    ids=["found", "given", "left out by cases"],
)
def test_the_backward_of_a_library_op_has_to_count_a_default_too(cases, status: Status) -> None:
    """Torch leaves the default out of the call, and refuses the count at any other value."""
    op = _library_op("counted", _scale, lambda ctx, dy: dy * ctx.given)
    options = Options(effort=0.1)
    made = framework_of("torch").named(op, {} if cases is None else {"cases": lambda rng: cases}, "op", options)
    report = check(made, options)
    assert (report.status, "GC181" in {item.code for item in report.findings}) == (status, status is Status.FAIL)


def _too_far(ctx, inputs, output):
    ctx.given = inputs[2]


def _unnamed(c, given, output):
    c.given = given[1]


@pytest.mark.parametrize(
    ("context", "said"),
    [(_too_far, "setup_context raised on all arguments that were tried"), (_unnamed, "gets ctx, inputs, output by name")],
)
def test_a_setup_context_that_fails_is_named_at_its_line(context, said: str) -> None:
    """Not forward, which ran."""
    op = torch.library.custom_op("tests_torch::kept", _scale, mutates_args=())
    op.register_autograd(lambda ctx, dy: (dy * ctx.given, None), setup_context=context)
    with pytest.raises(UsageError) as found:
        searched(framework_of("torch").subject_of(op), Declared(), "op", Options())
    assert (said in found.value.message, found.value.where.function) == (True, context.__name__)


@pytest.mark.parametrize("has_fake", [True, False])
def test_a_library_op_without_a_fake_kernel_has_a_note(has_fake: bool) -> None:
    """torch.compile and export need one."""
    op = torch.library.custom_op("tests_torch::fake", _scale, mutates_args=())
    op.register_autograd(lambda ctx, dy: (dy * ctx.given, None), setup_context=_keep)
    if has_fake:
        op.register_fake(lambda x, k=2.0: torch.empty_like(x))
    made = framework_of("torch").named(op, {}, "op", Options())
    assert any("no fake kernel" in remark for remark in made.remarks) != has_fake


@pytest.mark.parametrize(
    ("shape", "said"), [((1, 3, 2), "[6, 2, 1], the real one [6, 1, 3]"), ((3, 1, 2), "[2, 2, 1], the real one [1, 6, 3]")]
)
def test_a_fake_kernel_meets_inputs_that_really_lie_transposed(shape: tuple[int, ...], said: str) -> None:
    """Whichever axis has one element; all strides are said, so that they can be told apart."""
    op = torch.library.custom_op("tests_torch::cloned", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: x.new_empty(x.shape))
    op.register_autograd(lambda ctx, dy: dy)
    options = Options(effort=0.1)
    made = framework_of("torch").named(op, {"cases": lambda rng: [{"x": rng.standard_normal(shape)}]}, "op", options)
    (finding,) = (item for item in check(made, options).checks if item.status in _FOUND)
    assert (finding.code, f"gives the strides {said}, for inputs" in finding.message) == ("GC206", True)


class Distances(torch.autograd.Function):
    """Divides by distances, of which some are 0."""

    @staticmethod
    def forward(ctx, a, b):
        d = (a[:, None] - b).square().sum(-1).sqrt()
        ctx.save_for_backward(a, b, d)
        return d

    @staticmethod
    def backward(ctx, dy):
        a, b, d = ctx.saved_tensors
        w = (dy / d)[..., None] * (a[:, None] - b)
        return w.sum(1), -w.sum(0)


def test_nan_of_no_incoming_gradient_is_of_the_same_cause_as_of_others() -> None:
    """It is 0 times infinity; of another cause it would stand for itself, and says what it is."""
    a = np.arange(6.0).reshape(3, 2) ** 2
    options = Options(effort=0.1)
    names = {"cases": lambda rng: [{"a": a, "b": a[:2]}]}
    causes = check(framework_of("torch").named(Distances, names, "op", options), options).findings
    assert {item.code for item in causes} == {"GC105"}
    (of_nothing,) = (item for cause in causes for item in cause.consequences if item.code == "GC201")
    assert of_nothing.message == "the gradient of a (nan at [0, 0], not 0) and of b (nan at [0, 0], not 0) is not zero where no incoming gradient is"


@pytest.mark.parametrize(("power", "status"), [(0, Status.PASS), (1, Status.FAIL)])
def test_what_is_right_without_an_array_excuses_no_wrong_gradient_of_it(power: int, status: Status) -> None:
    """Of an attention with a bias that may be left out, found on squares alone."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any, bias: Any = None) -> Any:
            scores = q @ k.mT * q.shape[-1] ** -0.5
            p = (scores if bias is None else scores + bias).softmax(-1)
            ctx.save_for_backward(q, k, v, p)
            ctx.has_bias = bias is not None
            return p @ v

        @staticmethod
        def backward(ctx: Any, do: Any) -> Any:
            q, k, v, p = ctx.saved_tensors
            dp = do @ v.mT
            ds = p * (dp - (dp * p).sum(-1, keepdim=True))
            scale = q.shape[-1] ** -0.5
            return ds @ k * scale, ds.mT @ q * scale, p.mT @ do, ds * scale**power if ctx.has_bias else None

    options = Options(select=frozenset({"GC101"}))
    report = check(framework_of("torch").named(Attention, {}, "Attention", options), options)
    assert report.status is status, report


@pytest.mark.parametrize(("sign", "status"), [(1.0, Status.PASS), (-1.0, Status.FAIL)])
def test_an_array_that_may_be_left_out_is_left_out(sign: float, status: Status) -> None:
    """Its default is declared, though the search finds shapes with all arrays."""

    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any, b: Any = None) -> Any:
            ctx.save_for_backward(x, w)
            ctx.has_bias = b is not None
            return x * w if b is None else x * w + b

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, w = ctx.saved_tensors
            rows = tuple(range(dy.dim() - 1))
            dw, db = ((dy * x).sum(rows), dy.sum(rows)) if rows else (dy * x, dy)
            return (dy * w, dw, db) if ctx.has_bias else (dy * w, sign * dw, None)

    options = Options(effort=0.3, select=frozenset({"GC101"}))
    report = check(framework_of("torch").named(Affine, {}, "Affine", options), options)
    assert report.status is status, report


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_saved_tensor_that_backward_changes_in_place_is_said(is_changed: bool) -> None:
    """Gradients are right; torch refuses a second backward of the same forward."""

    class Bump(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = (-x * x).exp()
            ctx.save_for_backward(x, y)
            return y.sum(-1)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, y = ctx.saved_tensors
            slope = -2 * x * dy.unsqueeze(-1)
            return y.mul_(slope) if is_changed else y * slope

    options = Options(effort=0.3, select=frozenset({"GC123"}))
    report = check(framework_of("torch").named(Bump, {}, "Bump", options), options)
    assert report.status is Status.PASS
    assert any("a second backward of one forward" in note for note in report.notes) == is_changed, report


@pytest.mark.parametrize(("is_right", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_places_of_rows_are_found_where_a_batch_of_more_axes_is_not_served(is_right: bool, status: Status) -> None:
    """A weighted cross entropy for (N, C): forward takes more axes, which backward refuses."""

    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, logits: Any, target: Any, weight: Any) -> Any:
            logp = logits.log_softmax(1)
            w = weight[target]
            ctx.save_for_backward(logp, target, w)
            return -(w * logp.gather(1, target[:, None])[:, 0]).sum() / w.sum()

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            logp, target, w = ctx.saved_tensors
            d = logp.exp() - torch.nn.functional.one_hot(target, logp.shape[1]).to(logp.dtype)
            return dy * d * (w / (w.sum() if is_right else len(w)))[:, None], None, None

    options = Options(select=frozenset({"GC101"}))
    report = check(framework_of("torch").named(Weighted, {}, "Weighted", options), options)
    assert report.status is status, report


@pytest.mark.parametrize(("takes_numbers", "status"), [(True, Status.PASS), (False, Status.UNDECIDED)])
def test_a_kept_tensor_in_the_place_of_a_number_is_no_hazard(takes_numbers: bool, status: Status) -> None:
    """What gets no gradient and may be a number is an option; a tensor that forward insists on may be changed later."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, scale: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x.sin() * (scale if takes_numbers else scale.detach())

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensors
            return dy * x.cos() * ctx.scale, None

    options = Options(effort=0.1, select=frozenset({"GC203"}))
    made = framework_of("torch").named(Scaled, {}, "Scaled", options)
    report = check(made, options)
    assert [arg.name for arg in made.inputs] == ["x", "scale"]
    assert report.status is status, report
