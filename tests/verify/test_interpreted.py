"""Triton's interpreter refuses operations on bfloat16, whose bits it would count as whole numbers."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opkit.verify.subjects.torch.interpreted import refuse_bfloat16


def number(dtype: str) -> Any:
    """Return what the interpreter holds of a tensor."""
    return SimpleNamespace(dtype=SimpleNamespace(scalar=dtype), data=np.array([16256]))


def test_operations_on_bfloat16_are_refused_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a builder of operations as Triton's is, however often it is asked for."""

    class Builder:
        def binary_op(self, first: Any, second: Any, op: Any) -> Any:
            return op(first.data, second.data)

        def unary_op(self, first: Any, op: Any) -> Any:
            return op(first.data)

    monkeypatch.setitem(sys.modules, "triton.runtime.interpreter", SimpleNamespace(InterpreterBuilder=Builder))
    refuse_bfloat16()
    kept = Builder.binary_op
    refuse_bfloat16()
    assert Builder.binary_op is kept
    assert Builder().binary_op(number("fp32"), number("fp32"), np.add) == 32512
    assert Builder().unary_op(number("int32"), np.negative) == -16256
    for call in (lambda one: Builder().binary_op(one, one, np.add), lambda one: Builder().unary_op(one, np.negative)):
        with pytest.raises(NotImplementedError, match="no operations on bfloat16: cast to float32"):
            call(number("bf16"))


def test_nothing_is_changed_where_no_kernel_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton need not be there."""
    monkeypatch.delitem(sys.modules, "triton.runtime.interpreter", raising=False)
    refuse_bfloat16()
    assert "triton.runtime.interpreter" not in sys.modules
