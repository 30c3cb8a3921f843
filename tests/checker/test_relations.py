"""Shapes that forward takes although nothing says that they are meant."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import opkit
from opkit.checker import OpReport, Status

HEAD = "import numpy as np\nimport paddle\nfrom paddle.autograd import PyLayer\n\n\n"


def report_on(folder: Path, takes: str, forward: str, backward: str) -> OpReport:
    """Return the report on FILE.py::Op of a PyLayer without cases."""
    text = f"class Op(PyLayer):\n    @staticmethod\n    def forward(ctx, {takes}):\n        {forward}\n\n"
    text += f"    @staticmethod\n    def backward(ctx, dy):\n        {backward}\n"
    path = folder / "layer.py"
    path.write_text(HEAD + text)
    return opkit.gradcheck([f"{path}::Op"], jobs=1, replay=False).ops[0]


def test_a_sum_that_does_not_speak_of_broadcasting_is_not_accused(tmp_path: Path) -> None:
    """The gradients of x + y for equal shapes: that forward broadcasts too is undecided, with the shapes."""
    report = report_on(tmp_path, "x, y", "return x + y", "return dy, dy")
    assert report.status is Status.UNDECIDED
    (found,) = [item for item in report.checks if item.status is not Status.PASS and item.beyond]
    assert "forward takes the shapes" in found.message


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
    forward = "z = x.numpy(); q = np.zeros_like(z); q[np.arange(len(z)), label.numpy()] = 1; p = np.exp(z); "
    forward += "p /= p.sum(1, keepdims=True); ctx.d = p - q; return paddle.to_tensor(-(q * np.log(p)).sum(1))"
    report = report_on(tmp_path, "x, label", forward, "return paddle.to_tensor(ctx.d * dy.numpy()[:, None]), None")
    assert not report.findings


def test_a_forward_that_takes_nothing_is_given_up_soon(tmp_path: Path) -> None:
    """A signature of six inputs that no shapes fit ends in well under the time limit."""
    begun = perf_counter()
    report_on(tmp_path, "p, q, r, s, t, u", "raise ValueError('no')", "return dy")
    assert perf_counter() - begun < 30


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
