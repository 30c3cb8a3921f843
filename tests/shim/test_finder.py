"""The shim maps a framework's import names to opkit's packages, exactly and undoably."""

import importlib
import importlib.util
import sys
import types
from pathlib import Path

import pytest

from opkit.shim import finder, frameworks, install_frameworks


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of its own in the place of a framework: ``acme`` is served by ``acme_real``."""
    package = tmp_path / "acme_real"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("VALUE = 1\n\ndef __getattr__(name):\n    raise AttributeError(name)\n")
    (package / "static.py").write_text("FLAG = 2\n")
    (package / "sub" / "__init__.py").write_text("from acme_real import VALUE\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(finder, "FRAMEWORKS", {"acme": "acme_real"})
    yield "acme"
    for name in [name for name in sys.modules if name.startswith("acme")]:
        del sys.modules[name]


def test_alias_is_the_very_module(served: str) -> None:
    """The framework's name and opkit's name are one module, whose spec stays its own."""
    with frameworks():
        alias = importlib.import_module("acme")
        real = importlib.import_module("acme_real")
        assert alias is real
        assert alias.__spec__.name == "acme_real"
        assert alias.__name__ == "acme_real"


def test_submodules_are_real_submodules(served: str) -> None:
    """``import acme.static`` works, and is the module that the package has."""
    with frameworks():
        static = importlib.import_module("acme.static")
        assert static.FLAG == 2
        assert static is importlib.import_module("acme_real.static")
        assert static.__spec__.name == "acme_real.static"
        assert sys.modules["acme"].static is static
        assert importlib.import_module("acme.sub").VALUE == 1


def test_everything_is_undone(served: str) -> None:
    """After the block no finder and no alias is left, and a module of that name that was there before is back."""
    before = types.ModuleType("acme")
    sys.modules["acme"] = before
    count = len(sys.meta_path)
    with frameworks():
        assert importlib.import_module("acme") is not before
    assert sys.modules["acme"] is before
    assert "acme.static" not in sys.modules
    assert len(sys.meta_path) == count


def test_blocks_nest(served: str) -> None:
    """An inner block leaves the outer one in force."""
    with frameworks():
        with frameworks():
            importlib.import_module("acme.static")
        assert importlib.import_module("acme").VALUE == 1
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("acme")


def test_undone_after_an_error(served: str) -> None:
    """An exception that leaves the block undoes it too."""
    count = len(sys.meta_path)
    with pytest.raises(ZeroDivisionError), frameworks():
        _ = 1 / 0
    assert len(sys.meta_path) == count


def test_names_that_only_begin_alike(served: str, tmp_path: Path) -> None:
    """``acme_ops`` is not part of ``acme``."""
    (tmp_path / "acme_ops.py").write_text("MINE = True\n")
    with frameworks():
        assert importlib.import_module("acme_ops").MINE


def test_missing_submodule_names_the_nearest(served: str) -> None:
    """Importing a submodule that does not exist says so and offers the nearest name."""
    with frameworks(), pytest.raises(ModuleNotFoundError, match=r"no acme\.statik; did you mean acme\.static\?"):
        importlib.import_module("acme.statik")


def test_missing_name_in_from_import(served: str) -> None:
    """``from acme import name`` says what is missing and offers the nearest name."""
    with frameworks(), pytest.raises(ImportError, match=r"no acme\.VALEU; did you mean acme\.VALUE\?"):
        exec("from acme import VALEU")


def test_find_spec_answers_without_advice(served: str) -> None:
    """Whoever only asks whether a module exists gets an answer, not an error."""
    with frameworks():
        importlib.import_module("acme")
        assert importlib.util.find_spec("acme.statik") is None
        assert importlib.util.find_spec("acme.static") is not None


def test_install_returns_its_undoing(served: str) -> None:
    """The installing function works until the function that it returns is called."""
    undo = install_frameworks()
    try:
        assert importlib.import_module("acme").VALUE == 1
    finally:
        undo()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("acme")


def test_both_frameworks_are_served() -> None:
    """OneFlow's and Paddle's names are those that the shim maps, each to a package that exists."""
    assert finder.FRAMEWORKS == {"oneflow": "opkit.oneflow", "paddle": "opkit.paddle"}
    with frameworks():
        for name, package in finder.FRAMEWORKS.items():
            assert importlib.import_module(name) is importlib.import_module(package)


def test_a_submodule_does_not_hide_the_function_of_its_name() -> None:
    """Importing the module in which the framework defines a function leaves the function where it was."""
    with frameworks():
        import paddle
        from paddle.nn.utils.clip_grad_norm_ import clip_grad_norm_

        assert callable(clip_grad_norm_)
        assert paddle.nn.utils.clip_grad_norm_ is clip_grad_norm_
        import paddle.distributed.spawn

        assert not isinstance(paddle.distributed.spawn, type(sys))
