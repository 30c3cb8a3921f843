"""Whole scripts as users write them, unchanged under opkit: what they print is what they printed under Paddle 2.6.2.

``data/scripts/NAME.paddle262`` holds Paddle's output; numbers may differ by the rounding that training adds up.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path

import pytest

import opkit
from opkit.static import disable_static
from opkit.static.names import guard_names
from tests.paddle.test_semantics import _NUMBER
from tests.paddle.under_paddle import paddle_python, printed

SCRIPTS = sorted(Path(__file__).with_name("data").joinpath("scripts").glob("*.py"))


def agree(expected: str, got: str) -> bool:
    """Say whether two lines are the same text with numbers that are close."""
    shapes = [re.sub(r"\s+", "", _NUMBER.sub("#", text)) for text in (expected, got)]
    if shapes[0] != shapes[1]:
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(got), strict=True)
    return all(a == b or math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=2e-4) for a, b in pairs)


def differing(expected: str, got: str) -> list[tuple[str, str]]:
    """Return the pairs of lines that do not agree; a missing line is an empty one."""
    first, second = expected.splitlines(), got.splitlines()
    length = max(len(first), len(second))
    pairs = zip(first + [""] * (length - len(first)), second + [""] * (length - len(second)))
    return [(a, b) for a, b in pairs if not agree(a, b)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_what_it_printed_under_paddle(script: Path) -> None:
    """Line by line the same text, numbers close."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), guard_names():
            opkit.run_script(script)
    finally:
        disable_static()
    expected = script.with_suffix(".paddle262").read_text("utf-8")
    assert expected.strip()
    assert differing(expected, said.getvalue()) == []


def test_a_wrong_number_is_seen() -> None:
    """The comparison is not blind: a changed number, word or line differs."""
    assert differing("loss 0.5100", "loss 0.5101") == []
    assert differing("loss 0.51", "loss 0.52") != []
    assert differing("loss 0.51", "lost 0.51") != []
    assert differing("loss 0.51", "loss 0.51\nmore") != []


@pytest.mark.peer
@pytest.mark.skipif(paddle_python() is None, reason="no Paddle here: set OPKIT_PADDLE_PYTHON to an interpreter with it")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_checked_in_output_is_what_paddle_prints(script: Path) -> None:
    """The checked-in output is Paddle's, run again now."""
    assert differing(script.with_suffix(".paddle262").read_text("utf-8"), printed(script)) == []
