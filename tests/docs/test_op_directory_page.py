"""docs/op-directory.md keeps its word: its blocks are the files of an op that behaves as the page says."""

import re
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "op-directory.md"
BLOCK = re.compile(r"^```(?:cpp|python)\n(?://|#) (file|add|wrong): (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLOSING = "}  // namespace oneflow\n"


def blocks() -> list[tuple[str, str, str]]:
    """Return (what to do, file, text) of the page's blocks, in order."""
    found = BLOCK.findall(PAGE.read_text())
    assert [(word, name) for word, name, _ in found] == [
        ("file", "user_relu_cpp_def.cpp"),
        ("file", "user_relu_py_kernel.py"),
        ("file", "user_relu_py_api.py"),
        ("file", "../job.py"),
        ("add", "user_relu_cpp_def.cpp"),
        ("add", "user_relu_py_kernel.py"),
        ("wrong", "user_relu_cpp_def.cpp"),
        ("add", "user_relu_cpp_def.cpp"),
        ("file", "user_relu_cases.py"),
    ]
    return found


def write(folder: Path, chosen: list[tuple[str, str, str]]) -> Path:
    """Write blocks into the files that they name, additions to the definition within its namespace."""
    op = folder / "user_relu"
    op.mkdir()
    for word, name, text in chosen:
        path = op / name
        if word == "file":
            path.write_text(text)
        elif path.suffix == ".cpp":
            before = path.read_text()
            assert before.endswith(CLOSING)
            path.write_text(before.removesuffix(CLOSING) + text + "\n" + CLOSING)
        else:
            path.write_text(path.read_text() + "\n\n" + text)
    return op


def printed_by(command: str) -> str:
    """Return what the page says a command prints."""
    found = re.search(rf"^```text\n\$ {re.escape(command)}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def test_forward_alone(tmp_path: Path) -> None:
    """The first three files are an op that builds, and the job prints what the page says."""
    write(tmp_path, blocks()[:4])
    assert opkit(tmp_path, "build").returncode == 0
    ran = opkit(tmp_path, "run", "job.py")
    assert (ran.stdout, ran.stderr, ran.returncode) == (printed_by("opkit run job.py"), "", 0)


def test_job_without_a_placement(tmp_path: Path) -> None:
    """The job needs no placement."""
    write(tmp_path, blocks()[:4])
    job = tmp_path / "job.py"
    text = job.read_text()
    job.write_text(text.replace('    with flow.scope.placement("cpu", "0:0"):\n        return', "    return"))
    assert job.read_text() != text
    assert opkit(tmp_path, "run", "job.py").stdout == printed_by("opkit run job.py")


def test_wrong_names_in_the_gradient(tmp_path: Path) -> None:
    """The block with the mistake: each wrong name has its caret and the right name; forward still predicts."""
    op = write(tmp_path, blocks()[:7])
    built = opkit(tmp_path, "build", "user_relu")
    assert built.returncode == 3
    assert built.stderr.startswith(printed_by("opkit build user_relu"))
    spec = (op / "user_relu_cpp_def.cpp").read_text().splitlines()
    for line, name, right in [
        ('output("y", 0)', "y", "out"),
        ('output_grad("y", 0)', "y", "out"),
        ('OpArg("x", 0)', "x", "in"),
    ]:
        number = next(index for index, text in enumerate(spec, 1) if line in text)
        col = spec[number - 1].index(line) + line.index(f'"{name}"') + 1
        assert f"--> user_relu/user_relu_cpp_def.cpp:{number}:{col}\n" in built.stderr
        assert f"help: the op declares '{right}'" in built.stderr
    ran = opkit(tmp_path, "run", "job.py")
    assert (ran.stdout, ran.returncode) == (printed_by("opkit run job.py"), 0)
    assert opkit(tmp_path, "gradcheck", "user_relu").returncode == 3


def test_only_asking_for_the_gradient_raises(tmp_path: Path) -> None:
    """With the mistake in place, a training step raises an error that names the wrong names; predicting does not."""
    write(tmp_path, blocks()[:7])
    (tmp_path / "train.py").write_text(
        "import numpy as np\nimport opkit.oneflow as flow\nfrom opkit.eager import run_backward, wrap\n\n"
        "op = flow.experimental.custom_op_module('user_relu')\n"
        "op.py_api().cpp_def().py_kernel().build_load()\n"
        "x = wrap(np.ones(3, np.float32), stop_gradient=False)\n"
        "y = op.api.user_relu_forward(x)\nprint('forward ran')\n"
        "run_backward([y], [wrap(np.ones(3, np.float32))])\n"
    )
    ran = opkit(tmp_path, "run", "train.py")
    assert (ran.stdout, ran.returncode) == ("forward ran\n", 1)
    assert "has no output 'y'" in ran.stderr


@pytest.mark.parametrize("has_cases", [False, True])
def test_whole_op(tmp_path: Path, has_cases: bool) -> None:
    """With the right names, with and without the cases file, the op builds and its gradient passes."""
    chosen = [block for block in blocks()[: 9 if has_cases else 8] if block[0] != "wrong"]
    write(tmp_path, chosen)
    assert opkit(tmp_path, "build", "user_relu").returncode == 0
    checked = opkit(tmp_path, "gradcheck", "user_relu")
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.startswith(printed_by("opkit gradcheck user_relu").rstrip())
