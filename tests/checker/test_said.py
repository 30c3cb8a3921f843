"""What docstrings and comments say of how inputs go together."""

from __future__ import annotations

import pytest

from opkit.checker.search.said import says_equal, vectors_in, words_in

EQUAL = [
    "gated, both [tokens, hidden]",
    "quaternions (w, x, y, z), [N, 4] each",
    "a and b have the same shape",
    "Two tensors of equal shape.",
    "All inputs are of shape [N x D]",
]
NOT_EQUAL = [
    "a: [B, D], b: [D]",
    "the gradient has the same shape as a",
    "the gradient\nhas the same shape as b and is\na number",
    "both are used in backward; y[i] is their sum",
    "b is added to a; returns [B, D]",
    "",
]


@pytest.mark.parametrize("words", EQUAL)
def test_words_give_inputs_one_shape(words: str) -> None:
    """A shape for both or each of them, or a line that calls their shapes the same."""
    assert says_equal(words, ("a", "b"))


@pytest.mark.parametrize("words", NOT_EQUAL)
def test_other_words_say_nothing(words: str) -> None:
    """Shapes that differ, and the shape of a result or a gradient."""
    assert not says_equal(words, ("a", "b"))


def test_an_input_is_called_a_vector() -> None:
    """The article is not an input of that name."""
    assert vectors_in("scales x by the vector y", "xy") == {"y"}
    assert vectors_in("a is [N, D], b a vector of weights", "ab") == {"b"}
    assert vectors_in("vectors x and y", "xy") == frozenset()


def test_words_are_comments_and_docstrings() -> None:
    """Not strings of the code; what is no whole statement has none."""
    text = 'def f(a):\n    """Doc."""\n    s = "[B, D]"\n    return a  # note\n'
    assert words_in(text).split() == ["note", "Doc."]
    assert words_in("lambda a: (") == ""
