"""A check of a file of functions loads no compiler of definitions: whoever has no op directory does not wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.verify import gradcheck

NOTES = """
import sys
def note(where):
    with open("loaded.txt", "a") as file:
        print(where, *sorted(name for name in sys.modules if name.startswith("opkit.spec")), file=file)
note("loading")
"""
CASES = """
def cases(rng):
    yield {"x": rng.normal(size=3).astype("float32")}
"""
FILES = {
    "paddle": """
from paddle.autograd import PyLayer
class Double(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, dy):
        note("checking")
        return 2 * dy
""",
    "torch": """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, dy):
        note("checking")
        return 2 * dy
""",
    "jax": """
import jax
@jax.custom_vjp
def Double(x):
    return 2 * x
def back(kept, dy):
    note("checking")
    return (2 * dy,)
Double.defvjp(lambda x: (2 * x, None), back)
""",
}


@pytest.mark.usefixtures("fresh_interpreters")
@pytest.mark.parametrize("framework", ["paddle", *(pytest.param(name, marks=pytest.mark.peer) for name in ("torch", "jax"))])
@pytest.mark.parametrize("target", ["a.py::Double", "a.py"])
def test_a_check_of_functions_loads_no_compiler_of_definitions(framework: str, target: str, here: Path) -> None:
    """Neither where the file is loaded nor where its function is checked, before and after its cases are drawn."""
    if framework != "paddle":
        pytest.importorskip(framework, reason=f"{framework} is not installed")
    (here / "a.py").write_text(NOTES + FILES[framework] + CASES)
    assert gradcheck(target, effort=0.05).ops[0].status.value == "pass"
    notes = {tuple(line.split()) for line in (here / "loaded.txt").read_text().splitlines()}
    assert {note[0] for note in notes} == {"loading", "checking"}
    assert not {name for note in notes for name in note[1:]}
