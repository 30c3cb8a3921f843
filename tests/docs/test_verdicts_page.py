"""The page of the measure shows what was measured, and the measure runs on the code as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.compared.table import Entry
from benchmarks.verdicts.picture import picture
from benchmarks.verdicts.score import Count, Score, scores_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verdicts.md"


def test_the_tables_are_those_of_the_sums() -> None:
    """Each is made from ``docs/verdicts.json``, with what each checker is not made for below it."""
    text = PAGE.read_text(encoding="utf-8")
    for item in json.loads(PAGE.with_name("verdicts.json").read_text(encoding="utf-8"))["scores"]:
        sides = ({name: {who: Count(*pair) for who, pair in group.items()} for name, group in item[side].items()} for side in ("faults", "right"))
        score = Score(item["kind"], list(item["seconds"]), *sides, item["seconds"])
        assert score.markdown() in text
        assert all(f"- {who}: " in text for who in score.checkers)


def test_the_picture_has_values_for_its_colours() -> None:
    """Light and dark: few readers of SVG but browsers know variables."""
    drawn = picture([Score("torch", ["opkit"], {}, {}, {"opkit": 1.0})])
    assert "var(" not in drawn
    assert {"#18794e", "#4cc38a"} <= set(re.findall(r"#\w+", drawn))


def accused(entries: list[Entry]) -> tuple[Count, Count]:
    """Return what opkit accused, of the faulty and of the right ones."""
    (score,) = scores_of("all", entries)
    return score.total(score.faults, "opkit"), score.total(score.right, "opkit")


def test_op_directories_are_measured() -> None:
    """With no peer installed opkit alone."""
    from benchmarks.compared.directories import compared

    assert accused(compared(frozenset({"reciprocal"})).entries) == (Count(1, 1), Count(0, 1))


@pytest.mark.peer
@pytest.mark.parametrize(
    ("framework", "faulty", "right"), [("torch", "MishSign", "ShapesOnContext"), ("jax", "sin_sign", "swish")]
)
def test_functions_are_measured(framework: str, faulty: str, right: str) -> None:
    """Beside the checkers of their own framework, all of which accuse a wrong sign."""
    pytest.importorskip(framework)
    from importlib import import_module

    module = import_module(f"benchmarks.compared.{framework}_functions")
    entries = module.compared(frozenset({faulty, right})).entries
    assert accused(entries) == (Count(1, 1), Count(0, 1))
    assert all(item.is_accused for item in entries if item.is_faulty and item.is_accused is not None)
