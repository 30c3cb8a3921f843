"""The corpus: right ops pass, each planted fault is found, and there is enough of both.

A part of it is judged here: some faults of each class, and of the right ops a third, half of the tricky ones. All with
OPKIT_CORPUS=whole. That each check finds what it is for is shown by tests/checker/test_checks.py, one op for each code.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from opkit.checker import Status
from tests.corpus.loading import report_of
from tests.corpus.model import CLASSES, Mutant, Op
from tests.corpus.mutants import MUTANTS
from tests.corpus.ops import OPS

_BAD = (Status.FAIL, Status.ERROR)
#: Wrong only outside the class that all values of the cases file share, here rows of one sum: a line says so (rule 1).
_OUTSIDE = frozenset({"divergence: one left out"})
_IS_WHOLE = os.environ.get("OPKIT_CORPUS") == "whole"
_BY_CLASS = [[mutant for mutant in MUTANTS if mutant.fault == fault] for fault in CLASSES]
MUTANT_ROWS = MUTANTS if _IS_WHOLE else [mutant for rows in _BY_CLASS for mutant in rows[::4]]
_TRICKY, _PLAIN = ([op for op in OPS.values() if op.tricky is tricky] for tricky in (True, False))
OP_ROWS = [*_TRICKY, *_PLAIN] if _IS_WHOLE else [*_TRICKY[::2], *_PLAIN[::3]]


def test_the_corpus_is_large_enough() -> None:
    """At least 60 right ops, 20 of them tricky, and 120 faults over all thirteen classes."""
    assert len(OPS) >= 60
    assert sum(op.tricky for op in OPS.values()) >= 20
    assert len(MUTANTS) >= 120
    assert set(Counter(mutant.fault for mutant in MUTANTS)) == set(CLASSES)


@pytest.mark.parametrize("op", OP_ROWS, ids=lambda op: op.name)
def test_a_right_op_passes(op: Op, tmp_path: Path) -> None:
    """No check accuses a right op, and none is left undecided."""
    report = report_of(op, tmp_path)
    assert report is not None, "the directory does not build"
    assert report.status is Status.PASS, [(item.code, item.message) for item in report.checks if item.message]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANT_ROWS, ids=lambda mutant: mutant.label)
def test_a_planted_fault_is_found(mutant: Mutant, tmp_path: Path) -> None:
    """The op with one fault in it is accused (or does not even build); what leaves a declared class is a line."""
    report = report_of(OPS[mutant.op], tmp_path, mutant)
    if mutant.label in _OUTSIDE:
        assert report is not None
        assert any("in all inputs given" in note for note in report.notes)
    else:
        assert report is None or report.status in _BAD
