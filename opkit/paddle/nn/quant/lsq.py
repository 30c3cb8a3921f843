"""``paddle.nn.quant.lsq``: layers and PyLayers that quantise with a learned step size.

The arithmetic is in ``opkit.paddle.semantics.learned_steps``.
"""

from __future__ import annotations

import math
from typing import Any

from opkit.paddle.autograd import PyLayer
from opkit.paddle.distributed import ReduceOp, all_reduce
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn.initializer import Constant
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics import learned_steps as semantics
from opkit.paddle.semantics.learned_steps import Levels
from opkit.shim.missing import guard
from opkit.static.names import unique_name

__all__ = ["FakeQuantActLSQPlus", "FakeQuantWeightLSQPlus", "LsqFunc", "LsqPlusActFunc", "round"]

round = semantics.rounded


class LsqFunc(PyLayer):
    """Round to multiples of a step; the gradient reaches x between the levels, and the step."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: Any,
        alpha: Any,
        g: Any,
        Qn: int,
        Qp: int,
        per_channel: bool = False,
        quant_axis: int = 0,
    ) -> Any:
        """Return multiples of ``alpha`` between its ``Qn``-fold and its ``Qp``-fold; ``g`` scales its gradient."""
        ctx.save_for_backward(weight, alpha)
        ctx.given = g, (Qn, Qp), quant_axis if per_channel else None
        return semantics.quantised(weight, alpha, (Qn, Qp), ctx.given[2])

    @staticmethod
    def backward(ctx: Any, grad_weight: Any) -> Any:
        """Return the gradients of weight and step."""
        weight, alpha = ctx.saved_tensor()
        g, levels, axis = ctx.given
        steps = semantics.steps_of(weight, alpha, axis)
        dx, by_step, _ = semantics.slopes(steps, grad_weight, g, levels)
        if axis is None:
            return dx, ops.reduce_sum(by_step)
        return dx, ops.reduce_sum(ops.reshape(by_step, [weight.shape[axis], -1]), 1)


class LsqPlusActFunc(PyLayer):
    """Round to multiples of a step, counted from an offset; the gradient reaches x, the step and the offset."""

    @staticmethod
    def forward(ctx: Any, x: Any, alpha: Any, beta: Any, g: Any, Qn: int, Qp: int) -> Any:
        """Return ``beta`` plus multiples of ``alpha``; ``g`` scales the gradients of both."""
        ctx.save_for_backward(x, alpha, beta)
        ctx.given = g, (Qn, Qp)
        return ops.add(semantics.quantised(ops.sub(x, beta), alpha, (Qn, Qp), None), beta)

    @staticmethod
    def backward(ctx: Any, grad_x: Any) -> Any:
        """Return the gradients of x, step and offset."""
        x, alpha, beta = ctx.saved_tensor()
        g, levels = ctx.given
        dx, by_step, by_offset = semantics.slopes(ops.div(ops.sub(x, beta), alpha), grad_x, g, levels)
        return dx, ops.reduce_sum(by_step), ops.reduce_sum(by_offset)


def _levels(bits: int, *, all_positive: bool) -> Levels:
    return (0, 2**bits - 1) if all_positive else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _parameter(layer: Layer, name: str | None, kind: str, start: float, shape: list[int], dtype: str) -> Any:
    label = unique_name(f"{name}.{kind}" if name else f"quant_dequant.{kind}")
    attr = ParamAttr(name=label, initializer=Constant(start), trainable=True)
    return layer.create_parameter(shape, attr, dtype)


class FakeQuantActLSQPlus(Layer):
    """Quantises activations; the first ``batch_init`` calls set step and offset from what they see.

    Args:
        quant_bits: number of bits.
        all_postive: levels from 0 up; otherwise as many below 0 as above.
        symmetric: without an offset.
        batch_init: number of calls that set step and offset.
        dtype: accepted, without effect.
        name: what the names of the parameters begin with.
        reduce_type: "max": step and offset are the largest of all processes (here there is one).
    """

    def __init__(
        self,
        quant_bits: int,
        all_postive: bool = False,
        symmetric: bool = False,
        batch_init: int = 20,
        dtype: str = "float32",
        name: str | None = None,
        reduce_type: str | None = None,
    ) -> None:
        super().__init__()
        self.bits, self.all_positive, self.symmetric = quant_bits, all_postive, symmetric
        self.batch_init, self.name, self.reduce_type = batch_init, name, reduce_type
        self.Qn, self.Qp = _levels(quant_bits, all_positive=all_postive)
        self.s = _parameter(self, name, "scale", 1.0, [], "float32")
        if not symmetric:
            self.beta = _parameter(self, name, "beta", 0.0, [], "float32")
        self.init_state = 0

    def forward(self, activation: Any) -> Any:
        """Return the quantised activation, of its shape; it is marked as taking a gradient."""
        if self.reduce_type == "max":
            for parameter in [self.s] if self.symmetric else [self.s, self.beta]:
                all_reduce(parameter, op=ReduceOp.MAX)
        if self.init_state < self.batch_init or self.init_state == 0:
            self._watch(activation.detach())
        self.init_state += 1
        activation.stop_gradient = False
        if self.symmetric:
            return LsqFunc.apply(activation, self.s, self.g, self.Qn, self.Qp, per_channel=False)
        return LsqPlusActFunc.apply(activation, self.s, self.beta, self.g, self.Qn, self.Qp)

    def _watch(self, seen: Any) -> None:
        """Set step and offset from one batch."""
        least, largest = ops.reduce_min(seen), ops.reduce_max(seen)
        step = ops.div(ops.sub(largest, least), float(self.Qp - self.Qn))
        if self.init_state == 0:
            self.g = ops.constant(1.0 / math.sqrt(seen.size * self.Qp), (), "float32")
            self.s.set_value(step)
        else:
            self.s.set_value(ops.add(ops.mul(self.s, 0.9), ops.mul(step, 0.1)))
        if self.symmetric:
            return
        offset = ops.sub(least, ops.mul(self.s, float(self.Qn)))
        # As Paddle 2.6.2 has it: from the second batch on the offset is mixed with the step, not with itself.
        mixed = ops.add(ops.mul(self.s, 0.9), ops.mul(offset, 0.1))
        self.beta.set_value(offset if self.init_state == 0 else mixed)


class FakeQuantWeightLSQPlus(Layer):
    """Quantises weights; the first ``batch_init`` calls set the step from what they see.

    Args:
        quant_bits: number of bits.
        all_postive: levels from 0 up; otherwise as many below 0 as above.
        per_channel: one step for each channel.
        batch_init: number of calls that set the step.
        channel_num: the number of steps.
        quant_linear: the channels of a Linear's weight, which are along its axis 1.
        dtype: of the step.
        name: what the name of the parameter begins with.
        reduce_type: "max": the step is the largest of all processes (here there is one).
    """

    def __init__(
        self,
        quant_bits: int,
        all_postive: bool = False,
        per_channel: bool = False,
        batch_init: int = 20,
        channel_num: int | None = None,
        quant_linear: bool = False,
        dtype: str = "float32",
        name: str | None = None,
        reduce_type: str | None = None,
    ) -> None:
        super().__init__()
        self.bits, self.all_positive, self.per_channel = quant_bits, all_postive, per_channel
        self.quant_linear, self.batch_init, self.name, self.reduce_type = quant_linear, batch_init, name, reduce_type
        self.quant_axis, self.collect_axis = (1, 0) if quant_linear else (0, 1)
        self.Qn, self.Qp = _levels(quant_bits, all_positive=all_postive)
        self.init_state = 0
        self.s = _parameter(self, name, "scale", 1.0, [channel_num], dtype)  # type: ignore[list-item]

    def forward(self, weight: Any) -> Any:
        """Return the quantised weight, of its shape; it is marked as taking a gradient."""
        if self.reduce_type == "max":
            all_reduce(self.s, op=ReduceOp.MAX)
        if self.init_state < self.batch_init or self.init_state == 0:
            self._watch(weight.detach())
        if self.init_state <= self.batch_init:
            self.init_state += 1
        weight.stop_gradient = False
        given = (weight, self.s, self.g, self.Qn, self.Qp, self.per_channel, self.quant_axis)
        return LsqFunc.apply(*given)

    def _watch(self, seen: Any) -> None:
        """Set the step from one batch."""
        self.div = 2**self.bits - 1
        if self.per_channel:
            spread = semantics.spread_of(ops.reshape(seen, [seen.shape[0], -1]), self.collect_axis)
        else:
            spread = semantics.spread_of(seen, None)
        if self.init_state == 0:
            self.g = ops.constant(1.0 / math.sqrt(seen.size * self.Qp), (), "float32")
            self.s.set_value(ops.div(spread, float(self.div)))
            return
        # As Paddle 2.6.2 has it: with channels the new spread, not the step so far, makes up nine tenths.
        before = spread if self.per_channel else self.s
        self.s.set_value(ops.add(ops.mul(before, 0.9), ops.div(ops.mul(spread, 0.1), float(self.div))))


__getattr__ = guard(__name__, globals())
