"""The corpus of PyLayers: right ones pass, faulty ones are found, as ``FILE.py::Name`` and as a script.

A part of it is judged here; all with OPKIT_CORPUS=whole, or by ``python -m tests.campaigns.pylayers``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.corpus.layer_faults import FAULTY
from tests.corpus.layer_model import Layer, as_script
from tests.corpus.layer_verdicts import FORMS, expected, named, recorded
from tests.corpus.layers import LAYERS
from tests.corpus.meant_layers import MEANT
from tests.corpus.mixed_layers import MIXED
from tests.corpus.model import CLASSES
from tests.corpus.not_yet import MAY_BE_UNDECIDED, MAY_BE_UNDECIDED_NAMED, NOT_YET
from tests.corpus.plain_layers import PLAIN

ROWS = (*LAYERS.values(), *FAULTY.values())
#: In ``make test`` every so many-th row of a form is judged: a run of ``FILE.py::Name`` costs more than one of a script.
STRIDES = {"named": 97, "script": 67} if os.environ.get("OPKIT_CORPUS") != "whole" else {"named": 1, "script": 1}
SIZE = 22


def chunks(form: str) -> list[tuple[Layer, ...]]:
    """Return the rows that a form is asked for, in files of SIZE."""
    rows = [row for row in ROWS if form == "script" or row.named][STRIDES[form] - 1 :: STRIDES[form]]
    return [tuple(rows[start : start + SIZE]) for start in range(0, len(rows), SIZE)]


def params() -> list[object]:
    """Return one test per row and form; those of one file run in one process."""
    made: list[object] = []
    for form in FORMS:
        for number, rows in enumerate(chunks(form)):
            for row in rows:
                marks = [pytest.mark.xdist_group(f"pylayers-{form}-{number}")]
                if reason := NOT_YET.get(f"{row.name} {form}"):
                    marks.append(pytest.mark.xfail(reason=reason, strict=True))
                made.append(pytest.param(form, number, row, marks=marks, id=f"{row.name}-{form}"))
    return made


@cache
def verdicts(form: str, number: int) -> Mapping[str, str]:
    """Return the verdicts on one file."""
    with TemporaryDirectory() as folder:
        return (named if form == "named" else recorded)(chunks(form)[number], Path(folder))


@pytest.mark.parametrize(("form", "number", "row"), params())
def test_right_and_faulty_pylayers_are_told_apart(form: str, number: int, row: Layer) -> None:
    """A right PyLayer passes, a faulty one is accused; a script is undecided where it shows no fault itself."""
    assert verdicts(form, number)[row.name] in expected(row, form), row.why


def test_the_corpus_is_large_enough() -> None:
    """Sixty right PyLayers, half without cases, 20 that save intermediates, 10 with options; 90 faulty ones."""
    right = LAYERS.values()
    assert len(right) >= 60
    assert 2 * sum(not row.cases for row in right) >= len(right)
    assert sum("saves" in row.tags for row in right) >= 20
    assert sum("option" in row.tags for row in right) >= 10
    assert len(FAULTY) >= 90
    assert sum(row.beyond for row in FAULTY.values()) >= 30
    # Tensors of Paddle are always contiguous, so no PyLayer can depend on a memory layout.
    assert set(Counter(row.fault for row in FAULTY.values())) | {"shape", "layout"} == set(CLASSES)


def test_names_are_unique_and_texts_compile() -> None:
    """Each row is a file of its own, and no two rows share a name."""
    assert len({row.name for row in ROWS}) == len(ROWS) == len(LAYERS) + len(FAULTY)
    for row in ROWS:
        compile(as_script(row), row.name, "exec")


def test_a_faulty_row_differs_from_its_origin() -> None:
    """No planted fault leaves the source of a right PyLayer as it was."""
    texts = {row.text().replace(row.name, "NAME") for row in LAYERS.values()}
    assert not [row.name for row in FAULTY.values() if row.text().replace(row.name, "NAME") in texts]


def test_few_right_scripts_may_be_undecided() -> None:
    """At most a tenth of the right PyLayers may be undecided as a script, and each is a right one."""
    assert 10 * len(MAY_BE_UNDECIDED) <= len(LAYERS)
    assert set(LAYERS) >= MAY_BE_UNDECIDED


def test_only_rows_without_cases_may_be_undecided_by_name() -> None:
    """Where cases say which shapes are meant, a right PyLayer passes; without them five of six do."""
    assert set(PLAIN) | set(MEANT) | set(MIXED) >= MAY_BE_UNDECIDED_NAMED
    assert 6 * len(MAY_BE_UNDECIDED_NAMED) <= len(PLAIN) + len(MEANT) + len(MIXED)


def test_what_is_not_yet_told_apart_is_in_the_corpus() -> None:
    """Every entry of NOT_YET names a row and a form."""
    known = {f"{row.name} {form}" for row in ROWS for form in FORMS if form == "script" or row.named}
    assert set(NOT_YET) <= known
