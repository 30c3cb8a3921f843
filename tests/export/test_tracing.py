"""Facts about tracing: what becomes a graph, what is refused, and that the reason names the kernel's line."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from opkit.errors import Location
from opkit.export.text.writer import ordered
from opkit.export.trace.graph import Trace, UntraceableError
from opkit.export.trace.run import trace_kernel
from opkit.project.kernel import UserKernel
from opkit.project.module import load_module

X = np.arange(12.0).reshape(3, 4) / 7


def traced(folder: Path, body: str, *args: Any, **attrs: Any) -> Trace:
    """Trace a kernel whose body is given; its arguments are a, b, c ..."""
    names = "abcdef"[: len(args)]
    head = f"import numpy as np\n\n\ndef forward(args, attrs):\n    ({', '.join(names)},) = args\n"
    head = "import math\n" + head.replace("\n\n\n", "\n\n", 1)
    text = head + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    path = folder / "some_py_kernel.py"
    path.write_text(text)
    module = load_module(path)
    kernel = UserKernel("some", module.forward, True, Location(str(path), 4, function="forward"))
    return trace_kernel(kernel, list(names), args, attrs)


def functions(trace: Trace) -> list[str]:
    """Return numpy's names of the operations, in order."""
    return [node.function for node in ordered(list(trace.results)) if node.function != "input"]


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
        ("b = a + 1\nreturn b[b > 0]", "mask", 7),
        ("return a * float(a[0, 0])", "depends on values", 6),
        ("return np.unique(a)", "depends on values", 6),
        ("a[0] = 1\nreturn a", "writes to an argument", 6),
        ("s = a * 0\nfor i in range(a.shape[0]):\n    s = s + i if i else s - 1\nreturn s", "which round", 8),
        (
            "s = a[0]\nfor i in range(a.shape[0]):\n    s = s * 2\n    if a.shape[1] > i: break\nreturn s",
            "which round",
            9,
        ),
        ("s = a[0]\nfor v in a:\n    s = s + v\n    break\nreturn s", "before its end", 0),
        ("p, q = a[0], a[1]\nfor v in a:\n    p, q = q, p + q + v\nreturn p", "different things", 8),
        ("k = []\nfor v in a:\n    k.append(v * 2)\nreturn k[0] + 1", "single round", 9),
        ("return a + a.item()", "depends on values", 6),
        ("return a + np.random.rand()", "draws random numbers", 6),
    ],
)
def test_what_a_graph_cannot_hold_names_its_line(tmp_path: Path, body: str, reason: str, line: int) -> None:
    """Value-dependent code, loops and writes to arguments are refused, each at the kernel's own line."""
    with pytest.raises(UntraceableError) as caught:
        traced(tmp_path, body, X)
    assert reason in caught.value.reason
    assert caught.value.line == line


def test_a_view_follows_its_array(tmp_path: Path) -> None:
    """A view that is read after its array was written to holds the new values, as numpy's does."""
    body = "d = a * 1\nv = d[0]\nd[0] = d[1]\nreturn v + d[1]"
    np.testing.assert_array_equal(traced(tmp_path, body, X).results[0].value, 2 * X[1])


@pytest.mark.parametrize(
    "view", ["d.T[0]", "d.reshape(-1)[::3]", "np.moveaxis(d, 1, 0)[1]", "np.expand_dims(d, 0)[0, 1]", "d[:, ::-1][0]"]
)
def test_a_write_through_a_view_reaches_its_array(tmp_path: Path, view: str) -> None:
    """What is written to a view of a view stands in the array, as in numpy."""
    body = f"d = a * 1\nv = {view}\nv += 5\nv[0] = -1\nreturn d"
    space: dict[str, Any] = {"np": np, "a": X.copy()}
    exec(body.replace("return d", ""), space)
    np.testing.assert_array_equal(traced(tmp_path, body, X).results[0].value, space["d"])


@pytest.mark.parametrize(
    "body",
    [
        "s = a[0] * 0\nfor v in a:\n    s = s + v\nreturn s",
        "s = a * 0\nfor i in range(1, a.shape[1]):\n    s[:, i] = s[:, i - 1] + a[:, i]\nreturn s",
        "rows = []\nfor i in reversed(range(len(a))):\n    rows.append(a[i] * i)\nreturn np.stack(rows[::-1])",
        "s = a * 0\nfor i, v in enumerate(a):\n    for j in range(a.shape[1]):\n        s[i, j] += v[j] * i + j\nreturn s",
        "return sum(a[i] * i for i in range(a.shape[0]))",
    ],
)
def test_a_loop_over_a_size_is_one_node(tmp_path: Path, body: str) -> None:
    """However many rounds the example has, the graph holds the loop once, with the kernel's values."""
    trace = traced(tmp_path, body, X)
    assert functions(trace).count("loop") == 1
    space: dict[str, Any] = {"np": np, "a": X}
    exec("def run():\n" + "".join(f"    {line}\n" for line in body.splitlines()), space)
    np.testing.assert_array_equal(trace.results[0].value, space["run"]())


def test_a_loop_of_one_round_is_short(tmp_path: Path) -> None:
    """From a single round it cannot be seen what a round takes from the one before."""
    body = "s = a[0] * 0\nfor v in a:\n    s = s + v\nreturn s"
    assert traced(tmp_path, body, X[:1]).is_short
    assert not traced(tmp_path, body, X).is_short


@pytest.mark.parametrize(
    "body",
    [
        "d = a * 1\nd[d < 0.5] *= 3\nreturn d",
        "d = a * 1\nd[a > 0.5] = -1\nreturn d",
        "d = a * 1\nm = a > 0.5\nd[m] = np.exp(a[m]) + 1\nreturn d",
        "return a * a[a > 0.5].mean() + a[a > 0.5].sum()",
        "d = a * 1\nd[a[:, 0] > 0.5] = 2\nreturn d",
        "d = a * 1\nnp.copyto(d, -a, where=a > 1)\nreturn d",
    ],
)
def test_a_mask_as_index_is_a_choice(tmp_path: Path, body: str) -> None:
    """What is read and written by a mask has numpy's values, and no size that depends on values."""
    trace = traced(tmp_path, body, X)
    space: dict[str, Any] = {"np": np, "a": X}
    exec("def run():\n" + "".join(f"    {line}\n" for line in body.splitlines()), space)
    np.testing.assert_allclose(trace.results[0].value, space["run"](), rtol=1e-15)
    assert "where" in functions(trace)


@pytest.mark.parametrize(
    "call",
    [
        "np.select([a < 0.5, a < 1], [a * 2, a * 3], default=7)",
        "np.median(a, axis=1)",
        "np.average(a, axis=1, weights=a + 1)",
        "np.ptp(a, axis=0)",
        "np.delete(a, 1, axis=1)",
        "np.insert(a, 1, 9.0, axis=1)",
        "np.kron(a, a[:2])",
        "np.cross(a[:, :3], a[:, 1:])",
        "np.convolve(a[0], a[1, :2])",
        "np.gradient(a, axis=1)",
        "np.trapezoid(a, axis=1)",
        "np.nanmean(np.where(a > 1.3, np.nan, a), axis=1)",
        "np.rot90(a)",
        "np.column_stack([a[0], a[1]])",
        "np.trace(a[:, :3])",
        "np.linalg.norm(a, axis=1, keepdims=True)",
        "np.linalg.norm(a[0], ord=3)",
        "np.add.outer(a[0], a[1])",
        "a[np.ix_(np.arange(2), np.arange(a.shape[1]))]",
        "np.lib.stride_tricks.as_strided(a[0] * 1, (3, 2), (a[0].strides[0], a[0].strides[0]))",
        "np.sum(a, axis=0, where=a > 0.5)",
        "np.tri(a.shape[0]) @ a",
    ],
)
def test_functions_made_of_others(tmp_path: Path, call: str) -> None:
    """What numpy makes of simpler functions is traced as these, with numpy's values."""
    (node,) = traced(tmp_path, f"return {call}", X).results
    np.testing.assert_allclose(node.value, eval(call, {"np": np, "a": X}), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("a * math.sqrt(a.shape[-1])", 2 * X),
        ("a * max(a.shape[0], 2)", 3 * X),
        ("a * float(attrs['k'])", 3 * X),
        ("a / int(attrs['k'])", X / 3),
        ("a * (2 if isinstance(attrs['k'], int) else 5)", 2 * X),
        ("a * len(a)", 3 * X),
        ("a.sum(axis=attrs['k'] - 3)", X.sum(axis=0)),
        ("a * a.shape[attrs['k'] - 2]", 4 * X),
    ],
)
def test_pythons_own_functions_keep_symbols(tmp_path: Path, call: str, expected: Any) -> None:
    """``math``, ``max``, ``float``, ``int``, ``isinstance`` and ``len`` take what is known only at the call."""
    trace = traced(tmp_path, f"return {call}", X, k=3)
    np.testing.assert_allclose(trace.results[0].value, expected)
    assert not trace.guards
