"""Tables that modules state as text are read as the values that they work with."""

import pytest

from opkit.tables import by_name, pairs, rows, words


def test_the_last_column_is_the_rest_of_its_line() -> None:
    """Blanks in it stay; blank lines around the table do not count."""
    assert rows("\n  a 1 two words\n  b 2 x\n", 3) == [["a", "1", "two words"], ["b", "2", "x"]]


def test_words_are_parted_by_blanks_and_lines() -> None:
    """In their order."""
    assert words("\n b a\n  c\n") == ("b", "a", "c")


def test_a_word_without_a_second_one_is_an_error() -> None:
    """Pairs are whole."""
    assert pairs("a b\nc d") == {"a": "b", "c": "d"}
    with pytest.raises(ValueError, match="zip"):
        pairs("a b c")


def test_a_value_may_have_several_names() -> None:
    """Each name leads to it."""
    assert by_name({1: "one uno", 2: "two"}) == {"one": 1, "uno": 1, "two": 2}
