"""An application of a PyLayer keeps a record of one of two classes, and what was saved in one of four forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.eager.pylayer_faults import PyLayerError
from opkit.eager.pylayer_records import GeneralRecord, Input, Place, Saved, SavedItems, SingleRecord, Slot


class Scale(paddle.autograd.PyLayer):
    """Three times its input; ``keeps`` says what is saved."""

    keeps: Any = staticmethod(lambda x, y: ())

    @classmethod
    def forward(cls, ctx: Any, x: Any, *others: Any) -> Any:
        y = paddle.to_tensor(x.numpy() * 3)
        kept = cls.keeps(x, y)
        if kept:
            ctx.save_for_backward(*kept)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        ctx.seen = ctx.saved_tensor()
        return dy * 3


def leaf(*shape: int) -> Any:
    return paddle.to_tensor(np.ones(shape, np.float32), stop_gradient=False)


def test_one_tensor_to_one_tensor_has_a_single_record() -> None:
    """It knows the input's shape and dtype, and offers the same as a general record."""
    record = Scale.apply(leaf(2, 3))._node.walk_record
    assert type(record) is SingleRecord
    assert record.inputs == (Input((2, 3), np.dtype(np.float32), False),)
    assert record.slots == (Slot(0, None),)


def test_any_other_application_has_a_general_record() -> None:
    """Inputs, the arguments they stood in, and what backward is given."""
    record = Scale.apply(leaf(2), [leaf(3), 1])._node.walk_record
    kind = np.dtype(np.float32)
    assert record == GeneralRecord(
        (Input((2,), kind, False), Input((3,), kind, False)),
        (Slot(0, None), Slot(1, (2, (0,)))),
        (Place(0, (2,), kind),),
    )


@pytest.mark.parametrize(
    ("keeps", "expected"),
    [
        (lambda x, y: (), Saved.NOTHING),
        (lambda x, y: (y,), Saved.OUTPUT),
        (lambda x, y: (x,), tuple),
        (lambda x, y: (x, y), SavedItems),
    ],
)
def test_the_forms_of_what_was_saved(keeps: Any, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backward sees the saved values in each form, the output's too when its Tensor is gone."""
    monkeypatch.setattr(Scale, "keeps", staticmethod(keeps))
    x = leaf(2)
    y = Scale.apply(x)
    context = y._node
    assert context.walk_saved is expected or type(context.walk_saved) is expected
    wanted = [tensor.tolist() for tensor in keeps(x, y)] or None
    total = y.sum()
    del y
    total.backward()
    seen = context.__dict__["seen"]
    assert (seen and [tensor.tolist() for tensor in seen]) == wanted
    assert x.grad.tolist() == [3.0, 3.0]


def test_records_of_interleaved_applications_do_not_mix() -> None:
    """Applications of other shapes between a forward and its backward leave its record alone."""

    class Wrong(Scale):
        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return paddle.to_tensor(np.ones(3, np.float32))

    first, second = leaf(2), leaf(3)
    y, z = Wrong.apply(first), Wrong.apply(second)
    z.sum().backward()
    with pytest.raises(PyLayerError, match=r"must have its input's shape \[2\], got \[3\]"):
        y.sum().backward()


@pytest.mark.parametrize("others", [(), ([1],)])
def test_the_gradient_rule_of_the_op_is_that_of_the_step(others: Any) -> None:
    """``opdef.grad`` works on a step with either record."""
    context = Scale.apply(leaf(2), *others)._node
    (found,) = context.opdef.grad(context, [leaf(2)])
    assert found.tolist() == [3.0, 3.0]
