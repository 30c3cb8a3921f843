"""Kernels of formulas at the ends of float32 and float64: the formula's values there, or a line that says otherwise."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from opkit.formula import design, translated
from opkit.formula.careful import careful
from opkit.formula.careful_steps import careful_steps
from opkit.formula.exact import exact_values
from opkit.formula.graph import LogSumExp
from opkit.formula.reading import read
from tests.formula.ends import STABLE, UNSTABLE
from tests.formula.formulas import FORMULAS
from tests.formula.test_dialect import KINDS, library, run
from tests.formula.test_formulas import Op, designed

ENDS = np.array([-2e4, -800.0, -95.0, -20.0, -1e-4, 1e-9, 1e-4, 20.0, 90.0, 95.0, 300.0, 711.0, 800.0, 2e4])


@pytest.mark.parametrize("text", UNSTABLE)
def test_an_unstable_form_is_rewritten(text: str) -> None:
    """The kernel says the stable form, and nothing is left to be said of its ends."""
    made = designed(text)
    assert UNSTABLE[text] in "\n".join(made.forward)
    assert made.weak() == []


@pytest.mark.parametrize("name", STABLE)
def test_an_ordinary_formula_holds_at_the_ends(name: str) -> None:
    """Forward and backward are the formula's, as measured in 450 digits, in float32 and float64."""
    text, attrs = FORMULAS[name]
    assert designed(text, tuple(attrs.items())).weak() == []


@pytest.mark.parametrize("text", ["floor(x)", "maximum(x, 20)"])
def test_the_slope_at_a_jump_or_a_kink_is_not_compared(text: str) -> None:
    """A difference across the jump of floor at 20 was said to be the derivative: 5e39."""
    assert designed(text).weak() == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text", UNSTABLE)
def test_no_call_overflows_where_the_formula_is_finite(text: str, dtype: Any) -> None:
    """Not even within, on elements that are thrown away: numpy would warn."""
    made = designed(text)
    ends = np.array(list(filter(made.regions["x"].holds, ENDS)))
    values = {name: ends.astype(dtype) if name == "x" else np.ones(len(ends), dtype) for name in made.inputs}
    (wanted,) = exact_values(read(text, {}), values).values()
    finite = np.abs(wanted) < np.finfo(dtype).max
    values = {name: value[finite] for name, value in values.items()}
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        (y,) = Op(made, {}).forward(values)
        gradients = Op(made, {}).backward({**values, f"d{next(iter(made.outputs))}": np.ones_like(y)})
    assert np.isfinite(y).all()
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [*UNSTABLE, *(FORMULAS[name][0] for name in STABLE if not FORMULAS[name][1])])
def test_other_frameworks_kernels_hold_there_too(text: str, kind: str) -> None:
    """Both kernels give at the ends what numpy's give."""
    scope, convert = library(kind)
    made = designed(text)
    region = made.regions["x" if "x" in made.inputs else next(iter(made.inputs))]
    ends = np.array([list(filter(region.holds, ENDS))] * 2)
    values = {name: ends if index == 0 else np.ones_like(ends) for index, name in enumerate(made.inputs)}
    op, said = Op(made, {}), translated(made, kind, [])
    with np.errstate(all="ignore"):
        (wanted,) = op.forward(values)
        values[f"d{next(iter(made.outputs))}"] = np.ones_like(wanted)
        gradients = op.backward(values)
    arrays = {name: convert(value) for name, value in values.items()}
    (y,) = run(said.forward, said.helpers, made.inputs, arrays, dict(scope))
    np.testing.assert_allclose(np.asarray(y), wanted.reshape(y.shape), rtol=1e-10, atol=1e-300)
    found = run(said.backward, said.helpers, made.reads, arrays, dict(scope))
    for gradient, expected in zip(found, gradients.values(), strict=True):
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("text", [*UNSTABLE, "x*x - y*y", "x**2 - 1", "sqrt(x + 1) - sqrt(x)", "log(1 + x) / x"])
def test_a_rewrite_is_equal_on_the_exact_side(text: str) -> None:
    """With 40 digits, the rewritten expression has the values of the written one."""
    formula = read(text, {})
    rng = np.random.default_rng(3)
    values = {name: rng.uniform(0.2, 0.9 if "1 - x" in text else 3, 7) for name in formula.inputs}
    (expected,) = exact_values(formula, values).values()
    formula.outputs = {name: careful(expr) for name, expr in formula.outputs.items()}
    (found,) = exact_values(formula, values).values()
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("text", ["log(mean(exp(x), axis=-1))", "log(mean(exp(2*x)))", "log(sum(exp(x), axis=-1))"])
def test_a_rewrite_over_an_axis_is_equal_on_the_exact_side(text: str) -> None:
    """With 40 digits, too."""
    formula = read(text, {})
    values = {"x": np.random.default_rng(3).normal(size=(2, 5))}
    (expected,) = exact_values(formula, values).values()
    careful_steps(formula)
    assert [type(step) for step in formula.steps.values()] == [LogSumExp]
    (found,) = exact_values(formula, values).values()
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_mean_of_exponentials_near_0_keeps_its_digits() -> None:
    """Of a logsumexp less the logarithm of the count none would be left."""
    x = np.array([[1e-9, 2e-9, 4e-9]])
    op = Op(design("log(mean(exp(x), axis=-1))", {}), {})
    for dtype in (np.float32, np.float64):
        (y,) = op.forward({"x": x.astype(dtype)})
        np.testing.assert_allclose(y, 7e-9 / 3, rtol=1e-6)


def test_the_slope_of_an_angle_is_of_any_length() -> None:
    """The square of 1e30 is infinite in float32, and that of 1e-30 is 0."""
    op = Op(design("arctan2(y, x)", {}), {})
    for size in (1e-30, 1e-20, 1e20, 1e30):
        x = np.full(1, size, np.float32)
        gradients = op.backward({"y": x, "x": x, "dz": np.ones_like(x)})
        np.testing.assert_allclose(gradients["dy"], 0.5 / size, rtol=1e-6)
        np.testing.assert_allclose(gradients["dx"], -0.5 / size, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("hypot(x, y)", ["y other than 0"]),  # (0, 0) alone is left out
        ("1 / x", ["x other than 0"]),
        ("sqrt(x)", ["x positive"]),
        ("tanh(exp(x))", ["x between -4 and 4"]),  # its slope is 0 * inf at 800, which positive numbers do not help
        ("arctanh(x)", ["x between -1 and 1"]),
        ("(1 - softmax(x, axis=-1)**0.7) / 0.7", []),
    ],
)
def test_the_domain_leaves_out_no_more_than_what_is_not_finite(text: str, regions: list[str]) -> None:
    """Numbers of both signs where 0 alone is at fault, those of ordinary size where large ones are."""
    assert designed(text).narrowed == regions


def test_a_power_of_a_softmax_has_a_slope_where_the_softmax_is_0() -> None:
    """A share that has come to 0 takes no part in it: 0 * 0**-0.3 was NaN."""
    op = Op(designed("(1 - softmax(x, axis=-1)**0.7) / 0.7"), {})
    (dx,) = op.backward({"x": np.array([[0.0, -800.0], [900.0, 0.1]]), "dy": np.ones((2, 2))}).values()
    np.testing.assert_array_equal(dx, 0)


def test_a_difference_of_squares_does_not_cancel() -> None:
    """Near x = y each factor is exact."""
    x, y = np.array([1e8 + 1.0]), np.array([1e8])
    (z,) = Op(design("x*x - y*y", {}), {}).forward({"x": x, "y": y})
    assert z[0] == 200000001.0


def test_a_mean_of_exponentials_is_shifted() -> None:
    """Its logarithm is a logsumexp less the logarithm of the count."""
    (y,) = Op(design("log(mean(exp(x), axis=-1))", {}), {}).forward({"x": np.full((1, 4), 1e3)})
    np.testing.assert_allclose(y, 1e3)


def test_an_end_within_a_narrow_domain_is_looked_at() -> None:
    """Of inputs between -2 and 2, those near 0, where the quotient is 1 and its logarithm has lost the digits."""
    line, *_ = design("log((2 + x) / (2 - x))", {}).weak()
    assert line.startswith("y: at x = 1e-09 in float32 the kernel gives 0, the formula is 9.99")


def test_what_cannot_be_made_stable_is_said() -> None:
    """The place, what the kernel gives there and what the formula is."""
    weak = design("log(sum(k * exp(x), axis=-1))", {"k": 2.0}).weak()
    assert len(weak) == 2
    assert weak[0].startswith("y: at x = 95 in float32 the kernel gives inf, the formula is 95.69")


def test_a_difference_that_loses_its_digits_far_out_is_said() -> None:
    """Of two logarithms that are nearly the same at large numbers."""
    line, *_ = design("log(1 + x) - log(x)", {}).weak()
    assert line.startswith("y: at x = 1e+08 in float32 the kernel gives 0, ")  # the worst: in float64 half of the digits are there


def test_where_squares_overflow_is_said_too() -> None:
    """The slope of a quotient there is inf / inf; of several ends the worst is shown."""
    (line,) = design("x / (1 + x*x)", {}).weak()
    assert line.startswith("dx: at x = 1e+30 in float32 the kernel gives nan")
    line, *_ = design("log(sqrt(x*x + y*y) + x)", {}).weak()
    assert "the kernel gives nan, the formula is 4.99999999958e-05" in line


@pytest.mark.parametrize("text", ["norm(x)", "norm(x, axis=-1)", "std(x, axis=-1)"])
def test_where_sums_of_squares_overflow_is_said(text: str) -> None:
    """Of entries of 1e30 in float32; the root of the sum would be a number."""
    line, *_ = designed(text).weak()
    assert re.match(r"y: at x = 1e\+30 in float32 the kernel gives inf, the formula is \d", line)


def test_a_gradients_numbers_fit_half_precision() -> None:
    """A product of 1e-05 and a sum of whole numbers is that sum's own: 200000 is infinite in float16."""
    text, attrs = FORMULAS["gelu_tanh"]
    lines = "\n".join(designed(text, tuple(attrs.items())).backward)
    assert max(map(float, re.findall(r"\d[\d.]*", lines))) < 10
