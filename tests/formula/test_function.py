"""A numpy function read as a formula."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.formula import read_function


def source(tmp_path: Path, text: str) -> Path:
    """Write a file."""
    path = tmp_path / "ops.py"
    path.write_text(text)
    return path


def test_parameters_with_a_default_are_attributes(tmp_path: Path) -> None:
    """The others are inputs, in order."""
    found = read_function(source(tmp_path, "def f(x, t, beta=1.5, n=2):\n    return beta * x**n - t\n"), "f")
    assert found.inputs == ["x", "t"]
    assert found.attrs == ["beta:float=1.5", "n:int=2"]
    assert found.text == "y = beta * x ** n - t"


def test_assignments_and_names_of_results_are_kept(tmp_path: Path) -> None:
    """What the function returns by name is an output of that name."""
    found = read_function(source(tmp_path, 'def f(x):\n    """Doc."""\n    a = x * 2\n    b = a + x\n    return a, b\n'), "f")
    assert found.outputs == ["a", "b"]
    assert found.text == "a = x * 2\nb = a + x"


def test_the_file_is_not_run(tmp_path: Path) -> None:
    """Reading a function executes nothing."""
    read_function(source(tmp_path, "raise SystemExit(3)\ndef f(x):\n    return x\n"), "f")


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("def f(x):\n    return x\n", "g", "it has f"),
        ("def f(x):\n    for i in x:\n        pass\n    return x\n", "f", "ops.py:2"),
        ("def f(*x):\n    return x\n", "f", "fixed list of inputs"),
        ("def f(x, mode='a'):\n    return x\n", "f", "must be a number"),
        ("def f(x):\n    y = x\n", "f", "must return"),
        ("def f(x:\n", "f", "is not Python"),
    ],
)
def test_refusals_say_where(tmp_path: Path, text: str, name: str, words: str) -> None:
    """What is not a formula is refused with its place."""
    with pytest.raises(UsageError) as caught:
        read_function(source(tmp_path, text), name)
    assert words in str(caught.value)
