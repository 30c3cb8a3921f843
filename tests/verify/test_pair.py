"""Any pair of numpy functions can be checked."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest

from opkit.checker import Status
from opkit.errors import UsageError
from opkit.testing import GradientError, assert_gradients
from opkit.verify import gradcheck
from tests.verify.spawned import leaving

X = np.linspace(-2, 2, 7)


def test_a_right_pair_passes_and_a_wrong_one_fails() -> None:
    """Sin with cos passes; with -cos it fails."""
    assert gradcheck(forward=np.sin, backward=lambda x, dy: dy * np.cos(x), inputs=[X]).status.value == "pass"
    report = gradcheck(forward=np.sin, backward=lambda x, dy: -dy * np.cos(x), inputs=[X])
    assert report.status.value == "fail"
    assert not report, "an assert of a report holds where nothing failed"
    assert report.ops[0].findings[0].code == "GC101"


def test_a_pair_may_be_given_by_position() -> None:
    """Two functions are forward and backward; inputs by both ways are refused."""
    assert gradcheck(np.sin, lambda x, dy: -dy * np.cos(x), inputs=[X]).status.value == "fail"
    with pytest.raises(UsageError, match="given twice"):
        gradcheck(np.sin, [X], inputs=[X])


@pytest.mark.parametrize(
    "backward",
    [
        lambda a, b, dy: (dy @ b.T, a.T @ dy),
        lambda a, b, y, dy: (dy @ b.T, a.T @ dy),
        lambda dy, a, b: [dy @ b.T, a.T @ dy],
        lambda a, b, dy, unused=None: (dy @ b.T, a.T @ dy),
    ],
)
def test_backward_may_have_any_of_the_signatures(backward) -> None:
    """Inputs then dy, with the outputs between, or dy first by its name."""
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 3)), rng.normal(size=(3, 4))]
    assert_gradients(forward=lambda a, b: a @ b, backward=backward, inputs=inputs, recorded_only=True)


def test_no_output_is_called_as_an_input_is() -> None:
    """Where an input is called y, the result is y_out: `d y / d y` says nothing."""
    report = gradcheck(forward=lambda x, y: x * y, backward=lambda x, y, dy: (y * dy, -x * dy), inputs=[X, X + 1])
    assert {(item.output, item.input) for item in report.ops[0].findings} == {("y_out", "y")}


def test_two_outputs_get_two_gradients() -> None:
    """Each output's gradient arrives in its place."""
    assert_gradients(
        forward=lambda x: (np.sin(x), np.exp(x)),
        backward=lambda x, ds, de: ds * np.cos(x) + de * np.exp(x),
        inputs=[X],
    )


def test_inputs_by_name_and_integers_that_take_no_gradient() -> None:
    """Integer arrays are passed on and not differentiated."""
    assert_gradients(
        forward=lambda x, index: x[index],
        backward=lambda x, index, dy: (_scatter(x, index, dy), None),
        inputs={"x": X, "index": np.array([0, 3, 3, 6])},
    )


def _scatter(x: np.ndarray, index: np.ndarray, dy: np.ndarray) -> np.ndarray:
    dx = np.zeros_like(x)
    np.add.at(dx, index, dy)
    return dx


def test_missing_accumulation_is_seen() -> None:
    """Assigning instead of adding loses repeated indices."""

    def wrong(x: np.ndarray, index: np.ndarray, dy: np.ndarray):
        dx = np.zeros_like(x)
        dx[index] = dy
        return dx, None

    with pytest.raises(GradientError, match="GC10"):
        assert_gradients(
            forward=lambda x, index: x[index], backward=wrong, inputs={"x": X, "index": np.array([0, 3, 3, 6])}
        )


def test_the_error_carries_the_report_and_the_line() -> None:
    """assert_gradients raises an AssertionError whose message is the report."""

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return 2 * dy

    with pytest.raises(AssertionError) as caught:
        assert_gradients(forward=np.sin, backward=backward, inputs=[X])
    assert "test_pair.py" in str(caught.value)
    assert caught.value.report.status.value == "fail"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"forward": np.sin}, "together"),
        ({"forward": np.sin, "backward": np.cos, "target": "."}, "together"),
        ({"forward": iter, "backward": lambda x, dy: dy}, "inputs"),
        ({"forward": lambda x: x.no_such_thing, "backward": lambda x, dy: dy}, "all arguments that were tried"),
        ({"forward": np.sin, "backward": lambda x, dy: dy, "inputs": [X], "cases": lambda rng: [X]}, "takes inputs"),
        ({"forward": np.sin, "backward": lambda: 0, "inputs": [X]}, "takes 0 arguments"),
        ({"target": ".", "inputs": [X]}, "go with"),
        ({"target": ".", "sede": 1}, "seed"),
        ({"target": int}, "not a PyLayer"),
        ({"forward": np.sin, "backward": "cos"}, "are functions"),
        ({"forward": np.sin, "backward": lambda x, dy: dy, "inputs": X}, "a list of what forward takes"),
        ({"forward": np.sin, "backward": lambda x, dy: dy, "input": [X]}, "did you mean 'inputs'"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments, message) -> None:
    """Misuse is refused with the reason."""
    with pytest.raises(UsageError, match=message):
        gradcheck(**arguments)


def test_a_function_can_be_isolated() -> None:
    """With isolate=True a function that leaves the process is a failure of its declared inputs, not the end."""
    report = gradcheck(forward=np.sin, backward=leaving, inputs=[X], isolate=True)
    assert report.status.value == "fail"
    assert report.ops[0].findings[0].code == "GC193"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_function_that_forks_is_checked_in_one_process() -> None:
    """In this process too, the copy ends where the function is left."""
    copies: list[int] = []

    def forward(x: np.ndarray) -> np.ndarray:
        if len(copies) < 3:
            copies.append(os.fork())
        return np.asarray(x * x)

    report = gradcheck(forward=forward, backward=lambda x, dy: 2 * x * dy, inputs=[np.linspace(-1, 1, 5)], effort=0.2)
    assert [os.waitpid(copy, 0)[1] for copy in copies] == [0, 0, 0]
    assert report.status.value == "pass"


def relu6(x: np.ndarray) -> np.ndarray:
    """Clip to 0 and 6."""
    return np.clip(x, 0, 6)


def open_ended(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Forget the upper bound."""
    return dy * (x > 0)


def scaled(x: np.ndarray, k: float = 1.0) -> np.ndarray:
    """Multiply by a number."""
    return x * k


def unscaled(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Forget the number."""
    return dy


@pytest.mark.parametrize(("forward", "backward"), [(relu6, open_ended), (scaled, unscaled)])
def test_what_the_inputs_given_do_not_show_is_searched_near_them(forward, backward) -> None:
    """A region or an option that the inputs do not reach is undecided; strict makes it wrong; it can be left out."""
    report = gradcheck(forward=forward, backward=backward, inputs=[X], effort=0.05)
    assert report.status.value == "undecided"
    assert any(item.beyond for item in report.ops[0].checks)
    assert report.is_clean()
    with pytest.raises(GradientError, match="beyond the inputs seen"):
        assert_gradients(forward=forward, backward=backward, inputs=[X], effort=0.05, strict=True)
    assert gradcheck(forward=forward, backward=backward, inputs=[X], recorded_only=True).status.value == "pass"


@pytest.mark.parametrize(("forward", "backward"), [(relu6, open_ended), (scaled, unscaled)])
def test_without_inputs_a_pair_is_searched_like_a_directory(forward, backward) -> None:
    """Forward says by trial what it takes, and what fails there is a failure."""
    assert gradcheck(forward=forward, backward=backward, effort=0.05).status.value == "fail"


@pytest.mark.parametrize(
    "backward",
    [lambda x, dy, k=1.0: dy * k, lambda x, k, dy: dy * k, lambda x, y, dy, *, k=1.0: dy * k, lambda dy, x, k: dy * k],
)
def test_an_option_reaches_a_backward_that_has_a_parameter_of_its_name(backward) -> None:
    """Wherever the parameter stands."""
    assert gradcheck(forward=scaled, backward=backward, effort=0.05).status.value == "pass"
    assert gradcheck(forward=scaled, backward=backward, inputs=[X], effort=0.05).status.value == "pass"


@pytest.mark.parametrize("inputs", [[X, 3], {"x": X, "n": 3}, [(X, 3)], [(X, 3.0)]])
@pytest.mark.parametrize(
    "backward",
    [
        lambda x, dy, n=2: dy * n * x ** (n - 1),
        lambda x, dy, *, n=2: dy * n * x ** (n - 1),
        lambda x, y, dy, n=2: dy * n * x ** (n - 1),
        lambda grad, x, n=2: grad * n * x ** (n - 1),
    ],
)
def test_an_option_that_is_given_reaches_backward_by_its_name(backward: Any, inputs: Any) -> None:
    """As its default does, wherever backward has it; a number that is given for it is no input."""
    assert gradcheck(forward=lambda x, n=2: x**n, backward=backward, inputs=inputs, recorded_only=True).status.value == "pass"


def test_an_option_of_the_cases_reaches_backward_by_its_name() -> None:
    """And not its default."""
    report = gradcheck(
        forward=lambda x, k=2.0: x * k,
        backward=lambda x, dy, k=2.0: dy * 2.0,
        cases=lambda rng: [{"x": rng.standard_normal(3), "k": 3.0}],
        effort=0.1,
    )
    assert {item.input for item in report.ops[0].findings} == {"x"}


def test_an_option_by_keyword_alone_is_given_by_name() -> None:
    """To forward and to backward."""
    report = gradcheck(
        forward=lambda x, *, n: x**n,
        backward=lambda x, dy, *, n: dy * n * x ** (n - 1),
        inputs={"x": X, "n": 3},
        effort=0.1,
    )
    assert report.status.value == "pass"


def test_an_array_for_an_option_is_an_input() -> None:
    """Whose gradient is compared, though backward takes it by its name."""
    report = gradcheck(
        forward=lambda x, w=None: x * w,
        backward=lambda x, dy, w=None: (dy * w, 2 * dy * x),
        inputs=[X, X + 1],
        effort=0.1,
    )
    assert {item.input for item in report.ops[0].findings} == {"w"}


def test_a_gradient_of_an_option_is_not_passed_over() -> None:
    """Backward gives one of a number that stands for an option: the message says how it is checked."""
    report = gradcheck(
        forward=lambda x, k=2.0: x * k, backward=lambda x, dy, k=2.0: (dy * k, dy), inputs=[X, 2.0], effort=0.1
    )
    assert "give an array of it" in report.ops[0].findings[0].message


def test_inputs_may_hold_options_and_lists() -> None:
    """A whole number and a word are options, a list of arrays stays one."""

    def forward(parts, axis, kind):
        return np.concatenate(parts, axis=axis) * (2.0 if kind == "double" else 1.0)

    def backward(parts, axis, kind, dy):
        cuts = np.cumsum([part.shape[axis] for part in parts])[:-1]
        return (np.split(dy * (2.0 if kind == "double" else 1.0), cuts, axis=axis),)

    inputs = {"parts": [X, X[:3]], "axis": 0, "kind": "double"}
    assert gradcheck(forward=forward, backward=backward, inputs=inputs).status.value == "pass"


def test_a_branch_behind_a_word_is_reached() -> None:
    """A word that forward compares its option with is tried, though no input ever had it."""

    def forward(x, mode="plain"):
        return x * x if mode == "square" else 3.0 * x

    report = gradcheck(forward=forward, backward=lambda x, dy, mode="plain": 3.0 * dy, inputs=[X])
    (bad,) = [item for item in report.ops[0].checks if item.beyond and item.code == "GC101"]
    assert "mode = 'square'" in bad.message


def test_a_librarys_further_parameters_are_not_tried() -> None:
    """The gradient of ``np.sum`` is not asked for an axis that its author never meant."""
    report = gradcheck(forward=np.sum, backward=lambda x, dy: np.full_like(x, dy), inputs=[X])
    assert report.status.value == "pass"


@pytest.mark.parametrize(("mirrored", "status"), [(1.0, "pass"), (0.0, "fail")])
def test_what_was_seen_to_be_symmetric_stays_so(mirrored: float, status: str) -> None:
    """2 q x is the gradient of a quadratic form for a symmetric matrix, and for no other one."""
    half = np.random.default_rng(1).normal(size=(3, 3))
    report = gradcheck(
        forward=lambda x, q: np.einsum("ni,ij,nj->n", x, q, x),
        backward=lambda x, q, dy: (2 * dy[:, None] * (x @ q), (x * dy[:, None]).T @ x),
        inputs=[np.random.default_rng(0).normal(size=(4, 3)), half + mirrored * half.T],
    )
    assert report.status.value == status, report


def test_shapes_that_backward_answers_are_found_beside_those_of_single_numbers() -> None:
    """A dense layer sums its bias' gradient over rows: with one element alone anything would fit."""

    def forward(x: Any, w: Any, b: Any) -> Any:
        return x @ w.T + b

    def backward(x: Any, w: Any, b: Any, dy: Any) -> Any:
        return dy @ w, dy.T @ x, dy.sum(0)

    assert gradcheck(forward=forward, backward=backward).status.value == "pass"


@pytest.mark.parametrize(("factor", "status"), [(1.0, "pass"), (1.5, "fail")])
def test_the_time_holds_in_this_process_too(factor: float, status: str) -> None:
    """Calls that take long end within the time, and the derivative is decided."""
    called: list[int] = []

    def forward(x):
        called.append(1)
        time.sleep(0.02)
        return np.tanh(x)

    def backward(x, y, dy):
        called.append(1)
        time.sleep(0.02)
        return factor * dy * (1 - y * y)

    report = gradcheck(forward=forward, backward=backward, inputs=[np.linspace(-1, 1, 6)], timeout=1.5)
    assert report.status.value == status
    assert 0.02 * len(called) < 1.5


def _picked(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return x[np.arange(len(x)), labels].mean()


def _picked_back(x: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    found = np.zeros_like(x)
    found[np.arange(len(x)), labels] = dy / len(x)
    return found, None


def _averaged(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return x[labels].mean(axis=0)


def _averaged_over_rows(x: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    found = np.zeros_like(x)
    np.add.at(found, labels, np.broadcast_to(dy / len(x), (*labels.shape, *x.shape[1:])))
    return found, None


def _entropy(z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean over the labels: rows beyond these are not read."""
    return (np.logaddexp.reduce(z, axis=1)[np.arange(len(labels))] - z[np.arange(len(labels)), labels]).mean()


def _entropy_of_all_rows(z: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    found = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    found[np.arange(len(labels)), labels] -= 1
    return dy * found / len(labels), None


def _entropy_not_divided(z: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    return len(labels) * _entropy_of_all_rows(z, labels, dy)[0], None


def _focal(z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """One class alone gives 0, and a gradient of 0; fewer labels than rows are taken, as torch's ``gather`` does."""
    every = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))[: len(labels)]
    p = np.take_along_axis(every, labels[:, None], axis=1)[:, 0]
    return (-((1 - p) ** 2) * np.log(p)).mean()


def _focal_without_p(z: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    every = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    p = np.take_along_axis(every[: len(labels)], labels[:, None], axis=1)
    picked = np.zeros_like(z)
    np.put_along_axis(picked[: len(labels)], labels[:, None], 1.0, axis=1)
    return dy * (2 * (1 - p) * np.log(p) - (1 - p) ** 2) * (picked - every) / len(z), None


def _hinge(z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.maximum(z[np.arange(len(labels)), labels], 0.0)


def _hinge_without_its_mask(z: np.ndarray, labels: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
    found = np.zeros_like(z)
    np.add.at(found, (np.arange(len(labels)), labels), dy)
    return found, None


@pytest.mark.parametrize(
    ("forward", "backward", "status"),
    [
        (_picked, _picked_back, "pass"),
        (_entropy, _entropy_of_all_rows, "pass"),
        (_averaged, _averaged_over_rows, "fail"),
        (_entropy, _entropy_not_divided, "fail"),
        (_hinge, _hinge_without_its_mask, "fail"),
        (_focal, _focal_without_p, "fail"),
    ],
)
def test_labels_of_other_shapes_are_a_line(forward: Any, backward: Any, status: str) -> None:
    """A matrix of labels is not meant, nor fewer than rows where backward is wrong for rows alone that forward does not read."""
    (op,) = gradcheck(forward=forward, backward=backward, effort=0.05).ops
    assert op.status.value == status
    assert status == "fail" or op.unserved


def test_complex_inputs_that_were_given_are_not_differentiated() -> None:
    """The absolute value of complex numbers: nothing is left to check, and nothing breaks."""
    z = np.array([1 + 2j, 3 - 1j])
    (op,) = gradcheck(forward=np.abs, backward=lambda z, dy: dy * z / np.abs(z), inputs=[z]).ops
    assert op.status.value == "skip"


def test_an_input_that_a_pair_gives_none_for_is_a_constant_where_nothing_declares_it() -> None:
    """A line says so; beside inputs that are given it fails."""

    def forward(x: Any, target: Any) -> Any:
        return ((x - target) ** 2).sum()

    def backward(x: Any, target: Any, dy: Any) -> Any:
        return 2 * dy * (x - target), None

    (found,) = gradcheck(forward=forward, backward=backward).ops
    assert found.status is Status.PASS, str(found)
    assert "input target gets no gradient and counts as a constant" in found.notes
    (given,) = gradcheck(forward=forward, backward=backward, inputs=[np.ones(3), np.zeros(3)]).ops
    assert [item.code for item in given.findings] == ["GC145"]


def test_a_pair_that_takes_nothing_says_what_forward_raised() -> None:
    """What came furthest is told, with its shape."""

    def forward(x: Any) -> Any:
        if x.ndim != 2:
            raise ValueError("rows")
        raise ValueError("nothing will do")

    with pytest.raises(UsageError, match=r"x of shape \[3, 4\], gave ValueError: nothing will do"):
        gradcheck(forward=forward, backward=lambda x, dy: dy * (x > 0))


def test_a_clipped_gradient_is_not_called_wrong_at_exact_values() -> None:
    """It depends on the incoming gradient alone."""
    (op,) = gradcheck(forward=lambda x: +x, backward=lambda x, dy: np.clip(dy, -1, 1)).ops
    assert op.status.value == "undecided"
    assert not any("exactly these values" in item.message for item in op.checks)


def test_a_forward_that_writes_to_its_input_fails_as_such() -> None:
    """Nothing that was tried got past the write, so that it is what there is to say."""

    def forward(x: np.ndarray) -> np.ndarray:
        if x.ndim != 2:
            raise ValueError("rows")
        x -= x.max(axis=1, keepdims=True)
        return np.exp(x)

    report = gradcheck(forward=forward, backward=lambda x, dy: dy * np.exp(x))
    assert [item.code for op in report.ops for item in op.findings] == ["GC122"]


def test_targets_of_0_and_1_are_found_though_arrays_without_elements_are_taken_too() -> None:
    """What forward takes without elements says nothing of the values that it wants."""

    def forward(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        if x.shape != t.shape or not ((t == 0) | (t == 1)).all():
            raise ValueError("targets are 0 or 1")
        return np.logaddexp(0, x) - x * t

    def backward(x: np.ndarray, t: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
        return dy * (1 / (1 + np.exp(-x)) - t), None

    (op,) = gradcheck(forward=forward, backward=backward).ops
    assert op.status is Status.PASS, str(op)
    assert "t in [0, 1], int64" in op.rests_on
