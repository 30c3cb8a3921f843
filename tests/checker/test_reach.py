"""Where checks reach, and where they must not: narrow regions, borders, empties, 0-d, saturation, underflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Case, Checkable, OpReport, Options, Status, check
from opkit.checker.checks import gradient
from opkit.checker.collect import is_single_inside
from opkit.errors import InferError
from opkit.ir import TensorDesc
from tests.checker.table import checkable

_BAD = (Status.FAIL, Status.ERROR)
Descs = Mapping[str, Sequence[TensorDesc]]


def _same_shape(descs: Descs, attrs: Any) -> list[TensorDesc]:
    return [descs["x"][0]]


def _report(forward: Callable[..., Any], backward: Callable[..., Any], **fields: Any) -> OpReport:
    fields.setdefault("infer", _same_shape)
    return check(checkable(forward, backward, **fields), Options(effort=0.5))


def _codes(report: OpReport) -> set[str]:
    return {item.code for item in report.findings}


def _hard(x: np.ndarray) -> np.ndarray:
    return np.clip(x / 6 + 0.5, 0, 1).astype(x.dtype)


def _hard_back(border: float) -> Callable[..., Any]:
    return lambda x, y, dy: dy * ((np.abs(x) < border) / 6).astype(x.dtype)


def test_a_fault_in_a_narrow_region_is_met() -> None:
    """A border that lies 0.2 off is found, although few random values fall between the two borders."""
    assert "GC101" in _codes(_report(_hard, _hard_back(3.2)))
    assert not _codes(_report(_hard, _hard_back(3.0)))


def _logistic(x: np.ndarray) -> np.ndarray:
    return (0.5 * (1 + np.tanh(0.5 * x))).astype(x.dtype)


def test_a_saturated_staircase_is_not_accused() -> None:
    """Where values are equal only because they were rounded off terms of size 1, nothing finer is claimed."""

    def back(x: Any, y: Any, dy: Any) -> Any:
        e = np.exp(-np.abs(x))
        return dy * (e / (1 + e) ** 2).astype(x.dtype)

    assert not _codes(_report(_logistic, back))


def test_underflow_is_no_fault() -> None:
    """Results that float32 or float64 cannot hold are not held against an op."""

    def forward(x: np.ndarray) -> np.ndarray:
        return np.exp(-1e4 * x * x).astype(x.dtype)

    assert not _codes(_report(forward, lambda x, y, dy: (dy * -2e4 * x * y).astype(x.dtype)))


def test_a_result_that_is_promised_in_float32_is_judged_as_one() -> None:
    """A float32 result of float64 inputs, as infer promises, carries no noise."""

    def infer(descs: Descs, attrs: Any) -> list[TensorDesc]:
        return [TensorDesc(descs["x"][0].shape, "float32")]

    def forward(x: np.ndarray) -> np.ndarray:
        return np.sin(x).astype(np.float32)

    report = _report(forward, lambda x, y, dy: (dy * np.cos(x)).astype(x.dtype), infer=infer)
    assert report.status is Status.PASS


def _softmax(x: np.ndarray, *, is_naive: bool) -> np.ndarray:
    e = np.exp(x if is_naive else x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


@pytest.mark.parametrize("is_naive", [True, False])
def test_overflow_on_the_way_to_a_small_result_is_a_fault(is_naive: bool) -> None:
    """A softmax without the maximum taken off gives NaN in float32 where float64 gives numbers."""

    def infer(descs: Descs, attrs: Any) -> list[TensorDesc]:
        if not descs["x"][0].shape or 0 in descs["x"][0].shape:
            raise InferError("an axis is needed")
        return [descs["x"][0]]

    report = _report(
        lambda x: _softmax(x, is_naive=is_naive),
        lambda x, y, dy: y * (dy - (y * dy).sum(-1, keepdims=True)),
        infer=infer,
    )
    assert _codes(report) == ({"GC150"} if is_naive else set())


def _taken(is_wrong: bool) -> Checkable:
    def forward(arrays: Any, attrs: Any) -> list[Any]:
        return [np.take(arrays["w"], arrays["i"], axis=0, mode="wrap")]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        found = np.zeros_like(arrays["w"])
        if not arrays["i"].size and is_wrong:
            return {"w": found + 1}
        np.add.at(found, np.mod(arrays["i"], len(found)), douts[0])
        return {"w": found}

    def infer(descs: Descs, attrs: Any) -> list[TensorDesc]:
        table, index = descs["w"][0], descs["i"][0]
        if len(table.shape) != 2 or not table.shape[0] or index.dtype not in ("int32", "int64"):
            raise InferError("a table and integers")
        return [TensorDesc((*index.shape, table.shape[1]), table.dtype)]

    return Checkable(
        "take", (Arg("w"), Arg("i")), (Arg("y"),), forward, backward, infer=infer, gradients=frozenset({"w"})
    )


def test_what_no_output_depends_on_has_no_gradient() -> None:
    """A gradient that is not 0 although the output is empty is a fault; indices are emptied to see it."""
    assert "GC160" in _codes(check(_taken(True), Options(effort=0.5)))
    assert not _codes(check(_taken(False), Options(effort=0.5)))


def _diagonal(is_wrong: bool) -> Checkable:
    def forward(arrays: Any, attrs: Any) -> list[Any]:
        return [np.triu(arrays["x"], attrs["k"])]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        return {"x": np.triu(douts[0], max(attrs["k"], 0) if is_wrong else attrs["k"])}

    def infer(descs: Descs, attrs: Any) -> list[TensorDesc]:
        if len(descs["x"][0].shape) != 2:
            raise InferError("a matrix")
        return [descs["x"][0]]

    attrs = (Attr("k", "int64", 0),)
    return Checkable("triu", (Arg("x"),), (Arg("y"),), forward, backward, attrs, infer, gradients=frozenset({"x"}))


def test_integer_attributes_are_tried_on_both_sides_of_zero() -> None:
    """A gradient that is wrong for a negative diagonal alone is found."""
    assert "GC101" in _codes(check(_diagonal(True), Options(effort=0.5)))
    assert not _codes(check(_diagonal(False), Options(effort=0.5)))


def test_a_mask_of_int8_is_found_by_search() -> None:
    """Inputs of int8, as OneFlow's masks are, need no cases file."""

    def forward(arrays: Any, attrs: Any) -> list[Any]:
        return [arrays["x"] * (arrays["m"] != 0)]

    def backward(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> dict[str, Any]:
        return {"x": douts[0] * (arrays["m"] != 0)}

    def infer(descs: Descs, attrs: Any) -> list[TensorDesc]:
        if descs["m"][0].dtype != "int8" or descs["m"][0].shape != descs["x"][0].shape:
            raise InferError("a mask of int8")
        return [descs["x"][0]]

    op = Checkable(
        "mask", (Arg("x"), Arg("m")), (Arg("y"),), forward, backward, infer=infer, gradients=frozenset({"x"})
    )
    assert check(op, Options(effort=0.5)).status is Status.PASS


def test_forward_that_raises_on_empty_arrays_is_not_passed_over() -> None:
    """Where infer takes empty arrays and a result exists, a forward that raises leaves the op undecided."""

    def forward(x: np.ndarray) -> np.ndarray:
        if not x.size:
            raise IndexError("index -1 is out of bounds")
        return np.sin(x)

    report = _report(forward, lambda x, y, dy: dy * np.cos(x))
    assert [item.code for item in report.checks if item.status is Status.UNDECIDED] == ["GC160"]


def test_a_mistake_of_the_checkers_own_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception inside a comparison, which no user code raised, is never undecided."""
    monkeypatch.setattr(gradient, "compare", np.reshape)  # of other arguments
    report = _report(np.sin, lambda x, y, dy: dy * np.cos(x))
    assert [item.code for item in report.findings] == ["GC197"]


@pytest.mark.parametrize(("kept", "is_single"), [(np.float64, False), (np.float32, True)])
def test_what_does_not_depend_on_the_size_of_an_input_is_not_for_float32(kept: type, is_single: bool) -> None:
    """Shares move by rounding alone where all is scaled: weighted means were checked in float32, with two digits."""
    made = checkable(lambda x: np.square(x.astype(kept)).sum() / np.square(x.astype(kept).sum()), lambda dy, x: None)
    rng = np.random.default_rng(0)
    seen = sum(is_single_inside(made, Case({"x": rng.uniform(0.5, 1, 4)}, {})) for _ in range(40))
    assert seen > 10 if is_single else seen == 0
