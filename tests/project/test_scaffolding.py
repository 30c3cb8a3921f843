"""``opkit new``: what it writes, what it refuses, and that it never destroys anything."""

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.project import KINDS, scaffold
from opkit.project.attribute import parse_attr
from opkit.project.scaffolding import is_module

SPEC_KINDS = [name for name, kind in KINDS.items() if kind.has_spec]
FILE_KINDS = [name for name, kind in KINDS.items() if not kind.has_spec]
ATTRS = ["alpha:float=0.1", "n:int=2", "flag:bool=true", 'mode:str=a "b" \\', "axes:ints=0,1", "names:strings"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attrs", [[], ATTRS[:1], ATTRS], ids=["plain", "one attribute", "all attribute types"])
def test_python_files_parse(kind: str, attrs: list[str], tmp_path: Path) -> None:
    """Every file that any kind renders is tidy and holds no template mark; the Python ones are valid Python."""
    if kind == "torch_op":  # whose schema has no defaults for lists
        attrs = [attr for attr in attrs if "s:" not in attr]
    for path in scaffold("my_op", tmp_path, kind, attrs, job=True):
        text = path.read_text()
        assert text.endswith("\n")
        assert "{{" not in text
        assert "{%" not in text
        assert all(line == line.rstrip() for line in text.splitlines()), path
        if path.suffix == ".py":
            ast.parse(text)


@pytest.mark.parametrize("kind", SPEC_KINDS)
def test_files_of_an_op_directory(kind: str, tmp_path: Path) -> None:
    """An op directory has its three files and a test; a kind with a domain has cases; a job is written on request."""
    names = {path.name for path in scaffold("my_op", tmp_path, kind)}
    assert {"my_op_cpp_def.cpp", "my_op_py_api.py", "my_op_py_kernel.py", "test_my_op.py"} <= names
    assert ("my_op_cases.py" in names) == KINDS[kind].has_cases
    assert not (tmp_path / "job.py").exists()
    scaffold("other", tmp_path, kind, job=True)
    assert (tmp_path / "job.py").is_file()


@pytest.mark.parametrize("kind", SPEC_KINDS)
def test_without_gradient(kind: str, tmp_path: Path) -> None:
    """--no-grad leaves out the backward op, its registration and its kernel."""
    scaffold("my_op", tmp_path, kind, grad=False)
    assert "backward" not in (tmp_path / "my_op" / "my_op_cpp_def.cpp").read_text().lower()
    assert "backward" not in (tmp_path / "my_op" / "my_op_py_kernel.py").read_text()


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS.values() if kind.has_cases])
def test_cases_of_an_op_with_an_attribute_vary_it(kind: str, tmp_path: Path) -> None:
    """A kernel whose gradient holds at the default alone fails."""
    scaffold("t", tmp_path, kind, ["k:float=0.5"])
    names: dict[str, Any] = {}
    exec((tmp_path / "t" / "t_cases.py").read_text(), names)
    assert {case.get("k", 0.5) for case in names["cases"](np.random.default_rng(0))} == {0.5, 2.0}


def test_pylayer_is_its_gradient(tmp_path: Path) -> None:
    """A PyLayer without a gradient is refused, with the kind to use instead."""
    with pytest.raises(UsageError, match="py_func"):
        scaffold("my_op", tmp_path, "pylayer", grad=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a/b", "holds a path"),
        ("..", "holds a path"),
        ("a\\b", "holds a path"),
        ("1st", "not an identifier"),
        ("my-op", "not an identifier"),
        ("", "not an identifier"),
        ("größe", "not an identifier"),
        ("lambda", "a keyword"),
        ("a" * 201, "has 201 characters, more than 200"),
    ],
)
def test_unusable_names(name: str, message: str, tmp_path: Path) -> None:
    """A name that is not an identifier, is a keyword or holds a path is refused, and nothing is written."""
    with pytest.raises(UsageError, match=message):
        scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["json", "numpy", "paddle"])
def test_file_that_would_hide_a_module(name: str, tmp_path: Path) -> None:
    """A one-file op may not take the name of a module that scripts beside it import."""
    with pytest.raises(UsageError, match=f"would hide the module '{name}'"):
        scaffold(name, tmp_path, "pylayer")


def test_a_folder_of_scripts_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PYTHONPATH names is the user's own."""
    (tmp_path / "mine.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_module("mine")


def test_never_overwrites(tmp_path: Path) -> None:
    """What exists stays as it is, be it a directory with anything in it, a file, or the job alone."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("full", "file"):
        with pytest.raises(UsageError, match="already exists"):
            scaffold(name, tmp_path)
    for first, second in (("pylayer", "loss"), ("loss", "pylayer")):
        scaffold("both", tmp_path / first, first)
        with pytest.raises(UsageError, match="`import both` means one of the two"):
            scaffold("both", tmp_path / first, second)
    (tmp_path / "job.py").write_text("mine")
    with pytest.raises(UsageError, match=r"job\.py already exists"):
        scaffold("fresh", tmp_path, job=True)
    assert not (tmp_path / "fresh").exists()
    assert (tmp_path / "job.py").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "job.py", "loss", "pylayer"]


def test_empty_folder_is_used(tmp_path: Path) -> None:
    """An empty folder of that name is not an obstacle."""
    (tmp_path / "my_op").mkdir()
    scaffold("my_op", tmp_path)
    assert (tmp_path / "my_op" / "my_op_cpp_def.cpp").is_file()


def test_force_replaces_only_its_own_files(tmp_path: Path) -> None:
    """--force writes opkit's files anew and leaves every other file alone."""
    scaffold("my_op", tmp_path)
    kernel, notes = tmp_path / "my_op" / "my_op_py_kernel.py", tmp_path / "my_op" / "notes.txt"
    kernel.write_text("changed")
    notes.write_text("mine")
    scaffold("my_op", tmp_path, "matmul", force=True)
    assert "a @ b" in kernel.read_text()
    assert notes.read_text() == "mine"


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_refused(force: bool, tmp_path: Path) -> None:
    """Before anything is written, with ``--force`` too: no op stays without its job."""
    (tmp_path / "job.py").mkdir()
    with pytest.raises(UsageError, match=r"job\.py' is a folder"):
        scaffold("my_op", tmp_path, job=True, force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["job.py"]


def test_no_trace_of_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file cannot be written, nothing is left behind."""

    def full_disk(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        scaffold("my_op", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha", "expected NAME:TYPE"),
        ("alpha=1", "expected NAME:TYPE"),
        (":float", "not a usable attribute name"),
        ("for:float", "not a usable attribute name"),
        ("alpha:flaot", "did you mean 'float'"),
        ("alpha:int=1.5", "'1.5' is not an int"),
        ("alpha:bool=maybe", "'maybe' is not a bool"),
        ("alpha:float=nan", "finite"),
        ("axes:ints=0,x", "'x' is not an int"),
        ("x:float", "the name 'x' is taken"),
        ("name:str", "the name 'name' is taken"),
    ],
)
def test_unusable_attributes(text: str, message: str, tmp_path: Path) -> None:
    """An attribute that cannot be read is refused, saying which part and what is possible."""
    with pytest.raises(UsageError, match=message):
        scaffold("my_op", tmp_path, attrs=[text])
    assert list(tmp_path.iterdir()) == []


def test_attribute_given_twice(tmp_path: Path) -> None:
    """Two attributes cannot share a name."""
    with pytest.raises(UsageError, match="taken"):
        scaffold("my_op", tmp_path, attrs=["k:float", "k:int"])


def test_unknown_kind(tmp_path: Path) -> None:
    """An unknown kind brings the nearest."""
    with pytest.raises(UsageError, match="did you mean 'reduction'"):
        scaffold("my_op", tmp_path, "reductoin")


def test_defaults_of_attributes() -> None:
    """A left-out default is the type's zero, as in OneFlow; C++ and Python spell the same value."""
    assert parse_attr("a:float").default == 0.0
    assert parse_attr("a:ints").default == []
    assert parse_attr("a:bool=1").cpp_default == "true"
    assert parse_attr('a:str=say "hi"').cpp_default == '"say \\"hi\\""'
    assert ast.literal_eval(parse_attr("a:floats=1,2.5").py_default) == (1.0, 2.5)
    assert ast.literal_eval(parse_attr("a:ints=3").py_default) == (3,)
    assert ast.literal_eval(parse_attr("a:ints").py_default) == ()


@pytest.mark.parametrize("name", ["eps", "epsilon"])
def test_an_attribute_is_the_small_number_of_a_normalization(name: str, tmp_path: Path) -> None:
    """By its name: both kernels add it to the variance, and nothing is multiplied with it."""
    scaffold("my_op", tmp_path, "normalization", [f"{name}:float=1e-5", "gain:float=2.0"], cpp=True)
    kernel, compiled = ((tmp_path / "my_op" / f"my_op_{end}").read_text() for end in ("py_kernel.py", "cpp_kernel.cpp"))
    assert (kernel.count(f"keepdims=True) + {name})"), compiled.count(f"squares / size + {name})")) == (2, 1)
    assert compiled.count(f"Moments(row, size, {name}, &mean, &scale);") == 2
    assert (f"{name} * " in kernel + compiled, "1e-5" in kernel + compiled) == (False, False)
    assert "y = gain * ((x - mean) / sqrt(variance + " in kernel


@pytest.mark.parametrize("kind", SPEC_KINDS)
def test_kernels_keep_float32(kind: str, tmp_path: Path) -> None:
    """Scaffolded kernels compute float32 in float32, with attributes too."""
    scaffold("my_op", tmp_path, kind, ["alpha:float=0.5", "n:int=3"])
    names: dict[str, object] = {}
    exec((tmp_path / "my_op" / "my_op_py_kernel.py").read_text(), names)
    matrix = np.ones((2, 2), np.float32)
    args = dict.fromkeys(("binary", "matmul", "multi_output"), (matrix, matrix))
    args |= {kind: (matrix, np.array([0, 1])) for kind in ("loss", "gather")}
    args |= {"normalization": (matrix, matrix[0], matrix[0])}
    made = names["forward"](args.get(kind, (matrix,)), {"alpha": 0.5, "n": 3})
    assert {y.dtype for y in (made if isinstance(made, tuple) else (made,))} == {np.dtype(np.float32)}
