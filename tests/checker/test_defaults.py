"""A derivative that is wrong at another value of an option alone: the default at which it is right is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, CheckResult, Options, Status, check

Slope = Callable[[Any, float], Any]


def wrong(slope: Slope, *declared: Case) -> CheckResult:
    """Return what is said of ``alpha * sin(x)`` with a slope."""
    made = Checkable(
        "file.py::Op",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [attrs["alpha"] * np.sin(arrays["x"])],
        lambda arrays, results, douts, attrs, needs: {"x": douts[0] * slope(arrays["x"], attrs["alpha"])},
        attrs=(Attr("alpha", "float", 1.0),),
        gradients=frozenset({"x"}),
        recorded=declared,
    )
    return next(item for item in check(made, Options(effort=0.2)).checks if item.code == "GC101")


def test_the_default_at_which_a_derivative_is_right_is_named() -> None:
    """Backward forgot the option: neither the values nor the shapes have to do with it."""
    found = wrong(lambda x, alpha: np.cos(x))
    assert "; it holds at alpha = 1.0, the default, on these and like inputs" in found.message
    assert found.hint == "backward may not get the option alpha, not use it, use it otherwise than forward, or lack a branch of it"


def test_cases_that_give_an_option_another_value_are_compared_with_its_default_too() -> None:
    """The values stay those of the case."""
    given = Case({"x": np.linspace(-1.0, 1.0, 5)}, {"alpha": 0.5}, origin="recorded")
    assert "it holds at alpha = 1.0" in wrong(lambda x, alpha: np.cos(x), given).message


def test_no_default_is_named_where_the_derivative_is_wrong_at_it_too() -> None:
    """The option is not what decides."""
    given = Case({"x": np.linspace(-1.0, 1.0, 5)}, {"alpha": 0.5}, origin="recorded")
    assert "it holds" not in wrong(lambda x, alpha: 2 * alpha * np.cos(x), given).message


def test_not_the_default_is_named_but_the_values_that_an_option_is() -> None:
    """Labels to ignore are counted: with the default among the labels the derivative is wrong as well."""

    def forward(arrays: Any, attrs: Any) -> Any:
        kept = arrays["label"] != attrs["ignore"]
        return [np.asarray((np.sin(arrays["x"]) * kept).sum() / kept.sum())]

    def backward(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        return {"x": douts[0] * np.cos(arrays["x"]) * (arrays["label"] != attrs["ignore"]) / arrays["x"].size}

    given = Case({"x": np.linspace(-1.0, 1.0, 4), "label": np.array([0, 1, 2, 0])}, {"ignore": 0}, origin="recorded")
    made = Checkable(
        "file.py::Op",
        (Arg("x"), Arg("label")),
        (Arg("y"),),
        forward,
        backward,
        attrs=(Attr("ignore", "int", -100),),
        gradients=frozenset({"x"}),
        recorded=(given,),
    )
    (found,) = [item for item in check(made, Options(effort=0.2)).checks if item.code == "GC101"]
    assert found.message.endswith("; it holds where no whole number among the inputs is 0, as ignore is")
    assert (found.status, found.hint) == (Status.FAIL, "")


def test_rows_of_a_mask_that_are_all_alike_are_named() -> None:
    """Backward divides a row that is kept whole by 1."""

    def count(mask: Any) -> Any:
        return np.maximum(mask.sum(-1, keepdims=True), 1)

    made = Checkable(
        "file.py::Op",
        (Arg("x"), Arg("mask")),
        (Arg("y"),),
        lambda arrays, attrs: [(arrays["x"] * arrays["mask"] / count(arrays["mask"])).sum(-1)],
        lambda arrays, results, douts, attrs, needs: {
            "x": douts[0][..., None] * arrays["mask"] / np.where(arrays["mask"].all(-1, keepdims=True), 1, count(arrays["mask"]))
        },
        gradients=frozenset({"x"}),
        recorded=(Case({"x": np.arange(6.0).reshape(2, 3), "mask": np.array([[True] * 3, [True, False, True]])}, origin="recorded"),),
    )
    (found,) = [item for item in check(made, Options(effort=0.2)).checks if item.code == "GC101"]
    assert found.message.endswith("looks wrong by a factor of 3 at x[0] only; it holds where no row of mask is all true or all false")
