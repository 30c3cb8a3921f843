"""Functions whose authors had not read the checker: a part of them; all by ``python -m tests.campaigns.first_contact``."""

from __future__ import annotations

from pathlib import Path

import pytest

import opkit
from tests.corpus.first_contact import First, functions_of, outcome
from tests.corpus.words import reworded

#: Right and faulty ones of all folders that take seconds: attention and its like take half a minute each.
_NAMES = ("Haar", "BetaSoftplus", "HardGate", "ParametricRelu", "masked_fill_mean", "SquaredHinge")
_ROWS = [row for row in functions_of("pylayer") if row.name in _NAMES and not row.is_letter and row.path.parent.name != "later"]
_GOOD = {"right": {"pass", "pass with a line"}, "faulty": {"fail"}, "surrogate": {"undecided"}}


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.name)
def test_what_is_right_and_what_is_wrong_is_told_apart_whatever_it_is_called(row: First, tmp_path: Path) -> None:
    """With its own names and words, and with others that mislead."""
    other = f"{reworded(row.path, tmp_path)}::{row.name}"
    found = [outcome(op) for op in opkit.gradcheck([row.target, other], jobs=1, replay=False).ops]
    assert found[0] in _GOOD[row.kind]
    assert found[1] == found[0]
