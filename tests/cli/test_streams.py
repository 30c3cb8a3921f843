"""Output that cannot be written, folders that are gone, names that are no text: one message, the right status."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opkit.__main__ import main
from opkit.project import scaffold
from tests.cli.served import served
from tests.cli.test_links import API, KERNEL

ROOT = Path(__file__).resolve().parents[2]

if sys.platform == "win32":
    pytest.skip("streams and names are of another kind there", allow_module_level=True)


def opkit(words: Sequence[str], cwd: Path, before: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line, after a shell has done something."""
    if not before:
        return served([*words], cwd, {**os.environ, "PYTHONPATH": str(ROOT)})
    command = ["sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-m", "opkit", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=600, check=False, env=env, **options
    )


@pytest.mark.parametrize(
    ("words", "redirection", "status"),
    [
        (["ops", "relu"], ">&-", 1),
        (["explain", "GC101"], "> /dev/full", 1),
        (["ops", "no-such-op"], ">&- 2>&-", 5),
        (["gradcheck", "my_op", "--format", "json", "--effort", "0.05"], ">&- <&-", 1),
    ],
)
def test_output_that_cannot_be_written_is_one_message(
    tmp_path: Path, words: list[str], redirection: str, status: int
) -> None:
    """A closed or full standard output: no traceback, and nothing is written into another file in its place."""
    scaffold("my_op", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.py")}
    ran = opkit(words, tmp_path, f"exec {redirection};")
    assert ran.returncode == status, ran.stderr
    assert "Traceback" not in ran.stderr
    if status == 1:
        assert ran.stderr.startswith("error: output: ")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.py")} == before


def test_a_report_that_does_not_fit_on_the_disk(tmp_path: Path) -> None:
    """The status is 1, and the message names the file."""
    scaffold("my_op", tmp_path)
    ran = opkit(["gradcheck", "my_op", "--effort", "0.05", "--select", "GC101", "--report", "html=/dev/full"], tmp_path)
    assert ran.returncode == 1
    assert "'/dev/full': No space left on device" in ran.stderr


@pytest.mark.parametrize("words", [["new", "b"], ["new", "--ci"], ["build", "--fix", "a"]])
def test_a_full_disk_is_not_a_mistake_of_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """The status is 1, the message names the file, and nothing was written."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a_py_kernel.py").write_text(KERNEL)
    (tmp_path / "a" / "a_py_api.py").write_text(API)
    before = sorted(tmp_path.rglob("*.*"))
    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(sys, "argv", ["opkit", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert re.match(r"error: '.*(b_\w+\.py|b_cpp_def\.cpp|opkit\.yml|a_cpp_def\.cpp)': No space", capsys.readouterr().err)
    assert sorted(tmp_path.rglob("*.*")) == before


def test_a_vanished_working_folder(tmp_path: Path) -> None:
    """The message says so; it is a usage error."""
    for words in (["build"], ["gradcheck"]):
        (tmp_path / "gone").mkdir()
        ran = opkit(words, tmp_path, 'cd gone && rmdir "$PWD" &&')
        assert ran.returncode == 2
        assert "the working folder does not exist any more" in ran.stderr
        assert "Traceback" not in ran.stderr


#: A dash in front, a space, quotes, a line end, an escape sequence, a command; and bytes that are no text.
NAMES = ["-'a \"b\n\x1b[31mü$(touch pwned)", os.fsdecode(b"\xff\xfe")]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_folders_of_any_name(tmp_path: Path, name: str) -> None:
    """Every form of a build and a gradcheck of an op in such a folder is text, and nothing else happens."""
    try:
        (tmp_path / name).mkdir()
    except OSError:
        pytest.skip("no such names here")
    scaffold("my_op", tmp_path / name)
    kernel = tmp_path / name / "my_op" / "my_op_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("np.logaddexp(x, 0)", "1 / 0"))
    reports = [f"--report={form}={form}.out" for form in ("json", "html", "junit", "sarif")]
    ran = opkit(["gradcheck", os.path.join(".", name), "--effort", "0.05", "--format", "github", *reports], tmp_path)
    assert ran.returncode == 1, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "\x1b" not in ran.stdout
    for form in ("json", "html", "junit", "sarif"):
        assert "\x1b" not in (tmp_path / f"{form}.out").read_text(encoding="utf-8")
    json.loads((tmp_path / "json.out").read_text())
    assert not (tmp_path / "pwned").exists()


def test_what_an_encoding_lacks_is_shown_as_escapes(tmp_path: Path) -> None:
    """On a standard output of ASCII alone."""
    scaffold("my_op", tmp_path / "M\u00fcller")
    definition = tmp_path / "M\u00fcller" / "my_op" / "my_op_cpp_def.cpp"
    definition.write_text(definition.read_text() + "?\n")
    command = [sys.executable, "-m", "opkit", "build", "M\u00fcller", "--format", "github"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii:strict"}
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=env)
    assert ran.returncode == 3, ran.stderr
    assert rb"M\xfcller" in ran.stdout


def test_names_and_lines_beyond_ascii_are_shown_where_the_locale_is_c(tmp_path: Path) -> None:
    """Which says nothing of encodings: they are taken, and written, as UTF-8."""
    scaffold("my_op", tmp_path / "M\u00fcller")
    kernel = tmp_path / "M\u00fcller" / "my_op" / "my_op_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("def forward", "def forwards  # \u00fc"), encoding="utf-8")
    command = [sys.executable, "-m", "opkit", "gradcheck", "M\u00fcller"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONUTF8": "0"}
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=env)
    assert ran.returncode == 3, ran.stderr
    assert "M\u00fcller/my_op".encode() in ran.stdout
    assert "def forwards  # \u00fc".encode() in ran.stdout


def test_links_are_called_links(tmp_path: Path) -> None:
    """A link that leads nowhere is not offered as its own correction."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    for words in (["build", "loop"], ["gradcheck", "gone.py"], ["run", "gone.py"]):
        ran = opkit(words, tmp_path)
        assert ran.returncode == 2
        assert "a link that leads to no file" in ran.stderr
        assert "did you mean" not in ran.stderr
