"""docs/spec-language.md cannot drift: its tables are the compiler's, and its examples do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.spec.reference import with_tables
from tests.spec.texts import compiled, f32

PAGE = Path(__file__).parents[2] / "docs" / "spec-language.md"
EXAMPLES = [block.split("```", 1)[0] for block in PAGE.read_text(encoding="utf-8").split("```cpp\n")[1:]]


def test_the_tables_are_the_compilers() -> None:
    """Run `python -m opkit.spec.reference docs/spec-language.md` when this fails."""
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text) == text


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_does_what_it_says(example: str) -> None:
    """It compiles, infers on a (2, 3) input what its comment says, lists signatures and builds its gradient."""
    result = compiled(example)
    assert not result.diagnostics
    claimed = example.partition("gives ")[2].partition("\n")[0]
    sizes = [tuple(int(n) for n in part.split(")")[0].split(",") if n.strip()) for part in claimed.split("(")[1:]]
    ops = list(result.ops.values())
    for op, wanted in zip(ops, sizes, strict=False):
        assert op.infer({"x": f32(2, 3)})["y"][0].shape == wanted
    for op in ops:
        assert isinstance(op.sbp_signatures({spec.name: f32(2, 3) for spec in op.inputs}), list)
    for grad in result.grads.values():
        assert grad.build({"x": f32(2, 3)}).bindings == {"x_0": "fw_grad/dx_0"}
