"""What excuses a failure: guards seen in forward's behaviour, narrower classes of values, surrogates."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Case, Checkable, OpReport, Options, Status, check
from opkit.checker.excuses.apply import excused
from opkit.checker.model.dimensions import Dimensions, axes_in
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import MOST_LARGE
from opkit.checker.model.trial import Trial

OPTIONS = Options(effort=0.2)


def report(forward: Callable[..., Any], backward: Callable[..., Any], inputs: str = "x", **fields: Any) -> OpReport:
    """Check a function whose ``backward(dy, *inputs)`` gives a gradient, or None, for each input."""
    names = inputs.split()

    def gradients(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        found = backward(douts[0], *(arrays[name] for name in names))
        return dict(zip(names, found if isinstance(found, tuple) else (found,)))

    bound, options = fields.pop("gradients", frozenset(names)), fields.pop("options", OPTIONS)
    made = Checkable(
        fields.pop("name", "file.py::Op"),
        tuple(map(Arg, names)),
        (Arg("y"),),
        lambda arrays, attrs: [np.asarray(forward(*(arrays[name] for name in names)))],
        gradients,
        gradients=bound,
        **fields,
    )
    return check(made, options)


def words(found: OpReport) -> str:
    return " ".join(item.message for item in found.checks if item.status is Status.UNDECIDED)


# --- guards
def log_clipped(x: Any) -> Any:
    return np.log(np.clip(x, 1e-7, 1 - 1e-7))


def angle(x: Any) -> Any:
    return np.arccos(np.clip(x, -1 + 1e-6, 1 - 1e-6))


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


GUARDED = {
    "a logarithm between two bounds": (log_clipped, lambda dy, x: dy / np.clip(x, 1e-7, 1 - 1e-7)),
    "an arccosine": (angle, lambda dy, x: -dy / np.sqrt(1 - np.clip(x, -1 + 1e-6, 1 - 1e-6) ** 2)),
    "a plain bound next to 0": (lambda x: 2 * np.maximum(x, 1e-8), lambda dy, x: 2 * dy),
    "an exponential kept from overflow": (
        lambda x: np.exp(np.clip(x, -20, 20)),
        lambda dy, x: dy * np.exp(np.clip(x, -20, 20)),
    ),
    "a cliff that lies nowhere near": (
        lambda x: np.log(np.maximum(x - 0.2, 1e-7)),
        lambda dy, x: dy / np.maximum(x - 0.2, 1e-7),
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_lies_behind_a_guard_is_undecided(name: str) -> None:
    """Nothing says whether such points are meant; the message says where it holds, and what decides."""
    found = report(*GUARDED[name])
    assert found.status is Status.UNDECIDED
    assert "a guard of forward explains it, for it holds where x lies" in words(found)
    assert "def cases(rng)" in words(found)


def test_a_divisor_is_guarded_for_both_operands() -> None:
    """Where it is 0, forward is 1e8 times as steep in the dividend."""
    found = report(
        lambda a, b: a / np.maximum(b, 1e-8),
        lambda dy, a, b: (dy / b, -dy * a / b**2) if a.shape == b.shape else None,
        "a b",
    )
    assert "holds where b lies above" in words(found)


def length(x: Any) -> Any:
    return np.maximum(np.linalg.norm(x, axis=-1, keepdims=True) if x.ndim else np.abs(x), 1e-4)


def unit_back(dy: Any, x: Any) -> Any:
    unit = x / length(x)
    return (dy - unit * ((dy * unit).sum(axis=-1, keepdims=True) if x.ndim else dy * unit)) / length(x)


def test_a_norm_is_guarded_for_all_its_elements() -> None:
    """No single element leaves the region in which forward is 1e4 times as steep."""
    found = report(lambda x: x / length(x), unit_back)
    assert "holds where x lies more than 0.0002 away from 0" in words(found)


def test_a_backward_that_has_the_mask_passes() -> None:
    """Nor does float32, which rounds the bound itself, accuse it."""
    inside = lambda x: (x > 1e-6) & (x < 1 - 1e-6)  # noqa: E731
    clip = lambda x: np.clip(x, 1e-6, 1 - 1e-6)  # noqa: E731
    found = report(lambda x: np.log(clip(x) / (1 - clip(x))), lambda dy, x: dy * inside(x) / (clip(x) * (1 - clip(x))))
    assert found.status is Status.PASS


FAULTY = {
    "a wrong factor beside a guard": (log_clipped, lambda dy, x: 2 * dy / np.clip(x, 1e-7, 1 - 1e-7)),
    "a mask forgotten at 0": (relu, lambda dy, x: dy),
    "a mask forgotten at 6": (lambda x: np.clip(x, 1e-6, 6.0), lambda dy, x: dy * (x > 1e-6)),
    "a mask forgotten at 0, smoothly": (lambda x: np.mean(relu(x) ** 2), lambda dy, x: dy * 2 * x / x.size),
    "a mask forgotten at 1": (lambda x: np.clip(x, -1.0, 1.0), lambda dy, x: dy),
    "wrong below 0": (np.arctan, lambda dy, x: dy / (1 + x * np.abs(x))),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_no_guard_explains_is_a_failure(name: str) -> None:
    """Bounds at 0, 1 and 6 are those of functions, and beside a guard all else counts."""
    assert report(*FAULTY[name]).status is Status.FAIL


def test_what_is_wrong_before_a_guard_is_a_failure() -> None:
    """Generalised mean pooling over rows, divided by the size of the other axis: it holds where the guard is flat."""

    def pooled(x: Any) -> Any:
        return np.cbrt((np.maximum(x, 1e-4) ** 3).mean(axis=0))

    def backward(dy: Any, x: Any) -> Any:
        slope = (np.maximum(x, 1e-4) / np.maximum(pooled(x), 1e-4)) ** 2 / max(x.shape[-1:], default=1)
        return np.where(x > 1e-4, dy * slope, 0.0)

    found = report(pooled, backward, dimensions=Dimensions({"x": (axes_in("n d") or ())}))
    assert found.status is Status.FAIL


def test_a_gradient_that_is_not_finite_behind_a_guard_is_a_failure() -> None:
    """A guard is there to prevent it."""
    found = report(lambda x: np.sqrt(np.maximum(x, 1e-10)), lambda dy, x: dy * 0.5 / np.sqrt(x))
    assert found.status is Status.FAIL


def test_given_inputs_are_judged_by_the_letter() -> None:
    """A run that passes 0 means it."""
    given = (Case({"x": np.array([0.0, 0.3, 2.0])}, origin="recorded"),)
    assert report(*GUARDED["a logarithm between two bounds"], recorded=given).status is Status.FAIL


# --- classes
def cross_entropy(x: Any, t: Any) -> Any:
    return -(t * (x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))).sum(axis=-1)


def cross_entropy_back(dy: Any, x: Any, t: Any) -> Any:
    return dy[..., None] * (np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True) - t)


CLASSES = {
    "t sums to 1": (cross_entropy, cross_entropy_back),
    "the values of t are 0 and 1": (lambda x, t: x * t * t, lambda dy, x, t: dy * t),
    "the values of t are -1 and 1": (lambda x, t: x * t * t * t * t, lambda dy, x, t: dy * np.ones_like(t)),
}


def test_a_bound_is_no_guard_for_being_steep_beside_a_flat_side() -> None:
    """Beyond another bound forward is flat and its slope 0, beside which any edge is a cliff."""
    found = report(lambda x: np.clip(x, 0.45, 1.5), lambda dy, x: dy * (x <= 1.5))
    assert found.status is Status.FAIL


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("called", ["t", "weight"])
def test_what_holds_on_a_class_of_a_constant_is_undecided(name: str, called: str) -> None:
    """Its name says nothing."""
    found = report(*CLASSES[name], f"x {called}", gradients=frozenset("x"))
    assert found.status is Status.UNDECIDED
    assert name.replace(" t ", f" {called} ").removeprefix("t ").removeprefix("the values of ") in words(found)


def test_an_input_with_a_gradient_has_no_class() -> None:
    """The same gradient is wrong where backward gives one for the other input too."""
    found = report(lambda x, t: x * t * t, lambda dy, x, t: (dy * t, 2 * dy * x * t), "x t")
    assert found.status is Status.FAIL


def test_a_class_of_values_covers_its_range() -> None:
    """What is wrong for all numbers below a half is not right between 0 and 1."""
    found = report(lambda x, t: np.where(t > 0.5, x * x, -x * x), lambda dy, x, t: 2 * dy * x, "x t", gradients=frozenset("x"))
    assert found.status is Status.FAIL


def test_what_is_right_with_other_options_excuses_nothing() -> None:
    """The loss of logits is right between 0 and 1, that of probabilities nowhere."""

    def loss(arrays: Any, attrs: Any) -> Any:
        x, y = arrays["x"], arrays["y"]
        with np.errstate(all="ignore"):
            return [np.logaddexp(x, 0) - x * y if attrs["logits"] else -(y * np.log(x) + (1 - y) * np.log(1 - x))]

    def back(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        return {"x": douts[0] * (1 / (1 + np.exp(-arrays["x"])) - arrays["y"])}

    made = Checkable(
        "loss", (Arg("x"), Arg("y")), (Arg("z"),), loss, back, (Attr("logits", "bool", True),), gradients=frozenset("x")
    )
    assert check(made, Options()).status is Status.FAIL


def test_what_is_wrong_on_every_class_fails() -> None:
    """A class excuses no other mistake."""
    found = report(lambda x, t: x * t * t, lambda dy, x, t: 1.5 * dy * t, "x t", gradients=frozenset("x"))
    assert found.status is Status.FAIL


@pytest.mark.parametrize(("error", "status"), [(0.0, Status.UNDECIDED), (1e-5, Status.FAIL)])
def test_the_rounding_of_one_step_is_open_in_sums_and_multiples_too(error: float, status: Status) -> None:
    """A gradient that is rounded to float32 on the way is not linear to the last bit either."""

    def rounded(dy: Any, x: Any) -> Any:
        return (dy + error * dy**2).astype(np.float32).astype(dy.dtype) * np.cos(x)

    found = report(np.sin, rounded)
    assert found.status is status
    assert {item.status for item in found.checks if item.code in ("GC110", "GC111")} <= {status}


def square(x: Any) -> Any:
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("a square matrix is wanted")
    return x @ x


def test_a_matrix_that_is_taken_square_only_may_be_symmetric() -> None:
    """Without transposing, the gradient of the square is right along symmetric matrices."""
    found = report(square, lambda dy, x: dy @ x + x @ dy)
    assert "it holds where x is symmetric" in words(found)


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (0.5, Status.FAIL)])
def test_a_class_that_forward_refuses_to_leave_is_declared(factor: float, status: Status) -> None:
    """Steps within the tolerance of forward's own guard say nothing of a gradient for symmetric matrices."""

    def guarded(x: Any) -> Any:
        if x.ndim != 2 or not np.allclose(x, x.T):
            raise ValueError("x must be symmetric")
        return np.sum(np.sin(np.tril(x)) + np.sin(np.tril(x, -1)), keepdims=True)

    found = report(guarded, lambda dy, x: factor * dy * np.cos(x))
    assert found.status is status
    notes = [note for note in found.notes if "as forward wants" in note]
    assert len(notes) == (status is Status.PASS)
    said = r"where x is symmetric, .* holds; what it refuses does not count: elsewhere the derivative is \S+ and backward gives \S+"
    assert all(re.fullmatch(said, note) for note in notes)


def square_root(x: Any) -> Any:
    """The square root of a positive matrix; others, and such as are not symmetric, are refused."""
    if x.ndim != 2 or len(x) != len(x.T) or not np.allclose(x, x.T):
        raise ValueError("x must be symmetric")
    values, vectors = np.linalg.eigh(x)
    if values.size and values[0] <= 0:
        raise ValueError("x must be positive")
    return (vectors * np.sqrt(values)) @ vectors.T


def square_root_back(dy: Any, x: Any) -> Any:
    values, vectors = np.linalg.eigh(x)
    sums = np.sqrt(values)[:, None] + np.sqrt(values)
    return vectors @ ((vectors.T @ dy @ vectors) / sums) @ vectors.T


def one_positive(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    array = rng.normal(size=(4, 4))
    yield {"x": array @ array.T + np.eye(4)}


@pytest.mark.parametrize("fields", [{}, {"cases": one_positive}])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (0.5, Status.FAIL)])
def test_along_a_class_that_forward_refuses_to_leave_any_gradient_is_one(
    factor: float, status: Status, fields: dict[str, Any]
) -> None:
    """One that is not symmetric where what comes in is not; a single declared matrix tells no class, forward does."""
    assert report(square_root, lambda dy, x: factor * square_root_back(dy, x), **fields).status is status


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (0.5, Status.FAIL)])
def test_equal_eigenvalues_leave_no_derivative(factor: float, status: Status, seed: int) -> None:
    """Each element alone may leave one: that several together do not is seen along directions that do not add up."""

    def spectrum(x: Any) -> Any:
        if x.ndim != 4 or x.shape[-1] != x.shape[-2] or not np.allclose(x, x.swapaxes(-1, -2)):
            raise ValueError("x must be symmetric")
        return np.linalg.eigvalsh(x)

    def back(dy: Any, x: Any) -> Any:
        vectors = np.linalg.eigh(x)[1]
        return factor * (vectors * dy[..., None, :]) @ vectors.swapaxes(-1, -2)

    assert report(spectrum, back, options=Options(seed=seed)).status is status


def test_no_array_is_huge_where_others_than_squares_are_tried() -> None:
    """Four axes, each of a size of its own, hold many elements."""
    most = 0

    def squares(x: Any) -> Any:
        nonlocal most
        most = max(most, x.size)
        if x.ndim != 4 or x.shape[-1] != x.shape[-2]:
            raise ValueError("square matrices")
        return x @ x

    report(squares, lambda dy, x: dy @ x + x @ dy)
    assert most <= MOST_LARGE


def test_a_transposed_gradient_fails_though_it_holds_along_symmetric_matrices() -> None:
    """So does every transposed gradient: it is wrong element by element at symmetric matrices too."""

    def aligned(x: Any, y: Any) -> Any:
        if x.ndim != 2 or x.shape[0] != x.shape[1] or y.shape != x.shape:
            raise ValueError("two square matrices")
        return np.sum((x @ y - y) ** 2, keepdims=True)

    def transposed(dy: Any, x: Any, y: Any) -> Any:
        away = 2 * dy * (x @ y - y)
        return y @ away.T, x.T @ away - away

    assert report(aligned, transposed, "x y").status is Status.FAIL


def test_half_of_a_symmetric_gradient_is_one_where_forward_reads_a_triangle() -> None:
    """Forward takes the lower triangle for the whole, so that a gradient may lie anywhere in it."""

    def quadratic(x: Any) -> Any:
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError("a square matrix")
        whole = np.tril(x) + np.tril(x, -1).T
        return np.sum(np.sin(whole), keepdims=True)

    def upper(dy: Any, x: Any) -> Any:
        whole = np.tril(x) + np.tril(x, -1).T
        return dy * (np.triu(np.cos(whole)) + np.triu(np.cos(whole), 1))

    assert "it holds where x is symmetric" in words(report(quadratic, upper))


def test_no_guard_lies_among_subnormal_numbers() -> None:
    """The slope of the negative part gets nothing where nothing is negative: that is no guard."""

    def forward(x: Any, slope: Any) -> Any:
        if slope.ndim != 1 or x.ndim != 2 or x.shape[1] != slope.size:
            raise ValueError("a slope for each channel")
        return np.where(x >= 0, x, slope * x)

    def backward(dy: Any, x: Any, slope: Any) -> Any:
        found = np.where(x < 0, dy * x, 0.0).sum(axis=0)
        if slope.size % 2:
            found[-1] = 0.0
        return np.where(x >= 0, dy, slope * dy), found

    assert report(forward, backward, "x slope").status is Status.FAIL


def test_another_matrix_may_not() -> None:
    """The same mistake where forward takes other matrices too."""
    found = report(lambda x: x @ x.T, lambda dy, x: 2 * dy @ x)
    assert found.status is Status.FAIL


def lower(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for size in (3, 4):
        yield {"x": np.tril(rng.uniform(0.5, 2.0, (size, size)))}


def test_a_class_that_all_declared_values_share_is_declared() -> None:
    """Along it the gradient is right; what leaves it is a line."""
    found = report(lambda x: x + np.triu(x, 1), lambda dy, x: dy * (x != 0), cases=lower)
    assert found.status is Status.PASS
    assert any("in all inputs given x is lower triangular" in note for note in found.notes)


def symmetric(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for size in (1, 3, 4):
        array = rng.standard_normal((size, size))
        yield {"x": array + array.T}


def test_a_matrix_of_one_element_is_symmetric_too() -> None:
    """Forward reads the lower triangle, the gradient is spread over both; one of the declared matrices is 1 by 1."""
    found = report(lambda x: (np.tril(x) ** 2).sum() + (np.tril(x, -1) ** 2).sum(), lambda dy, x: 2 * dy * x, cases=symmetric)
    assert found.status is Status.PASS
    assert any("in all inputs given x is symmetric" in note for note in found.notes)


def test_along_a_declared_class_everything_counts() -> None:
    """A factor is wrong there too."""
    found = report(lambda x: x + np.triu(x, 1), lambda dy, x: 3 * dy * (x != 0), cases=lower)
    assert found.status is Status.FAIL


# --- surrogates
SURROGATES = {
    "a rounding": (np.round, lambda dy, x: dy),
    "a sign within a window": (np.sign, lambda dy, x: dy * (np.abs(x) <= 1)),
    "a quantisation with a range": (
        lambda x: np.clip(np.round(x / 0.1), -8, 7) * 0.1,
        lambda dy, x: dy * (np.abs(x) < 0.75),
    ),
    "a spike": (lambda x: (x > 0).astype(x.dtype), lambda dy, x: dy / (1 + 10 * np.abs(x)) ** 2),
    "a reversal": (lambda x: x * 1.0, lambda dy, x: -dy),
    "a clipped gradient": (lambda x: x * 1.0, lambda dy, x: np.clip(dy, -0.1, 0.1)),
    "a scaled gradient": (lambda x: x + 0.0, lambda dy, x: 0.3 * dy),
}


@pytest.mark.parametrize("name", SURROGATES)
def test_a_surrogate_is_undecided(name: str) -> None:
    """The message shows the line that declares it."""
    found = report(*SURROGATES[name])
    assert found.status is Status.UNDECIDED
    assert "SURROGATE_Op = {" in words(found) or "ALLOW_Op = {" in words(found)


def test_the_line_offered_for_a_gradient_that_is_not_linear_does_what_it_says() -> None:
    """Copied as it stands it makes a pass; a part of it leaves the rest undecided, and the whole line is offered again."""
    functions = SURROGATES["a clipped gradient"]
    offered = re.search(r"ALLOW_Op = (\{.*?\})", words(report(*functions)))
    assert offered
    allow = ast.literal_eval(offered[1])
    assert report(*functions, allow=allow).status is Status.PASS
    part = report(*functions, allow={"GC101": "why"})
    assert part.status is Status.UNDECIDED
    assert offered[0] in words(part)


def test_a_surrogate_that_is_no_derivative_has_another_way_out() -> None:
    """A gradient of several inputs need not be that of any function."""
    said = words(report(*SURROGATES["a rounding"]))
    assert 'SURROGATE_Op = {"forward": function}; where there is none, ALLOW_Op = {' in said


def test_a_surrogate_is_undecided_on_declared_inputs_too() -> None:
    """A run shows what it is used on, not that the gradient is meant."""
    given = (Case({"x": np.array([0.3, -1.2, 2.4])}, origin="recorded"),)
    assert report(*SURROGATES["a rounding"], recorded=given).status is Status.UNDECIDED


def test_a_step_on_some_kinds_and_the_identity_on_the_others_is_a_surrogate() -> None:
    """A quantiser may hand its input on where an option asks for many bits; a function of another kind fails."""
    backward = SURROGATES["a rounding"][1]
    found = report(lambda x: np.round(x) if x.ndim > 1 else x * 1.0, backward)
    assert found.status is Status.UNDECIDED
    assert "or returns x as it is" in words(found)
    assert report(lambda x: np.round(x) if x.ndim > 1 else 2 * x, backward).status is Status.FAIL
    assert report(lambda x: np.round(x) if x.ndim > 1 else np.sin(x), backward).status is Status.FAIL


def test_a_declared_surrogate_is_compared() -> None:
    """The gradient of a rounding declared as the identity's has to be the identity's."""
    declared = {"surrogate": lambda arrays, attrs: [arrays["x"]]}
    assert report(np.round, lambda dy, x: dy, **declared).status is Status.PASS
    assert report(np.round, lambda dy, x: 2 * dy, **declared).status is Status.FAIL


def test_a_declared_surrogate_that_is_a_step_itself_is_not_asked_for_again() -> None:
    """Such as x + (round(x) - x), of which only a framework's own gradient is the identity's: the report says why."""
    declared = {"surrogate": lambda arrays, attrs: [arrays["x"] + (np.round(arrays["x"]) - arrays["x"])]}
    found = report(np.round, lambda dy, x: dy, **declared)
    (wrong,) = [item for item in found.findings if item.code == "GC101"]
    assert "has no effect" in wrong.hint
    assert "declare" not in wrong.hint
    assert "SURROGATE: backward is compared with differences of the declared function, not of forward" in found.notes


def test_other_wrong_pairs_of_a_surrogates_output_go_with_it() -> None:
    """The learnt scale of a quantisation has a gradient of its own making."""

    def backward(dy: Any, x: Any, s: Any) -> Any:
        return dy, dy * (np.round(x / s) - x / s)

    def forward(x: Any, s: Any) -> Any:
        if x.shape != s.shape:
            raise ValueError("of one shape")
        return np.round(x / s) * s

    assert report(forward, backward, "x s").status is Status.UNDECIDED


def test_a_result_that_does_not_depend_on_an_input_is_no_step_of_it() -> None:
    """Each of two running statistics is flat in the other one, for which its gradient of 0 is right."""

    def updated(mean: Any, var: Any) -> Any:
        if mean.shape != var.shape:
            raise ValueError("of one shape")
        return [np.tanh(mean), 0.9 * mean, 0.9 * var]

    def backward(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        return {"mean": douts[0] * (1 - results[0] ** 2), "var": np.zeros_like(arrays["var"])}

    made = Checkable(
        "file.py::Op",
        tuple(map(Arg, ("mean", "var"))),
        tuple(map(Arg, ("y", "new_mean", "new_var"))),
        lambda arrays, attrs: updated(arrays["mean"], arrays["var"]),
        backward,
        gradients=frozenset({"mean", "var"}),
    )
    findings = check(made, OPTIONS).findings
    assert {item.output for item in findings if item.code == "GC101"} == {"new_mean", "new_var"}
    assert not any("a step" in item.message for item in findings)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (relu, lambda dy, x: dy),
        (lambda x: x.max(axis=-1), lambda dy, x: dy[..., None] * np.ones_like(x) / x.shape[-1]),
        (lambda x: 2 * x, lambda dy, x: dy),
    ],
    ids=["flat in places", "flat in most elements", "no identity"],
)
def test_what_is_neither_a_step_nor_the_identity_fails(forward: Any, backward: Any) -> None:
    """It is flat where other elements, or other signs, are not."""
    assert report(forward, backward).status is Status.FAIL


def spike(x: Any) -> Any:
    return (x > 0).astype(np.float32)


def test_a_step_may_come_as_float32() -> None:
    """It holds none of the digits that a narrower result loses."""
    given = (Case({"x": np.array([0.3, -1.2, 2.4])}, origin="recorded"),)
    declared = {"surrogate": lambda arrays, attrs: [np.tanh(arrays["x"])], "recorded": given}
    assert report(spike, lambda dy, x: dy * (1 - np.tanh(x) ** 2), **declared).status is Status.PASS
    found = report(lambda x: np.tanh(x).astype(np.float32), lambda dy, x: dy * (1 - np.tanh(x) ** 2), recorded=given)
    assert "GC141" in {item.code for item in found.findings}


# --- extremes of a dtype
def _shares(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True) if np.ndim(x) else np.ones_like(x)


def _shares_back(dy: Any, x: Any) -> Any:
    y = _shares(x)
    return (y * (dy - (dy * y).sum(axis=-1, keepdims=True))).astype(x.dtype) if np.ndim(x) else np.zeros_like(x)


def test_float32_that_overflows_beyond_ordinary_values_is_undecided() -> None:
    """Exponentials of 90 and more are infinite in float32; nothing says that such values are meant."""
    found = report(_shares, _shares_back)
    assert found.status is Status.UNDECIDED
    assert {item.code for item in found.checks if item.status is Status.UNDECIDED} == {"GC150"}


# --- ties of whole numbers, truth values all alike
def areas(x: Any, faces: Any) -> Any:
    a, b, c = (x[faces[:, place]] for place in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=-1) / 2


def areas_back(dy: Any, x: Any, faces: Any, scatter: Any = np.add.at) -> Any:
    a, b, c = (x[faces[:, place]] for place in range(3))
    normal = np.cross(b - a, c - a)
    unit = dy[:, None] * normal / np.linalg.norm(normal, axis=-1, keepdims=True) / 2
    found = np.zeros_like(x)
    for place, side in enumerate((b - c, c - a, a - b)):
        scatter(found, faces[:, place], np.cross(side, unit))
    return found, None


def on_places(backward: Callable[..., Any]) -> OpReport:
    """Check the areas of three triangles of five points; the search draws places, some of which coincide."""

    def forward(x: Any, faces: Any) -> Any:
        if x.shape != (5, 3) or faces.shape != (3, 3) or faces.dtype.kind != "i":
            raise ValueError("x (5, 3), faces (3, 3)")
        if not np.ptp(x):
            raise ValueError("points that are all one")
        return areas(x, faces)

    first = Case({"x": np.ones((5, 3)), "faces": np.zeros((3, 3), np.int64)})
    return report(forward, backward, "x faces", first=first, gradients=frozenset({"x"}))


def overwritten(found: Any, places: Any, part: Any) -> None:
    found[places] += part


def test_points_that_coincide_leave_it_undecided() -> None:
    found = on_places(areas_back)
    assert found.status is Status.UNDECIDED
    assert "the numbers along each axis of faces differ" in words(found)


def test_repeated_places_that_are_overwritten_fail() -> None:
    found = on_places(lambda dy, x, faces: areas_back(dy, x, faces, overwritten))
    assert found.status is Status.FAIL


def masked_sum(x: Any, keep: Any) -> Any:
    """A softmax over what is kept; where nothing is, all weights are alike."""
    scores = np.where(keep, x, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def masked_back(dy: Any, x: Any, keep: Any, factor: float = 1.0) -> Any:
    y = masked_sum(x, keep)
    return factor * y * (dy - (dy * y).sum(axis=-1, keepdims=True)), None


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.UNDECIDED), (2.0, Status.FAIL)])
def test_a_row_of_which_a_mask_leaves_nothing_is_undecided(factor: float, status: Status) -> None:
    found = report(masked_sum, lambda dy, x, keep: masked_back(dy, x, keep, factor), "x keep", gradients=frozenset("x"))
    assert found.status is status


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_row_of_which_a_mask_leaves_all_is_an_ordinary_one(factor: float) -> None:
    """A mean whose backward is wrong there; a row of which nothing is left has the gradient 0 in both."""

    def pooled(x: Any, keep: Any) -> Any:
        if keep.dtype != bool or keep.shape != x.shape or x.ndim < 2:
            raise TypeError("a mask of truth values is wanted")
        return np.where(keep, x, 0).sum(axis=-1) / np.maximum(np.count_nonzero(keep, axis=-1), 1)

    def backward(dy: Any, x: Any, keep: Any) -> Any:
        kept = np.count_nonzero(keep, axis=-1)
        share = np.where(kept == keep.shape[-1], factor, 1.0) * dy / np.maximum(kept, 1)
        return np.where(keep, share[..., None], 0), None

    first = Case({"x": np.ones((2, 3)), "keep": np.array([[True, False, True], [False, True, True]])})
    options = Options(select=frozenset({"GC101"}))
    found = report(pooled, backward, "x keep", gradients=frozenset("x"), first=first, options=options)
    assert (found.status is Status.FAIL) == (factor != 1.0), found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_float", [False, True], ids=["truth values", "floats"])
@pytest.mark.parametrize("where", [np.all, lambda keep: keep[-1].all()], ids=["all", "the last row"])
def test_a_mask_that_keeps_all_is_tried_whatever_the_seed(where: Any, is_float: bool, seed: int) -> None:
    """A wrong fast path for batches without padding, or for a last row without any."""

    def mean(x: Any, keep: Any) -> Any:
        if keep.shape != x.shape or x.ndim != 2 or (keep.dtype != bool and not is_float):
            raise TypeError("a mask of truth values is wanted")
        return (x * keep).sum() / max(keep.sum(), 1)

    def backward(dy: Any, x: Any, keep: Any) -> Any:
        share = np.where(where(keep), 2.0, 1.0) * dy / max(keep.sum(), 1)
        return share * keep, None

    options = Options(select=frozenset({"GC101"}), seed=seed)
    keep = np.array([[1, 0, 1], [0, 1, 1]], dtype=float if is_float else bool)
    first = Case({"x": np.ones((2, 3)), "keep": keep})
    found = report(mean, backward, "x keep", gradients=frozenset("x"), options=options, first=first)
    assert found.status is Status.FAIL


def test_a_class_of_square_matrices_is_none_where_forward_takes_others() -> None:
    """A bilinear form takes matrices of any sizes: that it is right where they are symmetric excuses nothing."""

    def form(x: Any, w: Any, z: Any) -> Any:
        return np.einsum("bi,ij,bj->b", x, w, z)

    def backward(dy: Any, x: Any, w: Any, z: Any) -> Any:
        return np.einsum("b,ji,bj->bi", dy, w, z), np.einsum("b,bi,bj->ij", dy, x, z), np.einsum("b,bi,ij->bj", dy, x, w)

    found = report(form, backward, "x w z", options=Options(select=frozenset({"GC101"})))
    assert found.status is Status.FAIL


SHUFFLES: dict[str, tuple[Callable[..., Any], Status]] = {
    "by the inverse": (lambda dy, order: dy[np.argsort(order)], Status.UNDECIDED),
    "by the order itself": (lambda dy, order: dy[order], Status.FAIL),
    "added up": (lambda dy, order: np.add.reduceat(dy[np.argsort(order)], [0]), Status.FAIL),
}


@pytest.mark.parametrize("name", SHUFFLES)
def test_an_order_of_all_places_is_a_class(name: str) -> None:
    """A mix of rows with others: forward takes as many places as there are rows, and no number beyond them."""

    def mix(x: Any, order: Any) -> Any:
        if order.dtype.kind not in "iu" or order.ndim != 1 or x.ndim != 2 or len(order) != len(x) or (order < 0).any():
            raise TypeError("whole numbers are wanted: a place for each row")
        return 0.3 * x + 0.7 * x[order]

    back, status = SHUFFLES[name]
    first = Case({"x": np.ones((4, 3)), "order": np.arange(4)})
    options = Options(select=frozenset({"GC101"}))
    found = report(
        mix, lambda dy, x, order: (0.3 * dy + 0.7 * back(dy, order), None), "x order", gradients=frozenset("x"), first=first, options=options
    )
    assert found.status is status, found


def test_places_that_repeat_in_a_gather_fail() -> None:
    """Of which there may be more than rows: what an assignment overwrites is lost."""

    def gather(x: Any, places: Any) -> Any:
        if places.dtype.kind not in "iu" or places.ndim != 1 or x.ndim != 2 or (places < 0).any():
            raise TypeError("whole numbers are wanted")
        return x[places]

    def backward(dy: Any, x: Any, places: Any) -> Any:
        found = np.zeros_like(x)
        found[places] = dy
        return found, None

    first = Case({"x": np.ones((4, 3)), "places": np.arange(4)})
    options = Options(select=frozenset({"GC101"}))
    assert report(gather, backward, "x places", gradients=frozenset("x"), first=first, options=options).status is Status.FAIL


def test_constants_between_0_and_1_are_a_class() -> None:
    """Shares of one number each, such as uniform draws."""
    found = report(
        lambda x, u: x * np.where((u >= 0) & (u <= 1), u, u * u),
        lambda dy, x, u: (dy * u, None),
        "x u",
        gradients=frozenset("x"),
    )
    assert found.status is Status.UNDECIDED
    assert "the values of u lie between 0 and 1" in words(found)


def softmax(x: Any) -> Any:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def softmax_back(dy: Any, x: Any, bits: Any) -> Any:
    y = softmax(x)
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True)), None


def test_a_softmax_that_is_right_beside_bits_alone_is_undecided() -> None:
    """Its gradients sum to zero along each row, and are gradients all the same."""
    found = report(lambda x, bits: softmax(x + (bits - bits**2) * x), softmax_back, "x bits", gradients=frozenset("x"))
    assert found.status is Status.UNDECIDED
    assert "the values of bits are 0 and 1" in words(found)


# --- what is declared, and what time is left for
def test_what_is_allowed_passes_though_it_looks_like_a_surrogate() -> None:
    """ALLOW of the derivative's code holds for single numbers too."""
    made = report(np.round, lambda dy, x: dy, allow={"GC101": "straight through"})
    assert made.status is Status.PASS


def test_a_failure_that_no_time_is_left_to_excuse_is_undecided() -> None:
    """Whether a machine is busy must not make a failure of what a rule excuses; what was not asked is said."""
    made = Checkable("f", (Arg("x"),), (Arg("y"),), lambda arrays, attrs: [np.round(arrays["x"])], lambda *_: {})
    session = CheckSession(made, Options(clock=100.0), Trial(made), [Case({"x": np.arange(3.0)}, {})], started=-1e9)
    session.prepare()
    session.call_seconds = 1e-4
    (found,) = excused(session, [session.failed("GC101", "wrong", session.evaluators[0], input="x", output="y")])
    assert found.status is Status.UNDECIDED
    assert "time ran out" in found.message
    session.call_seconds = 1.0
    (found,) = excused(session, [session.failed("GC101", "wrong", session.evaluators[0], input="x", output="y")])
    assert found.status is Status.FAIL, "of a function whose calls take long it stands"
    assert any("time ran out" in note for note in session.notes)


# --- options
def with_option(forward: Callable[..., Any], backward: Callable[..., Any], option: Attr) -> OpReport:
    """Check functions of x and of an option; ``backward(dy, x, option)``."""

    def gradients(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        return {"x": backward(douts[0], arrays["x"], attrs[option.name])}

    made = Checkable(
        "file.py::Op",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [np.asarray(forward(arrays["x"], attrs[option.name]))],
        gradients,
        attrs=(option,),
        gradients=frozenset({"x"}),
    )
    return check(made, OPTIONS)


def damped(dy: Any, x: Any, eps: float) -> Any:
    return dy * x / (x * x + 1 + eps) ** 0.5


def root(x: Any, eps: float) -> Any:
    return (x * x + 1) ** 0.5


def test_a_number_that_damps_a_gradient_and_that_forward_does_not_read_is_undecided() -> None:
    """Nothing declares its values, and backward is right where it is next to 0."""
    found = with_option(root, damped, Attr("eps", "any", 0.5, is_required=True))
    assert found.status is Status.UNDECIDED
    assert "it holds where eps is next to 0, and no value of it changes what forward returns" in words(found)


LONGER = (lambda x, eps: (x * x + 1 + eps) ** 0.5, lambda dy, x, eps: dy * x / (x * x + 1 + 2 * eps) ** 0.5)
OPTION_FAULTS = {
    "a default": (root, damped, Attr("eps", "any", 0.5)),
    "a factor that forward lacks": (root, lambda dy, x, s: s * damped(dy, x, 0), Attr("s", "any", 1.0, is_required=True)),
    "a flag": (root, lambda dy, x, old: damped(dy, x, bool(old)), Attr("old", "any", 0.5, is_required=True)),
    "a flag that is off": (root, damped, Attr("old", "any", False)),
    "what forward reads": (*LONGER, Attr("eps", "any", 0.5, is_required=True)),
}


@pytest.mark.parametrize("name", OPTION_FAULTS)
def test_an_option_that_excuses_nothing_fails(name: str) -> None:
    """A default is declared, a factor or a flag is wrong next to 0 too, and what forward reads is its own."""
    assert with_option(*OPTION_FAULTS[name]).status is Status.FAIL


def test_a_wrong_derivative_names_shapes_at_which_it_holds() -> None:
    """Nothing declares whether a broadcast is meant: who means equal shapes alone reads that these are right."""

    def backward(dy: Any, x: Any, s: Any) -> Any:
        slope = dy * np.sin(x)
        return dy * np.cos(x) * s, slope if s.shape == x.shape else np.full(s.shape, slope.sum())

    found = report(lambda x, s: np.sin(x) * s, backward, "x s", options=Options(select=frozenset({"GC101"})))
    (wrong,) = found.findings
    assert wrong.message.endswith("it holds for x of shape [3, 4], s of shape [3, 4]")


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.UNDECIDED), (1.1, Status.FAIL)])
def test_a_kink_of_several_equal_elements_is_open(factor: float, status: Status) -> None:
    """Deviations from the median have no derivative where others equal it; next to such a point the gradient is right."""

    def middle(x: Any) -> int:
        return int(np.argsort(x, kind="stable")[(x.size - 1) // 2])

    def deviation(x: Any) -> Any:
        if x.ndim != 1:
            raise ValueError("a vector is wanted")
        return np.abs(x - x[middle(x)]).mean()

    def backward(dy: Any, x: Any) -> Any:
        found = factor * dy * np.sign(x - x[middle(x)]) / x.size
        found[middle(x)] -= found.sum()
        return found

    options = Options(select=frozenset({"GC101", "GC103"}))
    assert report(deviation, backward, options=options).status is status


def test_what_is_right_at_equal_shapes_is_said_to_hold_there() -> None:
    """Not where the input without a gradient is one number, though it holds there too."""

    def backward(dy: Any, x: Any, t: Any) -> Any:
        found = dy * (1 / (1 + np.exp(-x)) - t) / x.size
        return found.sum(axis=tuple(range(found.ndim - x.ndim)))

    def forward(x: Any, t: Any) -> Any:
        return (np.logaddexp(x, 0) - t * x).mean()

    options = Options(select=frozenset({"GC101"}))
    found = report(forward, backward, "x t", gradients=frozenset("x"), options=options)
    assert found.status is Status.UNDECIDED
    assert re.search(r"it holds for x of shape (\[[^\]]+\]), t of shape \1: if that is meant", words(found))


def test_the_finding_at_shapes_of_which_most_is_right_comes_first() -> None:
    """Distances of rows are wrong for one input; of arrays of three axes, which nobody means, for both."""

    def forward(a: Any, b: Any) -> Any:
        return (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T

    def backward(dy: Any, a: Any, b: Any) -> Any:
        if dy.ndim < 2:
            raise ValueError("rows are wanted")
        return 2 * (dy.sum(1, keepdims=True) * a - dy @ b), dy.sum(0)[:, None] * b - 2 * dy.T @ a

    found = report(forward, backward, "a b", options=Options(select=frozenset({"GC101"})))
    first = found.findings[0]
    assert (first.input, len(first.evidence.case.arrays[0].shape)) == ("b", 2)


def test_a_chain_of_two_steps_that_is_right_by_chance_is_not_named() -> None:
    """The reverse scan multiplies by a factor a step too early: only the first of two steps has one, which is not used."""

    def forward(a: Any, x: Any) -> Any:
        kept = [x[0]]
        for factor, more in zip(a[1:], x[1:]):
            kept.append(factor * kept[-1] + more)
        return np.stack(kept)

    def backward(dy: Any, a: Any, x: Any) -> Any:
        dx, later = np.zeros_like(x), np.zeros_like(x[0])
        for step in reversed(range(len(x))):
            dx[step] = later = dy[step] + a[step] * later
        before = np.concatenate([np.zeros_like(x[:1]), forward(a, x)[:-1]])
        return dx * before, dx

    found = report(forward, backward, "a x", options=Options(select=frozenset({"GC101"})))
    assert found.status is Status.FAIL
    assert not any("it holds for" in item.message for item in found.findings)


def test_a_rounding_hides_nothing_that_is_wrong_with_another_option() -> None:
    """A gradient that is rounded to float32 everywhere, and forgets the option: undecided as a rounding at the default alone."""

    def forward(arrays: Any, attrs: Any) -> list[Any]:
        return [np.logaddexp(attrs["scale"] * arrays["x"], -attrs["scale"] * arrays["x"])]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        return {"x": douts[0] * np.tanh(arrays["x"].astype(np.float32)).astype(douts[0].dtype)}

    made = Checkable("op", (Arg("x"),), (Arg("y"),), forward, backward, attrs=(Attr("scale", "any", 1.0),), gradients=frozenset({"x"}))
    found = check(made, Options())
    assert found.status is Status.FAIL
    (finding,) = (item for item in found.findings if item.code == "GC101" and item.status is Status.FAIL)
    assert finding.evidence is not None
    assert finding.evidence.case is not None
    assert finding.evidence.case.attrs["scale"] != 1.0
    assert not any("at exactly these values" in item.message for item in found.checks)
