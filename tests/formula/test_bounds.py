"""Formulas that would take hours or overflow the stack, and those whose parts do not fit together."""

from __future__ import annotations

import pytest

from opkit.errors import UsageError
from opkit.formula import design
from opkit.formula.reading import read

REFUSED = {
    "9**9**9 * x": "9 ** 9 ** 9': the number is beyond what float64 holds",
    "x**(10**10**9)": "the number is beyond",
    "2**-2000 * x": "the number is beyond",
    "sqrt(2)**100000 * x": "the number is beyond",
    "cosh(cosh(cosh(cosh(9)))) * x": "the number is beyond",
    "1e999999 * x": "the number is beyond",
    "9" * 3000 + " * x": "the number is beyond",
    "9" * 6000 + " * x": "is not an expression",
    "x * (1 + x)**3000": "powers of sums have exponents up to 300",
    "(x * (1 + x)**200)**200": "powers of sums have exponents up to 300",
    "(" * 3000 + "x": "is not an expression|nested more than",
    "x + " + "1 + " * 2000 + "1": "nested more than 100 deep",
    "x**" * 500 + "x": "nested more than 100 deep",
    "-" * 5000 + "x": "nested more than 100 deep",
    "x" * 10_001: "more than 10000",
    "x\0": "is not an expression|null bytes",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20].replace("\0", "0"))
def test_what_would_not_end_is_refused(text: str) -> None:
    """At once, with the part that is too large."""
    with pytest.raises(UsageError, match=REFUSED[text].replace("*", r"\*")):
        read(text)


@pytest.mark.parametrize("text", ["x**1000", "10**300 * x", "x**x**x", "exp(x)**1000", "(x + t)**300", "x*0.1**20"])
def test_what_is_merely_large_is_read(text: str) -> None:
    """Powers of one input, constants of float64, sums with moderate exponents."""
    assert list(read(text).outputs) == ["y"]


UNFIT = {
    "mean(x, axis=a)": "an axis is a whole number, and a is 0.5",
    "x + norm(1, axis=-1)": "norm takes an array, and 1 is one number",
    "x + sum(a)": "sum takes an array, and a is one number",
    "sum(x) @ 0.1": "@ takes an array, and 1/10 is one number",
    "sum(x) @ sum(x)": "do not fit together",
    "max(logsumexp(x), axis=0)": "do not fit together",
}


@pytest.mark.parametrize("text", UNFIT)
def test_what_numpy_would_refuse_is_refused(text: str) -> None:
    """Axes that are no whole numbers, and operations over axes of what has none."""
    with pytest.raises(UsageError, match=UNFIT[text]):
        design(text, {"a": 0.5} if "a)" in text else {})


def test_a_choice_between_choices() -> None:
    """A comparison with what another comparison chooses is written as a condition."""
    assert design("maximum(3, x if x > t else t)", {}).forward
