"""Kinds of shapes, and what backward answers on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Arrays, Attr, Case, Checkable, Options, Status, answer_of, check
from opkit.checker.model.trial import Trial
from opkit.checker.search import table as tables
from opkit.checker.search.answers import Answer, Standing
from opkit.checker.search.kinds import generalised, is_special, kind_between, setting_of, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.table import Table
from opkit.checker.search.unserved import Unserved, described, unserved_line
from opkit.errors import Location


def _product(gradients: Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, np.ndarray]]) -> Checkable:
    """Return x * y with a backward of one's own."""
    return Checkable(
        "product",
        (Arg("x"), Arg("y")),
        (Arg("z"),),
        lambda arrays, attrs: [arrays["x"] * arrays["y"]],
        lambda arrays, outputs, douts, attrs, needs: gradients(arrays["x"], arrays["y"], douts[0]),
    )


def _plain(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> dict[str, np.ndarray]:
    return {"x": dy * y, "y": dy * x}


@pytest.mark.parametrize(
    ("shapes", "kind", "expected"),
    [
        (((4, 4), (4,)), ((3, 4), (4,)), True),
        (((3, 1), (1,)), ((3, 4), (4,)), True),
        (((0, 4), (4,)), ((3, 4), (4,)), True),
        (((3, 4), (4,)), ((5, 6), (6,)), False),
        (((3, 4), (3,)), ((3, 4), (4,)), False),
        (((3, 4),), ((2, 3, 4),), False),
    ],
)
def test_a_kind_is_special_with_more_coincidences(shapes: object, kind: object, expected: bool) -> None:
    """Equal sizes, ones and zeros make shapes special beside a kind that has none of them; other sizes do not."""
    assert is_special(shapes, kind_between(kind)) is expected  # type: ignore[arg-type]


def test_the_widest_shapes_come_first() -> None:
    """Axes that lie over each other stay equal, and all coincidences go at once."""
    first = next(generalised(((2, 2, 2), (2, 2)), 11))
    assert first == ((14, 13, 12), (13, 12))


def test_another_shape_is_a_misfit_and_wrong_values_are_wrong() -> None:
    """What backward does on a case is told apart: right, wrong, nothing but zeros, another shape, an exception."""
    x, y = np.arange(1.0, 13).reshape(3, 4), np.arange(2.0, 6)

    def raising(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> dict[str, np.ndarray]:
        raise ValueError("no")

    same, spread = Case({"x": x, "y": x + 1}, {}), Case({"x": x, "y": y}, {})
    assert answer_of(_product(_plain), same).standing is Standing.RIGHT
    assert answer_of(_product(lambda x, y, dy: {"x": dy * y, "y": 2 * dy * x}), same).standing is Standing.WRONG
    assert answer_of(_product(_plain), Case({"x": 0 * x, "y": 0 * x}, {})).standing is Standing.OPEN
    assert answer_of(_product(_plain), spread).standing is Standing.MISFIT
    assert answer_of(_product(raising), same).standing is Standing.RAISED


def test_what_is_not_served_is_a_line_of_a_pass() -> None:
    """Equal shapes are served and right; a broadcast gets another shape, which this runtime refuses (rule 4)."""
    report = check(_product(_plain), Options())
    assert report.status is Status.PASS
    assert any(note.startswith("not served: ") for note in report.notes)


def test_an_input_that_is_left_out_is_named() -> None:
    """A case without it has the same shapes as others have."""
    case = Case({"x": np.ones((2, 3)), "bias": None}, {"groups": 1})
    assert described(case) == "x of shape [2, 3], without bias, groups 1"


def test_what_is_not_served_has_its_own_reason() -> None:
    """Of shapes that meet the same error, numbers apart, it is shown once; others have theirs."""
    said = ("backward raises E: 2 and 3", "backward raises E: 4 and 5", "backward gives x a gradient of shape [1]")
    line = unserved_line({f"x of shape [{size}]": why for size, why in enumerate(said)})
    assert line == (
        "not served: forward takes x of shape [0] (backward raises E: 2 and 3), and likewise x of shape [1]; "
        "x of shape [2] (backward gives x a gradient of shape [1])"
    )


def test_all_that_is_not_served_is_among_what_was_tried() -> None:
    """The note names a few and says how many more: every one of these has a line of its own there."""
    report = check(_product(_plain), Options())
    line = next(note for note in report.notes if note.startswith("not served: "))
    every = [tried for tried in report.tried if ": not served, " in tried]
    assert re.search(r"and (\d+) more", line)[1] == str(len(every) - 4)


def test_a_misfit_that_the_runtime_uses_is_undecided() -> None:
    """The same where the framework uses such a gradient in silence."""
    from dataclasses import replace

    report = check(replace(_product(_plain), uses_misfits=True), Options())
    assert report.status is Status.UNDECIDED
    assert [item.code for item in report.checks if item.status is Status.UNDECIDED] == ["GC142"]


def test_a_silent_answer_counts_though_a_special_kind_is_right() -> None:
    """A mean without its 1/N is right for one element alone: that excuses nothing (rule 3)."""
    mean = Checkable(
        "mean",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [np.asarray(arrays["x"].mean())],
        lambda arrays, outputs, douts, attrs, needs: {"x": douts[0] * np.ones_like(arrays["x"])},
    )
    assert check(mean, Options()).status is Status.FAIL


def test_what_is_wrong_on_equal_shapes_too_is_shown_there() -> None:
    """A mean that forgets its option, and on a larger constant divides by the wrong size, shows the first of these."""

    def backward(arrays: Any, outputs: Any, douts: Any, *_: Any) -> dict[str, np.ndarray]:
        x, slope = arrays["x"], arrays["t"] * douts[0] / arrays["x"].size
        slope = slope + 0 * x
        slope = slope.sum(axis=tuple(range(slope.ndim - x.ndim)))
        return {"x": slope.sum(axis=tuple(i for i in range(x.ndim) if x.shape[i] != slope.shape[i]), keepdims=True)}

    mean = Checkable(
        "mean",
        (Arg("x"), Arg("t")),
        (Arg("y"),),
        lambda arrays, attrs: [np.asarray((attrs["weight"] * arrays["x"] * arrays["t"]).mean())],
        backward,
        (Attr("weight", "float64", 1.0),),
        gradients=frozenset("x"),
    )
    (failure,) = [item for item in check(mean, Options()).findings if item.code == "GC101"]
    shown = failure.evidence.case  # type: ignore[union-attr]
    assert shown.inputs["x"].shape == shown.inputs["t"].shape  # type: ignore[union-attr]
    assert shown.attrs["weight"] != 1  # type: ignore[union-attr]


def test_what_is_wrong_on_a_broadcast_alone_comes_after_what_is_wrong_on_equal_shapes() -> None:
    """The first finding is of inputs that are sooner meant, whatever the inputs are called."""

    def back(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> dict[str, np.ndarray]:
        if x.ndim < y.ndim:
            raise ValueError("y is the smaller one")
        return {"x": dy * y * (1 + (x.ndim > y.ndim)), "y": 2 * (dy * x).reshape(-1, *y.shape).sum(axis=0)}

    found = [item.input for item in check(_product(back), Options()).findings if item.code == "GC101"]
    assert found == ["y", "x"]


@pytest.mark.parametrize(("axis", "status"), [(-1, Status.FAIL), ((), Status.FAIL), (None, Status.PASS)])
def test_an_option_that_raises_in_backward_and_is_wrong_on_squares_fails(axis: Any, status: Status) -> None:
    """A reduction whose backward takes the last axis for any, or the first by broadcasting: on a square it answers."""
    total = Checkable(
        "total",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [(arrays["x"] ** 2).sum(axis=attrs["axis"])],
        lambda arrays, outputs, douts, attrs, needs: {
            "x": 2 * arrays["x"] * np.expand_dims(douts[0], attrs["axis"] if axis is None else axis)
        },
        attrs=(Attr("axis", "int32", -1),),
    )
    assert check(total, Options()).status is status


def test_names_decide_nothing() -> None:
    """Other names of the inputs give the same verdict (rule 8)."""

    def named(first: str, second: str) -> Checkable:
        return Checkable(
            "sum",
            (Arg(first), Arg(second)),
            (Arg("y"),),
            lambda arrays, attrs: [arrays[first] + arrays[second]],
            lambda arrays, outputs, douts, attrs, needs: {first: douts[0], second: douts[0]},
        )

    statuses = {check(named(*names), Options()).status for names in (("x", "bias"), ("x", "p1"), ("h", "residual"))}
    assert statuses == {Status.PASS}


@pytest.mark.parametrize("declares", [False, True])
def test_a_layout_that_is_refused_aloud_is_a_line(declares: bool) -> None:
    """Cases say shapes, dtypes and values, and not how arrays lie (decision 0015)."""

    def forward(arrays: Arrays, attrs: object) -> list[np.ndarray]:
        if not arrays["x"].flags.c_contiguous:
            raise ValueError("x must be contiguous")
        return [np.tanh(arrays["x"])]

    def cases(rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
        return [{"x": rng.normal(size=(3, 4))} for _ in range(3)]

    dense = Checkable(
        "dense",
        (Arg("x"),),
        (Arg("y"),),
        forward,
        lambda arrays, outputs, douts, attrs, needs: {"x": douts[0] * (1 - outputs[0] ** 2)},
        cases=cases if declares else None,
    )
    report = check(dense, Options())
    assert report.status is Status.PASS
    assert any(note.startswith("not served: ") for note in report.notes)


def test_nothing_is_no_answer() -> None:
    """A call that gives no result, as of an empty list of arrays, says nothing of backward."""
    empty = Checkable("empty", (Arg("x"),), (), lambda arrays, attrs: [], lambda *given: {"x": given[0]["x"]})
    assert answer_of(empty, Case({"x": np.ones(3)}, {})).standing is Standing.RAISED


def _contrast(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of rows, of which as many of the second array's may be more, and shares of these."""
    scores = a @ b.T
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores, shares / shares.sum(axis=1, keepdims=True)


def test_a_constant_excuses_no_wrong_gradient_elsewhere() -> None:
    """A loss of one row is 0 whatever it is, and its gradients are right; of more rows one is transposed (rule 3)."""

    def forward(arrays: Arrays, attrs: object) -> list[np.ndarray]:
        scores, _ = _contrast(arrays["a"], arrays["b"])
        most = scores.max(axis=1)
        sums = np.log(np.exp(scores - most[:, None]).sum(axis=1))
        return [np.asarray(np.mean(most + sums - scores.diagonal()))]

    def backward(arrays: Arrays, outputs: object, douts: object, *_: object) -> dict[str, np.ndarray]:
        _, shares = _contrast(arrays["a"], arrays["b"])
        dscores = douts[0] * (shares - np.eye(len(shares))) / len(shares)  # type: ignore[index]
        return {"a": dscores @ arrays["b"], "b": dscores @ arrays["a"]}

    loss = Checkable("loss", (Arg("a"), Arg("b")), (Arg("y"),), forward, backward)  # type: ignore[arg-type]
    assert "GC101" in {item.code for item in check(loss, Options()).checks if item.status is Status.FAIL}


@pytest.mark.parametrize(
    ("wrong_at", "status"), [(None, Status.PASS), (3, Status.FAIL), (1, Status.FAIL)], ids=["right", "three", "a row"]
)
def test_one_label_for_all_rows_is_not_served(wrong_at: int | None, status: Status) -> None:
    """Forward repeats it, and a mean is divided by the number of labels; a batch of one is another case."""

    def parts(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
        x, labels = arrays["x"], arrays["labels"]
        if x.ndim != 2 or labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) not in (1, len(x)):
            raise TypeError("whole numbers are wanted: a label for each row")
        return np.exp(x), np.arange(len(labels))

    def forward(arrays: Arrays, attrs: object) -> list[np.ndarray]:
        sizes, rows = parts(arrays)
        return [np.mean(np.log(sizes.sum(axis=1)) - arrays["x"][rows, arrays["labels"]])]

    def backward(arrays: Arrays, outputs: object, douts: object, *_: object) -> dict[str, np.ndarray | None]:
        sizes, rows = parts(arrays)
        found = sizes / sizes.sum(axis=1, keepdims=True)
        found[rows, arrays["labels"]] -= 1
        factor = 2.0 if len(sizes) == wrong_at else 1.0
        return {"x": factor * douts[0] * found / len(rows), "labels": None}  # type: ignore[index]

    inputs = (Arg("x"), Arg("labels"))
    first = Case({"x": np.ones((3, 4)), "labels": np.zeros(3, int)})
    loss = Checkable("loss", inputs, (Arg("y"),), forward, backward, gradients=frozenset("x"), first=first)  # type: ignore[arg-type]
    assert check(loss, Options(select=frozenset({"GC101"}))).status is status


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (2.0, Status.FAIL)])
def test_rows_without_a_label_are_not_served(factor: float, status: Status) -> None:
    """A smoothed cross entropy reads them all the same; which labels it has is right for rows that have one."""

    def target(arrays: Arrays) -> np.ndarray:
        x, labels = arrays["x"], arrays["labels"]
        if x.ndim != 2 or labels.ndim != 1 or labels.dtype.kind != "i" or len(labels) > len(x):
            raise TypeError("a row of numbers for each label")
        found = np.full(x.shape, 0.1 / x.shape[1])
        found[np.arange(len(labels)), labels] += 0.9
        return found

    def forward(arrays: Arrays, attrs: object) -> list[np.ndarray]:
        return [-(target(arrays) * np.log(_weights(arrays["x"]))).sum() / len(arrays["x"])]

    def backward(arrays: Arrays, outputs: object, douts: object, *_: object) -> dict[str, np.ndarray | None]:
        away = _weights(arrays["x"]) - target(arrays)
        return {"x": factor * douts[0] * away / len(arrays["x"]), "labels": None}  # type: ignore[index]

    first = Case({"x": np.ones((3, 4)), "labels": np.zeros(3, int)})
    loss = Checkable("loss", (Arg("x"), Arg("labels")), (Arg("y"),), forward, backward, gradients=frozenset("x"), first=first)  # type: ignore[arg-type]
    assert check(loss, Options(select=frozenset({"GC101"}))).status is status


@pytest.mark.parametrize(("is_masked", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_floats_without_a_gradient_may_be_a_condition(is_masked: bool, status: Status) -> None:
    """Numbers as a condition are nearly all true; as truth values they show whether backward forgets them."""

    def forward(arrays: Arrays, attrs: object) -> list[np.ndarray]:
        return [np.where(arrays["c"], arrays["x"] ** 2, 0.0)]

    def backward(arrays: Arrays, outputs: object, douts: object, *_: object) -> dict[str, np.ndarray | None]:
        slope = 2 * arrays["x"] * douts[0]  # type: ignore[index]
        return {"x": np.where(arrays["c"], slope, 0.0) if is_masked else slope, "c": None}

    inputs = (Arg("x"), Arg("c"))
    masked = Checkable("masked", inputs, (Arg("y"),), forward, backward, gradients=frozenset("x"))  # type: ignore[arg-type]
    assert check(masked, Options()).status is status


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.UNDECIDED), (2.0, Status.FAIL)])
def test_where_an_input_has_no_slope_nothing_is_right_of_it(factor: float, status: Status) -> None:
    """Attention in which forward takes vectors too, whose single score changes nothing: that excuses no matrix.

    The right one is open on rows of which the mask leaves nothing.
    """

    def forward(arrays: Any, attrs: Any) -> list[np.ndarray]:
        scores = np.asarray(arrays["q"] @ arrays["k"].T)
        if arrays["mask"].dtype != bool or np.broadcast_shapes(scores.shape, arrays["mask"].shape) != arrays["mask"].shape:
            raise TypeError("a mask of truth values for all scores")
        return [_weights(np.where(arrays["mask"], -1e9, scores)) @ arrays["v"]]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        q, k, v, mask = arrays.values()
        weights = _weights(np.where(mask, -1e9, q @ k.T))
        slope = douts[0] @ v.T
        slope = weights * (slope - (slope * weights).sum(-1, keepdims=True))
        return {"q": factor * slope @ k, "k": slope.T @ q, "v": weights.T @ douts[0]}

    made = Checkable(
        "attention", tuple(map(Arg, ("q", "k", "v", "mask"))), (Arg("y"),), forward, backward, forward_where=Location(__file__, 1)
    )
    assert check(made, Options()).status is status


def _weights(scores: np.ndarray) -> np.ndarray:
    found = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(found / found.sum(-1, keepdims=True))


def test_truth_values_are_a_kind_of_their_own() -> None:
    """Backward answers for whole numbers and raises for truth values of the same shapes, also where they are empty."""

    def forward(arrays: Any, attrs: Any) -> list[np.ndarray]:
        x, places = arrays["x"], arrays["places"]
        if places.dtype.kind not in "ib" or places.shape != x.shape:
            raise TypeError("whole numbers or truth values of x's shape")
        return [np.asarray(x * places)]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        if arrays["places"].dtype.kind != "i":
            raise TypeError("whole numbers are wanted")
        return {"x": np.asarray(douts[0] * arrays["places"])}

    first = Case({"x": np.ones((2, 3)), "places": np.ones((2, 3), bool)})
    cases = [first, Case({"x": np.ones((2, 3)), "places": np.ones((2, 3), int)})]
    op = Checkable("scaled", (Arg("x"), Arg("places")), (Arg("y"),), forward, backward, gradients=frozenset({"x"}))
    kept = Table(SearchScope(op, Options(), Trial(op))).served(cases)
    assert [case.inputs["places"].dtype.kind for case in kept] == ["i"]


def test_coincidences_of_many_axes_are_taken_apart_one_after_the_other() -> None:
    """Right for matrices; with five axes it is wrong where the first is as long as the last, and raises elsewhere."""

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, np.ndarray]:
        found, rows = douts[0] * 2, len(arrays["x"])
        found[np.arange(rows), np.full(arrays["x"].shape[2:], 0)] += arrays["x"].ndim > 2
        return {"x": found}

    made = Checkable("double", (Arg("x"),), (Arg("y"),), lambda arrays, attrs: [arrays["x"] * 2], backward)
    case = Case({"x": np.random.default_rng(0).normal(size=(2, 2, 1, 3, 2))}, {})
    scope = SearchScope(made, Options(), Trial(made))
    scope.roles = (Role(),)
    table = Table(scope)
    assert table.answer(replace(case, inputs={"x": np.ones((3, 4))})).standing is Standing.RIGHT
    assert table.answer(case).standing is Standing.WRONG
    assert table.is_excused(case)


@pytest.mark.parametrize(("slope", "told"), [(abs, "scale -0.5 (wrong there: backward gives "), (float, "")])
def test_a_default_declares_the_sign_of_an_option(slope: Callable[[float], float], told: str) -> None:
    """Wrong for a negative scale alone, where the default is positive: a line, no failure."""
    scale = Attr("scale", "float", 1.0)
    scaled = Checkable(
        "scaled",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [attrs["scale"] * np.sin(arrays["x"])],
        lambda arrays, outputs, douts, attrs, needs: {"x": slope(attrs["scale"]) * np.cos(arrays["x"]) * douts[0]},
        attrs=(scale,),
    )
    report = check(scaled, Options())
    assert report.status is Status.PASS
    assert told in report.unserved
    assert bool(told) is bool(report.unserved)


def test_what_is_special_beside_many_wrong_kinds_is_known_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of kinds is compared a few times, however many ways lead from one to a wider one."""

    def ties(count: int) -> Iterator[tuple[int, ...]]:
        """Yield all ways in which sizes may be equal."""
        if not count:
            yield ()
            return
        for before in ties(count - 1):
            yield from ((*before, size) for size in range(2, max(before, default=1) + 2))

    every = [(shape,) for shape in ties(6)]
    table = Table(SearchScope(Checkable("", (), (), lambda arrays, attrs: []), Options(), None))  # type: ignore[arg-type]
    for shapes in every:
        standing = Standing.RIGHT if shapes == ((2, 3, 4, 5, 6, 7),) else Standing.WRONG
        first = Case({"x": np.empty(shapes[0])})
        table._seen[kind_between(shapes), ""] = tables.Seen(first, {standing}, is_sure=True)  # type: ignore[arg-type]
    compared = []
    monkeypatch.setattr(tables, "is_special", lambda *pair: compared.append(pair) or is_special(*pair))
    assert len(every) == 203
    alike, apart = (Case({"x": np.empty(shape)}) for shape in ((2,) * 6, (2, 3, 4, 5, 6, 7)))
    assert table._is_coincidence(alike, "")
    assert len(compared) <= len(every) * (len(every) + 1)
    assert not table._is_coincidence(apart, "")


def test_a_list_of_arrays_is_no_other_rank() -> None:
    """Arrays in a list are of the ranks that they are of: right on some shapes excuses nothing on others of the same ranks."""
    op = Checkable("op", (Arg("parts", is_variadic=True), Arg("labels")), (Arg("y"),), lambda arrays, attrs: [])
    table = Table(SearchScope(op, Options(), Trial(op)))
    one, other = (Case({"parts": [np.ones(size), np.ones(size)], "labels": np.ones(4, int)}) for size in (3, 5))
    for case, standing in ((one, Standing.RIGHT), (other, Standing.WRONG)):
        table._note((kind_between(shapes_of(case)), setting_of(case)), Answer(case, standing), case)
    assert not table._has_other_ranks(other)


@pytest.mark.parametrize(("factor", "standing"), [(1.0, Standing.BEYOND), (2.0, Standing.WRONG)])
def test_what_forward_does_not_read_hides_no_other_gradient(factor: float, standing: Standing) -> None:
    """Beside two labels the third row of x is not read; that it has a gradient says nothing of y's."""

    def backward(arrays: Arrays, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, np.ndarray]:
        x, y, labels = (arrays[name] for name in ("x", "y", "labels"))
        return {"x": np.full_like(x, douts[0] * y.sum()), "y": np.full_like(y, factor * douts[0] * x[: len(labels)].sum())}

    op = Checkable(
        "rows", (Arg("x"), Arg("y"), Arg("labels")), (Arg("z"),),
        lambda arrays, attrs: [arrays["x"][: len(arrays["labels"])].sum() * arrays["y"].sum()], backward,
    )
    case = Case({"x": np.arange(1.0, 13).reshape(3, 4), "y": np.arange(2.0, 6), "labels": np.array([0, 2])}, {})
    answer = answer_of(op, case)
    assert answer.standing is standing
    assert ("that are not reached, or not read, with these values of labels" in answer.said) == (standing is Standing.BEYOND)


@pytest.mark.parametrize(("is_inverse", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_sizes_of_one_are_right_beside_anything(is_inverse: bool, status: Status) -> None:
    """Fewer places than weights are a misfit, equal shapes are answered; what is right on sizes of 1 excuses none."""

    def sums(arrays: Arrays, attrs: Any) -> list[np.ndarray]:
        places = arrays["place"].argsort(-1)
        return [np.take_along_axis(arrays["weight"], places, -1).cumsum(-1)]

    def backward(arrays: Arrays, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, np.ndarray]:
        places = arrays["place"].argsort(-1)
        tail = douts[0][..., ::-1].cumsum(-1)[..., ::-1]
        return {"weight": np.take_along_axis(tail, places.argsort(-1) if is_inverse else places, -1)}

    op = Checkable("sorted", (Arg("weight"), Arg("place")), (Arg("y"),), sums, backward, gradients=frozenset({"weight"}))
    assert check(op, Options(effort=0.1)).status is status


def test_what_is_wrong_and_not_served_says_that_others_are_right() -> None:
    """Else a pass beside a wrong gradient is not understood; of what raises there is no more to say."""
    wrong, raised = (
        Unserved(Answer(Case({"x": np.ones(1)}, {}), standing, "it is so"))
        for standing in (Standing.WRONG, Standing.RAISED)
    )
    assert (wrong.said, raised.said) == ("wrong there: it is so; not counted, for it is right on other shapes", "it is so")


def test_what_is_wrong_along_a_direction_says_which_number_is_measured() -> None:
    """Backward gives twice the slope, on one element."""
    op = Checkable(
        "twice", (Arg("x"),), (Arg("y"),), lambda arrays, attrs: [arrays["x"] * 1.0],
        lambda arrays, outputs, douts, attrs, needs: {"x": 2.0 * douts[0]},
    )
    found = re.search(r"backward gives (.+) along a direction of x, measured is (.+)", answer_of(op, Case({"x": np.ones(1)})).said)
    assert found is not None
    assert float(found[1]) == pytest.approx(2 * float(found[2]))


def test_whole_numbers_below_which_backward_is_right_are_named() -> None:
    """Forward takes the last row for places beyond it, and backward gives it nothing for them: no shape is at fault."""

    def backward(arrays: Arrays, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, np.ndarray]:
        found, is_there = np.zeros_like(arrays["rows"]), arrays["at"] < len(arrays["rows"])
        np.add.at(found, arrays["at"][is_there], douts[0][is_there])
        return {"rows": found}

    def forward(arrays: Arrays, attrs: Any) -> list[np.ndarray]:
        return [arrays["rows"][np.minimum(arrays["at"], len(arrays["rows"]) - 1)]]

    op = Checkable("rows", (Arg("rows"), Arg("at")), (Arg("y"),), forward, backward, gradients=frozenset({"rows"}))
    case = Case({"rows": np.arange(1.0, 9).reshape(2, 4), "at": np.array([0, 3, 1, 2])})
    table = Table(SearchScope(op, Options(), Trial(op)))
    table._leave(case, answer_of(op, case))
    (left,) = table.unserved.values()
    assert left.answer.said.endswith("; right where at lies in [0, 2)")
