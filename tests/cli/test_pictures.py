"""Facts about the pictures of ``opkit graph``: where boxes stand, what folds, what the SVG and the page hold."""

from __future__ import annotations

import re
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from opkit.cli.drawing import Arrow, Box, Drawing, dot, mermaid
from opkit.cli.folding import MOST_BOXES, folded
from opkit.cli.graph_page import graph_page
from opkit.cli.svg import layered, svg
from tests.cli.test_commands import opkit
from tests.cli.test_graph import TRAIN, job

ROOT = Path(__file__).parents[2]


def random_graph(seed: int) -> tuple[dict[str, tuple[float, float]], list[tuple[str, str]], dict[str, int]]:
    """Return boxes, arrows from earlier boxes to later ones, and bands in the boxes' order."""
    rng = np.random.default_rng(seed)
    names = [f"n{index}" for index in range(int(rng.integers(2, 30)))]
    sizes = {name: (float(rng.uniform(20, 200)), float(rng.uniform(20, 80))) for name in names}
    edges = [(one, other) for one, other in combinations(names, 2) if rng.uniform() < 0.1]
    bands = dict(zip(names, sorted(rng.integers(0, 3, len(names)).tolist())))
    return sizes, edges, bands


@pytest.mark.parametrize("seed", range(20))
def test_boxes_stand_apart_within_the_picture(seed: int) -> None:
    """No two overlap, and none is cut."""
    sizes, edges, bands = random_graph(seed)
    found = layered(sizes, edges, bands)
    for one, other in combinations(found.boxes.values(), 2):
        is_beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert is_beside or one.y + one.height <= other.y or other.y + other.height <= one.y
    for box in found.boxes.values():
        assert min(box.x, box.y) >= 0
        assert box.x + box.width <= found.width
        assert box.y + box.height <= found.height


@pytest.mark.parametrize("seed", range(20))
def test_arrows_run_downwards_and_bands_are_stacked(seed: int) -> None:
    """An arrow ends below its start at the boxes that it joins; each box stands within its band."""
    sizes, edges, bands = random_graph(seed)
    found = layered(sizes, edges, bands)
    for (start, end), path in zip(edges, found.paths):
        one, other = found.boxes[start], found.boxes[end]
        assert path[0] == (one.x + one.width / 2, one.y + one.height)
        assert path[-1] == (other.x + other.width / 2, other.y)
        assert [y for _, y in path] == sorted(y for _, y in path)
    for name, box in found.boxes.items():
        top, bottom = found.bands[bands[name]]
        assert top <= box.y
        assert box.y + box.height <= bottom
    edges_of_bands = [value for _, pair in sorted(found.bands.items()) for value in pair]
    assert edges_of_bands == sorted(edges_of_bands)


def test_arrows_run_straight_where_there_are_too_many_bends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture whose every row reads the first one has as many bends as rows times rows."""
    names = [f"b{number}" for number in range(10)]
    sizes, bands = dict.fromkeys(names, (50.0, 20.0)), dict.fromkeys(names, 0)
    edges = [(start, end) for number, end in enumerate(names) for start in names[:number]]
    assert max(map(len, layered(sizes, edges, bands).paths)) == 10
    monkeypatch.setattr(sys.modules[layered.__module__], "_MOST_BENDS", 100)
    assert max(map(len, layered(sizes, edges, bands).paths)) == 2


def test_nothing_to_draw() -> None:
    """An empty drawing is a picture too."""
    assert layered({}, [], {}).boxes == {}
    ElementTree.fromstring(svg(Drawing("empty")))


def chain(count: int) -> Drawing:
    """Return ops in a row, three of each line."""
    made = Drawing("chain")
    for index in range(count):
        place = f"job.py:{index // 3}"
        made.nodes[f"op{index}"] = Box("op", f"kind{index % 2}", (f"float32[{index}]",), "forward", index == 4, place)
        if index:
            made.edges.append(Arrow(f"op{index - 1}", f"op{index}"))
    return made


def test_ops_of_one_line_are_folded() -> None:
    """The box says how many of which kinds it stands for, is custom where one is, and arrows join boxes once."""
    small = folded(chain(9))
    assert list(small.nodes) == ["op0", "op3", "op6"]
    assert small.nodes["op3"].text == "3 ops of job.py:1"
    assert small.nodes["op3"].lines == ("kind1 x 2", "kind0", "float32[5]")
    assert [box.is_custom for box in small.nodes.values()] == [False, True, False]
    assert [(arrow.start, arrow.end) for arrow in small.edges] == [("op0", "op3"), ("op3", "op6")]


def scoped(parts: int, each: int) -> Drawing:
    """Return a chain of ops in two levels of scopes, and one op outside of them."""
    made = Drawing("scoped")
    for index in range(parts * each):
        scope = f"net/block_{index // each}"
        made.nodes[f"op{index}"] = Box("op", "tanh", (), "forward", False, f"net.py:{index % 3}", scope)
        if index:
            made.edges.append(Arrow(f"op{index - 1}", f"op{index}"))
    made.nodes["last"] = Box("op", "mean", (), "forward", False, "net.py:9")
    return made


def test_ops_of_one_scope_are_folded() -> None:
    """A scope is one box, whatever lines made its ops; what is in none stays by its line."""
    small = folded(scoped(10, 5))
    assert [box.text for box in small.nodes.values()] == [*(f"5 ops of net/block_{item}" for item in range(10)), "mean"]
    assert len(small.edges) == 9


def test_many_scopes_are_folded_to_their_outer_one() -> None:
    """Where the inner scopes are too many boxes, the outer ones are taken."""
    small = folded(scoped(MOST_BOXES + 5, 2))
    assert [box.text for box in small.nodes.values()] == [f"{2 * MOST_BOXES + 10} ops of net", "mean"]


def test_what_one_scope_holds_is_counted_in_its_box() -> None:
    """A variable that only one scope reads is not drawn; one that two read is."""
    made = scoped(2, 3)
    made.nodes = {"own": Box("held", "w"), "common": Box("held", "b"), **made.nodes}
    made.edges += [Arrow("own", "op1"), Arrow("common", "op1"), Arrow("common", "op4")]
    small = folded(made)
    assert "own" not in small.nodes
    assert "common" in small.nodes
    assert "holds 1 variable" in small.nodes["op0"].lines
    assert not any(arrow.start == "own" for arrow in small.edges)


def test_folding_makes_no_circle() -> None:
    """Ops of a line that another op stands between stay apart."""
    made = chain(3)
    made.nodes["op1"] = Box("op", "other", place="job.py:7")
    assert list(folded(made).nodes) == ["op0", "op1", "op2"]


def hostile() -> Drawing:
    """Return a drawing with names that are markup."""
    made = Drawing('<script>"&')
    made.nodes["a"] = Box("data", "<b>&amp;</b>", ("x" * 100,))
    made.nodes["b"] = Box("op", "mine\x1b[31m", ("alpha = 0.5",), is_custom=True)
    made.nodes["c"] = Box("op", "back", band="backward")
    made.edges = [Arrow("a", "b", "<i>"), Arrow("b", "c", "dy", is_gradient=True)]
    return made


def test_svg_is_well_formed_whatever_names_hold() -> None:
    """Texts are escaped, control characters are gone, long ones are cut and whole on hover."""
    text = svg(hostile())
    tree = ElementTree.fromstring(text)
    shown = ["".join(item.itertext()) for item in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&amp;</b>" in shown
    assert any(len(item) == 38 and item.endswith("\u2026") for item in shown)
    assert "x" * 100 in text
    assert "\x1b" not in text


def test_svg_marks_custom_ops_gradients_and_bands() -> None:
    """Each by a class of its own."""
    text = svg(hostile())
    assert text.count('class="g-box g-op g-custom"') == 1
    assert text.count('class="g-arrow g-gradient"') == 1
    assert [name in text for name in (">forward</text>", ">backward</text>", ">update</text>")] == [True, True, False]


def test_page_is_self_contained() -> None:
    """Nothing is fetched, no script runs; the command stands in its head; large graphs are folded, and whole below."""
    text = graph_page([chain(MOST_BOXES + 5), hostile()], "opkit graph 'a<b'")
    assert not re.search(r"(src|href)=|<script|@import|url\((?!#)", text)
    assert "opkit graph &#x27;a&lt;b&#x27;" in text
    assert f"{MOST_BOXES + 5} ops, folded by name scope and line to 15" in text
    assert text.count("<tr><td>") == MOST_BOXES + 5 + 2
    ids = re.findall(r'<marker id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) == 6


def test_other_tools_get_bands_gradients_and_custom_ops() -> None:
    """As subgraphs or clusters, dashed, and thick."""
    assert "subgraph backward" in mermaid(hostile())
    assert 'b -.->|"dy"| c' in mermaid(hostile())
    assert "class b custom" in mermaid(hostile())
    assert 'b -> c [label="dy", style=dashed];' in dot(hostile())
    assert "style=bold" in dot(hostile())
    assert 'subgraph cluster_1 { label="backward";' in dot(hostile())


def test_op_directory_as_svg(tmp_path: Path) -> None:
    """The forward op, its attributes and its gradient are boxes of one picture."""
    ran = opkit(tmp_path, "graph", str(ROOT / "sample_ops" / "swish"), "--format", "svg")
    tree = ElementTree.fromstring(ran.stdout)
    shown = {"".join(item.itertext()) for item in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {"swish_forward", "swish_backward", "beta = 1.0", "gradient of x_0", "float32[2, 3]"} <= shown


def test_train_job_as_html(tmp_path: Path) -> None:
    """Forward, backward and update are bands; the update says what it changes; the command is whole."""
    ran = opkit(job(tmp_path, TRAIN), "graph", "job.py", "--format", "html")
    assert ran.returncode == 0, ran.stderr
    for part in (">forward</text>", ">backward</text>", ">update</text>", "opkit graph job.py --format html"):
        assert part in ran.stdout
    assert "loss" not in ran.stdout.partition("<h1>")[0]
