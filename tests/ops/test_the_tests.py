"""The suites of this folder find planted faults: a wrong gradient, inference, buffer, view, or a written input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.ir import TensorDesc
from opkit.ops.core.opdef import ArgDef, OpDef
from tests.ops.cases import OpCase, real
from tests.ops.runs import gradients
from tests.ops.spy import spying
from tests.ops.test_gradcheck import test_the_checker_finds_no_fault as gradcheck
from tests.ops.test_gradients import test_adjoint_identity as adjoint
from tests.ops.test_gradients import test_gradient_differentiates_again as second
from tests.ops.test_gradients import test_gradient_is_the_derivative as first


def _unchanged(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> list[TensorDesc]:
    return [descs[0]]


def planted(
    kernel: Callable[..., Any] = np.square,
    rule: Callable[..., Any] = lambda applied, douts: (ops.mul(douts[0], ops.mul(applied.inputs[0], 2.0)),),
    infer: Callable[..., Any] = _unchanged,
    out: Callable[..., Any] | None = None,
) -> OpCase:
    """Return a case of x*x whose definition has one part replaced."""
    opdef = OpDef(
        "planted", (ArgDef("x"),), (ArgDef("y"),), kernel, infer=infer, grad=rule, reads=("x",), kernel_out=out
    )
    return OpCase("planted", lambda x: ops.apply(opdef, (x,), {}), (real(2, 3),))


def faults_of(case: OpCase) -> list[str]:
    with spying() as spy:
        gradients(case, [np.arange(6.0).reshape(2, 3)])
    return spy.faults


def test_the_right_one_passes() -> None:
    """What follows fails for the planted fault alone."""
    case = planted()
    for suite in (first, adjoint, second, gradcheck):
        suite(case)
    assert faults_of(case) == []


@pytest.mark.parametrize("suite", [first, adjoint, gradcheck])
def test_a_gradient_off_by_a_permille_fails(suite: Callable[[OpCase], None]) -> None:
    """A gradient of 2.002 x in place of 2 x is found."""
    case = planted(rule=lambda applied, douts: (ops.mul(douts[0], ops.mul(applied.inputs[0], 2.002)),))
    with pytest.raises(AssertionError):
        suite(case)


def test_a_gradient_that_does_not_differentiate_again_fails() -> None:
    """A rule that computes with constants is right once and wrong twice."""

    def rule(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
        return (ops.mul(douts[0], ops.literal(applied.inputs[0]._data * 2)),)

    case = planted(rule=rule)
    first(case)
    with pytest.raises(AssertionError):
        second(case)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"infer": lambda descs, attrs: [TensorDesc((6,), "float64")]}, "infer says"),
        ({"infer": lambda descs, attrs: [TensorDesc(descs[0].shape, "float32")]}, "infer says"),
        ({"out": lambda x, out: np.multiply(x, x + 1e-12, out=out)}, "not bit-equal"),
        ({"kernel": lambda x: x}, "shares memory"),
    ],
)
def test_a_broken_contract_is_seen(fault: dict[str, Any], words: str) -> None:
    """The spy names what is wrong."""
    assert any(words in found for found in faults_of(planted(**fault)))


def test_a_kernel_that_writes_to_its_input_is_stopped() -> None:
    """Inputs are read-only while an op runs."""
    with pytest.raises(ValueError, match="read-only"):
        faults_of(planted(kernel=lambda x: np.multiply(x, x, out=x)))
