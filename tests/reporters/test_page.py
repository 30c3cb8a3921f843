"""Facts about the HTML page beside its golden files: what it says of the run, and what can be read off its pictures."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from opkit.checker import CheckResult, OpReport, Slopes, Status
from opkit.diagnostics import codes, explain
from opkit.errors import Location
from opkit.reporters import html_report
from opkit.reporters.heatmap import colors, heat_map
from opkit.reporters.html import _around, matrix_svg
from opkit.reporters.notebook import notebook
from opkit.reporters.plot import slope_plot
from opkit.reporters.prose import prose
from opkit.reporters.values import source_lines
from tests.reporters.conftest import HandMade


def test_errors_that_are_alike_have_one_colour() -> None:
    """Their last digits are no scale."""
    heat = heat_map(np.array([[2.5e-2, 2.5e-2 * (1 + 1e-12)]]))
    assert heat is not None
    shown = colors(np.array([[2.5e-2, 2.5e-2 * (1 + 1e-12)]]), heat.low, heat.high)
    assert np.ptp(shown.astype(int), axis=1).max() <= 1


def test_command_and_date_stand_in_the_head(run: HandMade) -> None:
    """Where they are given; the command can be copied."""
    page = html_report(run, "opkit gradcheck 'a b'", "2026-01-02 03:04 UTC")
    assert "1.25 s, 2026-01-02 03:04 UTC" in page
    assert 'data-copy="opkit gradcheck &#39;a b&#39;"' in page
    assert "data-copy" in html_report(run)
    assert "UTC" not in html_report(run)


def test_what_a_code_means_stands_by_its_finding(run: HandMade) -> None:
    """Folded, in the words of ``opkit explain``."""
    page = html_report(run)
    assert "what GC101 means" in page
    assert prose(explain("GC101")) in page


def test_ops_without_findings_can_be_left_out(run: HandMade) -> None:
    """They are marked, and a switch of the page hides what is marked."""
    page = html_report(run)
    assert 'id="show-findings"' in page
    assert len(re.findall(r'<section class="op quiet"', page)) == 1


def test_cells_have_values_and_axes_have_names() -> None:
    """Each entry that is not zero is a cell with its indices and value on hover; zeros are the page's colour."""
    errors = np.array([[0.0, 1e-3], [np.nan, 0.0], [0.0, 2.0]])
    heat = heat_map(errors)
    assert heat is not None
    text = matrix_svg(errors, heat, "x element", "y element")
    ElementTree.fromstring(text)
    assert re.findall(r"<title>([^<]+)</title>", text) == [
        "input 0, output 1: 0.001", "input 1, output 0: nan", "input 2, output 1: 2",
    ]  # fmt: skip
    assert ">x element</text>" in text
    assert ">y element</text>" in text


@pytest.mark.parametrize(("shape", "size"), [((16, 64), (300, 75)), ((1, 600), (600, 12)), ((1, 4), (96, 24))])
def test_axes_have_names_and_ends_whatever_the_shape(shape: tuple[int, int], size: tuple[float, float]) -> None:
    """A large matrix is a picture within them; a strip is wide enough to be seen."""
    heat = heat_map(np.ones(shape))
    assert heat is not None
    text = matrix_svg(np.ones(shape), heat, "x element", "y element")
    ElementTree.fromstring(text)
    words = re.findall(r">([^<]+)</text>", text)
    assert words == ["y element", "x element", *map(str, dict.fromkeys((0, shape[0] - 1))), "0", str(shape[1] - 1)]
    assert f'class="zero" x="46" y="24" width="{size[0]}" height="{size[1]}"' in text
    assert text.count("<image ") == (max(shape) > 48)


def test_zeros_of_a_large_matrix_are_transparent() -> None:
    """So that the page behind gives their colour, light or dark."""
    assert colors(np.array([[0.0, 1.0]]), 1.0, 1.0)[0, :, 3].tolist() == [0, 255]


def test_a_matrix_without_a_finite_entry_is_said_to_be_one() -> None:
    """There is nothing to see in a picture of it."""
    heat = heat_map(np.full((2, 3), np.nan))
    assert heat is not None
    assert heat.is_broken
    some = heat_map(np.array([[np.nan, 1.0]]))
    assert some is not None
    assert not some.is_broken


def test_both_sides_show_where_they_agree() -> None:
    """The left one is wider and lies under the right one; points have their values, the axes their names."""
    same = np.ones(4)
    text = slope_plot(Slopes(np.geomspace(1e-4, 1e-1, 4), same, same, 2.0, 0))
    radii = {name: re.search(rf'class="{name}"[^>]* r="([\d.]+)"', text) for name in ("left", "right")}
    found = {name: float(match[1]) for name, match in radii.items() if match}
    assert found["left"] > 2 * found["right"]
    assert "from the right, step 1.0e-04: 1</title>" in text
    assert text.index('class="left"') < text.index('class="right"')
    assert ">slope</text>" in text


def test_a_function_is_shown_whole(tmp_path: Path) -> None:
    """Where its first line is meant: to its last line; else the lines close by."""
    file = tmp_path / "k.py"
    file.write_text("import a\n\n\ndef f(x):\n    y = x\n\n    return y\n\n\ndef g():\n    pass\n")

    class At:
        def __init__(self, line: int) -> None:
            self.file, self.line = str(file), line

    assert [number for number, _ in _around(source_lines(At(4), 40), 4)] == [3, 4, 5, 6, 7]
    assert [number for number, _ in _around(source_lines(At(7), 40), 7)] == list(range(3, 12))


def test_every_explanation_is_well_formed() -> None:
    """Code, lists and headings become elements that nest; nothing of Markdown's marks is left."""
    for code in codes():
        text = prose(explain(code))
        ElementTree.fromstring(f"<div>{text}</div>")
        assert "```" not in text
        assert "<h4>#" not in text
    assert (
        prose("# T\n\n- a `x<y` **b**\n  c\n- d\n")
        == "<ul><li>a <code>x&lt;y</code> <strong>b</strong> c</li><li>d</li></ul>"
    )


def test_a_notebook_takes_the_theme_that_its_page_states(run: HandMade) -> None:
    """JupyterLab's dark theme stood around a light report."""
    light, dark = (re.search(rf'theme-light="{name}"[^{{]*{{(.*?)}}', notebook(run.report), re.DOTALL) for name in ("true", "false"))
    assert light is not None
    assert dark is not None
    assert "--paper: #ffffff" in light[1]
    assert "--paper: #15171a" in dark[1]


def test_the_text_of_a_report_is_returned_in_a_notebook(run: HandMade, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich displays there what it would write: ``str(report)`` was empty."""
    before = str(run.report)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(run.report) == before


def test_a_cell_of_a_notebook_has_its_lines() -> None:
    """It is no file; IPython keeps its text where tracebacks look for it."""
    linecache.cache["/tmp/ipykernel_1/2.py"] = (9, None, ["x = 1\n", "y = 2\n", "z = 3\n"], "/tmp/ipykernel_1/2.py")
    assert source_lines(Location("/tmp/ipykernel_1/2.py", 2)) == [(1, "x = 1"), (2, "y = 2"), (3, "z = 3")]
    assert source_lines(Location("/tmp/nowhere_1/2.py", 2)) == []


def test_a_notebook_says_what_the_other_forms_say(run: HandMade) -> None:
    """What a pass holds, and the scale of a heat map; what is undecided has its own colour, and text before it is a page's."""
    shown = "<h1>" + notebook(run.report)
    assert shown.startswith("<h1>")
    assert "linear-gradient" in shown
    assert '<article class="undecided">' in shown
    assert "would have seen a derivative off by" in shown


def test_a_comparison_with_a_reference_does_not_weaken_a_pass() -> None:
    """It is in other formats; alone it is what would have seen."""
    own, other = (CheckResult("", Status.PASS, code, detectable=seen) for code, seen in (("GC101", 2e-9), ("GC108", 1e-2)))
    assert OpReport("f", (own, other)).detectable == 2e-9
    assert OpReport("f", (other,)).detectable == 1e-2


def test_a_notebook_keeps_its_own_look(run: HandMade) -> None:
    """Every rule of the report's style sheet is for the report alone, whatever the notebook's theme lays out its way."""
    style = notebook(run.report).partition("<style>")[2].partition("</style>")[0]
    selectors = [item.strip() for item in re.findall(r"([^{}]+)\{", style) if "@" not in item]
    assert len(selectors) > 40
    assert [item for item in selectors if not all(part.strip().startswith(".opkit") for part in item.split(","))] == []
    assert ".opkit.opkit dt" in style


def test_the_marks_of_slopes_are_round_numbers() -> None:
    """Where rounding makes one side -1.00000002 too."""
    slopes = Slopes(np.geomspace(1e-4, 1e-1, 4), np.full(4, -1.00000002), np.full(4, -1.0), 1.0, 0)
    marks = re.findall(r'text-anchor="end"[^>]*y="[\d.]+">(-?[\d.]+)<', slope_plot(slopes))
    assert marks == ["-1", "-0.5", "0", "0.5", "1"]


def test_slopes_that_are_almost_the_same_have_different_marks() -> None:
    """At 1 and 1.001 the axis does not say 1 five times."""
    same = np.full(4, 1.0)
    marks = re.findall(
        r'text-anchor="end"[^>]*>([\d.]+)<', slope_plot(Slopes(np.geomspace(1e-4, 1e-1, 4), same, same, 1.001, 0))
    )
    assert marks == ["1", "1.0002", "1.0004", "1.0006", "1.0008", "1.001"]
