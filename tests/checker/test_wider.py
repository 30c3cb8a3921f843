"""Domains: all values that forward takes are searched, not only those of the first domain that it took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Checkable, Status, check


def _of_one(forward: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Checkable:
    return Checkable(
        "op",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [forward(arrays["x"])],
        lambda arrays, results, douts, attrs, needs: {"x": douts[0] * slope(arrays["x"])},
        gradients=frozenset({"x"}),
    )


ROWS = {
    "arccos": (np.arccos, lambda x: -1 / np.sqrt(1 - x * x), lambda x: -1 / np.sqrt(1 - x * np.abs(x))),
    "log(1 + x)": (lambda x: np.log(1 + x), lambda x: 1 / (1 + x), lambda x: 1 / (1 + np.abs(x))),
    "log(1 - x)": (
        lambda x: np.log(1 - x),
        lambda x: -1 / (1 - x),
        lambda x: -1 / (1 - np.maximum(x, -3.0)),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_derivative_that_is_wrong_in_a_part_of_the_domain_is_found(name: str) -> None:
    """Below 0, or far below; the right one passes."""
    forward, right, wrong = ROWS[name]
    assert check(_of_one(forward, right)).status is Status.PASS
    assert check(_of_one(forward, wrong)).status is Status.FAIL


def test_each_input_has_a_domain_of_its_own() -> None:
    """In log(x) * y the second takes any number, and a sign lost there is found."""

    def report(sign: Callable[[Any], Any]) -> Status:
        def backward(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> Any:
            x, y = arrays["x"], arrays["y"]
            return {"x": douts[0] * y / x, "y": douts[0] * np.log(x) * sign(y)}

        def forward(arrays: Any, attrs: Any) -> Any:
            if arrays["x"].shape != arrays["y"].shape:
                raise ValueError("x and y must have the same shape")
            return [np.log(arrays["x"]) * arrays["y"]]

        return check(Checkable("op", (Arg("x"), Arg("y")), (Arg("z"),), forward, backward)).status

    assert report(np.ones_like) is Status.PASS
    assert report(np.sign) is Status.FAIL


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (2.0, Status.FAIL)])
def test_inputs_that_no_domain_fits_together_get_one_each(factor: float, status: Status) -> None:
    """In arccosh(x) * arcsin(y) the one is above 1 and the other below."""

    def backward(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        x, y = arrays["x"], arrays["y"]
        found = {"x": np.arcsin(y) / np.sqrt(x * x - 1), "y": np.arccosh(x) / np.sqrt(1 - y * y)}
        return {name: douts[0] * slope * factor for name, slope in found.items()}

    def forward(arrays: Any, attrs: Any) -> Any:
        return [np.arccosh(arrays["x"]) * np.arcsin(arrays["y"])]

    def infer(descs: Any, attrs: Any) -> Any:
        return [descs["x"][0]]

    op = Checkable("op", (Arg("x"), Arg("y")), (Arg("z"),), forward, backward, infer=infer)
    assert check(op).status is status
