"""What each command executes of an op directory, which may come from anybody."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opkit.project import scaffold
from tests.cli.test_commands import opkit


def trapped(folder: Path) -> Path:
    """Make an op directory every Python file of which leaves a trace when it runs."""
    scaffold("my_op", folder, attrs=["alpha:float=0.5"])
    for path in (folder / "my_op").glob("*.py"):
        path.write_text(f"open({str(folder / 'ran')!r}, 'a').write({path.name!r})\n" + path.read_text())
    for name in ("my_op_cases.py", "conftest.py"):
        (folder / "my_op" / name).write_text(f"open({str(folder / 'ran')!r}, 'a').write({name!r})\n")
    return folder / "ran"


@pytest.mark.parametrize(
    "words", [["build", "--spec-only", "."], ["build", "--spec-only", "--format", "json", "my_op"], ["graph", "my_op"], ["ops"]]
)  # fmt: skip
def test_reading_commands_run_no_python_of_a_directory(tmp_path: Path, words: list[str]) -> None:
    """Neither kernels nor the API file, the cases or the tests; they still do what they are for."""
    trace = trapped(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    ran = opkit(tmp_path, *words)
    shutil.rmtree(tmp_path / ".cache", ignore_errors=True)
    assert ran.returncode == 0, ran.stderr
    assert "my_op" in ran.stdout or words == ["ops"]
    assert not trace.exists(), trace.read_text()
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_building_runs_the_kernel_and_the_api_file(tmp_path: Path) -> None:
    """The trap of the test above works."""
    trace = trapped(tmp_path)
    opkit(tmp_path, "build")
    assert "my_op_py_kernel.py" in trace.read_text()


def test_a_kernel_that_changes_the_folder_is_checked_all_the_same(tmp_path: Path) -> None:
    """Targets and freshly loaded kernels are found where they were, of the next op too."""
    for name in ("first", "second"):
        scaffold(name, tmp_path)
        kernel = tmp_path / name / f"{name}_py_kernel.py"
        kernel.write_text(
            kernel.read_text().replace("    (x,) = args\n", "    import os\n\n    os.chdir('/')\n    (x,) = args\n")
        )
    ran = opkit(tmp_path, "gradcheck", "--effort", "0.05", "first", "second")
    assert "No such file" not in ran.stdout + ran.stderr
    assert "2 ops: 2 pass" in ran.stdout
