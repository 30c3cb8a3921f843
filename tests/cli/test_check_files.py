"""``opkit test`` on files: check files and named files have an item for each name that can be checked."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_commands import opkit

LAYERS = '''
import paddle
from paddle.autograd import PyLayer


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 3 * x * x


class Wrong(Cube):
    pass


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * x


def cases(rng):
    yield {"x": rng.standard_normal((2, 3))}
'''


def test_a_named_file_has_an_item_for_each_layer(tmp_path: Path) -> None:
    """The right one passes, the wrong one fails with its report and its cause in the summary."""
    (tmp_path / "layers.py").write_text(LAYERS)
    done = opkit(tmp_path, "test", "layers.py", "--", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED layers.py::Square - GC101" in done.stdout


def test_a_layer_within_a_class_is_an_item(tmp_path: Path) -> None:
    """As `opkit gradcheck` finds it."""
    inner = LAYERS.partition("def cases")[0].partition("class")
    body = "".join(f"    {line}\n" if line else "\n" for line in (inner[1] + inner[2]).splitlines())
    (tmp_path / "layers.py").write_text(f"{inner[0]}class Holder:\n{body}")
    done = opkit(tmp_path, "test", "layers.py", "--", "-q", "-p", "no:cacheprovider")
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED layers.py::Holder.Square - GC101" in done.stdout


def test_a_check_file_that_exports_nothing_is_one_item(tmp_path: Path) -> None:
    """What it imports is checked on its cases, as `opkit gradcheck` does; a script of such a name is left alone."""
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "check_square.py").write_text("from layers import Square, cases\n")
    (tmp_path / "check_links.py").write_text("raise SystemExit(1)\n")
    done = opkit(tmp_path, "test", "--", "-q", "-p", "no:cacheprovider")
    assert "FAILED check_square.py::gradcheck - GC101" in done.stdout
    assert "1 failed in" in done.stdout


def test_check_files_are_collected_without_being_named(tmp_path: Path) -> None:
    """Other files are not; the names of ``__all__`` count."""
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "check_cube.py").write_text('from layers import Cube, cases\n\n__all__ = ["Cube", "cases"]\n')
    done = opkit(tmp_path, "test", "--", "--collect-only", "-q")
    assert [line for line in done.stdout.splitlines() if "::" in line] == ["check_cube.py::Cube"]


def test_what_has_nothing_to_decide_is_skipped(tmp_path: Path) -> None:
    """An op whose definition claims no signature that could be proved is not shown as failed."""
    opkit(tmp_path, "new", "my_op", "--no-grad")
    done = opkit(tmp_path, "test", "--", "-q", "-rs", "-p", "no:cacheprovider")
    assert (done.returncode, "failed" in done.stdout) == (0, False)


REPEATED = """
import os
from pathlib import Path

from opkit.testing import assert_gradients

HERE = Path(__file__).parent


def loads():
    return len((HERE / "log" / "loads").read_text())


def test_gradient(monkeypatch):
    before = loads()
    monkeypatch.setenv("OTHER", "1")
    assert_gradients(HERE / "check_cube.py::Cube")
    assert loads() > before
    monkeypatch.delenv("OTHER")
    before = loads()
    assert_gradients(HERE / "check_cube.py::Cube")
    assert loads() == before
    assert_gradients(HERE / "check_cube.py::Cube")
    assert loads() > before
"""


def test_what_an_item_has_checked_a_test_does_not_check_again(tmp_path: Path) -> None:
    """Once, and in the same environment: what is asked again may be another thing by then."""
    (tmp_path / "log").mkdir()
    check = 'from layers import Cube, cases\n\n__all__ = ["Cube", "cases"]\nopen("log/loads", "a").write("x")\n'
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "check_cube.py").write_text(check)
    (tmp_path / "test_cube.py").write_text(REPEATED)
    done = opkit(tmp_path, "test", "--", "-q", "-p", "no:cacheprovider")
    assert "2 passed" in done.stdout, done.stdout
