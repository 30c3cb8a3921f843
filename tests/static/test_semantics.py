"""Scripts whose output under Paddle 2.6.2 is checked in, run under opkit: fact by fact the same, but for a list."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import opkit
from opkit import ops, static
from tests.paddle.test_semantics import agree, facts
from tests.paddle.under_paddle import paddle_python, printed

DATA = Path(__file__).with_name("data")
SCRIPTS = ["py_func", "training", "unknown_sizes"]

#: Facts that differ on purpose: label -> why. docs/paddle-differences.md speaks of each.
DIFFERENCES = {
    "py_func": {
        "S10 callable": "callables of any kind work",
        "S10 method": "callables of any kind work",
        "S10 ufunc": "callables of any kind work",
        "S10 default": "callables of any kind work",
        "S3 str skip": "a name instead of a Variable is a TypeError",
    },
    "unknown_sizes": {},
    "training": {
        "double": "gradients of gradients of all built-in ops",
    },
}


@pytest.fixture(params=SCRIPTS)
def script(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """Each script's name, and its facts under opkit."""
    static.disable_static()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        opkit.run_script(DATA / f"{request.param}.py")
    return request.param, facts(said.getvalue())


def test_facts_are_paddles(script: tuple[str, dict[str, str]]) -> None:
    """What a script prints under opkit is what it printed under Paddle 2.6.2, and the listed differences are real."""
    name, got = script
    expected = facts((DATA / f"{name}.paddle262").read_text("utf-8"))
    assert len(expected) > 20
    different = {
        label: (value, got.get(label))
        for label, value in expected.items()
        if not (label in got and agree(value, got[label]))
    }
    assert {label: pair for label, pair in different.items() if label not in DIFFERENCES[name]} == {}
    assert [label for label in DIFFERENCES[name] if label not in different] == []


def test_a_run_that_is_observed_has_the_sizes_of_its_results() -> None:
    """What runs op by op from the start, as under a profile, finds what Paddle does too."""
    static.disable_static()
    said = io.StringIO()
    with contextlib.redirect_stdout(said), ops.observe(lambda *shown: None):
        opkit.run_script(DATA / "unknown_sizes.py")
    got = facts(said.getvalue())
    expected = facts((DATA / "unknown_sizes.paddle262").read_text("utf-8"))
    assert [label for label, value in expected.items() if not agree(value, got[label])] == []


@pytest.mark.peer
@pytest.mark.skipif(paddle_python() is None, reason="no Paddle here: set OPKIT_PADDLE_PYTHON to an interpreter with it")
@pytest.mark.parametrize("name", SCRIPTS)
def test_checked_in_facts_are_what_paddle_prints(name: str) -> None:
    """The checked-in output is Paddle's, run again now."""
    now = facts(re.sub(r"( !! \w+),.*", r"\1", printed(DATA / f"{name}.py")))
    expected = facts((DATA / f"{name}.paddle262").read_text("utf-8"))
    assert {label for label, value in expected.items() if not agree(now[label], value)} == set()
