"""Which folders are op directories, and which files they are made of."""

from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.project import discover, op_directory_of


def op(folder: Path, name: str) -> Path:
    """Make an op directory with its definition file alone."""
    path = folder / name
    path.mkdir(parents=True)
    (path / f"{name}_cpp_def.cpp").write_text("")
    return path


def found(*paths: Path) -> list[str]:
    """Return the names of the op directories found, in order."""
    return [directory.name for directory in discover(paths)]


def test_at_and_below(tmp_path: Path) -> None:
    """A path is searched at every depth, sorted by path; an op directory itself counts."""
    op(tmp_path / "b" / "deep", "second")
    op(tmp_path / "a", "first")
    assert found(tmp_path) == ["first", "second"]
    assert found(tmp_path / "a" / "first") == ["first"]


def test_numbers_in_names_are_sorted_by_size(tmp_path: Path) -> None:
    """f2 comes before f10."""
    for name in ("f10", "f1", "f2"):
        op(tmp_path, name)
    assert found(tmp_path) == ["f1", "f2", "f10"]


def test_nested(tmp_path: Path) -> None:
    """An op directory may hold another."""
    op(op(tmp_path, "outer"), "inner")
    assert found(tmp_path) == ["outer", "inner"]


@pytest.mark.parametrize("hidden", [".hidden", "site-packages", "__pycache__"])
def test_skipped_below(tmp_path: Path, hidden: str) -> None:
    """Dot folders and installed packages are skipped below a path, not where they are named."""
    op(tmp_path / hidden, "one")
    assert found(tmp_path) == []
    assert found(tmp_path / hidden) == ["one"]


def test_symlink_loop(tmp_path: Path) -> None:
    """A loop of symbolic links ends, and each directory is found once."""
    path = op(tmp_path, "one")
    (path / "again").symlink_to(tmp_path)
    assert found(tmp_path) == ["one"]
    assert found(tmp_path, tmp_path / "one", path) == ["one"]


def test_file_of_a_directory(tmp_path: Path) -> None:
    """Any of an op directory's files names the directory."""
    path = op(tmp_path, "one")
    for file in (path / "one_cpp_def.cpp", path / "one_py_kernel.py"):
        file.touch()
        assert found(file) == ["one"]


def test_named_without_definitions(tmp_path: Path) -> None:
    """A folder that is named and holds kernels counts, so that building says what is missing; below it does not."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "one_py_kernel.py").touch()
    assert found(tmp_path / "one") == ["one"]
    assert found(tmp_path) == []


def test_name_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder ``.`` has the name that it really has."""
    monkeypatch.chdir(op(tmp_path, "one"))
    assert found(Path()) == ["one"]
    assert op_directory_of(".").spec.is_file()


def test_unusable_paths(tmp_path: Path) -> None:
    """A path that does not exist, or a file that is not part of an op, is a usage error that names it."""
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="no such file or folder"):
        discover([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="no such file or folder"):
        discover([tmp_path / ("long" * 1000)])
    with pytest.raises(UsageError, match=r"notes\.txt"):
        discover([tmp_path / "notes.txt"])


def test_links_in_a_circle_and_links_that_lead_nowhere_are_passed_over(tmp_path: Path) -> None:
    """One such link does not end the search; named itself, it is reported as what it is."""
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "good_cpp_def.cpp").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "a_cpp_def.cpp").symlink_to(tmp_path / "a_cpp_def.cpp")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good" / "up").symlink_to(tmp_path)
    assert [item.name for item in discover([tmp_path])] == ["good"]
    for name in ("loop", "gone"):
        with pytest.raises(UsageError, match="a link that leads to no file or folder") as caught:
            discover([tmp_path / name])
        assert "did you mean" not in str(caught.value)
