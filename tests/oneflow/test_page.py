"""The page on Python kernels (OneFlow's documentation): its own blocks, read from its text, run as they stand.

Where the page's text is not beside the repository these tests are skipped; ``tests/oneflow/test_training.py`` and
``sample_ops`` cover the same behaviour with scripts of our own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opkit
import opkit.oneflow as flow
import opkit.oneflow.typing as tp

PAGES = list((Path(__file__).resolve().parents[3] / "shared" / "seeds").glob("004_*.txt"))
pytestmark = pytest.mark.skipif(
    not PAGES, reason="the page's text (shared/seeds/004_*.txt) is not beside the repository"
)


def blocks() -> list[tuple[str, str]]:
    """Return the page's code blocks: (language, text)."""
    return re.findall(r"```(\S+)\n(.*?)```", PAGES[0].read_text("utf-8"), re.DOTALL)


def block(language: str, part: str) -> str:
    """Return the first block of a language that contains a text."""
    return next(text for kind, text in blocks() if kind in language.split("|") and part in text)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The folder as the forward part of the page leaves it."""
    op = tmp_path / "user_relu"
    op.mkdir()
    (op / "user_relu_cpp_def.cpp").write_text(block("cpp", 'REGISTER_USER_OP("user_relu_forward")'))
    (op / "user_relu_py_api.py").write_text(block("python", 'flow.user_op_builder("myrelu")'))
    (op / "user_relu_py_kernel.py").write_text(block("python", "def forward(args)"))
    (tmp_path / "job.py").write_text(block("python", "custom_op_module"))
    return tmp_path


def add_gradient(folder: Path, *, consistent: bool) -> Path:
    """Add the page's backward blocks; with the names that its forward block declares where ``consistent``."""
    spec = folder / "user_relu" / "user_relu_cpp_def.cpp"
    backward = block("cpp", 'REGISTER_USER_OP("user_relu_backward")')
    grad = block("c++|cpp", 'REGISTER_USER_OP_GRAD("user_relu_forward")')
    if consistent:
        grad = grad.replace('output("y", 0)', 'output("out", 0)').replace(
            'output_grad("y", 0)', 'output_grad("out", 0)'
        )
        grad = grad.replace('OpArg("x", 0)', 'OpArg("in", 0)')
    text = spec.read_text()
    end = text.index("}  // namespace")
    spec.write_text(text[:end] + backward + grad + text[end:])
    kernel = folder / "user_relu" / "user_relu_py_kernel.py"
    kernel.write_text(kernel.read_text() + "\n" + block("python", "def backward(args)"))
    return folder


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opkit", *words], cwd=cwd, capture_output=True, text=True, timeout=1200, check=False
    )


def test_the_job_prints_what_numpy_prints(page: Path) -> None:
    """Input and output are the page's arrays."""
    done = run("run", "job.py", cwd=page)
    x = np.array([-2, -1, 0, 1, 2], dtype=np.float32)
    assert (done.stdout, done.returncode) == (f"{x}\n{(x > 0) * x}\n", 0), done.stderr


def test_a_job_without_a_placement_runs_too(page: Path) -> None:
    """On one CPU the placement changes nothing."""
    job = page / "job.py"
    text = job.read_text().replace('    with flow.scope.placement("cpu", "0:0"):\n        return', "    return")
    assert "placement" not in text
    job.write_text(text)
    assert run("run", "job.py", cwd=page).returncode == 0


def test_the_op_directory_is_not_touched(page: Path) -> None:
    """Loading writes nothing beside the files."""
    run("run", "job.py", cwd=page)
    assert sorted(item.name for item in page.rglob("*")) == sorted(
        ["job.py", "user_relu", "user_relu_cpp_def.cpp", "user_relu_py_api.py", "user_relu_py_kernel.py"]
    )


def test_the_pages_gradient_names_are_told_with_their_places(page: Path) -> None:
    """The gradient block speaks of ``x`` and ``y`` where the forward block declares ``in`` and ``out``."""
    done = run("build", cwd=add_gradient(page, consistent=False))
    said = done.stdout + done.stderr
    assert done.returncode == 3, said
    for wrong, right in (('"y"', "out"), ('"x"', "in")):
        line = next(item for item in said.splitlines() if wrong in item and "|" in item)
        assert wrong in line
        assert f"`{right}`" in said or f"'{right}'" in said or f'"{right}"' in said
    assert "^" in said


def test_forward_works_though_the_gradient_does_not(page: Path) -> None:
    """Only asking for a gradient raises."""
    add_gradient(page, consistent=False)
    done = run("run", "job.py", cwd=page)
    assert done.returncode == 0, done.stderr
    with pytest.raises(opkit.OpkitError, match="user_relu_forward"):
        train(page)


def test_consistent_names_build_and_pass_the_gradient_check(page: Path) -> None:
    """With the names put right the page's op is right."""
    add_gradient(page, consistent=True)
    assert run("build", cwd=page).returncode == 0
    done = run("gradcheck", cwd=page)
    assert done.returncode == 0, done.stdout


def train(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Train with the op for 50 steps; return the losses and the weights."""
    module = flow.experimental.custom_op_module("user_relu", str(folder))
    module.py_api().cpp_def().py_kernel().build_load()

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
        w = flow.get_variable("w", shape=(4, 3), initializer=flow.random_normal_initializer())
        loss = flow.math.square(module.api.user_relu_forward(flow.matmul(x, w)) - 1.0)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.3]), momentum=0).minimize(loss)
        return loss

    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    start = flow.get_all_variables()["w"].numpy().astype(float)
    losses = np.array([job(x).mean() for _ in range(50)])
    w = start
    for _ in range(50):
        z = x @ w
        w = w - 0.3 * x.T.astype(float) @ (2 * (np.maximum(z, 0) - 1) * (z > 0)) / z.size
    np.testing.assert_allclose(flow.get_all_variables()["w"].numpy(), w, atol=1e-6)
    return losses, w


def test_the_whole_op_trains_and_equals_numpy(page: Path) -> None:
    """The loss falls, and after 50 steps the weights are numpy's to 1e-6."""
    losses, _ = train(add_gradient(page, consistent=True))
    assert losses[-1] < losses[0] / 2
