"""A declared reference: results and gradients are compared with its, within what its own rounding explains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Options, Status, check
from opkit.errors import UsageError
from opkit.verify import RunOptions, gradcheck, run_targets
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.from_cases import of_examples
from opkit.verify.subjects.pair import pair
from opkit.verify.subjects.pylayer import layer_subject
from opkit.verify.subjects.references import NumpyReference, reference_in, referred

QUICK = {"effort": 0.1, "recorded_only": True}
X = np.random.default_rng(0).standard_normal((4, 6))

LAYER = """
import numpy as np
from opkit.eager import PyLayer, Tensor

class Silu(PyLayer):
    @staticmethod
    def forward(ctx, x, w, slope=1.0):
        x, w = x.numpy(), w.numpy()
        s = 1 / (1 + np.exp(-slope * x))
        ctx.kept = x, w, s, slope
        return Tensor(FORWARD * x * s * w)

    @staticmethod
    def backward(ctx, dy):
        x, w, s, slope = ctx.kept
        g = dy.numpy()
        return Tensor(BACKWARD * g * w * (s + slope * x * s * (1 - s))), Tensor(FORWARD * g * x * s)

def plain(x, w, slope=1.0):
    return w * x / (1 + np.exp(-slope * x))

REFERENCE_Silu = plain

def cases(rng):
    yield {"x": rng.standard_normal((3, 4)), "w": rng.standard_normal((3, 4)), "slope": 1.5}
"""

STEP = """
import numpy as np
from opkit.eager import PyLayer, Tensor

class Step(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x.numpy()
        return Tensor((ctx.kept > 0).astype(ctx.kept.dtype))

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() / (1 + ctx.kept ** 2))

def smooth(x):
    return Tensor(np.arctan(x.numpy()))

def cases(rng):
    yield {"x": rng.standard_normal((3, 4))}
"""


def findings(report: OpReport) -> dict[str, str]:
    """Return the messages of failures by code."""
    return {item.code: item.message for item in report.checks if item.status.value == "fail"}


def silu(x: np.ndarray) -> np.ndarray:
    """Return the reference's values."""
    return x / (1 + np.exp(-x))


def silu_back(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Return the gradient."""
    s = 1 / (1 + np.exp(-x))
    return dy * (s + x * s * (1 - s))


def test_a_right_pair_passes_and_says_how_near_it_comes() -> None:
    """Both codes pass, and the report has the ratio of errors."""
    report = gradcheck(forward=silu, backward=silu_back, inputs=[X], reference=lambda x: x / (1 + np.exp(-x)), **QUICK)
    assert report.status.value == "pass"
    said = {item.code: item.message for item in report.ops[0].checks}
    assert "times the reference's own in float32" in said["GC107"]
    assert "GC108" in said


def test_values_that_are_another_functions_fail_where_the_gradient_fits_them() -> None:
    """Forward and backward agree, and are those of another function than the reference."""
    report = gradcheck(
        forward=lambda x: 1.01 * silu(x),
        backward=lambda x, dy: 1.01 * silu_back(x, dy),
        inputs=[X],
        reference=silu,
        **QUICK,
    )
    found = findings(report.ops[0])
    assert found.keys() == {"GC107", "GC108"}
    assert "it is 1.01 times the reference's" in found["GC107"]


def single(x: np.ndarray) -> np.ndarray:
    """Return values in float32 alone."""
    assert x.dtype == np.float32
    return silu(x)


@pytest.mark.parametrize(("factor", "code"), [(1.0, None), (1.0003, "GC108")])
def test_a_function_of_float32_alone_is_measured_by_the_reference(factor: float, code: str | None) -> None:
    """Differences in float32 see a hundredth; a reference in float64 sees less than a thousandth."""
    report = gradcheck(
        forward=single,
        backward=lambda x, dy: np.float32(factor) * silu_back(x, dy),
        inputs=[X.astype(np.float32)],
        reference=silu,
        **QUICK,
    )
    assert findings(report.ops[0]).keys() == ({code} if code else set())
    assert code or report.status.value == "pass"


@pytest.mark.parametrize("name", [None, "GC108"])
def test_a_reference_is_compared_whatever_time_is_left(name: str | None) -> None:
    """A contract that is kept is no pass: the derivative is compared in the end."""
    factor = np.float32(1.0 if name is None else 1.01)
    made = pair(single, lambda x, dy: factor * silu_back(x, dy), [X.astype(np.float32)])
    made = replace(
        made, reference=referred(Declared(reference=silu), NumpyReference(lambda arrays, attrs: silu(**arrays)))
    )
    found = check(made, Options(seconds=1e-9, effort=0.1))
    assert findings(found).keys() == ({name} if name else set())
    assert any(item.code in ("GC101", "GC108") and item.status is not Status.SKIP for item in found.checks)


def test_a_reference_that_raises_everywhere_is_an_error() -> None:
    """What cannot be compared is said."""

    def broken(x: Any) -> Any:
        raise ValueError("no such thing")

    report = gradcheck(forward=silu, backward=silu_back, inputs=[X], reference=broken, **QUICK)
    assert report.status.value == "error"
    assert any("no such thing" in item.message for item in report.ops[0].checks)


def test_another_shape_than_the_references_fails() -> None:
    """Shapes are compared before values."""
    report = gradcheck(forward=silu, backward=silu_back, inputs=[X], reference=lambda x: silu(x).sum(0), **QUICK)
    assert "has the shape (4, 6)" in findings(report.ops[0])["GC107"]


@pytest.mark.parametrize(
    ("forward", "backward", "codes"),
    [(1, 1, set()), (1.001, 1.001, {"GC107", "GC108"}), (1, 1.001, {"GC101", "GC108"})],
)
def test_a_pylayer_is_compared_with_a_function_of_arrays(forward: float, backward: float, codes: set[str]) -> None:
    """It is called with forward's arguments by name, options among them."""
    names: dict[str, Any] = {"__name__": "layers"}
    exec(LAYER.replace("FORWARD", str(forward)).replace("BACKWARD", str(backward)), names)
    report = gradcheck(names["Silu"], cases=names["cases"], reference=names["plain"])
    assert findings(report.ops[0]).keys() == codes


def test_a_file_names_a_reference(tmp_path: Path) -> None:
    """``REFERENCE_Name`` stands in the file."""
    path = tmp_path / "layers.py"
    path.write_text(LAYER.replace("FORWARD", "1.001").replace("BACKWARD", "1.001"))
    report = run_targets([f"{path}::Silu"], RunOptions(Options(effort=0.1), timeout=30)).report
    assert "1.001 times the reference" in findings(report.ops[0])["GC107"]


def test_a_reference_is_named_by_its_module_or_file(tmp_path: Path) -> None:
    """As the command line names it."""
    path = tmp_path / "plain.py"
    path.write_text("def plain(x):\n    return 2 * x\n")
    for name in (f"{path}:plain", "operator:neg"):
        report = gradcheck(forward=silu, backward=silu_back, inputs=[X], reference=name, **QUICK)
        assert "GC107" in findings(report.ops[0])


def test_a_reference_that_is_not_there_is_refused() -> None:
    """The module and what was raised are told."""
    with pytest.raises(UsageError, match="has no attribute 'none'"):
        reference_in(Options(reference="math:none"))


def test_a_reference_that_is_no_function_is_refused() -> None:
    """A declaration of a wrong form is named."""
    (mistake,) = declared_in({"REFERENCE": 3}, ["forward"]).mistakes
    assert mistake.message == "REFERENCE must be a function, is int"


def test_a_surrogate_judges_gradients_and_the_reference_values() -> None:
    """With both the reference's own gradient is not asked for."""

    def step(x: np.ndarray) -> np.ndarray:
        return (x > 0) * 1.0

    names: dict[str, Any] = {"__name__": "steps"}
    exec(STEP, names)
    declared = declared_in({"SURROGATE": {"forward": names["smooth"]}, "REFERENCE": step}, ["forward"])
    report = check(of_examples(layer_subject(names["Step"]), declared, "Step", cases=names["cases"]))
    assert report.status.value == "pass"
    assert not any(item.code == "GC108" for item in report.checks)
    declared = declared_in({"SURROGATE": {"forward": names["smooth"]}, "REFERENCE": np.sign}, ["forward"])
    assert findings(check(of_examples(layer_subject(names["Step"]), declared, "Step", cases=names["cases"]))).keys() == {
        "GC107"
    }


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a product in float16, whose last element is lost."""
    assert x.dtype == np.float16
    found = x * y
    found[-1] = 0
    return found


@pytest.mark.parametrize("lost", [0.0, 0.01])
def test_sums_explain_nothing_where_there_are_none(lost: float) -> None:
    """A lost element of 1 % of the largest fails among 100 products; a sum of 100 terms might be off by as much."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1, (2, 100)).astype(np.float16)
    x[-1] = lost
    report = gradcheck(
        forward=product,
        backward=lambda x, y, dy: (dy * y, dy * x),
        inputs=[x, y],
        reference=lambda x, y: x * y,
        **QUICK,
    )
    assert ("GC107" in findings(report.ops[0])) == bool(lost), str(report)
