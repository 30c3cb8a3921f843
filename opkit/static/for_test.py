"""For test: what ``Program.clone(for_test=True)`` makes of ops that behave differently in training.

One rule per op type; all other ops are copied as they are.
"""

from __future__ import annotations

from opkit.ir import Operation, Rewrite, Value, test_rules
from opkit.ops.core.registry import BUILTIN

__all__ = ["install_rules"]


def _drop_out(op: Operation) -> Rewrite:
    """Dropout gives its input."""
    return Rewrite(same_as=0)


def _move_average(op: Operation) -> Rewrite:
    """Running statistics stay as they are."""
    return Rewrite()


def _use_running_statistics(op: Operation) -> Rewrite | None:
    """A batch norm that normalises by the batch normalises by the running statistics."""
    moving: dict[Value, Value] = {}
    for other in op.block.ops:
        if other.type == "moving_average_update" and other.inputs[1] in op.outputs:
            target, source = other.inputs[0], other.inputs[1]
            assert target is not None
            assert source is not None
            moving[source] = target
    mean, variance = moving.get(op.outputs[1]), moving.get(op.outputs[3])
    if mean is None or variance is None:
        return None
    x, gamma, beta = op.inputs
    attrs = {**op.attrs, "training": False, "momentum": 0.0}
    return Rewrite(opdef=BUILTIN.get("normalization"), inputs=(x, mean, variance, gamma, beta, None), attrs=attrs)


def _stop_training(op: Operation) -> Rewrite | None:
    if not op.attrs.get("training"):
        return None
    return Rewrite(opdef=op.opdef, inputs=op.inputs, attrs={**op.attrs, "training": False})


def install_rules() -> None:
    """Enter the rules."""
    test_rules["dropout"] = _drop_out
    test_rules["moving_average_update"] = _move_average
    test_rules["batch_norm_train"] = _use_running_statistics
    test_rules["normalization"] = _stop_training
