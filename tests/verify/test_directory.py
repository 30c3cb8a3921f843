"""Op directories become checkables: kernels raw, gradients composed, what is broken told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from opkit.checker import Options
from opkit.project import assemble, op_directory_of
from opkit.reporters import json_report
from opkit.verify import RunOptions, run_targets
from opkit.verify.subjects.modes import runners_of
from tests.corpus.loading import checkables_of
from tests.verify.opdirs import SQUARE, make_op

QUICK = RunOptions(Options(effort=0.05), timeout=30)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_forward_and_backward_are_the_kernels_themselves(here: Path) -> None:
    """The arrays given reach the kernels, and what they return comes back uncopied."""
    kernel = "SEEN = []\n" + SQUARE.replace("    return x * x", "    SEEN.append(x)\n    return x")
    loaded = assemble(op_directory_of(make_op(here, "one", kernel)))
    (op,) = checkables_of(loaded)
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]
    (y,) = op.forward({"x": x}, {})
    assert y is x
    assert loaded.kernel_module.SEEN[0] is x
    gradients = op.backward({"x": x}, [y], [np.ones_like(x)], {}, frozenset({"x"}))
    np.testing.assert_array_equal(gradients["x"], 2 * x)


def test_registration_tells_bindings_reads_and_waste(here: Path) -> None:
    """What is bound, which incoming gradients are read, which results are never used."""
    (op,) = checkables_of(assemble(op_directory_of(make_op(here, "one"))))
    facts = op.registration({"x": op_descs(np.ones(3))}, {})
    assert facts.bound == {"x"}
    assert facts.reads == {"y"}
    assert facts.unused == ()


def op_descs(array: np.ndarray) -> list:
    from opkit.verify.subjects.raw_kernel import describe

    return describe(array)


def test_the_trace_names_the_kernels_that_ran(here: Path) -> None:
    """Each user kernel of the gradient is told with what it got, gave and promised."""
    (op,) = checkables_of(assemble(op_directory_of(make_op(here, "one"))))
    x = np.ones((2, 2))
    _, (call,) = op.trace({"x": x}, [x], [x], {}, frozenset({"x"}))
    assert call.kernel.name == "one_backward"
    assert call.inputs["x"] is x
    assert call.promised[0].shape == (2, 2)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_both_modes_agree_with_the_kernels(here: Path, mode: str) -> None:
    """The runtime's own ways give what the kernels give."""
    loaded = assemble(op_directory_of(make_op(here, "one")))
    run = runners_of(loaded.ops["one_forward"])[mode]
    x, dy = np.linspace(-1, 1, 6).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    (y,), gradients = run({"x": x}, {}, [dy])
    np.testing.assert_array_equal(y, x * x)
    np.testing.assert_array_equal(gradients["x"], 2 * x * dy)


BROKEN = {
    "gradient names": lambda path: edit(path / "one_cpp_def.cpp", 'input("x", 0)', 'input("z", 0)'),
    "kernel syntax": lambda path: (path / "one_py_kernel.py").write_text("def forward(args:\n"),
    "kernel missing": lambda path: (path / "one_py_kernel.py").unlink(),
    "kernel exits": lambda path: (path / "one_py_kernel.py").write_text("raise SystemExit(0)\n"),
    "no such function": lambda path: edit(path / "one_py_kernel.py", "def backward", "def back"),
    "cases name": lambda path: (path / "one_cases.py").write_text("def cases(rng):\n    yield {'q': 1}\n"),
    "no case": lambda path: (path / "one_cases.py").write_text("def cases(rng):\n    return iter(())\n"),
    "cases raise": lambda path: (path / "one_cases.py").write_text("import nothing_of_that_name\n"),
    "allow without why": lambda path: (path / "one_cases.py").write_text("ALLOW = {'GC105': ''}\n"),
    "tolerance": lambda path: (path / "one_cases.py").write_text("TOLERANCE = {'x': 'much'}\n"),
    "surrogate": lambda path: (path / "one_cases.py").write_text("SURROGATE = {'back': abs}\n"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_directory_is_exit_3_and_the_others_go_on(here: Path, kind: str) -> None:
    """Errors of the directory itself are told with file and line; the next op is checked."""
    BROKEN[kind](make_op(here, "one"))
    make_op(here, "two")
    outcome = run_targets(["."], QUICK)
    first, second = outcome.report.ops
    assert first.status.value == "error"
    assert first.dir == "one"
    assert second.status.value == "pass"
    assert outcome.exit_status() == 3
    data = json.loads(json_report(outcome))
    assert data["ops"][0]["status"] == "error"
    if kind != "kernel missing":
        assert all(check["where"]["file"].startswith("one") for check in data["ops"][0]["checks"])


def test_attributes_reach_both_kernels_as_python_values(here: Path) -> None:
    """A float default is exactly Python's, and the sweep changes it."""
    kernel = """
def forward(args, attrs):
    (x,) = args
    assert type(attrs["alpha"]) is float
    assert "device_sub_tag" not in attrs
    return x * attrs["alpha"]


def backward(args, attrs):
    (x, dy) = args
    return dy * FACTOR
"""
    for name, factor, status in (("good", 'attrs["alpha"]', "pass"), ("bad", "0.1", "fail")):
        path = make_op(here, name, kernel.replace("FACTOR", factor))
        spec = path / f"{name}_cpp_def.cpp"
        attr = '    .Attr<float>("alpha", 0.1)\n    .Attr<std::string>("device_sub_tag", "py")\n'
        edit(spec, '    .Attr<std::string>("device_sub_tag", "py")\n', attr)
        edit(
            spec,
            '            .Output("dx")',
            '            .Attr("alpha", ctx->FwOp().attr<float>("alpha"))\n            .Output("dx")',
        )
        (op,) = run_targets([name], QUICK).report.ops
        assert op.status.value == status, [(item.code, item.message) for item in op.findings]


def test_a_gradient_of_built_in_ops_is_run_too(here: Path) -> None:
    """A registration that uses multiply instead of a kernel of its own is checked like any other."""
    path = make_op(here, "one", "def forward(args):\n    (x,) = args\n    return 0.5 * x * x\n")
    spec = path / "one_cpp_def.cpp"
    text = spec.read_text()
    start, end = text.index('REGISTER_USER_OP("one_backward")'), text.index("REGISTER_USER_OP_GRAD")
    text = text[:start] + text[end:]
    text = text.replace('"one_backward"', '"multiply"').replace('InputBind("dy"', 'InputBind("y"')
    spec.write_text(text.replace('.Output("dx")', '.Output("out")').replace('.output("dx", 0)', '.output("out", 0)'))
    outcome = run_targets(["one"], QUICK)
    (op,) = outcome.report.ops
    assert op.status.value == "pass", [(item.code, item.message) for item in op.findings]


def test_a_surrogate_is_what_backward_is_compared_with(here: Path) -> None:
    """A straight-through estimator declares the function whose derivative it is."""
    kernel = """
import numpy as np


def forward(args):
    (x,) = args
    return np.round(x)


def backward(args):
    (x, dy) = args
    return dy.copy()
"""
    make_op(here, "one", kernel)
    make_op(here, "two", kernel, "SURROGATE = {'forward': lambda args: args[0]}\n")
    one, two = run_targets(["."], QUICK).report.ops
    assert one.status.value == "fail"
    assert two.status.value == "pass", [(item.code, item.message) for item in two.findings]


def test_a_surrogate_may_be_a_factor_of_forward(here: Path) -> None:
    """Backward is twice what forward asks for, and says so."""
    kernel = """
def forward(args):
    return args[0] * args[0]


def backward(args):
    (x, dy) = args
    return 4 * x * dy
"""
    make_op(here, "one", kernel, "SURROGATE = {'forward': 2}\n")
    make_op(here, "two", kernel, "SURROGATE = {'forward': 2.5}\n")
    assert [op.status.value for op in run_targets(["."], QUICK).report.ops] == ["pass", "fail"]


def test_a_surrogate_of_one_of_several_forward_ops_is_its_own(here: Path) -> None:
    """The others are compared with their own differences; a key of none of them is an error."""
    kernel = """
import numpy as np


def forward(args):
    return np.round(args[0])


def backward(args):
    return args[1].copy()


def more_forward(args):
    return args[0] * args[0]


def more_backward(args):
    return 2 * args[0] * args[1]
"""
    path = make_op(here, "one", kernel, "SURROGATE = {'one_forward': lambda args: args[0]}\n")
    spec = path / "one_cpp_def.cpp"
    spec.write_text(spec.read_text() + spec.read_text().replace("one_", "one_more_"))
    assert {op.op: op.status.value for op in run_targets(["one"], QUICK).report.ops} == {"one_forward": "pass", "one_more_forward": "pass"}
    (path / "one_cases.py").write_text("SURROGATE = {'one_froward': lambda args: args[0]}\n")
    assert run_targets(["one"], QUICK).exit_status() == 3


def test_cases_of_several_forward_ops_name_theirs(here: Path) -> None:
    """The key "op" says which op a case is for; an unknown one is an error."""
    path = make_op(here, "one", cases="def cases(rng):\n    yield {'op': 'one_forward', 'x': rng.normal(size=3)}\n")
    assert run_targets(["one"], QUICK).report.status.value == "pass"
    (path / "one_cases.py").write_text("def cases(rng):\n    yield {'op': 'one_backwrd', 'x': rng.normal(size=3)}\n")
    assert run_targets(["one"], QUICK).exit_status() == 3
