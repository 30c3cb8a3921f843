"""``opkit plot``: a curve of an elementwise op, matrices of any other, and what its checks ask."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from opkit.cli.app import application
from opkit.reporters.figures import Curve, Matrices, figure_of
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
    assert "The derivative of y (across) by a (down), by element (a of shape [3, 4], b of shape [4, 2]): all agree at this size." in page
    assert "24 of 48 are wrong" in page
    assert "<h1>plot</h1>" in page


def test_of_the_difference_what_agrees_is_grey() -> None:
    """Rounding had the colour of a small difference, which is that of what is wrong."""
    expected = np.array([[1.0, -1.0, np.nan]])
    svg = figure_of(Matrices("x", "y", expected, np.add(expected, [[5e-12, 0.5, 0.0]]), np.array([[False, True, False]]))).svg
    kinds = re.findall(r'<rect class="([^"]*)"', svg)
    assert kinds[:3] == ["up", "down", "down"]
    assert kinds[-3:] == ["zero", "up framed", "down"]


def test_a_matrix_that_is_cut_says_so(tmp_path: Path) -> None:
    """Twelve elements of each side are drawn."""
    (tmp_path / "layers.py").write_text(LAYERS.replace("(3, 4)", "(4, 4)").replace("(4, 2)", "(4, 4)"))
    assert opkit(tmp_path, "plot", "layers.py::Product", "--output", "page.html").returncode == 1
    page = (tmp_path / "page.html").read_text()
    assert "b of shape [4, 4]; the first 12 x 12 of 16 x 16 elements): 36 of 144 are wrong" in page


def test_a_picture_of_its_own_has_colours_that_every_reader_knows(tmp_path: Path) -> None:
    """Without cases, empty arrays among those found: a wrong gradient is drawn. CairoSVG and librsvg know no variables."""
    (tmp_path / "layers.py").write_text(LAYERS.partition("def cases_")[0])
    assert opkit(tmp_path, "plot", "layers.py::Product", "--output", "x.svg").returncode == 1
    style = (tmp_path / "x.svg").read_text().partition("</style>")[0]
    assert "var(" not in style
    assert ".up { fill: #0b68cb; }" in style.partition("@media")[0]
    assert ".up { fill: #6fb3ff; }" in style.partition("@media")[2]


def test_an_elementwise_op_is_drawn_as_a_curve(tmp_path: Path) -> None:
    """And every check says what it asks, the confirmation in an ordinary run too."""
    (tmp_path / "layers.py").write_text(LAYERS)
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "They agree." in " ".join(page.split())
    assert "an ordinary run gives the same results" in page


def test_a_page_that_is_replaced_is_named(tmp_path: Path) -> None:
    """Not the first time."""
    (tmp_path / "layers.py").write_text(LAYERS)
    said = [opkit(tmp_path, "plot", "layers.py::Square", "--effort", "0.1").stderr for _ in range(2)]
    assert ["the opkit-plot.html that was there is replaced" in text for text in said] == [False, True]


def test_the_slopes_of_a_kink_are_both_right(tmp_path: Path) -> None:
    """Hard swish has a kink at -3, one of the points that are drawn."""
    kink = LAYERS.replace("return x * x", "return x * paddle.clip(x + 3, 0, 6) / 6").replace(
        "return 2 * x * dy", "return dy * paddle.where(x < -3, 0 * x, paddle.where(x <= 3, (2 * x + 3) / 6, 0 * x + 1))"
    )
    (tmp_path / "layers.py").write_text(kink)
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html").returncode == 0
    assert "They agree." in " ".join((tmp_path / "page.html").read_text().split())


def test_matrices_are_of_the_case_that_is_wrong(tmp_path: Path) -> None:
    """A mean that lacks its 1/N is right for one element, the smallest of the cases."""
    mean = LAYERS.replace("return x * x", "return paddle.mean(x)").replace("return 2 * x * dy", "return dy * paddle.ones_like(x)")
    (tmp_path / "layers.py").write_text(
        mean + "\n\ndef cases_Square(rng):\n    yield {'x': rng.standard_normal((3, 4))}\n    yield {'x': rng.standard_normal((2, 1))}\n"
        "    yield {'x': rng.standard_normal((1, 1))}\n"
    )
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "x.svg").returncode == 1
    assert "(x of shape [3, 4]): 12 of 12 are wrong" in (tmp_path / "x.svg").read_text()


def test_a_curve_reaches_what_is_wrong(tmp_path: Path) -> None:
    """A gradient that is wrong beyond 6 alone was drawn from -6 to 6, and said to agree everywhere."""
    (tmp_path / "layers.py").write_text(
        "import paddle\nfrom paddle.autograd import PyLayer\n\n\nclass Relu6(PyLayer):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return paddle.clip(x, 0, 6)\n\n    @staticmethod\n"
        "    def backward(ctx, dy):\n        (x,) = ctx.saved_tensor()\n        return dy * (x > 0).astype(x.dtype)\n"
    )
    assert opkit(tmp_path, "plot", "layers.py::Relu6", "--output", "page.html").returncode == 1
    assert "They differ where it is shaded: about 6." in " ".join((tmp_path / "page.html").read_text().split())


def test_a_curve_has_the_options_of_what_is_wrong(tmp_path: Path) -> None:
    """Right with the default, which would be drawn as agreeing beside a failure."""
    text = LAYERS.split("class Product")[0].replace("ctx, x)", "ctx, x, scale=1.0)").replace("x * x", "scale * x * x")
    (tmp_path / "layers.py").write_text(text)
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html").returncode == 1
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"y over x \(scale = (?!1\))", page)
    assert "They differ where it is shaded" in page


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    """Without an op no page is written; a page without a picture says so."""
    (tmp_path / "empty").mkdir()
    assert opkit(tmp_path, "plot", "empty", "--output", "page.html").returncode == 5
    assert not (tmp_path / "page.html").exists()
    (tmp_path / "layers.py").write_text(LAYERS.replace("return x * x", "return missing"))
    done = opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html")
    assert done.returncode == 1
    assert "nothing could be drawn: the page has the findings alone" in done.stderr


def test_of_an_interrupted_check_no_page_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is written, so that none is to be opened."""

    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opkit.cli.checking.run_targets", interrupted)
    result = CliRunner().invoke(application(), ["plot"])
    assert result.exit_code == 130
    assert "opkit-plot.html" not in result.output
    assert not Path("opkit-plot.html").exists()


def test_rounding_is_not_drawn() -> None:
    """A constant derivative is a line with its value, not the noise of differences; zero is written as 0; a point as a point."""
    x = np.linspace(-1.0, 1.0, 5)
    noise = 1 + 1e-10 * np.array([1, -1, 1, -1, 1])
    figure = figure_of(Curve("x", "y", x, x + 1e-17, np.ones(5), noise, x == 0))
    assert figure.caption.endswith("They differ where it is shaded: at 0.")
    ticks = re.findall(r'text-anchor="end"[^>]*>([^<]*)<', figure.svg)
    assert ticks == ["-1", "-0.5", "0", "0.5", "1", "1"]
    cells = Matrices("x", "y", *[np.full((8, 8), -0.040812)] * 2, np.zeros((8, 8), bool))
    assert max(map(len, re.findall(r'class="value"[^>]*>([^<]*)<', figure_of(cells).svg))) == 6  # of its 44 pixels
    column = Matrices("x", "y", np.ones((2, 1)), np.ones((2, 1)), np.zeros((2, 1), bool))
    (width,) = re.findall(r'<svg[^>]* width="(\d+)"', figure_of(column).svg)
    assert int(width) >= 280  # its title fits


def test_beside_a_picture_alone_the_report_is_printed(tmp_path: Path) -> None:
    """As it is with a page, and the status is that of the check."""
    (tmp_path / "layers.py").write_text(LAYERS)
    done = opkit(tmp_path, "plot", "layers.py::Product", "--output", "a.svg")
    assert (done.returncode, done.stdout.endswith("a.svg\n")) == (1, True)
    assert "FAIL" in done.stdout
    assert "24 of 48 are wrong" in (tmp_path / "a.svg").read_text()


def test_a_flag_wins_over_the_configuration(tmp_path: Path) -> None:
    """Which `opkit plot` reads as `opkit gradcheck` does."""
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "pyproject.toml").write_text("[tool.opkit]\nseed = 3\neffort = 0.1\n")
    done = opkit(tmp_path, "plot", "layers.py::Square", "--seed", "5", "--output", "a.svg")
    assert "seed 5" in done.stdout


def drawn(folder: Path, forward: str, backward: str, cases: str, parameters: str = "a, b") -> str:
    """Return the page of a PyLayer that saves its arguments, its words without line breaks."""
    (folder / "layers.py").write_text(
        f"import paddle\nfrom paddle.autograd import PyLayer\n\n\nclass Op(PyLayer):\n    @staticmethod\n    def forward(ctx, {parameters}):\n"
        f"        ctx.save_for_backward({parameters})\n        return {forward}\n\n    @staticmethod\n    def backward(ctx, dy):\n"
        f"        {parameters}{',' * (parameters == 'a')} = ctx.saved_tensor()\n        return {backward}\n\n\ndef cases(rng):\n    {cases}\n"
    )
    assert opkit(folder, "plot", "layers.py::Op", "--output", "page.html").returncode in (0, 1)
    return " ".join((folder / "page.html").read_text().split())


def test_a_function_of_rows_is_no_curve(tmp_path: Path) -> None:
    """Distances between the rows of two matrices: of vectors each would depend on one element alone."""
    page = drawn(
        tmp_path,
        "((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(-1)",
        "(2 * dy.unsqueeze(-1) * (a.unsqueeze(1) - b.unsqueeze(0))).sum(1), (-2 * dy.unsqueeze(-1) * (a.unsqueeze(1) - b.unsqueeze(0))).sum(0)",
        "yield {'a': rng.standard_normal((3, 3)), 'b': rng.standard_normal((3, 3))}",
    )
    assert "Above:" not in page
    assert "The derivative of y (across) by a (down)" in page


def test_where_a_gradient_is_nan_the_place_is_marked(tmp_path: Path) -> None:
    """One point between those of the curve; the picture of its slopes has no dashed line, and none is spoken of."""
    case = "x = 0.1 + rng.random(5); x[2] = 0.0; x[3] = -1.0; yield {'a': x}"
    page = drawn(tmp_path, "paddle.sqrt(a * a)", "dy * a / paddle.sqrt(a * a)", case, "a")
    assert "They differ where it is shaded: at 0." in page
    assert ">dashed</span>" not in page
    assert "the gradient that backward gives is nan." in page


def test_where_a_slope_jumps_its_line_is_broken(tmp_path: Path) -> None:
    """At -0.5 and 0.5, not where it is steep; forward's line goes on."""
    (tmp_path / "layers.py").write_text(
        LAYERS.replace("return x * x", "return x.abs().clip(min=0.5)").replace("2 * x * dy", "dy * x.sign() * (x.abs() > 0.5).astype(x.dtype)")
    )
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "x.svg").returncode == 0
    lines = re.findall(r'<polyline class="(\w+)" points="([^"]*) ', (tmp_path / "x.svg").read_text())
    assert [name for name, _ in lines].count("given") == 3
    assert [name for name, _ in lines].count("value") == 1


def test_a_function_that_is_flat_somewhere_is_a_curve(tmp_path: Path) -> None:
    """In the middle of its domain nothing changes."""
    flat = drawn(tmp_path, "paddle.nn.functional.softshrink(a)", "dy * (a.abs() > 0.5).astype(a.dtype)", "yield {'a': rng.uniform(-2, 2, 6)}", "a")
    assert "Above: y over a. " in flat


SURROGATE = """
import paddle
from paddle.autograd import PyLayer


class Sign(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return FORWARD

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return BACKWARD


def meant(x):
    return DECLARED


SURROGATE_Sign = {"forward": meant}


def cases_Sign(rng):
    yield {"x": rng.uniform(-3, 3, SHAPE)}
"""
ROW_SIGNS = ("paddle.sign(x - paddle.mean(x))", "dy - paddle.mean(dy)", "x - paddle.mean(x)")
SIGNS = ("paddle.sign(x)", "dy * (paddle.abs(x) < 1).astype(x.dtype)", "paddle.clip(x, -1, 1)")


@pytest.mark.parametrize(
    ("kernels", "shape", "said"),
    [
        (SIGNS, "(30,)", "on the measured derivative of the declared SURROGATE (wide). They agree."),
        (ROW_SIGNS, "(3,)", "by x (down), of the declared SURROGATE, by element (x of shape [3]): all agree at this size."),
    ],
    ids=["curve", "matrices"],
)
def test_a_declared_surrogate_is_what_is_drawn(tmp_path: Path, kernels: tuple[str, ...], shape: str, said: str) -> None:
    """Differences of forward, which is flat, were drawn beside it: a passing page was shaded as wrong."""
    text = SURROGATE.replace("SHAPE", shape)
    for name, kernel in zip(("FORWARD", "BACKWARD", "DECLARED"), kernels):
        text = text.replace(name, kernel, 1)
    (tmp_path / "layers.py").write_text(text)
    assert opkit(tmp_path, "plot", "layers.py::Sign", "--output", "page.html").returncode == 0
    assert said in " ".join((tmp_path / "page.html").read_text().split())


def test_a_pole_is_not_drawn_as_wrong(tmp_path: Path) -> None:
    """Forward is infinite at 0, one of the points that are drawn, and differences over it give 0."""
    pole = LAYERS.replace("return x * x", "return 1 / (x * x)").replace("return 2 * x * dy", "return -2 * dy / x**3")
    (tmp_path / "layers.py").write_text(pole)
    assert opkit(tmp_path, "plot", "layers.py::Square", "--output", "page.html").returncode == 0
    assert "They agree." in " ".join((tmp_path / "page.html").read_text().split())
