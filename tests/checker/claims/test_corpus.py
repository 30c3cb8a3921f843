"""The prover on the corpus: false claims are refuted, right ones are not, and what is not claimed is found."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from opkit.checker import OpReport, Status
from tests.corpus.sbp.model import Op, claims_of, proved
from tests.corpus.sbp.right import RIGHT
from tests.corpus.sbp.wrong import WRONG

#: ``make test`` takes some of each kind; all with OPKIT_CORPUS=whole.
_IS_WHOLE = os.environ.get("OPKIT_CORPUS") == "whole"
RIGHT_ROWS = RIGHT if _IS_WHOLE else RIGHT[::3]
WRONG_ROWS = WRONG if _IS_WHOLE else tuple(op for number, op in enumerate(WRONG) if number % 6 in (0, 3))


def named(ops: tuple[Op, ...]) -> list[str]:
    return [op.name for op in ops]


def suggested(report: OpReport) -> set[str]:
    """The signatures of forward that the report suggests."""
    said = [item.message for item in report.checks if item.code == "SBP210" and "_backward:" not in item.message]
    return {text.partition("could also be ")[2].partition(";")[0].partition(" where ")[0] for text in said}


def held(report: OpReport) -> set[str]:
    """The signatures of forward that were proved."""
    said = [item.message for item in report.checks if item.code == "SBP201" and item.status is Status.PASS]
    return {text.partition(" holds on ")[0] for text in said if "_backward:" not in text}


def test_the_corpus_has_the_ops_that_it_promises() -> None:
    """At least 40 right ones, and 60 false claims of ten kinds."""
    assert len(RIGHT) >= 40
    kinds = Counter(op.kind for op in WRONG)
    assert len(kinds) == 10
    assert set(kinds.values()) == {6}


@pytest.mark.parametrize("op", RIGHT_ROWS, ids=named(RIGHT_ROWS))
def test_a_right_op_passes_and_gets_no_suggestion(op: Op, tmp_path: Path) -> None:
    """Every signature is proved, on uneven shards too, and none is missing."""
    report = proved(op, tmp_path)
    assert [item.message for item in report.checks if item.status is not Status.PASS or item.code == "SBP210"] == []
    assert held(report)
    assert {item.code for item in report.checks} == {"SBP201"}


#: Ops whose signatures do not depend on an attribute: a suggestion holds whatever the attributes are.
BARE = tuple(op for op in RIGHT if not op.backward and op.name != "by_axis")[::8]


@pytest.mark.parametrize("op", BARE, ids=named(BARE))
def test_what_is_not_claimed_is_suggested(op: Op, tmp_path: Path) -> None:
    """Of an op without claims, exactly those are suggested that the right op makes."""
    claimed = held(proved(op, tmp_path / "full"))
    report = proved(op, tmp_path / "bare", claims="")
    assert suggested(report) == claimed
    assert any("claims no signature" in note for note in report.notes)
    assert report.status is Status.PASS


@pytest.mark.parametrize("op", WRONG_ROWS, ids=named(WRONG_ROWS))
def test_a_false_claim_is_refuted(op: Op, tmp_path: Path) -> None:
    """With a case, and at a place in the definition."""
    report = proved(op, tmp_path)
    assert report.status is Status.FAIL
    for item in report.findings:
        assert item.code.startswith("SBP20")
        assert item.where is not None
        assert item.where.line
        assert item.where.col
        assert item.where.file.endswith("_cpp_def.cpp")


def test_the_place_is_the_call_that_cuts(tmp_path: Path) -> None:
    """Of the first input that is cut."""
    op = next(op for op in WRONG if op.name == "w_softmax")
    (finding,) = proved(op, tmp_path).findings
    assert finding.where is not None
    line = Path(finding.where.file).read_text().splitlines()[finding.where.line - 1]
    assert line[finding.where.col - 1 :].startswith('Split(user_op::OpArg("x", 0), 1)')


def test_the_line_to_add_makes_the_suggestion_a_proved_claim(tmp_path: Path) -> None:
    """Of an op whose signatures depend on the number of axes, so that some lines have a condition."""
    op = next(op for op in RIGHT if op.name == "tanh")
    bare = Op(op.name, op.kernel, "", shape=op.shape, dtype=op.dtype)
    lines = [item.hint for item in proved(bare, tmp_path / "bare").checks if item.code == "SBP210"]
    assert any(line.startswith("if (") for line in lines)
    report = proved(bare, tmp_path / "full", claims="\n".join(lines))
    assert not report.findings
    assert suggested(report) == set()
    assert claims_of("\n".join(lines), ("x", "y"))


def test_a_line_says_whether_an_optional_input_is_given(tmp_path: Path) -> None:
    """So that it may stand beside lines for the other case."""
    op = next(op for op in RIGHT if op.name == "optional_bias")
    lines = [item.hint for item in proved(op, tmp_path / "bare", claims="").checks if item.code == "SBP210"]
    assert all('has_input("w", 0)) ctx->' in line for line in lines)
    report = proved(op, tmp_path / "full", claims="\n".join(lines))
    assert not report.findings
    assert suggested(report) == set()
