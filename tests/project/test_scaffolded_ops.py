"""What ``opkit new`` writes is right as it is: every kind, rendered, built, checked, its own tests run, its job run."""

from pathlib import Path

import pytest

from opkit.project import KINDS, scaffold
from tests.cli.test_commands import opkit

SPEC_KINDS = [name for name, kind in KINDS.items() if kind.has_spec]
FILE_KINDS = [name for name, kind in KINDS.items() if not kind.has_spec]
#: Kinds that differ from the others in their kernels alone: one run shows each.
LATER = ("normalization", "gather", "multi_output")
ATTRS = ["alpha:float=0.1", "beta:double=-1.5", "n:int=2", "k:int64=3", "flag:bool=true", "mode:str=a", "axes:ints=0"]


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [(kind, ATTRS) for kind in SPEC_KINDS] + [(kind, []) for kind in SPEC_KINDS if kind not in LATER],
)
def test_op_directory(kind: str, attrs: list[str], tmp_path: Path) -> None:
    """An op directory passes `opkit test`, which builds it, checks its gradient and runs its tests, and its job runs."""
    scaffold("my_op", tmp_path, kind, attrs, job=True)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout
    ran = opkit(tmp_path, "run", "job.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize("kind", [kind for kind in SPEC_KINDS if kind not in LATER])
def test_without_gradient(kind: str, tmp_path: Path) -> None:
    """Without its gradient the forward op is checked alone, and passes."""
    scaffold("my_op", tmp_path, kind, grad=False)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize("attrs", [[], ATTRS], ids=["plain", "attributes"])
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_single_file(kind: str, attrs: list[str], tmp_path: Path) -> None:
    """A PyLayer or a py_func passes its gradient check, and runs as a script."""
    (path,) = scaffold("my_op", tmp_path, kind, attrs)
    checked = opkit(tmp_path, "gradcheck", path.name)
    assert checked.returncode == 0, checked.stdout
    ran = opkit(tmp_path, "run", path.name)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


def test_py_func_without_gradient(tmp_path: Path) -> None:
    """A py_func without a backward function runs."""
    (path,) = scaffold("my_op", tmp_path, "py_func", grad=False)
    ran = opkit(tmp_path, "run", path.name)
    assert ran.returncode == 0, ran.stderr
