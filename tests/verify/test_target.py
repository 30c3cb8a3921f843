"""What a user names is resolved to what can be loaded, in a stable order."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.verify.targets.target import TargetKind, resolve
from tests.verify.opdirs import make_op


def test_a_folder_gives_its_op_directories_sorted(here: Path) -> None:
    """Op directories at any depth, by path; dot folders and site-packages are skipped."""
    for name in ("b/two", "a/one", ".hidden/three", "site-packages/four"):
        make_op(here / Path(name).parent, Path(name).name)
    assert [target.label for target in resolve([])] == ["a/one", "b/two"]


def test_a_file_of_an_op_directory_means_the_directory(here: Path) -> None:
    """The kernel file of an op directory is not a script."""
    make_op(here, "one")
    (target,) = resolve(["one/one_py_kernel.py"])
    assert (target.kind, target.label) == (TargetKind.DIRECTORY, "one")


def test_files_are_scripts_or_hold_named_layers(here: Path) -> None:
    """FILE.py is a script, FILE.py::Name a PyLayer in it."""
    (here / "job.py").write_text("")
    script, named = resolve(["job.py", "job.py::Layer"])
    assert (script.kind, named.kind, named.name) == (TargetKind.SCRIPT, TargetKind.NAMED, "Layer")
    assert named.label == "job.py::Layer"


def test_a_module_that_another_one_holds_is_found(here: Path) -> None:
    """``os`` is not a package, and ``os.path`` a module all the same."""
    (target,) = resolve(["os.path::join"])
    assert (target.path, target.label) == (os.path.__file__, "os.path::join")


def test_nothing_is_checked_twice(here: Path) -> None:
    """The same directory by two ways is one target."""
    make_op(here, "one")
    assert len(resolve(["one", "./one", "."])) == 1


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("missing", "no such file or folder: 'missing'"),
        ("missing.py::f", "no such file or folder: 'missing.py'"),
        ("no.such.module::f", "no such file, folder or module: 'no.such.module'"),
        ("notes.txt", "cannot check notes.txt"),
        ("one.py::", "'one.py::' has no name behind"),
    ],
)
def test_what_cannot_hold_an_op_is_a_usage_error(here: Path, word: str, said: str) -> None:
    """A path that is not there, no Python file, or no name behind the colons is refused by name."""
    (here / "notes.txt").write_text("")
    with pytest.raises(UsageError, match=said):
        resolve([word])


LAYER = (
    "from paddle.autograd import PyLayer\n\n\nclass One(PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x * 1\n\n    @staticmethod\n    def backward(ctx, dy):\n        return dy\n"
)


@pytest.mark.parametrize(
    ("name", "text", "is_taken"),
    [
        ("one.py", LAYER, True),
        ("one.py", LAYER + "\n\nif __name__ == '__main__':\n    print(One)\n", True),
        ("one.py", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n" + LAYER, True),
        ("one.py", "import jax\n\nf = jax.custom_vjp(lambda x: x)\nf.defvjp(lambda x: (x, x), lambda x, dy: (dy,))\n", True),
        ("one.py", "import torch\n\n\n@torch.library.custom_op('a::b', mutates_args=())\ndef b(x):\n    return x\n", True),
        ("one.py", LAYER + "\nprint('a script')\n", False),
        ("one.py", LAYER + "\nfor _ in range(3):\n    pass\n", False),
        ("one.py", LAYER + "\ntry:\n    print('a script')\nfinally:\n    pass\n", False),
        ("one.py", "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n", False),
        ("one.py", "class Function:\n    pass\n\n\nclass Other(Function):\n    pass\n", False),
        ("one.py", LAYER + "\n)", True),  # loading it says what is wrong
        ("one.py", "# paddle.autograd.PyLayer\n", False),
        ("test_one.py", LAYER, False),
        ("check_one.py", "print('whatever it does')\n", True),
    ],
)
def test_of_a_folder_files_that_define_functions_and_do_no_more_are_taken(
    name: str, text: str, is_taken: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert [(Path(target.path).name, target.name) for target in resolve([tmp_path])] == [(name, "*")] * is_taken


def test_what_a_check_file_imports_is_checked_by_it(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(LAYER)
    (tmp_path / "check_one.py").write_text("from one import One\n")
    assert [Path(target.path).name for target in resolve([tmp_path])] == ["check_one.py"]


def test_a_module_in_folders_without_init_files_is_found(here: Path) -> None:
    """Packages that are namespaces inside namespaces are not imported to find it."""
    inner = here / "wide" / "open"
    inner.mkdir(parents=True)
    (inner / "layers.py").write_text("")
    (target,) = resolve(["wide.open.layers::Cube"])
    assert (Path(target.path).name, "wide" in sys.modules) == ("layers.py", False)
