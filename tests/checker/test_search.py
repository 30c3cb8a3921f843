"""Where cases come from when infer is choosy: shapes found by climbing and growing, attributes of every kind."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise as neighbours
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Checkable, Options, Status, check, first_cases
from opkit.checker.collect import collect
from opkit.checker.derivative.columns import Columns
from opkit.checker.derivative.rows import candidates
from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.thresholds import FEW
from opkit.checker.model.trial import Trial
from opkit.checker.search.attributes import alternatives, pairwise
from opkit.checker.search.hill_climb import TAKEN, Depth, climb, depth_of, reached_by
from opkit.checker.search.kinds import shapes_of
from opkit.checker.search.scope import Role
from opkit.checker.search.shapes import Assignment, assignments
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.errors import InferError, Location
from opkit.ir import TensorDesc
from tests.checker.table import checkable, op


def _asking(*checks: object) -> object:
    """Return how many of the checks hold before the first that does not, TAKEN where all do."""

    def ask(assignment: Assignment) -> Depth:
        for number, test in enumerate(checks):
            if not test(*assignment):  # type: ignore[operator]
                return (float(number),)
        return TAKEN

    return ask


def test_a_climb_meets_checks_one_after_the_other() -> None:
    """Two inputs with fixed and with common sizes are found, though no natural pair of shapes is taken."""
    ask = _asking(
        lambda q, v: len(q) == 2, lambda q, v: q[1] == 7, lambda q, v: len(v) == 2, lambda q, v: v == (q[0], 6)
    )
    found, reached = climb([Arg("q"), Arg("v")], ask)  # type: ignore[arg-type]
    assert reached == TAKEN
    assert found[0][1:] == (7,)  # type: ignore[index]
    assert found[1] == (found[0][0], 6)  # type: ignore[index]


def test_a_climb_uses_the_numbers_of_the_definition() -> None:
    """A size that no list of natural sizes has is taken from the hints."""
    assert climb([Arg("x")], _asking(lambda x: x == (256,)), lambda _: (256,)) == (((256,),), TAKEN)  # type: ignore[arg-type]


def test_a_climb_ends_where_nothing_is_taken() -> None:
    """An infer function that refuses everything ends the climb where it began."""
    assert climb([Arg("x"), Arg("y")], _asking(lambda *_: False))[1] == (0.0,)  # type: ignore[arg-type]


def _guarded(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim != 2 or x.shape[1] != 3 or y.shape != x.shape[:1]:
        raise ValueError("expected (n, 3) and (n,)")
    return x.sum(axis=1) * y


def test_of_one_guard_the_condition_that_holds_longer_is_further() -> None:
    """The same statement raises for a wrong rank, a wrong size and a wrong second shape, one further than the other."""
    shapes = [((4,), (4,)), ((4, 4), (4,)), ((4, 3), (3,)), ((4, 3), (4,))]
    depths = [depth_of(partial(_guarded, *map(np.ones, one)), __file__) for one in shapes]
    assert sorted(set(depths)) == depths
    assert depths[-1] == TAKEN


def _leaving(x: np.ndarray) -> None:
    if x.ndim:
        sys.exit(3)


def test_a_function_that_leaves_the_interpreter_has_a_depth_too() -> None:
    """The search goes on where forward exits."""
    assert depth_of(partial(_leaving, np.ones(3)), __file__) < depth_of(partial(_leaving, np.float64(1)), __file__)


def test_a_depth_leaves_the_trace_function_as_it_was() -> None:
    """A debugger's or a coverage tool's function is put back, also where the call raises."""
    former = sys.gettrace()
    depth_of(lambda: _guarded(np.ones(3), np.ones(3)), __file__)
    assert sys.gettrace() is former


def test_a_climb_moves_two_inputs_together() -> None:
    """Bands that must be alike, and one shorter than the diagonal, do not form a hill that single moves could climb."""
    ask = _asking(
        lambda low, diag, up: len(diag) == 1,
        lambda low, diag, up: low == up,
        lambda low, diag, up: len(low) == 1,
        lambda low, diag, up: low[0] == diag[0] - 1,
    )
    (low, diag, up), reached = climb([Arg("low"), Arg("diag"), Arg("up")], ask)  # type: ignore[arg-type, misc]
    assert reached == TAKEN
    assert (low, up) == ((diag[0] - 1,),) * 2  # type: ignore[index, operator]


def _patches(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    count, rows, columns = image.shape
    parts = image.reshape(count, rows // 2, 2, columns // 3, 3).transpose(0, 1, 3, 2, 4)
    return np.asarray(parts.reshape(count, -1, 6) @ weight)


def _windows(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    parts = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))  # type: ignore[call-overload]
    columns = parts.transpose(0, 3, 4, 1, 2).reshape(len(image) * 9, -1)
    if weight.shape[1] != len(columns):
        raise ValueError(f"cannot multiply {weight.shape[0]}x{weight.shape[1]} and {len(columns)}x{len(columns.T)}")
    return np.asarray(weight @ columns)


def _scores(users: np.ndarray, items: np.ndarray, one: np.ndarray, two: np.ndarray, three: np.ndarray) -> np.ndarray:
    if not one.ndim == two.ndim == three.ndim == 1:
        raise ValueError("vectors of places")
    return np.asarray((users[one] * (items[two] - items[three])).sum(axis=1))


def _sparse(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, dense: np.ndarray) -> np.ndarray:
    made = np.zeros((3, dense.shape[1]))
    parts = values[:, None] * dense[columns]
    if rows.dtype.kind != "i" or rows.shape != parts.shape[:1] or parts.ndim != 2:
        raise IndexError("a vector of places")
    np.add.at(made, rows, parts)
    return made


def _warp(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    whole = np.concatenate([points, np.ones_like(points[:, :1])], axis=1)
    seen = whole @ matrix.T
    return np.asarray(seen[:, :2] / (1 + seen[:, 2:] ** 2))


def _unwarp(points: np.ndarray, matrix: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    whole = np.concatenate([points, np.ones_like(points[:, :1])], axis=1)
    rest = np.concatenate([dy, dy.sum(axis=1, keepdims=True)], axis=1)  # of the right shapes; not compared here
    return (rest @ matrix)[:, :2], rest.T @ whole


def _natural(function: Callable[..., np.ndarray], backward: Callable[..., object] | None = None) -> UsualShapes:
    """Return a search for shapes of a function that nothing declares."""
    made = op(" ".join(inspect.signature(function).parameters), function, backward or (lambda *_: None))
    made = replace(made, forward_where=Location(__file__, 1), backward=made.backward if backward else None)
    return UsualShapes(made, Options(), Trial(made))


@pytest.mark.parametrize(
    ("function", "is_taken"),
    [
        pytest.param(_patches, lambda image, weight: weight[0] == 6, id="a size of several multiplied"),
        pytest.param(_windows, lambda image, weight: weight[1] == 9 * image[0], id="a size that is told as 3x4"),
        pytest.param(_scores, lambda users, items, *places: len(set(places)) == 1, id="three vectors of places"),
        pytest.param(_sparse, lambda values, rows, columns, dense: values == rows, id="places that are used at last"),
    ],
)
def test_shapes_follow_from_how_far_forward_gets(
    function: Callable[..., np.ndarray], is_taken: Callable[..., bool]
) -> None:
    """Which inputs hold whole numbers, and sizes that no list of shapes has, are found without a declaration."""
    case, *_ = _natural(function).accepted({}, 1, 0)
    assert is_taken(*shapes_of(case))


def _wanting(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim != 3:
        raise ValueError("x has three axes")
    if x.shape[0] == y.shape[0]:
        raise ValueError("y has another batch")
    raise ValueError("y is a mapping")


def test_what_came_furthest_is_told_where_forward_takes_nothing() -> None:
    """Of all that it raised: what it raised first is about the first shapes that were tried."""
    made = replace(op("x y", _wanting, lambda *_: None), forward_where=Location(__file__, 1))
    (finding,) = check(made, Options()).findings
    assert finding.message == "forward raised on everything that was tried; what came furthest gave ValueError: y is a mapping"


def _clipped(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    if places.dtype.kind != "i" or places.ndim != 1 or table.ndim != 2:
        raise TypeError("a vector of places in a table")
    return np.asarray(np.take(table, places, axis=0, mode="clip"))


def test_places_beyond_an_array_are_not_tried_where_forward_takes_the_last_one_for_them() -> None:
    """As JAX does in silence, and leaves them out in the derivative."""
    tables = [case for case in _natural(_clipped).accepted({}, 8, 0) if len(case.inputs["table"]) > 1]
    assert tables
    assert all(case.inputs["places"].max() < len(case.inputs["table"]) for case in tables)


def _between(table: np.ndarray, to: np.ndarray, of: np.ndarray) -> np.ndarray:
    return _clipped(table, to) - _clipped(table, of)


def test_places_of_two_inputs_are_told_from_those_beyond_though_equal_ones_cancel() -> None:
    """The same place in both gives zeros, wherever it lies."""
    tables = [case for case in _natural(_between).accepted({}, 8, 0) if len(case.inputs["table"]) > 2]
    assert any(case.inputs["to"].max() > 1 for case in tables)


def _shifted(x: np.ndarray, shift: np.ndarray) -> np.ndarray:
    if shift.shape != (3,) or x.ndim != 3:
        raise IndexError("three long integers are wanted")  # they need not be
    return np.asarray(x + shift.sum())


def test_what_may_be_a_float_is_one() -> None:
    """Whole numbers are assumed where what is raised speaks of them; an input that need not be is differentiated."""
    case, *_ = _natural(_shifted).accepted({}, 1, 0)
    assert {array.dtype.kind for array in case.arrays} == {"f"}


def _tilted(x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    if x.shape[1:] != (4, 7, 3) or tilt.shape not in (x.shape, x.shape[1:]):
        raise ValueError("sizes that no climb tries")
    return np.asarray(x + tilt)


def _untilted(x: np.ndarray, tilt: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if tilt.ndim != 3:
        raise ValueError("one tilt for all of a batch")
    return dy, dy.sum(axis=0)


def test_an_input_may_be_the_same_for_a_whole_batch() -> None:
    """Forward takes one for each entry, too; backward answers where all share one."""
    taken = Case({name: np.ones((2, 4, 7, 3)) for name in ("x", "tilt")}, {})
    case, *_ = _natural(_tilted, _untilted).answered([taken])
    assert shapes_of(case) == ((2, 4, 7, 3), (4, 7, 3))


def test_shapes_follow_from_how_far_backward_gets() -> None:
    """Forward takes points and a matrix of many sizes, backward (n, 2) and (3, 3) alone."""
    (points, matrix), *_ = map(shapes_of, _natural(_warp, _unwarp).answered([]))
    assert (points[1:], matrix) == ((2,), (3, 3))  # type: ignore[index]


@pytest.mark.parametrize(
    ("function", "count"),
    [
        pytest.param(np.tanh, 12, id="elementwise"),
        pytest.param(lambda x: np.cumsum(x, axis=1), 3, id="rows"),
        pytest.param(lambda x: np.cumsum(x, axis=0), 4, id="columns"),
    ],
)
def test_rows_that_are_independent_are_kept_apart(function: object, count: int) -> None:
    """The narrowest structure that holds is found, and a wider claim is refused."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    base = function(x).ravel()  # type: ignore[operator]

    def holds(rows: object) -> bool:
        def moved(mask: np.ndarray) -> np.ndarray:
            return function(x + 0.1 * mask.reshape(x.shape)).ravel()  # type: ignore[operator, no-any-return]

        return rows.keeps_apart(moved, base)  # type: ignore[attr-defined, no-any-return]

    found = [rows.count for rows in candidates((3, 4), [(3, 4)]) if holds(rows)]
    assert found[0] == count


def test_masks_tell_any_two_rows_apart() -> None:
    """For each pair of rows some mask has the first and not the second."""
    (rows, *_) = candidates((13,), [(13,)])
    masks = rows.masks()
    pairs = [(a, b) for a in range(13) for b in range(13) if a != b]
    assert all(any(mask[a] and not mask[b] for mask in masks) for a, b in pairs)


@pytest.mark.parametrize(
    ("attr", "expected"),
    [
        (Attr("order", "list_int32", [1, 0]), [1, 2, 0]),
        (Attr("coefs", "list_float", [1.0, 0.5]), [1.0, 0.5, 0.7]),
    ],
)
def test_attributes_are_tried_in_their_own_ways(attr: Attr, expected: object) -> None:
    """Orders of axes also as cycles of three, lists also longer, seeds also 0."""
    assert expected in alternatives(attr)


def test_an_option_that_is_none_by_default_is_tried_with_other_values() -> None:
    """``axis=None`` is also an axis: 0 and -1 are among the cases."""

    def backward(arrays: object, outputs: object, douts: object, attrs: object, needs: object) -> object:
        return {"x": np.broadcast_to(douts[0], arrays["x"].shape).copy()}  # type: ignore[index]

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        return [np.asarray(arrays["x"].sum(attrs["axis"], keepdims=attrs["axis"] is not None))]  # type: ignore[index]

    op = Checkable(
        "total",
        (Arg("x"),),
        (Arg("y"),),
        forward,
        backward,  # type: ignore[arg-type]
        attrs=(Attr("axis", "any", None),),
        gradients=frozenset({"x"}),
    )
    report = check(op, Options())
    assert report.status is Status.PASS
    assert {0, -1} <= {case.attrs["axis"] for case in collect(op, Options(), Trial(op)).cases}


def _small(arrays: object, attrs: object) -> list[np.ndarray]:
    return [np.sin(arrays["x"])]  # type: ignore[index]


def _cut(arrays: object, outputs: object, douts: Sequence[np.ndarray], attrs: object, needs: object) -> object:
    gradient = np.cos(arrays["x"]) * douts[0]  # type: ignore[index]
    gradient.reshape(-1)[4096:] = 0
    return {"x": gradient}


def test_the_words_that_a_library_offers_for_an_option_are_tried() -> None:
    """Nothing but numpy's own error names the other modes of a convolution, for which backward is wrong."""
    taps = np.array([0.5, 2.0, -1.0])

    def forward(arrays: Mapping[str, np.ndarray], attrs: Mapping[str, object]) -> list[np.ndarray]:
        if arrays["x"].size < 3:
            raise ValueError("x is shorter than the taps")
        return [np.convolve(arrays["x"], taps, mode=attrs["mode"])]  # type: ignore[call-overload]

    def backward(arrays: object, results: object, douts: object, attrs: object, needs: object) -> dict[str, np.ndarray]:
        size = arrays["x"].size  # type: ignore[index]
        return {"x": np.convolve(douts[0], taps[::-1], mode="full")[:size]}  # type: ignore[index]

    made = Checkable("op", (Arg("x"),), (Arg("y"),), forward, backward, (Attr("mode", "any", "valid"),))  # type: ignore[arg-type]
    failed = [item for item in check(made, Options(effort=0.2)).checks if item.status is Status.FAIL]
    assert {item.evidence.case.attrs["mode"] for item in failed if item.code == "GC101"} == {"same"}  # type: ignore[union-attr]


def test_a_fault_beyond_4096_elements_is_found() -> None:
    """The one case with many elements is compared along random directions."""

    op = Checkable(
        "cut",
        (Arg("x"),),
        (Arg("y"),),
        _small,
        _cut,  # type: ignore[arg-type]
        infer=lambda descs, attrs: [TensorDesc(descs["x"][0].shape, descs["x"][0].dtype)],
        gradients=frozenset({"x"}),
    )
    report = check(op, Options())
    assert "GC102" in {item.code for item in report.checks if item.status.value == "fail"}


@pytest.mark.parametrize("block", [128, 1024])
def test_a_fault_beyond_a_size_that_the_kernel_mentions_is_found(block: int) -> None:
    """The last axis of the case with many elements is longer."""

    def cut(arrays: object, outputs: object, douts: object, attrs: object, needs: object) -> dict[str, np.ndarray]:
        found = np.cos(arrays["x"]) * douts[0]  # type: ignore[index]
        found[..., block:] = 0
        return {"x": found}

    def sine(arrays: Mapping[str, np.ndarray], attrs: object) -> list[np.ndarray]:
        return [np.sin(arrays["x"])]

    made = Checkable("cut", (Arg("x"),), (Arg("y"),), sine, cut, constants=(block,))  # type: ignore[arg-type]
    assert "GC102" in {item.code for item in check(made, Options()).checks if item.status is Status.FAIL}


def test_an_options_value_has_a_domain_of_its_own() -> None:
    """A gradient that is wrong for an option with which forward takes positive numbers alone."""

    def forward(arrays: Mapping[str, np.ndarray], attrs: Mapping[str, object]) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return [np.exp(arrays["x"]) if attrs["is_log"] else np.log(arrays["x"])]

    made = Checkable(
        "rate",
        (Arg("x"),),
        (Arg("y"),),
        forward,  # type: ignore[arg-type]
        lambda arrays, outputs, douts, attrs, needs: {"x": douts[0] * np.exp(arrays["x"])},
        (Attr("is_log", "bool", True),),
    )
    failed = [item for item in check(made, Options()).checks if item.status is Status.FAIL and item.code == "GC101"]
    assert [item.evidence.case.attrs for item in failed] == [{"is_log": False}]  # type: ignore[union-attr]


@pytest.mark.parametrize(("side", "status"), [(np.abs, Status.FAIL), (np.positive, Status.PASS)])
def test_an_option_that_nothing_declares_is_tried_with_whole_numbers(side: Any, status: Status) -> None:
    """A power of 0.5 takes positive numbers only, one of 2 all: there the wrong sign of a gradient is seen."""
    power = Checkable(
        "power",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [arrays["x"] ** attrs["order"]],
        lambda arrays, outputs, douts, attrs, needs: {
            "x": douts[0] * attrs["order"] * side(arrays["x"]) ** (attrs["order"] - 1)
        },
        attrs=(Attr("order", "any", 0.5, is_required=True),),
    )
    assert check(power, Options(effort=0.1)).status is status


def test_whole_numbers_of_both_signs_are_found_behind_a_guard() -> None:
    """Forward refuses any label but -1 and 1."""

    def forward(arrays: Mapping[str, np.ndarray], attrs: object) -> list[np.ndarray]:
        if (abs(arrays["label"]) != 1).any():
            raise ValueError("labels are -1 or 1")
        return [arrays["score"] * arrays["label"]]

    made = Checkable("hinge", (Arg("score"), Arg("label")), (Arg("y"),), forward, lambda *given: {})
    search = UsualShapes(made, Options(), Trial(made), roles=(Role(), Role(dtype="int64")))
    case = search.attempt(((3, 4), (3, 4)), {}, 0)
    assert case is not None
    assert set(case.inputs["label"].ravel()) == {-1, 1}


def test_forward_is_not_called_with_many_elements_where_that_would_take_long() -> None:
    """How its time grows with smaller arrays says so."""
    sizes = []

    def slow(arrays: Mapping[str, np.ndarray], attrs: object) -> list[np.ndarray]:
        sizes.append(arrays["x"].size)
        time.sleep(3e-8 * arrays["x"].size ** 2)
        return [np.sin(arrays["x"])]

    op = Checkable("slow", (Arg("x"),), (Arg("y"),), slow, lambda arrays, outputs, douts, attrs, needs: {"x": np.cos(arrays["x"]) * douts[0]})  # fmt: skip
    collect(op, Options(), Trial(op))
    assert max(sizes) < 2000


def test_a_shape_for_an_unknown_input_is_named() -> None:
    """A misspelt --shape is not a silent default."""
    op = Checkable("named", (Arg("image"),), (Arg("y"),), lambda arrays, attrs: [arrays["image"]])
    report = check(op, Options(shapes={"imag": (2, 3)}))
    assert [item.message for item in report.checks if item.code == "GC200"] == [
        "a shape is given for 'imag', but the inputs are image; did you mean 'image'?"
    ]


def test_elements_of_a_row_move_unevenly_when_rows_are_told_apart() -> None:
    """An op that ignores a shift of a whole row would otherwise look as if its rows were independent."""
    x = np.random.default_rng(1).uniform(0.5, 1.0, size=(4, 3))
    seen: list[np.ndarray] = []

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        seen.append(arrays["x"].copy())  # type: ignore[index]
        return [np.cumsum(arrays["x"], axis=1)]  # type: ignore[index]

    op = Checkable("rows", (Arg("x"),), (Arg("y"),), forward, gradients=frozenset({"x"}))
    columns = Columns(Evaluator(op, Case({"x": x})).prepare(), InputLeaf("x"))
    columns.find_rows(0.3)
    moved = [row for move in np.stack(seen) - x for row in move if (row != 0).all()]
    assert moved
    assert all(np.ptp(row) > 1e-3 for row in moved)


def test_any_two_values_of_two_attributes_meet() -> None:
    """Settings that mix attributes cover every pair that is not the default's."""
    choices = {"mode": ["constant", "edge", "reflect"], "left": [1, 2, 0], "right": [1, 2, 0]}
    settings = pairwise(choices)
    for one, other in (("mode", "left"), ("mode", "right"), ("left", "right")):
        met = {(item[one], item[other]) for item in settings}
        assert met >= {(a, b) for a in choices[one][1:] for b in choices[other][1:]}


def test_one_attribute_alone_is_not_mixed() -> None:
    """There is nothing to pair, and constants of one value are not an attribute to vary."""
    assert pairwise({"alpha": [1.0, 2.0], "beta": [3.0]}) == []


def _cases_of(op: Checkable) -> list[Case]:
    from opkit.checker.model.trial import Trial
    from opkit.checker.search.pipeline import search

    return search(op, Options(), Trial(op)).cases


def test_labels_take_the_value_to_ignore() -> None:
    """One case ignores some labels, one all."""

    def infer(descs: object, attrs: object) -> list[TensorDesc]:
        (x,), (t,) = descs["x"], descs["t"]  # type: ignore[index]
        if len(x.shape) != 2 or t.shape != x.shape[:1] or x.dtype != "float64" or t.dtype != "int64":
            raise InferError("refused")
        return [TensorDesc((), "float64")]

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        x, t = arrays["x"], arrays["t"]  # type: ignore[index]
        kept = t != attrs["ignore"]  # type: ignore[index]
        return [np.asarray(-x[np.arange(len(t))[kept], t[kept]].sum())]

    op = Checkable(
        "nll",
        (Arg("x"), Arg("t")),
        (Arg("y"),),
        forward,  # type: ignore[arg-type]
        infer=infer,  # type: ignore[arg-type]
        attrs=(Attr("ignore", "int32", -7),),
    )
    shares = {float((case.inputs["t"] == -7).mean()) for case in _cases_of(op) if case.inputs["t"].size > 1}
    assert 1.0 in shares
    assert any(0 < share < 1 for share in shares)


def test_an_attribute_is_tried_where_it_has_an_effect() -> None:
    """A dilation is tried on kernels longer than 1 before those that it cannot change."""

    def infer(descs: object, attrs: object) -> list[TensorDesc]:
        (x,), (k,) = descs["x"], descs["k"]  # type: ignore[index]
        length = x.shape[-1] - (k.shape[-1] - 1) * attrs["dilation"] if len(x.shape) == len(k.shape) == 1 else 0  # type: ignore[index]
        if length < 1 or attrs["dilation"] < 1:  # type: ignore[index]
            raise InferError("refused")
        return [TensorDesc((length,), x.dtype)]

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        x, k, step = arrays["x"], arrays["k"], attrs["dilation"]  # type: ignore[index]
        length = len(x) - (len(k) - 1) * step
        return [sum(k[i] * x[i * step : i * step + length] for i in range(len(k)))]  # type: ignore[list-item]

    op = Checkable(
        "conv",
        (Arg("x"), Arg("k")),
        (Arg("y"),),
        forward,  # type: ignore[arg-type]
        infer=infer,  # type: ignore[arg-type]
        attrs=(Attr("dilation", "int32", 1),),
    )
    dilated = [case for case in _cases_of(op) if case.attrs["dilation"] == 2]
    assert dilated
    assert len(dilated[0].inputs["k"]) > 1


def test_float_inputs_of_different_dtypes_are_found() -> None:
    """A float32 array with a float64 scale is an op as well."""
    from opkit.errors import InferError

    def infer(descs: object, attrs: object) -> list[TensorDesc]:
        (x,), (scale,) = descs["x"], descs["scale"]  # type: ignore[index]
        if x.dtype != "float32" or scale != TensorDesc(x.shape[-1:], "float64"):
            raise InferError("refused")
        return [x]

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        return [(arrays["x"] * arrays["scale"]).astype("float32")]  # type: ignore[index]

    op = Checkable("scaled", (Arg("x"), Arg("scale")), (Arg("y"),), forward, infer=infer)  # type: ignore[arg-type]
    cases = _cases_of(op)
    assert len(cases) > 20
    assert {tuple(value.dtype.name for value in case.inputs.values()) for case in cases} == {("float32", "float64")}


def test_terms_that_cancel_are_as_large_as_products_of_the_other_inputs() -> None:
    """The two largest inputs beside one count, those below 1 as 1; a lone input has no such terms."""
    arrays = {"q": np.full(3, 5.0), "k": np.full(2, 100.0), "v": np.full(4, -30.0), "small": np.full(1, 1e-3)}
    op = Checkable("terms", tuple(map(Arg, arrays)), (Arg("y"),), lambda given, attrs: [given["q"]])
    ev = Evaluator(op, Case(arrays)).prepare()
    assert ev.others(InputLeaf("q")) == 3000
    assert ev.others(InputLeaf("k")) == 150
    alone = Checkable("alone", (Arg("x"),), (Arg("y"),), lambda given, attrs: [given["x"]])
    assert Evaluator(alone, Case({"x": np.ones(2)})).prepare().others(InputLeaf("x")) == 0


def test_effort_scales_the_cases_over_two_orders_of_magnitude() -> None:
    """At effort 0.01 a few cases are checked, at 5 five times those of effort 1; the report says what was left out."""
    op = checkable(lambda x: np.tanh(x), lambda x, y, dy: (1 - y * y) * dy)
    counts = {}
    for effort in (0.01, 1.0, 5.0):
        report = check(op, Options(effort=effort, seconds=60))
        assert report.status is Status.PASS
        counts[effort] = int(report.tried[0].split()[0])
        assert any("cases were kept" in note for note in report.notes) is (effort < 0.2)
    assert counts[5.0] == 5 * counts[1.0] > 40 * counts[0.01]


def test_arrays_without_elements_do_not_say_that_floats_are_taken() -> None:
    """Forward asks for whole numbers, infer for nothing but shapes: places are found all the same."""

    def infer(descs: object, attrs: object) -> list[TensorDesc]:
        (x,), (places,) = descs["x"], descs["places"]  # type: ignore[index]
        if x.shape != places.shape:
            raise InferError("of one shape")
        return [TensorDesc(x.shape, x.dtype)]

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        x, places = arrays["x"], arrays["places"]  # type: ignore[index]
        if places.size and places.dtype.kind != "i":
            raise TypeError("places are whole numbers")
        return [np.asarray(x * places)]

    op = Checkable("scaled", (Arg("x"), Arg("places")), (Arg("y"),), forward, infer=infer)  # type: ignore[arg-type]
    assert any(case.inputs["places"].dtype.kind == "i" and case.inputs["x"].size for case in _cases_of(op))


@pytest.mark.parametrize("is_told", [False, True])
def test_thresholds_in_ascending_order_are_found(is_told: bool) -> None:
    """Where forward raises for others, or gives no numbers: the odds of the class between two thresholds."""

    def forward(arrays: Mapping[str, Any], attrs: object) -> list[np.ndarray]:
        x, cuts = arrays["x"], arrays["cuts"]
        if x.ndim != 1 or cuts.ndim != 1 or len(cuts) < 2:
            raise ValueError("x and cuts are vectors")
        if is_told and (np.diff(cuts) < 0).any():
            raise ValueError("cuts must increase")
        with np.errstate(all="ignore"):
            return [np.tanh(x) * np.log(np.diff(cuts)).sum()]

    made = Checkable("odds", (Arg("x"), Arg("cuts")), (Arg("y"),), forward)  # type: ignore[arg-type]
    found = collect(made, Options(effort=0.2), Trial(made)).cases
    assert any(case.inputs["cuts"].size > FEW for case in found)


def test_knots_are_floats_where_forward_says_that_they_must_ascend() -> None:
    """Whole numbers are in order by chance, too; a piecewise linear map has heights of one shape with its knots."""

    def forward(arrays: Mapping[str, Any], attrs: object) -> list[np.ndarray]:
        x, knots, heights = arrays["x"], arrays["knots"], arrays["heights"]
        if knots.ndim != 1 or knots.shape != heights.shape or knots.size < 2 or (np.diff(knots) <= 0).any():
            raise ValueError("knots must ascend")
        return [np.interp(x, knots, heights)]

    where = Location(__file__, 1)
    made = Checkable("lerp", tuple(map(Arg, ("x", "knots", "heights"))), (Arg("y"),), forward, forward_where=where)  # type: ignore[arg-type]
    found = first_cases(made, Options(), 12, trials=600)
    assert {array.dtype.kind for case in found for array in case.inputs.values()} == {"f"}


def _bags(table: np.ndarray, places: np.ndarray, starts: np.ndarray) -> np.ndarray:
    if places.ndim != 1 or starts.ndim != 1 or table.ndim != 2 or not places.dtype.kind == starts.dtype.kind == "i":
        raise TypeError("vectors of places, and a table")
    lengths = np.diff(np.append(starts, len(places)))
    if (lengths < 0).any():
        raise ValueError("bags follow each other")
    found = np.zeros((len(starts), table.shape[1]))
    np.add.at(found, np.repeat(np.arange(len(starts)), lengths), table[places])
    return found


def test_whole_numbers_that_begin_parts_rise_and_others_repeat() -> None:
    """One of two vectors of whole numbers says where bags begin: forward refuses the other orders of both."""
    found = _natural(_bags).accepted({}, 8, 0)
    repeats = [case for case in found if len(np.unique(case.inputs["places"])) < case.inputs["places"].size]
    assert any(case.inputs["starts"].size > 2 for case in repeats)
    assert all((np.diff(case.inputs["starts"]) >= 0).all() for case in found)


@pytest.mark.parametrize(("is_right", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_parts_that_backward_alone_wants_in_order_are_found(is_right: bool, status: Status) -> None:
    """Forward cuts slices at any whole numbers; backward repeats by their differences, which may not be negative."""

    def forward(x: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if x.ndim != 2 or ends.ndim != 1 or len(ends) < 2 or ends.dtype.kind != "i":
            raise TypeError("rows, and where parts begin")
        return np.stack([x[start:end].sum(axis=0) for start, end in neighbours(ends)])

    def backward(x: np.ndarray, ends: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
        return np.repeat(dy if is_right else dy[::-1], np.diff(ends), axis=0), None

    made = replace(op("x ends", forward, backward), forward_where=Location(__file__, 1), gradients=frozenset({"x"}))
    assert check(made, Options()).status is status


@pytest.mark.parametrize("least", [0, 1], ids=["empty parts", "no empty parts"])
def test_parts_that_forward_alone_wants_in_order_are_found(least: int) -> None:
    """They begin with 0, end with the length of the axis, and rise: no draw of whole numbers does by chance."""

    def forward(x: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if x.ndim != 1 or ends.ndim != 1 or len(ends) < 2 or ends.dtype.kind != "i":
            raise TypeError("values, and where parts begin")
        if ends[0] != 0 or ends[-1] != len(x) or (np.diff(ends) < least).any():
            raise ValueError("parts cover the values")
        return np.stack([x[start:end].sum() for start, end in neighbours(ends)])

    found = _natural(forward).accepted({}, 8, 0)
    assert max((case.inputs["ends"].size for case in found), default=0) > 3


def test_there_are_fewer_parts_than_rows() -> None:
    """Where one statement refuses all orders, the climb ends at as many places as there are sizes, which cannot rise so far."""

    def forward(x: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if x.ndim != 2 or ends.ndim != 1 or len(ends) < 2 or ends.dtype.kind != "i":
            raise TypeError("rows, and where parts begin")
        if ends[0] != 0 or ends[-1] != len(x) or (np.diff(ends) <= 0).any():
            raise ValueError("parts cover the rows")
        return np.stack([x[start:end].mean(axis=0) for start, end in neighbours(ends)])

    found = _natural(forward).accepted({}, 8, 0)
    assert max((case.inputs["ends"].size for case in found), default=0) >= 3


def test_a_depth_is_known_of_a_file_that_is_named_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """All exceptions counted as the first ones: what came furthest in the message was what was tried first."""
    monkeypatch.chdir(Path(__file__).parent)
    with pytest.raises(ValueError, match="expected") as raised:
        _guarded(np.ones(4), np.ones(4))
    assert reached_by(raised.value, Path(__file__).name) == reached_by(raised.value, __file__) > (-1.0,)


def test_the_shape_of_a_gradient_that_does_not_fit_is_tried() -> None:
    """Forward takes vectors that it broadcasts to four axes; backward gives the gradient of four."""

    def forward(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(x[..., ::-1] * scale[None, :, None, :])

    def backward(x: np.ndarray, scale: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, None]:
        return (dy * scale[None, :, None, :])[..., ::-1], None

    made = replace(op("x scale", forward, backward), forward_where=Location(__file__, 1), gradients=frozenset({"x"}))
    found = check(made, Options())
    assert found.status is Status.PASS, found.findings


def _masked(refused: list[int]) -> Checkable:
    """Return a Huber loss whose gradient forgets its option, of three inputs of one shape, the last one a mask."""

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        x, target, mask = arrays["x"], arrays["target"], arrays["mask"]  # type: ignore[index]
        if not x.shape == target.shape == mask.shape or mask.dtype != bool:
            refused[0] += 1
            raise ValueError("x, target and mask must agree (mask: bool)")
        away, delta = np.abs(x - target), attrs["delta"]  # type: ignore[index]
        loss = np.where(away <= delta, away**2 / 2, delta * (away - delta / 2))
        return [np.asarray(loss[mask].sum() / max(mask.sum(), 1))]

    def backward(arrays: object, outputs: object, douts: object, attrs: object, needs: object) -> object:
        x, target, mask = arrays["x"], arrays["target"], arrays["mask"]  # type: ignore[index]
        away = x - target
        slope = np.where(np.abs(away) <= attrs["delta"], away, np.sign(away))  # type: ignore[index]
        found = douts[0] * slope * mask / max(mask.sum(), 1)  # type: ignore[index]
        return {"x": found, "target": -found}

    return Checkable(
        "huber",
        (Arg("x"), Arg("target"), Arg("mask")),
        (Arg("y"),),
        forward,
        backward,  # type: ignore[arg-type]
        attrs=(Attr("delta", "float", 1.0),),
        first=Case({"x": np.ones((3, 4)), "target": np.zeros((3, 4)), "mask": np.ones((3, 4), bool)}, {"delta": 1.0}),
        gradients=frozenset({"x", "target"}),
    )


def test_shapes_that_forward_refuses_take_few_calls() -> None:
    """Where all arrays have one shape, as forward insists, others are given up, and options are tried."""
    refused = [0]
    assert check(_masked(refused), Options()).status is Status.FAIL
    assert refused[0] < 12_000


def test_what_was_not_tried_for_want_of_time_is_told() -> None:
    """No time at all is left for the search: the first inputs are checked, and a note says what was left out."""
    report = check(_masked([0]), Options(clock=0.0))
    assert report.status is not Status.ERROR
    assert any("inputs that would have been tried" in note for note in report.notes)


def test_whole_numbers_of_another_shape_are_found_within_few_attempts() -> None:
    """Forward refuses other shapes first, then floats: whole numbers are tried where it got furthest."""

    def forward(arrays: object, attrs: object) -> list[np.ndarray]:
        x, nodes = arrays["x"], arrays["nodes"]  # type: ignore[index]
        rows, columns = x.shape
        places = np.broadcast_to(nodes[:, None], (rows, columns))
        if places.dtype.kind != "i":
            raise TypeError("nodes must be int64")
        found = np.zeros((2, columns))
        np.add.at(found, (places, np.arange(columns)), x)
        return [found]

    op = Checkable("sum of nodes", (Arg("x"), Arg("nodes")), (Arg("y"),), forward, forward_where=Location(__file__, 1, 0))  # type: ignore[arg-type]
    trial = Trial(op, most=300)
    (case,) = UsualShapes(op, Options(), trial).accepted({}, 1, 0)
    assert case.inputs["nodes"].dtype.kind == "i"
    assert case.inputs["nodes"].shape == case.inputs["x"].shape[:1]


@pytest.mark.parametrize("reads", [True, False])
def test_a_truth_value_is_tried_where_it_is_not_the_number_one(reads: bool) -> None:
    """Forward that compares an option with numbers takes True as 1; one that asks what it is does not."""

    def forward(arrays: Mapping[str, np.ndarray], attrs: Mapping[str, object]) -> list[np.ndarray]:
        k = attrs["k"]
        return [arrays["x"] * (3.0 if k is None else 7.0 if reads and k is True else float(k))]  # type: ignore[arg-type]

    made = Checkable("f", (Arg("x"),), (Arg("y"),), forward, attrs=(Attr("k", "any", None),))
    found = collect(made, Options(effort=0.2), Trial(made)).cases
    assert any(case.attrs["k"] is True for case in found) is reads
    assert any(case.attrs["k"] == 1 for case in found)


def test_numbers_after_arrays_are_tried_early() -> None:
    """Two arrays and two single numbers, as in m q + k p: shapes of one size alone gave m and k arrays."""
    args = tuple(map(Arg, "qpkm"))
    early = [shapes for shapes, _ in zip(assignments(args, is_even=True), range(60))]
    assert ((3, 4), (3, 4), (), ()) in early


@pytest.mark.parametrize(("wanted", "is_soon"), [("no_such_name", True), ("x.no_such_attribute", True), ("None.missing", False)])
def test_what_is_missing_whatever_the_inputs_are_ends_a_search(wanted: str, is_soon: bool) -> None:
    """No shape has a name or an attribute that is not there; what is None may be something else for other shapes."""

    def forward(arrays: Mapping[str, np.ndarray], attrs: object) -> list[np.ndarray]:
        return [eval(wanted, {"x": arrays["x"]})]

    made = Checkable("typo", (Arg("x"), Arg("y")), (Arg("z"),), forward, lambda *_: {})
    trial = Trial(made, most=1000)
    collect(made, Options(), trial)
    assert (trial.counts.total() < 20) is is_soon


def test_zero_is_tried_where_only_another_input_must_be_positive() -> None:
    """A product of any x and log(y), found with positive numbers in both first: its gradient at x = 0 was not looked at."""

    def forward(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.shape != y.shape or (y <= 0).any():
            raise ValueError("y is positive, of x's shape")
        return np.asarray(x * np.log(y))

    def backward(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(x == 0, 0, np.log(y)) * dy, x / y * dy

    report = check(op("x y", forward, backward), Options())
    (found,) = (item for item in report.checks if item.status is Status.UNDECIDED)
    assert found.code == "GC101"
    assert "It is wrong at exactly these values" in found.message


@pytest.mark.parametrize("rank", [None, 1, 2], ids=["any", "vectors", "matrices"])
@pytest.mark.parametrize("both", [True, False])
def test_floats_between_0_and_1_are_found_where_forward_raises_elsewhere(both: bool, rank: int | None) -> None:
    """Its message names a range, which is no shape; whole numbers between 0 and 1, or empty arrays, were found instead."""

    def forward(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        if p.shape != q.shape or (rank is not None and p.ndim != rank):
            raise ValueError("p and q have one shape")
        if any(((one < 0) | (one > 1)).any() for one in (p, q)[: 1 + both]):
            raise ValueError("p must be in [0, 1]")
        return np.asarray(p * (1 - p) * q)

    found = _natural(forward).accepted({}, 8, 0)
    assert {array.dtype.kind for case in found for array in case.inputs.values()} == {"f"}
    assert max(case.inputs["p"].size for case in found) > 3
