"""Shapes that forward takes although nothing says that they are meant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import opkit
from opkit.checker import OpReport, Status

pytestmark = pytest.mark.xdist_group("relations")

HEAD = "import numpy as np\nimport paddle\nfrom paddle.autograd import PyLayer\n\n\n"


def report_on(folder: Path, takes: str, forward: str, backward: str) -> OpReport:
    """Return the report on FILE.py::Op of a PyLayer without cases."""
    text = f"class Op(PyLayer):\n    @staticmethod\n    def forward(ctx, {takes}):\n        {forward}\n\n"
    text += f"    @staticmethod\n    def backward(ctx, dy):\n        {backward}\n"
    path = folder / "layer.py"
    path.write_text(HEAD + text)
    return opkit.gradcheck([f"{path}::Op"], jobs=1, replay=False).ops[0]


def test_a_bias_that_is_not_summed_is_accused(tmp_path: Path) -> None:
    """What is called a bias is broadcast over x, whatever shapes backward fits."""
    assert report_on(tmp_path, "x, bias", "return x + bias", "return dy, dy").status is Status.FAIL


def test_a_wrong_gradient_is_accused_beside_shapes_set_aside(tmp_path: Path) -> None:
    """That broadcasting is set aside hides no wrong value."""
    assert report_on(tmp_path, "x, y", "return x - y", "return dy, dy").status is Status.FAIL


def test_a_mask_given_as_floats_counts_as_a_constant(tmp_path: Path) -> None:
    """None is right for an input on which no result depends, though forward takes floats for it."""
    forward = "ctx.m = mask.numpy() > 0; return paddle.to_tensor(x.numpy() * ctx.m)"
    backward = "return paddle.to_tensor(dy.numpy() * ctx.m), None"
    report = report_on(tmp_path, "x, mask", forward, backward)
    assert not report.findings


def test_none_for_an_input_that_results_depend_on_is_accused(tmp_path: Path) -> None:
    """A forgotten gradient is not a constant."""
    forward = "ctx.save_for_backward(x, y); return x * y"
    backward = "x, y = ctx.saved_tensor(); return dy * y, None"
    assert report_on(tmp_path, "x, y", forward, backward).status is Status.FAIL


def test_labels_with_an_axis_too_many_are_not_tried(tmp_path: Path) -> None:
    """One label for each row: indexing takes (n, 1) too, and sets every row's label for every row."""
    forward = "z = x.numpy(); q = np.zeros_like(z); q[np.arange(len(z)), label.numpy()] = 1; ctx.d = z - q; "
    forward += "return paddle.to_tensor((ctx.d**2).sum(1))"
    report = report_on(tmp_path, "x, label", forward, "return paddle.to_tensor(2 * ctx.d * dy.numpy()[:, None]), None")
    assert not report.findings


#: What is right for some shapes and raises, or gives other shapes, for others that forward takes.
RIGHT = {
    "Residual": ("x, residual", "return x + residual", "return dy, dy"),
    "Squares": (
        "pred, target",
        "ctx.d = pred - target; return (ctx.d * ctx.d).mean()",
        "g = 2 * dy * ctx.d / ctx.d.size; return g, -g",
    ),
    "OneDeterminant": (
        "a",
        "ctx.inv = np.linalg.inv(a.numpy()); return paddle.to_tensor(np.linalg.slogdet(a.numpy())[1])",
        "return paddle.to_tensor(ctx.inv.T * dy.numpy())",
    ),
    "TwoColumns": (
        "x, t",
        "ctx.t = t; return paddle.stack([x[:, 0] * 2, x[:, 1] + t], axis=1)",
        "return paddle.stack([dy[:, 0] * 2, dy[:, 1]], axis=1), dy[:, 1]",
    ),
    "ThreeGates": (
        "gates, c",
        "i, f, g = paddle.chunk(gates, 3, -1); ctx.k = i, f, g, c; return f * c + i * g",
        "i, f, g, c = ctx.k; return paddle.concat([dy * g, dy * c, dy * i], -1), dy * f",
    ),
}
#: The same where a name or the source says that the others may be meant, or where a gradient is silently wrong.
OPEN = {
    "ReadAsReturned": (
        "p, q",
        "ctx.save_for_backward(p, q); return p * q",
        "p, q = ctx.saved_tensor(); return dy * q, dy * p",
    ),
    "BiasOfRows": ("x, b", "return x + b", "return dy, dy.sum(axis=0)"),
    "FactorOfColumns": ("x, a", "ctx.k = x, a; return x * a", "x, a = ctx.k; return dy * a, dy * x"),
    "SpeaksOfIt": ("h, gate", "return h + gate  # numpy broadcasts", "return dy, dy"),
    "SumHidesBroadcast": (
        "mu, s",
        "ctx.save_for_backward(mu, s); return (mu * mu + paddle.exp(s)).sum(axis=-1)",
        "mu, s = ctx.saved_tensor(); g = dy.unsqueeze(-1); return 2 * g * mu, g * paddle.exp(s)",
    ),
    "OneLabelARow": (
        "x, label",
        "ctx.k = label, len(x); return (x * label).mean()",
        "label, n = ctx.k; return dy * label / n, None",
    ),
    "CutsTable": (
        "x, table",
        "ctx.n, ctx.shape = x.shape[1], table.shape; return x + table[: x.shape[1]]",
        "d = np.zeros(ctx.shape, dy.numpy().dtype); d[: ctx.n] = dy.numpy().sum(axis=0); return dy * 1.0, paddle.to_tensor(d)",
    ),
}
#: The same where something says that they are meant: forward counts axes, or backward sums for the first operand alone.
MEANT = {
    "CountsAxes": (
        "p, q",
        "if q.ndim != 1 or p.ndim < 1: raise ValueError('q is a vector')\n        return p + q",
        "return dy, dy.sum(axis=0)",
    ),
    "SumsOneSide": (
        "p, q",
        "ctx.n = p.shape, q.shape; return p + q",
        "return dy.sum(axis=list(range(dy.ndim - len(ctx.n[0])))) if dy.ndim > len(ctx.n[0]) else dy, dy",
    ),
}
#: None for an input that is a constant by its name; by nothing but the None.
CONSTANT = {
    f"Times{name}": (f"x, {name}", f"ctx.t = {name}; return x * {name}", "return dy * ctx.t, None")
    for name in ("target", "mask", "u")
}
#: Wrong where shapes are meant: values, rows that only one of works, no relation that works at all.
FAULTY = {
    "HalfBias": ("x, b", "return x + b", "return dy, dy.sum(axis=0) / 2"),
    "MeanBias": ("x, b", "return x + b", "return dy, dy.mean(axis=0)"),
    "RightForOneRow": ("x", "ctx.x = x; return (x * x).sum(axis=-1)", "return 2 * dy * ctx.x"),
    "LostGate": (
        "gates, c",
        "i, f, g = paddle.chunk(gates, 3, -1); ctx.k = i, f, g, c; return f * c + i * g",
        "i, f, g, c = ctx.k; return paddle.concat([dy * g, dy * c, dy * g], -1), dy * f",
    ),
    "LostAxis": ("x", "ctx.x = x; return 2 * x", "return (2 * dy).sum(axis=-1)"),
    "Transposed": (
        "x, w",
        "ctx.k = x, w; return paddle.matmul(x, w)",
        "x, w = ctx.k; return paddle.matmul(dy, w.t()), paddle.matmul(dy.t(), x)",
    ),
}


#: Wrong for empty arrays alone: an empty part of a concatenation, an axis of size 1 against one of size 0.
EMPTY = {
    "SkipsEmptyPart": (
        "*xs",
        "ctx.n = [len(x) for x in xs]; return paddle.concat(list(xs))",
        "ends = np.cumsum(ctx.n); return tuple(dy[e - n : e] * 1 for e, n in zip(ends, ctx.n) if n)",
    ),
    "KeepsSizeZero": (
        "x, y",
        "ctx.k = x.shape, y.shape; return x + y",
        "return tuple(narrowed(dy.numpy(), shape) for shape in ctx.k)",
    ),
}
NARROWED = """
def narrowed(d, shape):
    d = d.sum(axis=tuple(range(d.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and d.shape[i] > 1)
    return paddle.to_tensor(d.sum(axis=axes, keepdims=True))


"""
#: Forward returns nothing, whatever it takes.
NO_RETURN = {"NoReturn": ("x, w, b", "ctx.k = x; paddle.matmul(x, w) + b", "return dy, dy, dy")}


@cache
def verdicts() -> Mapping[str, OpReport]:
    """Return the reports on all of these, each as FILE.py::Name without cases, from one run."""
    rows = RIGHT | OPEN | MEANT | CONSTANT | FAULTY | EMPTY | NO_RETURN
    texts = [
        f"class {name}(PyLayer):\n    @staticmethod\n    def forward(ctx, {takes}):\n        {forward}\n\n"
        f"    @staticmethod\n    def backward(ctx, dy):\n        {backward}\n"
        for name, (takes, forward, backward) in rows.items()
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layers.py"
        path.write_text(HEAD + NARROWED + "\n\n".join(texts))
        reports = opkit.gradcheck([f"{path}::{name}" for name in rows], jobs=1, replay=False).ops
    return dict(zip(rows, reports))


@pytest.mark.parametrize("name", RIGHT)
def test_shapes_that_backward_was_not_written_for_are_a_note(name: str) -> None:
    """Where nothing says that they are meant and backward raises, a right PyLayer passes; a note names them."""
    report = verdicts()[name]
    assert report.status is Status.PASS
    (note,) = [note for note in report.notes if note.startswith("not checked for")]
    assert "backward keeps up with forward on" in note


@pytest.mark.parametrize("name", OPEN)
def test_shapes_that_may_be_meant_are_undecided(name: str) -> None:
    """One undecided result says which shapes work and which do not."""
    report = verdicts()[name]
    assert not report.findings
    (message,) = [item.message for item in report.checks if item.status is Status.UNDECIDED]
    assert "backward keeps up with forward on" in message


@pytest.mark.parametrize("name", MEANT)
def test_shapes_that_something_says_are_meant_fail(name: str) -> None:
    """A backward that raises there, or returns other shapes, is a failure."""
    assert {"GC142", "GC181"} & {item.code for item in verdicts()[name].findings}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_where_shapes_are_meant_is_found(name: str) -> None:
    """Where nothing but forward says which shapes are meant, a fault is one all the same."""
    assert verdicts()[name].status is Status.FAIL


@pytest.mark.parametrize("name", EMPTY)
def test_a_fault_of_empty_arrays_is_found(name: str) -> None:
    """Where results have elements, or each is computed on its own, empty arrays are meant."""
    assert "GC160" in [item.code for item in verdicts()[name].findings]


def test_a_missing_return_is_found_at_once() -> None:
    """Not every shape of three inputs is tried, as if forward took none of them."""
    report = verdicts()["NoReturn"]
    assert [item.code for item in report.findings] == ["GC144"]
    assert report.seconds < 1


@pytest.mark.parametrize("name", ["Timestarget", "Timesmask"])
def test_none_for_what_is_by_its_name_a_constant_is_right(name: str) -> None:
    """A note says that it counts as a constant."""
    assert not verdicts()[name].findings
    assert any("counts as a constant" in note for note in verdicts()[name].notes)


def test_none_for_what_may_be_a_constant_is_undecided() -> None:
    """Nothing but backward's None says that it takes no gradient."""
    assert not verdicts()["Timesu"].findings
    assert "GC145" in [item.code for item in verdicts()["Timesu"].checks if item.status is Status.UNDECIDED]


def test_a_forward_that_takes_nothing_is_given_up(tmp_path: Path) -> None:
    """A signature of six inputs that no shapes fit ends within the search's own limit, far below that of the op."""
    report = report_on(tmp_path, "p, q, r, s, t, u", "raise ValueError('no such luck')", "return dy")
    (found,) = report.checks
    assert found.code == "GC182"
    assert "first ValueError: no such luck" in found.message


def test_a_run_in_float64_says_nothing_of_float32(tmp_path: Path) -> None:
    """A numpy float64 in forward widens float32 inputs; near a run that saw float64 alone, none are tried."""
    text = "class Op(PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n        return paddle.to_tensor(x.numpy() * np.cos(0.3))\n\n"
    text += (
        "    @staticmethod\n    def backward(ctx, dy):\n        return paddle.to_tensor(dy.numpy() * np.cos(0.3))\n\n\n"
    )
    text += "x = paddle.to_tensor(np.linspace(-1, 1, 5))\nx.stop_gradient = False\nOp.apply(x).sum().backward()\n"
    path = tmp_path / "script.py"
    path.write_text(HEAD + text)
    assert opkit.gradcheck([str(path)], jobs=1, replay=False).ops[0].status is Status.PASS
