"""Tables of plain text, from wide terminals to narrow ones."""

import pytest

from opkit.cli.columns import columns_text, hanging

HEADINGS = ("op", "inputs", "attributes", "kernel")
ROWS = [("scale_forward", "x, factor", "alpha: float = 0.1\nmode: string = 'same as before'", "missing")]


def shown(width: int, is_coloured: bool = False) -> str:
    """Return the table at a width."""
    return columns_text(ROWS, HEADINGS, width, flexible="attributes", is_coloured=is_coloured)


@pytest.mark.parametrize("width", [40, 48, 56, 64, 72, 100])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_split(width: int) -> None:
    """Every word of the cells stands in the text, and every line fits."""
    text = shown(width)
    assert max(map(len, text.splitlines())) <= width
    assert set(" ".join(" ".join(ROWS[0]).split()).split()) <= set(text.split())


def test_attributes_are_wrapped_first() -> None:
    """At a width that is too small for the attributes in one line, the other cells keep theirs."""
    assert "x, factor" in shown(64).splitlines()[2]
    assert shown(64).splitlines()[3].split() != shown(100).splitlines()[3].split()


def test_too_narrow_for_a_table_is_a_block_per_row() -> None:
    """Where the longest words do not fit beside each other, each cell has a line of its own with its heading."""
    assert shown(40).splitlines()[:2] == ["scale_forward", "  inputs      x, factor"]


def test_what_is_wrong_is_red() -> None:
    """A cell that says `missing` is coloured where colours are wanted, and the columns keep their places."""
    assert "\x1b[1;31mmissing\x1b[0m" in shown(100, is_coloured=True)
    assert "\x1b" not in shown(100)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_text_hangs_beside_its_head_or_under_it(width: int) -> None:
    """No line is wider than the terminal, and in a wide one the text begins in one column."""
    text = "numpy 2.4.0, typer 0.29.2, rich 15.0.0, jinja2 3.1.6, pytest 9.0.2"
    made = hanging("ok   packages     ", text, width).splitlines()
    assert max(map(len, made)) <= width
    assert " ".join(" ".join(made).split()) == f"ok packages {text}"
    assert [len(line) - len(line.lstrip()) for line in made[1:]] == [4 if width == 40 else 18] * (len(made) - 1)
