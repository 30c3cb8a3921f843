"""Suppositions: a gradient that holds on the values that it may be written for is undecided, a wrong one fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.checker import Arg, Attr, Checkable, OpReport, Options, Status, check
from opkit.checker.model.supposition import Supposition

BITS = Supposition(
    "labels are 0 and 1", lambda inputs: {**inputs, "t": (inputs["t"] > 0).astype(inputs["t"].dtype)}, "t"
)
OPTIONS = Options(effort=0.05, select=frozenset({"GC101"}))


def checked(factor: float, *suppositions: Supposition, forgets: bool = False) -> OpReport:
    """Check k * x * t**2, of which backward says k * ``factor`` * t, perhaps without k: that is right for labels alone."""

    def backward(
        inputs: Mapping[str, Any], outputs: Any, douts: Any, attrs: Any, needs: frozenset[str]
    ) -> dict[str, Any]:
        return {"x": douts[0] * factor * inputs["t"] * (1.0 if forgets else attrs["k"])}

    made = Checkable(
        name="labelled",
        inputs=(Arg("x"), Arg("t")),
        outputs=(Arg("y"),),
        forward=lambda inputs, attrs: [attrs["k"] * inputs["x"] * inputs["t"] * inputs["t"]],
        attrs=(Attr("k", "float", 1.0),),
        backward=backward,
        gradients=frozenset({"x"}),
        suppositions=suppositions,
    )
    return check(made, OPTIONS)


def test_what_holds_on_a_supposition_is_undecided() -> None:
    """The message says where it holds, and what to do."""
    report = checked(1.0, BITS)
    assert report.status is Status.UNDECIDED
    (found,) = [item for item in report.checks if item.status is Status.UNDECIDED]
    assert "it holds where labels are 0 and 1: if that is meant, raise in forward elsewhere" in found.message
    assert found.beyond


def test_what_fails_there_too_fails() -> None:
    """A supposition excuses no other mistake."""
    assert checked(1.5, BITS).status is Status.FAIL


def test_what_fails_there_at_another_setting_fails() -> None:
    """A supposition has to hold at each setting of the options that was tried, not at the first alone."""
    assert checked(1.0, BITS, forgets=True).status is Status.FAIL


def test_without_a_supposition_it_fails() -> None:
    """Nothing says then that other values are not meant."""
    assert checked(1.0).status is Status.FAIL


def test_a_function_that_cannot_be_meant_so_is_not_excused() -> None:
    """Whether forward fits the supposition is asked first."""
    assert checked(1.0, Supposition(BITS.text, BITS.change, "t", lambda case: False)).status is Status.FAIL


def test_the_gradient_of_the_input_itself_is_not_excused() -> None:
    """What a symmetric matrix may hide in its own gradient is the most usual mistake."""
    assert checked(1.0, Supposition(BITS.text, BITS.change, "x")).status is Status.FAIL


def test_another_kind_of_failure_is_not_excused() -> None:
    """Values may explain a wrong derivative, never what is kept between calls or written."""
    assert checked(1.0, Supposition(BITS.text, BITS.change, "t", excuses=frozenset({"GC105"}))).status is Status.FAIL
