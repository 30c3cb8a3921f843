"""Facts about tracing: what becomes a graph, what is refused, and that the reason names the kernel's line."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from opkit.errors import Location
from opkit.export.trace.graph import Trace, UntraceableError
from opkit.export.trace.run import trace_kernel
from opkit.project.kernel import UserKernel
from opkit.project.module import load_module

X = np.arange(12.0).reshape(3, 4) / 7


def traced(folder: Path, body: str, *args: Any, **attrs: Any) -> Trace:
    """Trace a kernel whose body is given; its arguments are a, b, c ..."""
    names = "abcdef"[: len(args)]
    head = f"import numpy as np\n\n\ndef forward(args, attrs):\n    ({', '.join(names)},) = args\n"
    text = head + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    path = folder / "some_py_kernel.py"
    path.write_text(text)
    module = load_module(path)
    kernel = UserKernel("some", module.forward, True, Location(str(path), 4, function="forward"))
    return trace_kernel(kernel, list(names), args, attrs)


def functions(trace: Trace) -> list[str]:
    """Return numpy's names of the operations, in order."""
    from opkit.export.text.writer import _ordered

    return [node.function for node in _ordered(trace) if node.function != "input"]


def test_operators_and_functions_become_nodes(tmp_path: Path) -> None:
    """Operators, functions of np and methods of arrays are noted alike."""
    assert functions(traced(tmp_path, "return np.exp(a).sum(axis=1) * 2", X)) == ["exp", "sum", "multiply"]


def test_the_result_is_numpys(tmp_path: Path) -> None:
    """A trace holds what the kernel gives for its example."""
    (node,) = traced(tmp_path, "return a / a.max(axis=0)", X).results
    np.testing.assert_array_equal(node.value, X / X.max(axis=0))


def test_writes_become_functional(tmp_path: Path) -> None:
    """A write into an own array is a node; the example's argument stays as it was."""
    trace = traced(tmp_path, "d = np.zeros_like(a)\nd[:, 0] = a[:, 1]\nreturn d", X)
    assert functions(trace)[-1] == "setitem"
    assert trace.results[0].value[0, 0] == X[0, 1]


def test_augmented_writes_are_written_once(tmp_path: Path) -> None:
    """``d[..., 1:] += a`` adds once."""
    trace = traced(tmp_path, "d = np.zeros_like(a)\nd[..., 1:] += a[..., 1:]\nreturn d", X)
    np.testing.assert_array_equal(trace.results[0].value[:, 1:], X[:, 1:])


def test_variables_name_nodes(tmp_path: Path) -> None:
    """The kernel's own variables are the names of the written code."""
    assert traced(tmp_path, "total = a.sum()\nreturn a / total", X).results[0].args[1].name == "total"


def test_attributes_stay_symbols(tmp_path: Path) -> None:
    """An attribute is a parameter of the graph, not its value."""
    node = traced(tmp_path, "return a * (attrs['k'] + 1)", X, k=2.0).results[0]
    assert node.args[1].kind == "binary"
    assert node.args[1].args[1].args == ("k",)


def test_a_branch_on_an_attribute_is_a_guard(tmp_path: Path) -> None:
    """What a kernel asks of an attribute is noted with the answer."""
    trace = traced(tmp_path, "if attrs['mode'] == 'up':\n    return a + 1\nreturn a - 1", X, mode="up")
    assert [guard.holds for guard in trace.guards] == [True]


def test_namespace_is_put_back(tmp_path: Path) -> None:
    """After a trace the kernel runs on numpy's own arrays again."""
    path = tmp_path / "some_py_kernel.py"
    path.write_text("import numpy as np\n\n\ndef forward(args):\n    return np.exp(args[0])\n")
    module = load_module(path)
    kernel = UserKernel("some", module.forward, False, Location(str(path), 4))
    trace_kernel(kernel, ["x"], [X], {})
    assert module.np is np


@pytest.mark.parametrize(
    ("body", "reason", "line"),
    [
        ("return a * 2 if a.sum() > 0 else a", "depends on values", 6),
        ("return np.array([v * 2 for v in a])", "loops over an array", 6),
        ("b = a + 1\nreturn b[b > 0]", "mask", 7),
        ("return a * float(a[0, 0])", "depends on values", 6),
        ("return np.unique(a)", "depends on values", 6),
        ("a[0] = 1\nreturn a", "writes to an argument", 6),
        ("s = a * 0\nfor i in range(a.shape[0]):\n    s = s + i\nreturn s", "known only at the call", 7),
        ("return a + np.random.rand()  + a.item()", "depends on values", 6),
    ],
)
def test_what_a_graph_cannot_hold_names_its_line(tmp_path: Path, body: str, reason: str, line: int) -> None:
    """Value-dependent code, loops and writes to arguments are refused, each at the kernel's own line."""
    with pytest.raises(UntraceableError) as caught:
        traced(tmp_path, body, X)
    assert reason in caught.value.reason
    assert caught.value.line == line


def test_a_stale_view_is_refused(tmp_path: Path) -> None:
    """A view that is read after its array was written to would hold other values than numpy's."""
    with pytest.raises(UntraceableError, match="view"):
        traced(tmp_path, "d = a * 1\nv = d[0]\nd[1] = v\nreturn v + d[1]", X)
