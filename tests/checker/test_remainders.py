"""Sizes that forward divides, where backward is right only for multiples."""

from __future__ import annotations

from pathlib import Path

import pytest

import opkit
from opkit.checker import Status

HEAD = "import numpy as np\nimport paddle\nfrom paddle.autograd import PyLayer\n\n\n"
TURN = """class Turn(PyLayer):
    @staticmethod
    def forward(ctx, x):
        h = x.shape[-1] // 2
        return paddle.concat([-x[..., h:], x[..., :h]], -1)

    @staticmethod
    def backward(ctx, dy):
        h = dy.shape[-1] // 2
        return paddle.concat([dy[..., h:], -dy[..., :h]], -1)
"""


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("", "", Status.UNDECIDED),
        ("[dy[..., h:], -dy[..., :h]]", "[-dy[..., h:], dy[..., :h]]", Status.FAIL),
        ("dy.shape[-1] // 2", "dy.shape[-1] - dy.shape[-1] // 2", Status.PASS),
    ],
    ids=["wrong for odd sizes", "wrong for all", "right for all"],
)
def test_odd_sizes_are_judged_where_even_ones_are_wrong(tmp_path: Path, old: str, new: str, status: Status) -> None:
    """A half that is cut at size // 2 may be meant for even sizes alone, where backward is right for all of those."""
    path = tmp_path / "layer.py"
    path.write_text(HEAD + TURN.replace(old, new) if old else HEAD + TURN)
    report = opkit.gradcheck([f"{path}::Turn"], jobs=1, replay=False).ops[0]
    assert report.status is status
    if status is Status.UNDECIDED:
        assert any("forward divides a size by 2" in item.message for item in report.checks)
