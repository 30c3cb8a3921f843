"""One mistake is one finding: what follows from it is folded under it, at the line that raised, with a hint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import CheckResult, Report, Status, check
from opkit.checker.causes import folded
from opkit.project import scaffold
from opkit.verify import gradcheck
from tests.checker.functions import check_functions, checkable_of

X = [[np.linspace(-1.0, 2.0, 12).reshape(3, 4)], [np.linspace(-1.0, 1.0, 16).reshape(4, 4)]]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def without_keepdims(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    dot = (dy * y).sum(axis=-1)
    return y * (dy - dot)


def wrong_unpacking(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    rows, columns, depth = dy.shape
    return y * dy.reshape(rows, columns, depth)


def without_return(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    y * (dy - (dy * y).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(
    ("backward", "code", "line", "hint"),
    [
        (without_keepdims, "GC181", 2, "keepdims=True"),
        (wrong_unpacking, "GC181", 1, "unpacked"),
        (without_return, "GC145", 0, "return"),
    ],
)
def test_a_mistake_is_one_finding(backward: Callable[..., Any], code: str, line: int, hint: str) -> None:
    """The exception or the contract is the cause; wrong numbers and further exceptions follow from it."""
    (cause,) = check(checkable_of(softmax, backward, X)).findings
    assert cause.code == code
    assert cause.consequences
    assert hint in cause.hint
    assert cause.where is not None
    assert cause.where.line == backward.__code__.co_firstlineno + line
    assert [item["code"] for item in cause.to_json()["consequences"]] == [item.code for item in cause.consequences]


@pytest.mark.parametrize(
    ("fields", "count"), [({"actual": np.nan}, 1), ({}, 2), ({"actual": np.nan, "input": "y"}, 2)]
)
def test_only_what_is_nan_of_the_same_input_follows_from_nan(fields: dict[str, Any], count: int) -> None:
    """A number where no incoming gradient is has another cause."""
    of_nothing = CheckResult("own", Status.FAIL, "GC201", **{"input": "x", **fields})
    assert len(folded([CheckResult("nonfinite", Status.FAIL, "GC105", input="x"), of_nothing])) == count


def overwriting(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    dy[x < 0] = 0
    return dy


def test_what_follows_from_a_write_is_folded_under_it() -> None:
    """Other layouts and derivatives that cannot be compared say nothing more; a wrong derivative stands for itself."""
    (write,) = check(checkable_of(lambda x: np.maximum(x, 0), overwriting, [X[0]])).findings
    assert write.code == "GC123"
    wrong = CheckResult("jacobian", Status.FAIL, "GC101", "wrong")
    layout = CheckResult("backward_layout", Status.FAIL, "GC131", "backward gave another result")
    assert [item.code for item in folded([wrong, write, layout])] == ["GC101", "GC123"]


def test_results_that_change_are_one_finding() -> None:
    """No derivative can be compared where backward gives another result at each call: that needs no finding of its own."""
    calls = iter(range(100_000))
    report = check(checkable_of(np.tanh, lambda x, y, dy: dy * (1 - y * y) + next(calls), [X[0]]))
    assert "GC101" not in {item.code for item in report.checks}
    assert {item.code for item in report.findings} <= {"GC121", "GC125"}


def test_gradients_that_are_exchanged_are_named() -> None:
    """A backward that returns its two gradients in the wrong order gives each input that of the other."""
    values = [[np.linspace(-1.0, 2.0, 6), np.linspace(0.5, 3.0, 6) ** 2]]
    report = check(checkable_of(np.multiply, lambda x, y, z, dy: (x * dy, y * dy), values))
    found = {item.input: item.message for item in report.findings if item.code == "GC101"}
    (x, y) = found
    assert found[x].endswith(f"looks like the gradient of {y}")
    assert found[y].endswith(f"looks like the gradient of {x}")


def test_what_another_finding_stopped_is_told_by_a_field() -> None:
    """Words of a message decide nothing: a message may be the user's."""
    write = CheckResult("writes", Status.FAIL, "GC122", "forward wrote to x")
    for words in ("no derivative can be compared", "x is read-only"):
        own = CheckResult("backward", Status.FAIL, "GC181", words)
        assert len(folded([write, own])) == 2
        assert len(folded([write, replace(own, is_stopped=True)])) == 1


def test_a_check_may_give_its_own_hint() -> None:
    """A region of values that nobody may mean: what can be declared is said."""
    report = gradcheck(forward=lambda x: x**3, backward=lambda x, dy: 3 * x * np.abs(x) * dy)
    assert "if x < 0 is not meant, " in " ".join(item.hint for item in report.ops[0].findings)


def test_a_wrong_dtype_of_a_result_is_one_finding() -> None:
    """The gradient that comes in has it too, and so does what backward makes of it; another dtype stands for itself."""
    cast = CheckResult("dtype", Status.FAIL, "GC141", output="y", expected="float32", actual="float64")
    after = replace(cast, check="backward_contract", code="GC148", output="dx")
    empty, other = replace(cast, check="empty", code="GC160"), replace(after, actual="float16")
    cause, left = folded([cast, after, empty, other])
    assert [item.code for item in cause.consequences] == ["GC148", "GC160"]
    assert left is not cause
    assert left.actual == "float16"


def test_a_result_with_an_axis_in_front_asks_for_what_was_unpacked() -> None:
    """``x = args`` computes with the tuple; only a gradient is summed over what was broadcast."""
    result = CheckResult("shape", Status.FAIL, "GC140", output="y", expected=[3, 4], actual=[1, 3, 4])
    (one,), (other,) = folded([result]), folded([replace(result, expected=[1, 4], actual=[3, 4])])
    assert ("(x,) = args" in one.hint, other.hint) == (True, "")
    assert "broadcast" in folded([replace(result, code="GC142")])[0].hint


def test_a_wrong_dtype_of_a_gradient_is_one_finding() -> None:
    """On empty and 0-d inputs too, also where nothing declares these; another dtype there stands for itself."""
    cause = CheckResult("gradient_dtype", Status.FAIL, "GC143", input="x", expected="float32", actual="float64")
    empty = replace(cause, check="empty", code="GC160")
    found = replace(empty, status=Status.UNDECIDED)
    other = replace(empty, check="scalar", code="GC161", actual="float16")
    first, left = folded([cause, empty, found, other])
    assert [item.code for item in first.consequences] == ["GC160", "GC160"]
    assert (left.code, left.actual) == ("GC161", "float16")


def test_a_cause_of_one_input_takes_nothing_from_another() -> None:
    """A missing gradient of a explains nothing about b."""
    missing = CheckResult("missing_gradient", Status.FAIL, "GC145", input="a")
    wrong = CheckResult("jacobian", Status.FAIL, "GC101", input="b")
    assert [item.code for item in folded([wrong, missing])] == ["GC101", "GC145"]


def test_a_gradient_of_a_result_of_another_dtype_is_no_second_mistake() -> None:
    """The incoming gradient has that dtype, and backward keeps it."""
    result = CheckResult("dtype", Status.FAIL, "GC141", output="y")
    gradient = CheckResult("gradient_dtype", Status.FAIL, "GC143", input="x")
    (cause,) = folded([gradient, result])
    assert (cause.code, [item.code for item in cause.consequences]) == ("GC141", ["GC143"])


def test_the_same_derivative_at_special_points_stands_under_the_failure() -> None:
    """What is undecided of another input or output stays."""
    wrong = CheckResult("jacobian", Status.FAIL, "GC101", input="x", output="y")
    again = replace(wrong, status=Status.UNDECIDED)
    other = replace(again, input="w")
    assert [len(item.consequences) for item in folded([wrong, again, other])] == [1, 0]


def test_what_backward_raises_stands_under_the_failure_at_empty_arrays_too() -> None:
    """Another exception there stays."""
    raised = CheckResult("backward_raises", Status.FAIL, "GC181", "backward raised KeyError: 'x'")
    there = replace(raised, status=Status.UNDECIDED, code="GC160", message=f"{raised.message} (nothing declares it)")
    other = replace(there, message="backward raised IndexError: 0 (nothing declares it)")
    assert [len(item.consequences) for item in folded([there, other, raised])] == [0, 1]


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("backward raised ValueError: not enough values to unpack (expected 2, got 0)", "ctx.save_for_backward"),
        ("backward raised IndexError: tuple index out of range", "ctx.save_for_backward"),
        ("backward raised IndexError: tuple index out of range", "needs_input_grad"),
        ("backward raised TypeError: bwd() missing 1 required positional argument: 'g'", "forward's rule first"),
        ("backward raised ValueError: Linearization failed to produce known values for all", "primals first"),
        ("backward raised AttributeError: module 'numpy' has no attribute 'expp'", "did you mean 'exp'?"),
        ("backward raised TypeError: Custom VJP bwd rule must produce ... structure PyTreeDef(*) for", "return (g,)"),
    ],
)
def test_a_slip_of_a_framework_has_its_hint(message: str, hint: str) -> None:
    (item,) = folded([CheckResult("backward_raises", Status.FAIL, "GC181", message)])
    assert hint in item.hint


def test_a_term_without_dy_is_one_finding() -> None:
    """What is not 0 for a zero dy is neither additive nor homogeneous, and what it gives for one dy is no slope."""
    codes = ("GC101", "GC110", "GC111", "GC112", "GC201")
    (only,) = folded([CheckResult(code, Status.FAIL, code, input="x") for code in codes])
    assert only.code == "GC112"
    assert [item.code for item in only.consequences] == ["GC101", "GC110", "GC111", "GC201"]
    assert "dy as a factor" in only.hint


def test_a_backward_that_forgets_dy_is_one_finding_that_says_so() -> None:
    """As of gradients that forward computed: each is what a loss of 1 has, and of no input a slope is wrong."""
    x, y = np.array([[0.5, 1.5], [-1.0, 2.0]])
    (only,) = (
        item for item in check_functions(lambda x, y: (x * y).sum(), lambda x, y, dy: (y, x), [x, y]).checks if item.is_finding
    )
    assert (only.code, only.input) == ("GC112", None)
    assert "it does not depend on dy" in only.message


def test_two_wrong_numbers_stand_side_by_side() -> None:
    """Without a cause nothing is folded."""
    results = [CheckResult("jacobian", Status.FAIL, "GC101"), CheckResult("additive", Status.FAIL, "GC110")]
    assert folded(results) == results


def test_a_report_reads_as_text_in_python() -> None:
    """str() is plain text with every finding, repr() one short line, the HTML form escaped; failures are at hand."""
    report = Report("1", 0, (check(checkable_of(softmax, without_keepdims, X)),))
    assert repr(report) == "<Report of 1 op: fail>"
    assert str(report).startswith("FAIL      softmax")
    assert "FAIL GC181 backward_raises" in str(report)
    assert "hint " in str(report)
    assert "--&gt;" in report._repr_html_()
    assert [item.code for item in report.failures] == ["GC181"]


def picked_once(x: np.ndarray, index: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    dx = np.zeros_like(x)
    dx[index] = dy
    return dx, None


def picked(x: np.ndarray, index: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    dx = np.zeros_like(x)
    np.add.at(dx, index, dy)
    return dx, None


def test_an_index_that_repeats_is_a_hint() -> None:
    """Assigning where contributions have to be added is what such a failure usually is."""
    made = checkable_of(lambda x, index: x[index], picked_once, [np.arange(4.0), np.array([0, 2, 2])])
    (finding,) = [item for item in check(made).findings if item.code == "GC101"]
    assert "np.add.at" in finding.hint
    layout = CheckResult("backward_layout", Status.FAIL, "GC131", "another result with Fortran order")
    assert [item.code for item in folded([finding, layout])] == ["GC101"]
    assert len(folded([replace(finding, evidence=None), layout])) == 2
    made = checkable_of(
        lambda x, index: x[index], lambda *a: (2 * picked(*a)[0], None), [np.arange(4.0), np.array([0, 2, 2])]
    )
    assert all("np.add.at" not in item.hint for item in check(made).findings)


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        ("GC181", "AttributeError: 'MulBackward' object has no attribute 'saved_tensor'", "'saved_tensors'?"),
        ("GC181", "AttributeError: 'Context' object has no attribute 'saved_tensors'", "'saved_tensor'?"),
        ("GC122", "ValueError: x is read-only", "INPLACE"),
        ("GC181", "TypeError: F.backward() takes 1 positional argument but 2 were given", "is ctx"),
    ],
)
def test_what_a_message_suggests_is_a_hint(code: str, message: str, hint: str) -> None:
    """A framework's other spelling, a parameter that was forgotten."""
    (finding,) = folded([CheckResult("backward", Status.FAIL, code, f"backward raised {message}")])
    assert hint in finding.hint


def test_a_gradient_of_nothing_but_zeros_asks_for_a_return() -> None:
    """Where None counts as zero it is what a missing return looks like."""
    (finding,) = [item for item in check(checkable_of(np.sin, lambda x, y, dy: 0 * dy, X)).findings if item.code == "GC101"]
    assert "is a return missing" in finding.hint


def test_zeros_at_kinks_alone_are_no_missing_gradient() -> None:
    """A gate that is closed at its edge is 0 there: nothing is None, and nothing need be returned."""
    gated = checkable_of(
        lambda x: x * np.clip(x + 3, 0, 6) / 6, lambda x, y, dy: dy * np.where(np.abs(x) < 3, (2 * x + 3) / 6, 0.0), [np.full(4, 3.0)]
    )
    (finding,) = [item for item in check(gated).findings if item.code == "GC103"]
    assert "always zero" not in finding.message
    assert "None" not in finding.hint


def test_a_0d_input_is_not_called_broadcast() -> None:
    """A gradient with an axis too many for a 0-d input has another reason."""
    made = checkable_of(lambda x: x * 2.0, lambda x, y, dy: np.atleast_1d(2.0 * dy), [np.array(1.5)])
    (finding,) = check(made).findings
    assert "0-d" in finding.hint
    assert "broadcast" not in finding.hint


def test_an_option_that_breaks_a_gradient_beyond_a_recording_is_a_hint() -> None:
    """The finding names the option that backward may not get."""
    report = gradcheck(forward=lambda x, k=1.0: x * k, backward=lambda x, dy: dy, inputs=[np.arange(3.0)])
    open_ = [item for item in report.ops[0].checks if item.beyond]
    assert [item.hint for item in open_] == ["backward may not get the option k, not use it, use it otherwise than forward, or lack a branch of it"]


def test_a_gradient_through_a_step_brings_the_way_to_declare_it() -> None:
    """Straight through a rounding, in an op with a definition: the failure says how a surrogate is declared."""
    made = checkable_of(lambda x: np.round(4 * x) / 4, lambda x, y, dy: dy, X)
    (finding,) = check(replace(made, infer=lambda descs, attrs: next(iter(descs.values())))).findings
    assert "SURROGATE" in finding.hint


def test_whole_numbers_that_make_float64_of_float32_are_named() -> None:
    """No number of numpy's floats need be there: a difference of float32 and int64 is float64."""
    (op,) = gradcheck(lambda x: x - np.arange(x.size).reshape(x.shape), lambda x, dy: dy.astype(x.dtype)).ops
    assert any("whole numbers (x - np.arange(3))" in note for note in op.notes)


def test_a_pair_of_functions_promises_no_dtype_of_its_results() -> None:
    """Numpy makes float64 of float32 and whole numbers, and computes on with both: a line. A gradient has its input's dtype all the same."""

    def forward(x: np.ndarray) -> np.ndarray:
        return x * np.arange(1, x.shape[-1] + 1)

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return dy * np.arange(1, x.shape[-1] + 1)

    (op,) = gradcheck(forward, backward).ops
    assert op.status is Status.PASS, op.findings
    assert sum("forward returned y as float64 for float32 inputs" in note for note in op.notes) == 1
    (op,) = gradcheck(lambda x: np.tanh(x), lambda x, dy: (dy * (1 - np.tanh(x) ** 2)).astype(np.float64)).ops
    assert {item.code for item in op.findings} == {"GC143"}


def test_the_case_with_many_elements_does_not_repeat_what_small_ones_raise(tmp_path: Path) -> None:
    """A slip in backward was a finding and a note with the same words."""
    scaffold("slip", tmp_path, "elementwise", [])
    kernel = tmp_path / "slip/slip_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("np.exp(", "np.expp("))
    (op,) = gradcheck(str(tmp_path / "slip")).ops
    assert [item.hint for item in op.findings] == ["did you mean 'exp'?"]
    assert "expp" not in str(op.notes)


def test_a_result_of_which_backward_gives_no_gradient_is_offered_the_declaration() -> None:
    """All derivatives given of it are 0, and those of the other result are not."""
    x = np.linspace(-1.0, 2.0, 12)
    found = check(checkable_of(lambda x: [x * x, 2 * x], lambda x, dy, dz: 2 * x * dy, [x], name="file.py::Op"))
    assert 'NONDIFFERENTIABLE_OUTPUTS_Op = ("out1",)' in found.findings[0].hint


def test_a_function_of_one_result_without_a_gradient_is_offered_no_declaration() -> None:
    """Its gradient is missing, and something else than a name of the result is to be mended."""
    found = check(checkable_of(np.tanh, lambda x, dy: 0 * dy, [np.linspace(-1.0, 2.0, 12)]))
    assert "NONDIFFERENTIABLE" not in found.findings[0].hint
