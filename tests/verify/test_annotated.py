"""Shapes in a signature's annotations declare what a function is for: no other shape is tried, and these count."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import opkit
from opkit.checker import OpReport, Status
from opkit.verify.subjects.annotated import dimensions_in

LAYERS = '''
from typing import Annotated
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Softmax(PyLayer):
    """Right for vectors; forward would take matrices."""

    @staticmethod
    def forward(ctx, x: Annotated[np.ndarray, "n"]):
        y = paddle.nn.functional.softmax(x.flatten(), axis=-1).reshape(x.shape)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return y * (dy - (dy * y).sum()) FAULT


class Scale(PyLayer):
    @staticmethod
    def forward(ctx, x: 'Float[Tensor, "b n"]', g: 'Float[Tensor, "n"]'):
        ctx.save_for_backward(x, g)
        return x * g

    @staticmethod
    def backward(ctx, dy):
        x, g = ctx.saved_tensor()
        return dy * g, dy * x  # not summed: Paddle would take the first row


class Prose(PyLayer):
    @staticmethod
    def forward(ctx, x: Annotated[np.ndarray, "values to square"]):
        if x.ndim != 2:
            raise ValueError("matrices only")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return 2 * x * dy


class Product(PyLayer):
    @staticmethod
    def forward(ctx, scale: float, x, w):
        if x.ndim != 2 or w.ndim != 2 or x.shape == w.shape:
            raise ValueError("matrices of different shapes only")
        ctx.scale = scale
        ctx.save_for_backward(x, w)
        return scale * (x @ w)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensor()
        return ctx.scale * dy @ w.T FAULT, ctx.scale * x.T @ dy
'''


def checked(folder: Path, name: str, fault: str = "") -> OpReport:
    path = folder / "layers.py"
    path.write_text(LAYERS.replace("FAULT", fault))
    return opkit.gradcheck(f"{path}::{name}", replay=False).ops[0]


def test_a_function_of_vectors_is_not_judged_on_matrices(tmp_path: Path) -> None:
    shapes = {len(check.case["x"]["shape"]) for check in checked(tmp_path, "Softmax").checks if check.case}
    assert shapes <= {1}


def test_it_is_not_accused(tmp_path: Path) -> None:
    assert checked(tmp_path, "Softmax").status is not Status.FAIL


def test_a_fault_on_declared_shapes_fails(tmp_path: Path) -> None:
    assert checked(tmp_path, "Softmax", "* 1.01").status is Status.FAIL


def test_a_gradient_of_another_shape_than_declared_fails(tmp_path: Path) -> None:
    assert checked(tmp_path, "Scale").status is Status.FAIL


def test_an_annotation_that_forward_never_takes_is_said(tmp_path: Path) -> None:
    report = checked(tmp_path, "Prose")
    assert (report.status, [note for note in report.notes if "annotated for x" in note]) == (
        Status.PASS,
        ["forward takes none of the shapes annotated for x; others were searched"],
    )


def test_a_number_without_a_default_is_declared_by_its_type(tmp_path: Path) -> None:
    """It is tried as a number alone; the note on shapes says so, too."""
    report = checked(tmp_path, "Product", "* 1.01")
    assert report.status is Status.FAIL
    assert all(isinstance(check.case["scale"], float) for check in report.checks if check.case)
    (note,) = [note for note in report.notes if note.startswith("nothing declares the shapes")]
    assert "float where a number is meant" in note


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (1.01, Status.FAIL)])
def test_a_pair_of_functions_keeps_to_its_annotations(factor: float, status: Status) -> None:
    def forward(x: Annotated[np.ndarray, "n d"], w: Annotated[np.ndarray, "d k"]) -> Any:
        return x @ w

    def backward(x: Any, w: Any, dy: Any) -> Any:
        return factor * dy @ w.T, x.T @ dy

    assert opkit.gradcheck(forward=forward, backward=backward).status is status


def test_annotations_are_read_as_text_and_as_types() -> None:
    annotations = {
        "a": 'Float[Array, "n d"]',
        "b": Annotated[np.ndarray, "n d"],
        "c": Annotated[np.ndarray, "n d"] | None,
        "d": Annotated[float, "learning rate"],
        "e": "float",
        "f": 'Literal["mean", "sum"]',
        "g": np.ndarray,
        "h": "Union[Tensor, 'Array']",
    }
    assert list(dimensions_in(annotations).axes) == ["a", "b", "c"]
