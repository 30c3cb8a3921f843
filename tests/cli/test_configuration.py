"""[tool.opkit] at the command line: paths, reports, options of single ops, and flags that win."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit
from tests.project.opdir import write_op

TABLE = """[tool.opkit]
paths = ["one"]
seed = 7
reports = ["json=r.json"]
[tool.opkit.overrides.one]
effort = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two ops, of which the configuration names one."""
    write_op(tmp_path, "one", grad=True)
    write_op(tmp_path, "two", grad=True)
    (tmp_path / "pyproject.toml").write_text(TABLE)
    return tmp_path


def test_gradcheck_takes_what_the_table_says(folder: Path) -> None:
    """Paths, seed, report, and the effort of one op."""
    ran = opkit(folder, "gradcheck", "--no-replay")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads((folder / "r.json").read_text())
    assert [op["dir"] for op in report["ops"]] == ["one"]
    assert report["seed"] == 7
    assert "effort 0.1" in ran.stdout


def test_settings_of_an_op_that_is_not_there_are_noted(folder: Path) -> None:
    """Where all that is configured is checked; one target says nothing of the others."""
    (folder / "pyproject.toml").write_text(f'{TABLE}[tool.opkit.overrides."oen*"]\nseed = 1\n')
    note = "[tool.opkit.overrides] has 'oen*', which is the name of no op that was checked"
    assert [note in opkit(folder, "gradcheck", *words).stderr for words in ((), ("two", "--effort", "0.05"))] == [True, False]


def test_flags_win_over_the_table(folder: Path) -> None:
    """Named targets, a seed, an effort and a report replace what the table says."""
    ran = opkit(folder, "gradcheck", "--seed", "1", "--effort", "0.05", "--report", "json=mine.json", "one")
    assert "seed 1)" in ran.stdout
    assert "effort 0.1" not in ran.stdout
    assert (folder / "mine.json").exists()
    assert not (folder / "r.json").exists()


def test_build_and_test_take_the_paths(folder: Path) -> None:
    """Both work on the one op that the table names."""
    assert "1 directory" in opkit(folder, "build").stderr
    collected = opkit(folder, "test", "--", "--collect-only", "-q").stdout
    assert "one/one_cpp_def.cpp::gradcheck" in collected
    assert "two_cpp_def" not in collected


def test_a_time_limit_of_one_op_holds_for_it_alone(folder: Path) -> None:
    """The op that hangs is ended at its own limit, and the message names that limit."""
    kernel = folder / "one" / "one_py_kernel.py"
    kernel.write_text(
        kernel.read_text().replace("    (x,) = args\n", "    (x,) = args\n    while x.size > 3: pass\n", 1)
    )
    (folder / "pyproject.toml").write_text("[tool.opkit]\neffort = 0.1\n[tool.opkit.overrides.'one*']\ntimeout = 0.7\n")
    report = json.loads(opkit(folder, "gradcheck", "--format", "json").stdout)
    assert [op["status"] for op in report["ops"]] == ["error", "pass"]
    assert any("0.7 s" in check["message"] for check in report["ops"][0]["checks"] if check["code"] == "GC192")


@pytest.mark.parametrize("command", ["build", "gradcheck", "sbp", "test", "config"])
def test_a_mistake_in_the_table_is_a_usage_error(tmp_path: Path, command: str) -> None:
    """Of every command that reads it, with file and line."""
    (tmp_path / "pyproject.toml").write_text("[tool.opkit]\nseeds = 1\n")
    ran = opkit(tmp_path, command)
    assert ran.returncode == 2
    assert "pyproject.toml:2" in ran.stderr
    assert "did you mean 'seed'?" in ran.stderr


def test_config_shows_what_holds_and_from_where(folder: Path) -> None:
    """A line per setting; in JSON too."""
    lines = [line.split() for line in opkit(folder, "config").stdout.splitlines()]
    assert ["seed", "7", "pyproject.toml:3"] in lines
    assert ["strict", "false", "default"] in lines
    assert ["overrides.one.effort", "0.1", "pyproject.toml:6"] in lines
    shown = json.loads(opkit(folder, "config", "--format", "json").stdout)
    assert shown["settings"]["seed"] == {"value": 7, "from": "pyproject.toml:3"}
    assert shown["overrides"]["one"]["effort"]["value"] == 0.1


def test_new_ci_writes_a_workflow(tmp_path: Path) -> None:
    """Alone and beside an op; it is not replaced without --force."""
    made = opkit(tmp_path, "new", "--ci")
    assert (made.returncode, made.stdout) == (0, ".github/workflows/opkit.yml\n")
    text = (tmp_path / ".github" / "workflows" / "opkit.yml").read_text()
    assert "run: opkit gradcheck --format github" in text
    assert opkit(tmp_path, "new", "--ci").returncode == 2
    assert opkit(tmp_path, "new", "t", "--ci", "--force").stdout.startswith(
        ".github/workflows/opkit.yml\nt/t_cpp_def.cpp"
    )


def test_new_without_a_name_is_a_usage_error(tmp_path: Path) -> None:
    """The two ways to call it are named."""
    done = opkit(tmp_path, "new")
    assert done.returncode == 2
    assert "opkit new --ci" in done.stderr
