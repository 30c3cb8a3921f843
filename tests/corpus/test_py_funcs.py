"""The corpus of py_funcs: in a recorded script right pairs pass and faulty ones are found.

A part of it is judged here: of the right ones a third; of the faults all in which py_func has a part, and of wrong values
one of each class that a run shows or does not show. All with OPKIT_CORPUS=whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.corpus.func_model import Pair
from tests.corpus.layer_verdicts import ACCUSED, BEYOND, LINE, STATE, recorded_pairs
from tests.corpus.py_funcs import FAULTY_PAIRS, PAIRS

#: Faults in what goes in and out, in what is kept between calls, and in what becomes of the incoming gradient.
_OF_PY_FUNC = ("contract", "wiring", "impurity", "dy")
_FIRST = {(row.fault, row.beyond): row for row in reversed(FAULTY_PAIRS.values())}
ROWS = (
    (*PAIRS.values(), *FAULTY_PAIRS.values())
    if os.environ.get("OPKIT_CORPUS") == "whole"
    else (*[*PAIRS.values()][::3], *(row for row in FAULTY_PAIRS.values() if row.fault in _OF_PY_FUNC or row in _FIRST.values()))
)

pytestmark = pytest.mark.xdist_group("py_funcs")


@cache
def verdicts() -> Mapping[str, str]:
    """Return the verdicts on the pairs, from one script."""
    with TemporaryDirectory() as folder:
        return recorded_pairs(ROWS, Path(folder))


def params() -> list[object]:
    """Return one test per pair."""
    return [pytest.param(row, id=row.name) for row in ROWS]


@pytest.mark.parametrize("row", params())
def test_right_and_faulty_py_funcs_are_told_apart(row: Pair) -> None:
    """A right pair passes, a faulty one is accused, or undecided where the run does not show its fault."""
    right = {"pass", LINE} if not row.fault else {BEYOND} if row.beyond else {ACCUSED}
    if row.name in STATE:
        right = {ACCUSED, BEYOND}
    assert verdicts()[row.name] in right, row.why


def test_there_are_enough_py_funcs() -> None:
    """At least 15 right and 25 faulty pairs."""
    assert len(PAIRS) >= 15
    assert len(FAULTY_PAIRS) >= 25
