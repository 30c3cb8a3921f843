"""``opkit plot``: a curve of an elementwise op, matrices of any other, and what its checks ask."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_commands import opkit

LAYERS = """
import paddle
from paddle.autograd import PyLayer


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 2 * x * dy


class Product(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return paddle.matmul(a, b)

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        return paddle.matmul(dy, b.t()), 2 * paddle.matmul(a.t(), dy)


def cases_Product(rng):
    yield {"a": rng.standard_normal((3, 4)), "b": rng.standard_normal((4, 2))}
"""


def test_an_op_that_takes_no_vectors_is_drawn_as_matrices(tmp_path: Path) -> None:
    """Of each input: what is expected, what is given, and their difference, beside a table."""
    (tmp_path / "layers.py").write_text(LAYERS)
    assert opkit(tmp_path, "plot", "layers.py::Product", "--output", "page.html").returncode == 1
    page = (tmp_path / "page.html").read_text()
    assert page.count(">difference</text>") == 2
    assert "The derivative of y (across) by a (down), by element (a 3x4, b 4x2): all agree." in page
    assert "24 of 48 are wrong" in page


def test_an_elementwise_op_is_drawn_as_a_curve(tmp_path: Path) -> None:
    """And every check says what it asks, the confirmation in an ordinary run too."""
    (tmp_path / "layers.py").write_text(LAYERS)
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "They agree everywhere." in " ".join(page.split())
    assert "an ordinary run gives the same results" in page
