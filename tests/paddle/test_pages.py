"""Paddle's pages on Python ops (dynamic mode): their own code blocks, read from their text, run as they stand.

Where the pages' text is not beside the repository these tests are skipped; ``tests/eager`` covers the same behaviour.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import opkit
from opkit.eager.pylayer_faults import PyLayerError

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
GUIDE = list(SEEDS.glob("000_*.txt"))
API = list(SEEDS.glob("002_*.txt"))
pytestmark = pytest.mark.skipif(
    not GUIDE or not API, reason="the pages' text (shared/seeds) is not beside the repository"
)


def guide_blocks() -> list[str]:
    """Return the code blocks of the guide's dynamic half that are programs (the first two only show interfaces)."""
    text = GUIDE[0].read_text("utf-8").split("## 静态图自定义", 1)[0]
    return re.findall(r"```Python\n(.*?)```", text, re.DOTALL)[2:]


def api_blocks() -> list[str]:
    """Return the code blocks of the API page."""
    text = API[0].read_text("utf-8")
    found = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\s*\n)+)", text + "\n")
    return [textwrap.dedent(block) for block in found]


def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], *blocks: str) -> str:
    """Run blocks as one script; return what it printed."""
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks), "utf-8")
    opkit.run_script(path)
    return capsys.readouterr().out


def wrong_and_right() -> tuple[str, str]:
    """Return the two halves of the block that shows a wrong example and then the right one."""
    block = next(block for block in guide_blocks() if "错误示例" in block)
    wrong, right = block.split("# 正确示例")
    return wrong, right


def header() -> str:
    """Return the imports that the guide's first program makes and its later ones rely on."""
    return "import paddle\nfrom paddle.autograd import PyLayer\n"


def test_tanh_op_of_the_guide_prints_a_gradient(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first two blocks together define the op, run it and print the gradient of its input."""
    printed = run(tmp_path, capsys, *guide_blocks()[:2])
    assert printed.startswith("Tensor(shape=[2, 3], dtype=float32, place=Place(cpu), stop_gradient=True,\n")


def test_context_attributes_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The block that passes functions and keyword arguments runs."""
    assert run(tmp_path, capsys, guide_blocks()[2]) == ""


def test_wrong_example_of_the_guide_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A forward without a Tensor result is refused in words that name the op, what it returned, and the way out."""
    with pytest.raises(PyLayerError) as caught:
        run(tmp_path, capsys, header(), wrong_and_right()[0])
    text = str(caught.value)
    assert "cus_tanh" in text
    assert "at least one Tensor" in text
    assert "a list of int, int" in text
    assert "return y, y.shape" in text
    assert isinstance(caught.value, ValueError)


def test_right_example_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The right example beside it prints the sum of both gradients: the mean of six elements, taken twice."""
    assert "0.33333334" in run(tmp_path, capsys, header(), wrong_and_right()[1])


def test_stopped_inputs_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None for a stopped input is right, and backward is not run where all inputs are stopped."""
    blocks = guide_blocks()
    one = next(block for block in blocks if "data1.stop_gradient = False" in block)
    none = next(block for block in blocks if "data1.grad is None" in block)
    assert "0.16666667" in run(tmp_path, capsys, header(), one)
    assert run(tmp_path, capsys, header(), none) == "True\n"


@pytest.mark.parametrize("position", range(4))
def test_blocks_of_the_api_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], position: int) -> None:
    """Each block of the PyLayer page runs unchanged."""
    blocks = api_blocks()
    assert len(blocks) == 4
    run(tmp_path, capsys, blocks[position])
