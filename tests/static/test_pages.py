"""Paddle's pages on py_func: their own code blocks, read from their text, run as they stand.

Where the pages' text is not beside the repository these tests are skipped; the other tests here cover the same.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import opkit
import opkit.paddle as paddle
from opkit import static

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
GUIDE = list(SEEDS.glob("000_*.txt"))
API = list(SEEDS.glob("003_*.txt"))
pytestmark = pytest.mark.skipif(
    not GUIDE or not API, reason="the pages' text (shared/seeds) is not beside the repository"
)


def api_blocks() -> list[str]:
    """Return the code blocks of py_func's API page."""
    found = re.findall(r"\.\. +code-block:: python\n\n((?:    .*\n|\s*\n)+)", API[0].read_text("utf-8") + "\n")
    return [textwrap.dedent(block) for block in found]


def guide_blocks() -> list[str]:
    """Return the code blocks of the guide's static half."""
    text = GUIDE[0].read_text("utf-8").split("## 静态图自定义", 1)[1]
    return re.findall(r"```Python\n(.*?)```", text, re.DOTALL)


def run(tmp_path: Path, text: str) -> dict[str, object]:
    """Run a text as a script; return its globals."""
    path = tmp_path / "page.py"
    path.write_text(text, "utf-8")
    static.disable_static()
    return opkit.run_script(path)


def test_simple_net_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Example 1 runs unchanged: four debug functions print, and the loss of ten classes is near log(10)."""
    names = run(tmp_path, api_blocks()[0])
    loss = float(names["out"][0])  # type: ignore[index]
    assert 1.5 < loss < 3.5
    assert capsys.readouterr().out.count("[[") == 4


def test_simple_net_of_the_page_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an optimizer added, simple_net's loss falls."""
    text = api_blocks()[0].replace("exe = paddle", "paddle.optimizer.SGD(0.5).minimize(res)\nexe = paddle", 1)
    text += "\nlosses = [float(exe.run(paddle.static.default_main_program(), feed={'x': input1, 'y': input2}, "
    text += "fetch_list=[res])[0]) for _ in range(60)]\n"
    losses = run(tmp_path, "import numpy, paddle\nnumpy.random.seed(1), paddle.seed(1)\n" + text)["losses"]
    assert losses[-1] < losses[0] - 0.1  # type: ignore[index,operator]


def test_element_wise_add_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Example 2 declares [3, 1] and returns [2, 3]: the sum is used as it is, with one warning."""
    with pytest.warns(UserWarning, match=r"returned int32\[2, 3\] for 'output', which was declared as int32\[3, 1\]"):
        run(tmp_path, api_blocks()[1])
    numbers = [int(number) for number in re.findall(r"(?<!int)\b\d+", capsys.readouterr().out)]
    first, second, total = np.array(numbers[:18]).reshape(3, 6)
    np.testing.assert_array_equal(first + second, total)


def test_interface_of_the_guide() -> None:
    """The guide's signature of py_func is opkit's: the same parameters, in order, with the same defaults."""
    import inspect

    shown = re.search(r"def py_func\((.*?)\):", guide_blocks()[0])
    assert shown is not None
    signature = inspect.signature(paddle.static.py_func)
    plain = ", ".join(
        name if item.default is item.empty else f"{name}={item.default}" for name, item in signature.parameters.items()
    )
    assert plain == shown.group(1)


def test_blocks_of_the_guide_together(tmp_path: Path) -> None:
    """The guide's functions, output variable and both ways of calling py_func run as one script."""
    functions = next(block for block in guide_blocks() if "def element_wise_add" in block)
    without_x = next(block for block in guide_blocks() if "def tanh_grad_without_x" in block)
    variable = next(block for block in guide_blocks() if "def create_tmp_var" in block)
    calls = [block for block in guide_blocks() if block.lstrip().startswith("paddle.static.nn.py_func")]
    assert len(calls) == 2
    check = """
in_var.stop_gradient = False
loss = paddle.mean(out_var)
found = paddle.static.append_backward(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
x = np.linspace(-1, 1, 2 * 28 * 28).reshape(2, 28, 28).astype('float32')
y, dx = exe.run(feed={'input': x}, fetch_list=[out_var, 'input@GRAD'])
"""
    for call in calls:
        head = variable.replace("shape=[-1, 28, 28])\n\n#", "shape=[-1, 28, 28])\nin_var.stop_gradient = False\n\n#", 1)
        held = static.switch_default_programs(type(static.default_main_program())(), None)
        with static.guard_names():
            names = run(tmp_path, functions + without_x + head + call + check)
        static.switch_default_programs(*held)
        x = np.asarray(names["x"])
        np.testing.assert_allclose(names["y"], np.tanh(x), rtol=1e-6)
        np.testing.assert_allclose(names["dx"], (1 - np.tanh(x) ** 2) / x.size, rtol=1e-4)


def test_nothing_warns_where_the_page_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Example 1 raises no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(tmp_path, api_blocks()[0])
