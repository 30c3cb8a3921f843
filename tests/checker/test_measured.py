"""Measured: rounding is told apart from errors, by what a reference itself does in the same format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.checker.model.formats import FORMATS
from opkit.checker.model.reference import Found, Samples, judged

EXACT = np.random.default_rng(0).standard_normal((5, 200))


def found(given: Any, format: str = "bfloat16", own: Any = None, exact: np.ndarray = EXACT, **others: Any) -> Found:
    """Judge results of a reference that rounds once."""
    own = FORMATS[format].rounded(exact) if own is None else own
    made = judged(Samples(exact, own, given, format, **others))
    assert made is not None
    return made


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_of_a_format_are_those_of_numpy(format: str) -> None:
    """Rounding gives what a cast gives; bfloat16 has float32's first sixteen bits."""
    values = np.concatenate([EXACT[0], EXACT[0] * 1e-7, [0.0, np.inf, 65504.0]])
    rounded = FORMATS[format].rounded(values)
    if format == "bfloat16":
        assert not (rounded.astype(np.float32).view(np.uint32) & 0xFFFF).any()
        assert (np.abs(rounded - values)[:200] <= np.abs(values[:200]) * 2.0**-8).all()
    else:
        np.testing.assert_array_equal(rounded, values.astype(format).astype(np.float64))


@pytest.mark.parametrize("format", FORMATS)
def test_what_rounds_several_times_is_right(format: str) -> None:
    """Six roundings are no error."""
    form, given = FORMATS[format], EXACT
    for _ in range(6):
        given = form.rounded(form.rounded(given * 1.37) / 1.37)
    assert found(given, format).kind == ""


@pytest.mark.parametrize(("format", "error"), [("float32", 1e-4), ("float16", 5e-3), ("bfloat16", 2e-2)])
def test_a_factor_is_found_below_what_an_element_shows(format: str, error: float) -> None:
    """All elements together show a factor, and the factor is named."""
    made = found(FORMATS[format].rounded(EXACT * (1 + error)), format)
    assert made.kind in ("bias", "value")
    assert made.factor == pytest.approx(1 + error, rel=error / 5)


def test_an_element_that_is_wrong_everywhere_is_named() -> None:
    """The place, both values and the share are told."""
    given = FORMATS["bfloat16"].rounded(EXACT)
    given[:, 7] += 1.0
    made = found(given)
    assert (made.kind, made.element) == ("value", 7)
    assert made.actual - made.expected == pytest.approx(1.0, abs=0.02)


def test_a_jump_that_rounding_crosses_once_is_no_error() -> None:
    """What does not recur at the inputs beside is no fault of the function's."""
    given = FORMATS["bfloat16"].rounded(EXACT)
    given[2, 7] += 1.0
    assert found(given).kind == ""


def test_sums_in_half_precision_are_told_apart() -> None:
    """An error that grows with the root of the number of terms, and fits no factor, is of sums in half precision."""
    noise = np.random.default_rng(1).standard_normal(EXACT.shape) * 0.04 * np.abs(EXACT).max()
    assert found(EXACT + noise, terms=1000).kind == "lower"
    assert found(EXACT + noise, terms=2).kind == "value"
    assert found(EXACT + noise, terms=1000, sums=lambda element: 40.0).kind == "lower"
    assert found(EXACT + noise, terms=1000, sums=lambda element: 0.1).kind == "value"


def test_noise_is_of_sums_in_half_precision_only_where_there_are_sums() -> None:
    """Errors that are larger on the whole, none of them at one element, are explained alike."""
    noise = np.random.default_rng(1).standard_normal(EXACT.shape) * 0.008 * np.abs(EXACT).max()
    assert found(EXACT + noise, terms=1000, sums=lambda element: 10.0).kind == "lower"
    assert found(EXACT + noise, terms=1000, sums=lambda element: 0.0).kind == "noise"


def test_infinity_is_an_error_where_the_reference_has_none() -> None:
    """NaN and infinity agree with themselves alone."""
    exact = EXACT.copy()
    exact[:, 3] = np.inf
    given = FORMATS["float16"].rounded(exact)
    assert found(given, "float16", exact=exact).kind == ""
    given[:, 3] = 1.0
    assert found(given, "float16", exact=exact).kind == "value"
    given = FORMATS["float16"].rounded(exact)
    given[:, 5] = np.nan
    assert found(given, "float16", exact=exact).kind == "value"


def test_a_reference_that_errs_widens_what_is_allowed() -> None:
    """The tolerance is measured: six times the reference's own error is allowed."""
    rough = EXACT + np.random.default_rng(2).standard_normal(EXACT.shape) * 0.01
    given = EXACT + np.random.default_rng(3).standard_normal(EXACT.shape) * 0.02
    assert found(given, "float32", own=rough).kind == ""
    assert found(given, "float32").kind == "value"
