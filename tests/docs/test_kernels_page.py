"""The page on a package's kernels in CI: what its workflow runs, and its lines for pytest, do what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: the page's example cannot be run")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "kernels-in-ci.md").read_text()
KERNELS = """
import torch


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps=1e-6):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, scale)
        return x * scale * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, scale = ctx.saved_tensors
        normal, wide = x * scale, dy * weight
        dx = scale * (wide - normal * (wide * normal).mean(-1, keepdim=True))
        return dx, (dy * normal).reshape(-1, x.shape[-1]).sum(0), None
"""


def blocks(language: str) -> list[str]:
    """Return the page's blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def package(folder: Path, kernels: str) -> None:
    """Write the package that the page speaks of, with its check file."""
    (folder / "mypackage").mkdir()
    (folder / "mypackage" / "__init__.py").write_text("")
    (folder / "mypackage" / "kernels.py").write_text(kernels)
    (folder / "checks").mkdir()
    (folder / "checks" / "check_norm.py").write_text(blocks("python")[0])


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python there, the package installed as ``pip install .`` does."""
    path = os.pathsep.join((str(ROOT), str(folder)))
    command = [sys.executable, "-m", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.peer
@pytest.mark.parametrize("is_wrong", [False, True])
def test_the_workflow_runs_as_written(is_wrong: bool, tmp_path: Path) -> None:
    """Its check passes a right kernel and fails a wrong one; both reports are where the next steps upload them."""
    (workflow,) = blocks("yaml")
    (line,) = re.findall(r"- run: (opkit .*)", workflow)
    package(tmp_path, KERNELS.replace("wide - normal", "wide + normal") if is_wrong else KERNELS)
    done = ran(tmp_path, *line.split())
    assert done.returncode == int(is_wrong), done.stdout + done.stderr
    (sarif,) = re.findall(r"sarif_file: (\S+)", workflow)
    (page,) = re.findall(r"path: (\S+)", workflow)
    (run,) = json.loads((tmp_path / sarif).read_text())["runs"]
    places = [item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for item in run["results"]]
    assert bool(places) == is_wrong
    assert all(place.endswith("mypackage/kernels.py") for place in places)
    assert "check_norm.py::RMSNorm" in (tmp_path / page).read_text()


@pytest.mark.peer
def test_the_lines_for_pytest_run_as_written(tmp_path: Path) -> None:
    """A right kernel passes."""
    package(tmp_path, KERNELS)
    (tmp_path / "test_kernels.py").write_text(blocks("python")[1])
    done = ran(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "test_kernels.py")
    assert done.returncode == 0, done.stdout + done.stderr
