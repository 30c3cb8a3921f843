"""What opkit says of names that do not exist."""

import pytest

from opkit.errors import Location, UsageError, did_you_mean, unknown


def test_an_unknown_name_brings_the_nearest_known_one() -> None:
    """The message names what is missing, the help line the nearest that there is."""
    said = unknown("op 'scale' has no attribute", "alhpa", ["beta", "alpha"])
    assert (said.message, said.help) == ("op 'scale' has no attribute 'alhpa'", "did you mean 'alpha'?")


def test_the_beginning_of_a_name_brings_the_name() -> None:
    assert unknown("there is no kind", "norm", ["matmul", "normalization"]).help == "did you mean 'normalization'?"


def test_a_letter_that_looks_like_a_digit_is_read_as_one() -> None:
    assert unknown("no check", "GC1O1", ["GC191", "GC101"]).help == "did you mean 'GC101'?"


def test_a_name_is_never_offered_for_itself() -> None:
    """A name that the known names hold is passed over, in its own spelling alone."""
    assert unknown("no op", "scale", ["scale", "scaled"]).help == "did you mean 'scaled'?"
    assert unknown("no op", "scale", ["scale"]).help == ""
    assert unknown("no op", "scale", ["Scale"]).help == "did you mean 'Scale'?"


def test_without_a_near_name_the_next_step_is_offered() -> None:
    """``otherwise`` is the help line where nothing known looks alike."""
    assert unknown("no op", "scale", ["relu"], otherwise="see the list").help == "see the list"


def test_a_prefix_stands_before_every_name() -> None:
    """The missing name and the offered ones are shown as users write them."""
    said = unknown("opkit has no", "addd", ["add", "addn"], prefix="flow.math.", limit=2)
    assert str(said) == "opkit has no flow.math.addd; did you mean flow.math.add or flow.math.addn?"


def test_known_names_are_listed_in_their_order() -> None:
    """``has`` lists what there is after the name and its tail."""
    assert unknown("no kind", 3, ["b", "a"], tail=" here", has="there are").message == "no kind 3 here (there are b, a)"
    assert unknown("no kind", "x", [], has="there are").message == "no kind 'x' (there are none)"


@pytest.mark.parametrize(
    ("names", "text"), [((), ""), (("a",), "did you mean 'a'?"), (("a", "b"), "did you mean 'a' or 'b'?")]
)
def test_the_question_of_names(names: tuple[str, ...], text: str) -> None:
    """No names, no question; two are joined by a word."""
    assert did_you_mean(names) == text


def test_the_error_keeps_the_place() -> None:
    """An error made of it has the message, the help line and the place as fields."""
    error = unknown("no op", "reul", ["relu"]).error(UsageError, Location("f.py", 3))
    assert (type(error), error.where, error.help) == (UsageError, Location("f.py", 3), "did you mean 'relu'?")
