"""What must not be forked is checked in fresh interpreters, one for many ops."""

from __future__ import annotations

import os
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import opkit
from opkit.checker import OpReport, Options
from opkit.verify import RunOptions, run_targets
from opkit.verify.isolation.supervisor import can_fork
from tests.verify.spawned import dying, square, square_grad, square_grad_wrong

pytestmark = pytest.mark.skipif(not can_fork(), reason="isolation by processes of one's own")

QUICK = RunOptions(Options(effort=0.05), timeout=20, replay=False)

#: A file whose import starts a thread, and counts itself; forking is an error from then on.
_HEAD = """
import os
import threading
import time
import numpy as np
import paddle
from paddle.autograd import PyLayer

with open("imports", "a") as handle:
    handle.write("x")
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def forks(*args):
    raise RuntimeError("forked")


os.fork = forks


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 2 * x * dy
"""
_LAYER = """

class {name}(Square):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        {line}
        return {factor} * x * dy


def cases_{name}(rng):
    yield {{"x": rng.standard_normal(3)}}
"""


def layer(name: str, line: str = "", factor: int = 2) -> str:
    """Return the text of a PyLayer with cases of its own."""
    return _LAYER.format(name=name, line=line or "pass", factor=factor)


def run(folder: Path, text: str, *names: str, options: RunOptions = QUICK, head: str = _HEAD) -> tuple[OpReport, ...]:
    """Check classes of a file, or the file as a script."""
    (folder / "f.py").write_text(head + text)
    return run_targets([f"f.py::{name}" for name in names] or ["f.py"], options).report.ops


def found(report: OpReport) -> list[str]:
    """Return the codes of a report's findings."""
    return [item.code for item in report.findings]


def test_a_file_that_starts_threads_is_not_forked(here: Path) -> None:
    """The file's classes are loaded again by fresh interpreters, and judged."""
    right, wrong = run(here, layer("A") + layer("B", factor=3), "A", "B")
    assert (found(right), found(wrong)) == ([], ["GC101"])


def test_files_that_import_a_framework_share_an_interpreter(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one process that checks, and one more for the op that passes, which confirms it."""
    (here / "tensorflow.py").write_text(
        "import os\nwith open('frameworks', 'a') as h: h.write(str(os.getpid()) + ' ')\n"
    )
    monkeypatch.syspath_prepend(str(here))
    head = _HEAD + "import tensorflow\n"
    reports = run(here, layer("A") + layer("B", factor=3), "A", "B", head=head)
    assert [found(report) for report in reports] == [[], ["GC101"]]
    assert len((here / "frameworks").read_text().split()) == 2


def test_an_interpreter_that_dies_costs_the_op_that_it_was_at(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The op is blamed with the inputs of the fatal call and its line; the others are judged by the next one."""
    (here / "tensorflow.py").write_text("")
    monkeypatch.syspath_prepend(str(here))
    late = "os.environ['CALLS'] = os.environ.get('CALLS', '') + 'x'; len(os.environ['CALLS']) > 20 and os.abort()"
    text = layer("A") + layer("B", late) + layer("C", factor=3)
    first, second, third = run(here, text, "A", "B", "C", head=_HEAD + "import tensorflow\n")
    assert found(first) == []
    assert found(second) == ["GC191"]
    assert second.findings[0].evidence is not None
    assert second.findings[0].where is not None
    assert second.findings[0].where.function == "backward"
    assert found(third) == ["GC101"]


def test_a_hang_in_a_fresh_interpreter_ends_at_the_limit(here: Path) -> None:
    """The time limit is each op's own."""
    options = RunOptions(Options(effort=0.05), timeout=2, replay=False)
    (hangs,) = run(here, layer("A", "while True: pass"), "A", options=options)
    assert found(hangs) == ["GC192"]
    assert hangs.seconds < 4


def test_memory_is_limited_by_what_is_held(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address space that is reserved and not used does not count; memory that is written to does."""
    options = RunOptions(Options(effort=0.05), timeout=20, memory=300, replay=False)
    text = layer("A", "import mmap; kept = mmap.mmap(-1, 4 << 30)") + layer("B", "kept = np.ones(1 << 28)")
    (here / "tensorflow.py").write_text("")
    monkeypatch.syspath_prepend(str(here))
    reserves, fills = run(here, text, "A", "B", options=options, head=_HEAD + "import tensorflow\n")
    assert (found(reserves), found(fills)) == ([], ["GC194"])


def test_ops_of_a_threaded_script_are_judged_in_its_process(here: Path) -> None:
    """A script is not run again: what it called is checked where it ran."""
    used = "\nx = paddle.to_tensor(np.ones(3), stop_gradient=False)\n{}.apply(x).sum().backward()\n"
    text = layer("A", factor=3) + layer("B") + used.format("A") + used.format("B")
    reports = {report.op: found(report) for report in run(here, text)}
    assert ("GC101" in reports["f.py::A"], reports["f.py::B"]) == (True, [])
    assert (here / "imports").read_text() == "x"


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process with a thread, in which nothing may fork."""

    def fork() -> int:
        raise AssertionError("forked")

    monkeypatch.setattr(os, "fork", fork)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("threaded")
def test_functions_that_can_be_imported_are_isolated_without_a_fork() -> None:
    """A fresh interpreter imports them; one that dies is reported."""
    inputs = [np.linspace(-1, 1, 5)]
    given = {"inputs": inputs, "isolate": True, "effort": 0.2}
    assert opkit.gradcheck(forward=square, backward=square_grad, **given).status.value == "pass"
    assert opkit.gradcheck(forward=square, backward=square_grad_wrong, **given).status.value == "fail"
    (dead,) = opkit.gradcheck(forward=square, backward=dying, **given).ops
    assert found(dead) == ["GC191"]


@pytest.mark.usefixtures("threaded")
def test_functions_that_cannot_be_imported_are_checked_under_a_watchdog() -> None:
    """The report's notes say why, and what runs in Python too long is interrupted at the limit."""
    given = {"inputs": [np.linspace(-1, 1, 5)], "isolate": True, "effort": 0.2}
    (right,) = opkit.gradcheck(forward=lambda x: x * x, backward=square_grad, **given).ops
    assert found(right) == []
    assert any("watchdog" in note for note in right.notes)

    def hangs(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        while True:
            pass

    (late,) = opkit.gradcheck(forward=square, backward=hangs, timeout=0.5, **given).ops
    assert found(late) == ["GC192"]
    assert late.seconds < 3


def test_a_text_names_the_packages_that_it_imports(tmp_path: Path) -> None:
    """Import statements anywhere count, relative ones and names in strings do not."""
    from opkit.verify.targets.imports import imported_roots

    text = """
    import numpy.linalg as la
    def f():
        from tensorflow.autograd import Function
    from . import jax
    "import paddle"
    """
    (tmp_path / "f.py").write_text(textwrap.dedent(text))
    assert imported_roots(tmp_path / "f.py") == {"numpy", "tensorflow"}
    (tmp_path / "g.py").write_text("import (")
    assert imported_roots(tmp_path / "g.py") == frozenset()
