"""``run_script``: a script as a function call that undoes everything afterwards."""

import sys
from pathlib import Path

import pytest

import opkit
from opkit.errors import UsageError


def test_globals_come_back_and_state_is_restored(tmp_path: Path) -> None:
    """The script's names are returned; argv, path, __main__ and the frameworks' names are as before."""
    (tmp_path / "job.py").write_text(
        "import sys\nimport oneflow as flow\nimport beside\n"
        "SEEN = (__name__, sys.argv[1:], sys.path[0], flow.__name__, sys.modules['__main__'].__file__)\n"
    )
    (tmp_path / "beside.py").write_text("")
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    names = opkit.run_script(tmp_path / "job.py", ["a", "-b"])
    assert names["SEEN"] == ("__main__", ["a", "-b"], str(tmp_path), "opkit.oneflow", str(tmp_path / "job.py"))
    assert (sys.argv, list(sys.path), sys.modules["__main__"]) == before
    assert "oneflow" not in sys.modules
    del sys.modules["beside"]


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("no"), KeyboardInterrupt()])
def test_errors_pass_through(error: BaseException, tmp_path: Path) -> None:
    """Whatever the script raises reaches the caller, and everything is restored."""
    (tmp_path / "job.py").write_text(f"raise {error!r}\n")
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    with pytest.raises(type(error)) as caught:
        opkit.run_script(tmp_path / "job.py")
    assert caught.value.args == error.args
    assert (sys.argv, list(sys.path), sys.modules["__main__"]) == before


def test_missing_script(tmp_path: Path) -> None:
    """A script that does not exist, or is a folder, is a usage error that names it."""
    with pytest.raises(UsageError, match=r"nowhere\.py"):
        opkit.run_script(tmp_path / "nowhere.py")
    with pytest.raises(UsageError, match="a folder"):
        opkit.run_script(tmp_path)


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is taken from the working directory, and ``sys.argv[0]`` is as given."""
    (tmp_path / "job.py").write_text("import sys\nSEEN = sys.argv[0], __file__\n")
    monkeypatch.chdir(tmp_path)
    assert opkit.run_script("job.py")["SEEN"] == ("job.py", str(tmp_path / "job.py"))


def test_source_encoding(tmp_path: Path) -> None:
    """A script may declare another encoding than UTF-8."""
    (tmp_path / "job.py").write_bytes("# -*- coding: latin-1 -*-\nWORD = 'größe'\n".encode("latin-1"))
    assert opkit.run_script(tmp_path / "job.py")["WORD"] == "größe"
