"""The checker's own data are out of a kernel's reach, and what a kernel writes to is found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Case, Checkable, OpReport, Status, check
from opkit.checker.checks.layout import LAYOUTS
from opkit.checker.derivative.columns import Columns
from opkit.checker.model.copies import is_same_array, is_same_option, option_copied, recast
from opkit.checker.model.custody import Custody
from opkit.checker.model.draws import generator
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.numbers import median
from tests.checker.functions import checkable_of

Write = Callable[[np.ndarray], None]


def by_flag(array: np.ndarray) -> None:
    array.flags.writeable = True
    array[...] = 0


def by_base(array: np.ndarray) -> None:
    while isinstance(array.base, np.ndarray):
        array = array.base
    array.flags.writeable = True
    array[...] = 0


def by_address(array: np.ndarray) -> None:
    if array.flags.c_contiguous:  # elsewhere these bytes would be those of others
        ctypes.memset(ctypes.c_void_p(array.ctypes.data), 0, array.nbytes)


def by_sign_of_zero(array: np.ndarray) -> None:
    array.flags.writeable = True
    np.copyto(array, -0.0, where=array == 0)


WRITES = (by_flag, by_base, by_address, by_sign_of_zero)
X = np.array([0.0, 0.5, -1.5, 2.0])


def codes(report: OpReport) -> dict[str, str]:
    return {item.code: item.message for item in report.checks if item.status is Status.FAIL}


@pytest.mark.parametrize("write", WRITES)
def test_a_forward_that_writes_is_found_and_cannot_hide_a_wrong_gradient(write: Write) -> None:
    """GC122 names the argument, whatever way the kernel took; the case keeps its values."""

    def forward(x: np.ndarray) -> np.ndarray:
        y = x * x
        write(x)
        return y

    given = X.copy()
    made = checkable_of(lambda x: x * x, lambda x, y, dy: -7 * x * dy, [given])
    report = check(replace(made, forward=lambda arrays, attrs: [forward(arrays["x"])]))
    assert codes(report)["GC122"] == "forward wrote to its argument x"
    assert is_same_array(given, X)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    ("place", "said"), [(0, "argument x"), (1, "argument, forward's result"), (2, "incoming gradient")]
)
def test_a_backward_that_writes_is_found(write: Write, place: int, said: str) -> None:
    """GC123 names what backward wrote to: an input, forward's result or the incoming gradient."""

    def backward(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        dx = 2 * x * dy
        target = (x, y, dy)[place]
        if write is by_sign_of_zero and place == 2:  # zeros in dy come in later checks only
            by_flag(target)
        else:
            write(target)
        return dx

    report = check(checkable_of(lambda x: x * x, backward, [X.copy()]))
    assert codes(report)["GC123"] == f"backward wrote to its {said}"


def test_a_result_kept_and_changed_by_backward_is_found() -> None:
    """A kernel that keeps what forward returned and empties it in backward has written to forward's result."""
    kept: list[np.ndarray] = []

    def forward(x: np.ndarray) -> np.ndarray:
        kept[:] = [x * x]
        return kept[0]

    def backward(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        kept[0][...] = 3.0
        return 2 * x * dy

    assert "GC123" in codes(check(checkable_of(forward, backward, [X.copy()])))


def with_option(change: Callable[[Any], None], value: Any) -> Checkable:
    def forward(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
        change(attrs["order"])
        return [arrays["x"] * 2.0]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Mapping[str, np.ndarray]:
        return {"x": 2.0 * douts[0]}

    case = Case({"x": X.copy()}, {"order": value}, "recorded", origin="recorded")
    return Checkable(
        "op", (Arg("x"),), (Arg("y"),), forward, backward, (Attr("order", "any", value),), recorded=(case,)
    )


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (lambda value: value.sort(), [3, 1, 2]),
        (lambda value: value.update(a=0), {"a": [1]}),
        (lambda value: value["a"].append(2), {"a": [1]}),
        (lambda value: value[0].fill(7), (np.zeros(2),)),
    ],
)
def test_an_option_that_the_kernel_changes_is_found(change: Callable[[Any], None], value: Any) -> None:
    """Lists, dicts and arrays given as options are compared by content; the caller's own stay as they are."""
    before = option_copied(value)
    report = check(with_option(change, value))
    assert codes(report)["GC122"] == "forward wrote to its option order"
    assert is_same_option(value, before)


def test_a_right_op_with_a_list_option_passes() -> None:
    """An option that is only read is not a finding."""
    assert check(with_option(sorted, [3, 1, 2])).status is Status.PASS  # type: ignore[arg-type]


def test_a_result_may_be_the_argument() -> None:
    """A forward that returns its argument, and a backward that returns the incoming gradient, pass."""
    report = check(checkable_of(lambda x: x, lambda x, y, dy: dy, [X.copy()]))
    assert report.status is Status.PASS


def test_a_cases_function_may_fill_one_array_again_and_again() -> None:
    """Each case is copied as it is drawn."""
    made = checkable_of(lambda x: x * x, lambda x, y, dy: 2 * x * dy, [X])
    seen: list[float] = []

    def cases(rng: np.random.Generator) -> Any:
        x = np.zeros(3)
        for number in range(1, 4):
            x[...] = number
            yield {"x": x}

    def forward(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
        seen.append(float(arrays["x"][0]))
        return [arrays["x"] * arrays["x"]]

    check(replace(made, forward=forward, cases=cases, recorded=()))
    assert {1.0, 2.0, 3.0} <= set(seen)


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_lie_in_memory_as_their_originals(name: str) -> None:
    """Strides, Fortran order and negative strides are kept; nothing is shared."""
    array = frozen(LAYOUTS[name](np.arange(12.0).reshape(3, 4)))
    (copy,) = recast([array])
    assert copy.strides == array.strides
    assert is_same_array(copy, array)
    assert not np.shares_memory(copy, array)


def test_copies_of_views_of_one_buffer_share_one_buffer() -> None:
    """What overlaps as arguments overlaps as copies."""
    flat = np.arange(6.0)
    one, other = recast([flat[:4], flat[::-1]])
    assert np.shares_memory(one, other)
    assert is_same_array(one, flat[:4])
    assert is_same_array(other, flat[::-1])


def test_a_list_that_holds_itself_is_copied_and_compared() -> None:
    """Options that hold themselves end neither the copy nor the comparison."""
    value: list[Any] = [1]
    value.append(value)
    copy = option_copied(value)
    assert copy is not value
    assert copy[1] is copy
    assert is_same_option(value, copy)


def guarded(forward: Callable[[np.ndarray], np.ndarray], **functions: Any) -> tuple[Custody, Checkable]:
    """Return an op of one input whose functions custody stands before."""
    made = checkable_of(lambda x: x * x, lambda x, y, dy: 2 * x * dy, [X.copy()])
    custody = Custody()
    return custody, custody.over(replace(made, forward=lambda arrays, attrs: [forward(arrays["x"])], **functions))


def test_an_array_that_the_checker_fills_again_reaches_the_kernel_as_it_is_then() -> None:
    """What the checker itself changes between two calls is not a write."""
    custody, op = guarded(lambda x: x * x)
    inputs = {"x": X.copy()}
    assert op.forward(inputs, {})[0][1] == 0.25
    inputs["x"][1] = 3.0
    assert op.forward(inputs, {})[0][1] == 9.0
    assert not custody.breaches


def test_a_result_that_a_later_forward_overwrites_is_not_a_write_of_backward() -> None:
    """What backward gets is what forward's result holds by then; only what changes during backward is its doing."""
    buffer = np.empty(4)

    def forward(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
        return [np.multiply(arrays["x"], 2.0, out=buffer)]

    made = checkable_of(lambda x: 2 * x, lambda x, y, dy: y * dy, [X.copy()])
    custody = Custody()
    op = custody.over(replace(made, forward=forward))
    assert op.backward is not None
    inputs, others, ones = {"x": X.copy()}, {"x": 1 + X}, [np.ones(4)]
    outputs = op.forward(inputs, {})
    first = op.backward(inputs, outputs, ones, {}, frozenset("x"))
    op.forward(others, {})
    second = op.backward(inputs, outputs, ones, {}, frozenset("x"))
    assert is_same_array(np.asarray(first["x"]), 2 * X)
    assert is_same_array(np.asarray(second["x"]), 2 + 2 * X)
    assert not custody.breaches


def test_a_write_is_found_though_the_list_of_arrays_is_emptied() -> None:
    """A backward that writes to an incoming gradient, and takes it out of the list that it got, has written to it."""

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        by_flag(douts[0])
        douts.clear()
        return {"x": 2 * arrays["x"]}

    custody, op = guarded(lambda x: x * x, backward=backward)
    assert op.backward is not None
    op.backward({"x": X}, [X * X], [np.ones(4)], {}, frozenset("x"))
    assert [breach.message for breach in custody.breaches] == ["backward wrote to its incoming gradient"]


@pytest.mark.parametrize("place", [0, 1])
def test_one_of_several_results_that_backward_writes_to_is_named(place: int) -> None:
    """GC123 names the result by its place, and no other one."""

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        by_flag(outputs[place])
        return {}

    custody, op = guarded(lambda x: x, backward=backward)
    assert op.backward is not None
    op.backward({"x": X}, [X * X, X + 1], [np.ones(4), np.ones(4)], {}, frozenset("x"))
    assert [breach.message for breach in custody.breaches] == [
        f"backward wrote to its argument, forward's result {place}"
    ]


@pytest.mark.filterwarnings("ignore:Setting the :DeprecationWarning")  # numpy 2.5's, for the kernel
@pytest.mark.parametrize("size", [4, 100_000])
def test_a_change_of_form_is_a_write(size: int) -> None:
    """An argument whose shape or dtype the kernel sets in place is found, large ones too."""
    for change in (lambda x: setattr(x, "shape", (2, -1)), lambda x: setattr(x, "dtype", np.int64)):
        custody, op = guarded(lambda x, change=change: (change(x), np.ones(3))[1])  # type: ignore[misc]
        op.forward({"x": np.zeros(size)}, {})
        assert [breach.code for breach in custody.breaches] == ["GC122"]


def test_a_write_is_shown_in_a_call_that_returned() -> None:
    """Where forward raises after it wrote, an exception is all that a reader would see; else that call is shown."""

    def forward(x: np.ndarray) -> np.ndarray:
        by_flag(x)
        if x.ndim > 1:
            raise ValueError("one axis")
        return np.ones(3)

    custody, op = guarded(forward)
    for shape in ((2, 3), (3,), (4,)):
        with suppress(ValueError):
            op.forward({"x": np.ones(shape)}, {})
        (breach,) = custody.breaches
        assert breach.case.shapes == ((2, 3) if shape == (2, 3) else (3,),)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_large_argument_is_found(write: Write) -> None:
    """Large arrays are compared bit by bit, too."""
    custody, op = guarded(lambda x: (write(x), np.ones(3))[1])  # type: ignore[func-returns-value]
    op.forward({"x": np.linspace(0, 1, 100_001)}, {})
    assert [breach.code for breach in custody.breaches] == ["GC122"]


def test_a_write_in_one_call_of_a_derivative_s_inner_loop_is_found() -> None:
    """GC122 names an argument that one of very many calls wrote to, be it the one that the checker moves or another."""
    for name in ("x", "z"):
        made = checkable_of(lambda x, z: x * z, lambda x, z, dy: [z * dy, x * dy], [X.copy(), 1 + X])
        counted = Custody()
        case = Case({"x": X.copy(), "z": 1 + X})
        evaluator = Evaluator(counted.over(replace(made, forward=writing(name, 5))), case).prepare()
        columns = Columns(evaluator, InputLeaf("x"))
        columns.ladder(np.arange(4), np.full((4, 2), 1e-3))
        assert [item.message for item in counted.breaches] == [f"forward wrote to its argument {name}"]
        assert is_same_array(case.inputs[name], X if name == "x" else 1 + X)


def writing(name: str, at: int) -> Callable[..., Any]:
    calls: list[int] = []

    def forward(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        calls.append(1)
        if len(calls) == at:
            by_flag(arrays[name])
        return [arrays["x"] * arrays["z"]]

    return forward


@pytest.mark.parametrize("key", [(0,), (0, 7), (3, 2000, 1)])
def test_a_generator_draws_what_numpy_s_own_would(key: tuple[int, ...]) -> None:
    """The state that is kept for a key is that of numpy's seed sequence; each generator begins anew."""
    expected = np.random.default_rng(list(key)).uniform(size=3).tolist()
    assert [generator(*key).uniform(size=3).tolist() for _ in range(2)] == [expected, expected]


@pytest.mark.parametrize("values", [[2.0], [3.0, 1.0], [5.0, 1.0, 4.0], [1.0, float("inf"), 2.0, float("inf")]])
def test_the_median_is_numpy_s(values: list[float]) -> None:
    """The checker's own median, which does without numpy's imports, gives the same number."""
    assert median(values) == np.median(values)
    assert np.isnan(median([*values, float("nan")]))


@pytest.mark.parametrize(
    ("place", "said"), [(0, "argument x"), (1, "argument, forward's result"), (2, "incoming gradient")]
)
def test_what_a_backward_writes_to_after_its_forward_is_named(place: int, said: str) -> None:
    """An argument, forward's result, or the incoming gradient."""

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        given = [arrays["x"], *outputs, *douts]
        gradient = 2 * arrays["x"] * douts[0]
        by_flag(given[place])
        return {"x": gradient}

    custody, op = guarded(lambda x: x * x, backward=backward)
    assert op.backward is not None
    inputs = {"x": X.copy()}
    found = op.backward(inputs, op.forward(inputs, {}), [np.ones(4)], {}, frozenset("x"))["x"]
    assert is_same_array(np.asarray(found), 2 * X)
    assert [breach.message for breach in custody.breaches] == [f"backward wrote to its {said}"]


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("writer", ["forward", "backward"])
def test_a_write_is_found_that_ends_in_an_error(size: int, count: int, writer: str) -> None:
    """Of one result or several, small or large: the error comes as it is, and the write is noted."""

    def forward(arrays: Any, attrs: Any) -> Any:
        if writer == "forward":
            by_flag(arrays["x"])
            raise ZeroDivisionError(writer)
        return [arrays["x"] + place for place in range(count)]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        by_flag(douts[-1])
        raise ZeroDivisionError(writer)

    custody = Custody()
    op = custody.over(replace(checkable_of(lambda x: x, lambda x, dy: dy, [X]), forward=forward, backward=backward))
    assert op.backward is not None
    x = np.linspace(-1.0, 1.0, size)
    with pytest.raises(ZeroDivisionError, match=writer):
        op.backward({"x": x}, op.forward({"x": x}, {}), [np.ones(size) for _ in range(count)], {}, frozenset("x"))
    assert [breach.code for breach in custody.breaches] == ["GC122" if writer == "forward" else "GC123"]


def test_gaps_hold_what_they_held_in_the_original() -> None:
    """A kernel that reads beyond its argument's elements reads in the copy what it would have read in the original."""
    wide = np.arange(10.0)
    copy = recast([wide[1::2]])[0]
    assert np.ndarray((9,), np.float64, copy.base, 8).tolist() == wide[1:].tolist()


def test_an_option_nested_too_deep_is_said_to_be() -> None:
    """GC183 names the case, and does not blame the cases function."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    made = replace(checkable_of(lambda x: x * x, lambda x, y, dy: 2 * x * dy, [X.copy()]), recorded=())
    report = check(replace(made, cases=lambda rng: iter([{"x": X, "k": deep}])))
    assert [item.code for item in report.findings] == ["GC183"]
    assert report.findings[0].message.startswith("case 0 holds lists, tuples or dicts in one another too deep")
