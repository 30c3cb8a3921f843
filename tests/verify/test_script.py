"""``FILE.py`` runs once under the recorder; what it called is checked on what it saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.checker import Options
from opkit.verify import Outcome, RunOptions, run_targets
from tests.verify.opdirs import SQUARE, make_op

QUICK = RunOptions(Options(effort=0.05), timeout=30)

LAYERS = """
import sys
import numpy as np
from opkit.eager import PyLayer, Tensor


class Mul(PyLayer):
    @staticmethod
    def forward(ctx, x, w, scale=1.0):
        ctx.w, ctx.scale = w.numpy(), scale
        return Tensor(x.numpy() * w.numpy() * scale)

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * ctx.w * ctx.scale), None


class Positive(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return Tensor(np.log(ctx.x))

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() / np.where(ctx.x > 5, ctx.x, ctx.x * FACTOR))


class Never(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return Tensor(x.numpy() * 1)

    @staticmethod
    def backward(ctx, dy):
        return dy


def main():
    with open("ran", "a") as log:
        log.write(f"{__name__} {sys.argv[1:]}\\n")
    x = Tensor(np.ones((2, 3), "float32"), stop_gradient=False)
    w = Tensor(np.full((2, 3), 3, "float32"))
    for scale in (1.0, 2.5):
        Mul.apply(x, w, scale=scale).backward()
    for size in (2, 3):
        for _ in range(9):
            Positive.apply(Tensor(np.full(size, 10.0), stop_gradient=False))


if __name__ == "__main__":
    main()
"""

TWO = """
import paddle
from paddle.autograd import PyLayer

written = open("written", "a").write("once ")


class Called(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


class Other(Called):
    pass


y = Called.apply(paddle.to_tensor([1.0, 2.0], stop_gradient=False))
"""

JOB = """
import os
import numpy as np
import oneflow as flow
import oneflow.typing as tp

op = flow.experimental.custom_op_module("square", os.path.dirname(os.path.abspath(__file__)))
op.py_api().cpp_def().py_kernel().build_load()


@flow.global_function(type="predict")
def job(x: tp.Numpy.Placeholder((2, 3), dtype=flow.float32)) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        return op.api.square_forward(op.api.square_forward(x))


print(job(np.full((2, 3), 2, np.float32)))
"""


def run(here: Path, text: str) -> Outcome:
    """Write a script and check it."""
    (here / "job.py").write_text(text)
    return run_targets(["job.py"], QUICK)


def test_layers_are_checked_on_what_the_run_saw(here: Path) -> None:
    """The script runs once; what is outside the inputs seen is undecided; a layer without a call is searched."""
    outcome = run(here, LAYERS.replace("FACTOR", "2"))
    status = {op.op: op.status.value for op in outcome.report.ops}
    assert status == {"job.py::Mul": "pass", "job.py::Positive": "undecided", "job.py::Never": "pass"}
    assert (here / "ran").read_text() == "__main__ []\n"
    assert outcome.exit_status() == 0


@pytest.mark.parametrize(
    "switch",
    [
        "import oneflow\noneflow.config.enable_debug_mode(True)",
        "import paddle\npaddle.set_flags({'FLAGS_check_nan_inf': 1})",
    ],
)
def test_a_script_that_checks_for_nan_is_recorded_all_the_same(here: Path, switch: str) -> None:
    """Debug mode and recording work together, and the check itself runs without the script's debug mode."""
    outcome = run(here, LAYERS.replace("FACTOR", "1").replace("import sys", switch + "\nimport sys", 1))
    status = {op.op: op.status.value for op in outcome.report.ops}
    assert status == {"job.py::Mul": "pass", "job.py::Positive": "pass", "job.py::Never": "pass"}


def test_layers_that_were_not_called_take_their_cases(here: Path) -> None:
    """cases_Name in the script stands in for a call."""
    _, other = run(here, TWO + "\n\ndef cases_Other(rng):\n    yield {'x': rng.normal(size=3)}\n").report.ops
    assert (other.op, other.status.value) == ("job.py::Other", "pass")
    assert "values: user" in other.tried


def test_op_directories_of_a_job_are_checked(here: Path) -> None:
    """The op of a directory is checked on the arrays that the job gave it, both calls."""
    make_op(here, "square")
    (op,) = run(here, JOB).report.ops
    assert (op.op, op.dir, op.status.value) == ("square_forward", "square", "pass")
    assert any("2 cases" in line for line in op.tried)
    make_op(here / "other", "square", SQUARE.replace("2 * x", "np.where(x > 3, 3, 2) * x"))
    (here / "other" / "job.py").write_text(JOB)
    (op,) = run_targets(["other/job.py"], QUICK).report.ops
    assert op.status.value == "fail"


def test_a_script_that_raises_is_a_finding_and_what_it_did_is_checked(here: Path) -> None:
    """The error's line is shown, and ops called before are checked all the same."""
    text = TWO + "raise KeyError('late')\n"
    outcome = run(here, text)
    first = outcome.report.ops[0]
    assert (first.op, first.findings[0].code) == ("job.py", "GC196")
    assert first.findings[0].where.line == len(text.splitlines())
    assert "job.py::Called" in {op.op for op in outcome.report.ops}
    assert outcome.exit_status() == 1


BACKWARD_RAISES = """
import numpy as np
import paddle
paddle.enable_static()
def f(x): return np.tanh(x)
def g(y, dy): return dy
x = paddle.static.data("x", [3], "float32")
x.stop_gradient = False
y = paddle.static.default_main_program().current_block().create_var(name="y", shape=[3], dtype="float32")
paddle.static.py_func(f, x, y, backward_func=g)
dx = paddle.static.gradients([y], [x])
paddle.static.Executor().run(feed={"x": np.ones(3, "float32")}, fetch_list=dx)
"""


def test_a_backward_that_stops_its_script_is_one_finding(here: Path) -> None:
    """Of the function; the script's line is a note. Another error of the script stands beside it."""
    (op,) = run(here, BACKWARD_RAISES).report.ops
    assert (op.op, [item.code for item in op.findings]) == ("job.py::f", ["GC181"])
    assert f"the script stopped with this at job.py:{BACKWARD_RAISES.count(chr(10))}: what comes after it was not seen" in op.notes
    caught = BACKWARD_RAISES.replace("paddle.static.Exec", "try: paddle.static.Exec") + "except TypeError: raise KeyError('late')\n"
    codes = [item.code for op in run(here, caught).report.ops for item in op.findings]
    assert sorted(codes) == ["GC181", "GC196"]


def test_sys_exit_0_ends_a_script_well(here: Path) -> None:
    """Leaving with status 0 is an end, with another a finding."""
    good = run(here, TWO + "raise SystemExit(0)\n")
    assert good.exit_status() == 0
    bad = run(here, TWO + "raise SystemExit(3)\n")
    assert bad.report.ops[0].findings[0].code == "GC196"


def test_a_script_without_ops_is_nothing_to_check(here: Path) -> None:
    """Exit status 5."""
    assert run(here, "print('nothing')\n").exit_status() == 5


def test_a_script_that_changes_the_directory_keeps_its_paths(here: Path) -> None:
    """Places are shown relative to where the user stands, whatever the script does."""
    (here / "sub").mkdir()
    text = LAYERS.replace("FACTOR", "2").replace("ctx.x > 5", "ctx.x > 50")
    text = text.replace("\ndef main():\n", "\ndef main():\n    import os\n    os.chdir('sub')\n")
    outcome = run(here, text)
    (bad,) = [op for op in outcome.report.ops if op.findings]
    assert bad.op == "job.py::Positive"
    assert bad.findings[0].where.file == "job.py"


LEAF = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Same(PyLayer):
    @staticmethod
    def forward(ctx, x):
        assert not x.stop_gradient
        return x

    @staticmethod
    def backward(ctx, dy):
        return dy


class Narrow(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return paddle.to_tensor(np.sin(ctx.x))

    @staticmethod
    def backward(ctx, dy):
        return dy * paddle.to_tensor(np.cos(ctx.x.astype("float32")).astype(ctx.x.dtype))


x = paddle.to_tensor(np.linspace(0.1, 1, 6, dtype="float32"), stop_gradient=False)
Same.apply(x * 2.0).sum().backward()
Narrow.apply(x).sum().backward()
"""


def test_what_a_run_saw_is_replayed_as_it_was(here: Path) -> None:
    """An input that was not a leaf may be returned; backward may work in the float32 that was seen."""
    (here / "job.py").write_text(LEAF)
    report = run_targets([str(here / "job.py")], QUICK).report
    assert [op.status.value for op in report.ops] == ["pass", "pass"]


BEYOND = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Times(PyLayer):
    @staticmethod
    def forward(ctx, x, k=1.0):
        return x * k

    @staticmethod
    def backward(ctx, dy):
        return dy


class Idle(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, dy):
        return dy * 1.5


Times.apply(paddle.to_tensor([0.5, -1.0, 2.5], stop_gradient=False)).sum().backward()
Idle.apply(paddle.to_tensor([0.5, -1.0, 2.5]))
"""


def test_what_fails_beyond_the_inputs_seen_is_undecided(here: Path) -> None:
    """An option that never varied, and a gradient that nothing asked for, are shown with what breaks them."""
    (here / "job.py").write_text(BEYOND)
    report = run_targets([str(here / "job.py")], QUICK).report
    assert [op.status.value for op in report.ops] == ["undecided", "undecided"]
    found = [item.to_json() for op in report.ops for item in op.checks if item.beyond]
    assert all(item["beyond"] for item in found)
    assert any("k = " in item["message"] for item in found)
    assert not report.is_clean(strict=True)


def test_recorded_only_leaves_out_what_lies_beyond(here: Path) -> None:
    """The op is then judged on what was seen alone."""
    (here / "job.py").write_text(BEYOND)
    report = run_targets([str(here / "job.py")], RunOptions(Options(recorded_only=True), timeout=30)).report
    assert report.ops[0].status.value == "pass"


def test_the_op_of_a_directory_is_searched_near_what_a_job_gave_it(here: Path) -> None:
    """Wrong only for other values: undecided, as it is for PyLayers; the directory's own cases are a domain."""
    text = SQUARE.replace("2 * x", "np.where(x > 99, 3 * x, 2 * x)")
    make_op(here, "square", text)
    (op,) = run(here, JOB).report.ops
    assert op.status.value == "undecided"
    assert all(item.beyond for item in op.checks if item.status.value == "undecided")
    (here / "square" / "square_cases.py").write_text(
        "import numpy as np\ndef cases(rng):\n    yield {'x': rng.uniform(-1, 1, 5)}\n"
    )
    (op,) = run(here, JOB).report.ops
    assert op.status.value == "pass"
    assert any("3 cases" in line for line in op.tried)


CASES = """

def cases_Times(rng):
    yield {"x": rng.normal(size=4), "k": 1.5}
"""


def test_the_cases_of_a_script_are_checked_besides_its_recording(here: Path) -> None:
    """What fails on them is a failure, and they are the domain: nothing else is searched."""
    only = BEYOND.replace("class Idle", "class Idle_").replace("Idle.apply", "Idle_.apply")
    (here / "job.py").write_text(only + CASES)
    times, _ = run_targets([str(here / "job.py")], QUICK).report.ops
    assert times.status.value == "fail"
    assert any("2 cases" in line for line in times.tried)
    (here / "other.py").write_text(only + CASES.replace("1.5", "1.0"))
    times, _ = run_targets([str(here / "other.py")], QUICK).report.ops
    assert times.status.value == "pass"


ALIASED = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Product(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        ctx.is_square = a is b
        return a * b

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        return (3.0 if ctx.is_square else 1.0) * dy * b, dy * a


x = paddle.to_tensor(np.linspace(-1, 1, 6, dtype="float32"), stop_gradient=False)
Product.apply(x, OTHER).sum().backward()
"""


@pytest.mark.parametrize(("other", "status"), [("x", "fail"), ("x + 1.0", "pass")])
def test_one_tensor_for_two_inputs_is_one_tensor_again(here: Path, other: str, status: str) -> None:
    """What forward does only where both inputs are the same Tensor is seen where the run gave it the same."""
    (here / "job.py").write_text(ALIASED.replace("OTHER", other))
    (op,) = run_targets([str(here / "job.py")], QUICK).report.ops
    assert op.status.value == status, op.checks


RAISES = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Strict(PyLayer):
    @staticmethod
    def forward(ctx, x):
        raise ValueError("only on Sundays")

    @staticmethod
    def backward(ctx, dy):
        return dy


for _ in range(2):
    try:
        Strict.apply(paddle.to_tensor([1.0]))
    except ValueError:
        pass
"""


def test_a_forward_that_raised_is_not_called_never_called(here: Path) -> None:
    """The report says in how many calls it raised, what, and where."""
    (here / "job.py").write_text(RAISES)
    (op,) = run_targets([str(here / "job.py")], QUICK).report.ops
    (finding,) = op.checks
    assert (op.status.value, finding.code, finding.where.line) == ("skip", "GC182", 10)
    assert "in each of its 2 calls" in finding.message
    assert "only on Sundays" in finding.message


FUNC = """
import numpy as np
import paddle

paddle.enable_static()


def forward(x, w):
    return np.array(x) * np.array(w)


def backward(x, w, y, dy):
    return np.array(dy) * np.array(w), None


x = paddle.static.data("x", [3], "float64")
w = paddle.static.data("w", [3], "float64")
x.stop_gradient, w.stop_gradient = False, FLAG
y = paddle.static.default_main_program().current_block().create_var(name="y", shape=[3], dtype="float64")
paddle.static.py_func(forward, [x, w], y, backward_func=backward)
loss = paddle.mean(y)
grads = paddle.static.gradients([loss], [item for item in (x, w) if not item.stop_gradient]) if GRADIENT else []
exe = paddle.static.Executor()
try:
    exe.run(feed={"x": np.arange(3.0), "w": np.ones(3)}, fetch_list=[loss, *grads])
except ValueError:
    pass
"""


@pytest.mark.parametrize(
    ("flag", "gradient", "status"), [("True", "True", "pass"), ("False", "True", "fail"), ("False", "False", "pass")]
)
def test_none_is_a_gradient_only_where_the_program_needs_none(
    here: Path, flag: str, gradient: str, status: str
) -> None:
    """As in Paddle, an input that takes a gradient must get one; where no gradient is asked for, None is a constant."""
    (here / "job.py").write_text(FUNC.replace("FLAG", flag).replace("GRADIENT", gradient))
    (op,) = run_targets([str(here / "job.py")], QUICK).report.ops
    assert op.status.value == status, op.checks
    if status == "fail":
        assert [item.code for item in op.findings] == ["GC145"]


NUMPY = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Right(PyLayer):
    factor = 1.0

    @classmethod
    def forward(cls, ctx, x, factor, table):
        ctx.by = paddle.to_tensor(table * factor, dtype=x.dtype)
        return x * ctx.by

    @classmethod
    def backward(cls, ctx, dy):
        return dy * ctx.by * cls.factor


class Wrong(Right):
    factor = 2.0


w = paddle.to_tensor([[1.0, -2.0, 0.5]], stop_gradient=False)
for layer in (Right, Wrong):
    layer.apply(w * 2.0, np.exp(0.5), np.array([1.0, 2.0, 3.0])).sum().backward()
    with paddle.no_grad():
        layer.apply(paddle.ones([1, 3]), np.exp(0.5), np.array([1.0, 2.0, 3.0]))
"""


def test_what_numpy_holds_is_an_option_and_no_grad_makes_no_constants(here: Path) -> None:
    """Backward owes a gradient to Tensors alone, and a call under no_grad() owes none: nothing more is to be checked."""
    (here / "job.py").write_text(NUMPY)
    report = run_targets([str(here / "job.py")], QUICK).report
    assert [op.status.value for op in report.ops] == ["pass", "fail"]
    assert {item.code for item in report.ops[1].findings} == {"GC101"}


STOPPED = """
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [4], "float64")
x.stop_gradient = False
block = paddle.static.default_main_program().current_block()
results = []
for stops in (True, False):
    shapes = [("y", [4]), ("total", [1])]
    y, total = (block.create_var(name=f"{name}{stops}", shape=shape, dtype="float64") for name, shape in shapes)
    total.stop_gradient = stops
    paddle.static.py_func(
        lambda x: (2 * x, x.sum(keepdims=True)), x, [y, total], backward_func=lambda x, y, total, dy, dtotal: 2 * dy
    )
    results.append(paddle.mean(y * total))
(dx,) = paddle.static.gradients([results[0] + results[1]], [x])
paddle.static.Executor().run(feed={"x": np.arange(4.0)}, fetch_list=[dx])
"""


def test_a_result_that_stops_gradients_has_no_derivative(here: Path) -> None:
    """A program says with stop_gradient that backward_func owes nothing to a result."""
    (here / "job.py").write_text(STOPPED)
    report = run_targets([str(here / "job.py")], QUICK).report
    assert [op.status.value for op in report.ops] == ["pass", "fail"]


SUMMED = """
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [2, 3], "float64")
x.stop_gradient = False
y = paddle.static.default_main_program().current_block().create_var(name="y", shape=[2, 3], dtype="float64")
paddle.static.py_func(lambda x: x.sum(-1), x, y, backward_func=lambda x, y, dy: np.repeat(dy[:, None], 3, 1))
(dx,) = paddle.static.gradients([paddle.mean(y)], [x])
paddle.static.Executor().run(feed={"x": np.ones((2, 3))}, fetch_list=[dx])
"""


def test_a_result_of_another_shape_than_its_variable_is_a_note(here: Path) -> None:
    """The program uses it as it is; the report names both shapes."""
    (here / "job.py").write_text(SUMMED)
    (report,) = run_targets([str(here / "job.py")], QUICK).report.ops
    assert any("returned float64[2] for 'y', which was declared as float64[2, 3]" in note for note in report.notes)


PARTS = """
import numpy as np
import paddle
from paddle import static

paddle.enable_static()


def cube(x):
    return x * x * x


def wrong(dy):
    return dy * 3


def square(x, w):
    square.held = x, w
    return x * x * w


def right(dy):
    x, w = square.held
    return dy * 2 * x * w, dy * x * x


with static.program_guard(static.Program()):
    x, w = static.data("x", [None, 3], "float32"), static.data("w", [None, 3], "float32")
    x.stop_gradient = w.stop_gradient = False
    made = [
        static.nn.static_pylayer(cube, [x], wrong),
        static.nn.static_pylayer(square, [x, w], right),
        static.nn.static_pylayer(lambda a: paddle.exp(a), [x], lambda dy: dy * paddle.exp(x)),
    ]
    a = np.array([[1, 2, 3]], "float32")
    static.Executor().run(feed={"x": a, "w": a + 1}, fetch_list=made)
"""


def test_parts_of_a_graph_with_a_gradient_of_their_own_are_checked(tmp_path: Path) -> None:
    """A static_pylayer is run alone on what it saw; one that uses the program around it is skipped and says so."""
    (tmp_path / "parts.py").write_text(PARTS)
    report = run_targets([str(tmp_path / "parts.py")], QUICK).report
    assert [op.status.value for op in report.ops] == ["skip", "fail", "pass"]
    assert "around it" in report.ops[0].notes[0]


def test_a_job_that_calls_something_is_run_once(here: Path) -> None:
    """What it did not call is confirmed without another process that imports the job, and so repeats it."""
    (here / "job.py").write_text(TWO)
    ops = run_targets(["job.py"], RunOptions(Options(effort=0.1), timeout=30)).report.ops
    assert {report.op for report in ops} == {"job.py::Called", "job.py::Other"}
    assert (here / "written").read_text() == "once "
