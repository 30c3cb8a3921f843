"""Formulas that would take hours or overflow the stack, and those whose parts do not fit together."""

from __future__ import annotations

import gc
import itertools
import signal
import time

import pytest

from opkit.errors import UsageError
from opkit.formula import bounds, design
from opkit.formula.domain import _picks
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


#: Formulas that are short, and whose derivative is not: what is put in twice a line doubles.
GROWING = "a0 = tanh(x) * exp(x); " + "; ".join(f"a{n} = tanh(a{n - 1}) * exp(a{n - 1})" for n in range(1, 60))


def test_what_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so much of the processor's time, with what to do instead; the timer is as it was."""
    monkeypatch.setattr(bounds, "MOST_SECONDS", 0.1)
    gc.disable()  # what ends it may come within a callback of the collector that hypothesis has
    started = time.process_time()
    try:
        with pytest.raises(UsageError, match=r"more than 0\.1 seconds of the processor") as raised:
            design(GROWING, {})
    finally:
        gc.enable()
    assert time.process_time() - started < 2
    assert "opkit new NAME --kind" in str(raised.value)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL


def test_what_the_end_does_to_the_compiler_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython may raise a SystemError of its own in place of what interrupted it; any other time it is a fault."""
    monkeypatch.setattr(bounds, "MOST_SECONDS", 0.05)

    def compiled(seconds: float) -> None:
        started = time.process_time()
        with bounds.within_budget():
            try:
                while time.process_time() < started + seconds:
                    pass
            finally:
                raise SystemError("AST constructor recursion depth mismatch")

    with pytest.raises(UsageError, match=r"more than 0\.05 seconds"):
        compiled(5)
    with pytest.raises(SystemError):
        compiled(0)


@pytest.mark.parametrize(("fault", "words"), [(RecursionError, "nested too deep"), (MemoryError, "more memory")])
def test_what_uses_up_stack_or_memory_is_ended(fault: type[Exception], words: str) -> None:
    """Where the parts are nested that are put in for one another, whatever the depth of the text."""
    with pytest.raises(UsageError, match=words), bounds.within_budget():
        raise fault


def test_a_formula_of_many_inputs_has_a_domain() -> None:
    """As many choices of regions are tried as for few inputs, and in the same order."""
    made = design(" + ".join(f"x{n}" for n in range(66)) + " + log(x5)", {}, grad=False)
    assert [name for name, region in made.regions.items() if region.low is not None] == ["x5"]
    assert list(itertools.islice(_picks(2), 6)) == [[0, 0], [0, 1], [1, 0], [0, 2], [1, 1], [2, 0]]
