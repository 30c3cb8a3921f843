"""``paddle._C_ops``: the collectives, of one process, and the fused gradient of a linear layer.

The rest of Paddle's generated ops can be imported only: each has a public function of the same name.
"""

from __future__ import annotations

from typing import Any

from opkit.eager import no_grad
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value
from opkit.shim.missing import guard

__all__ = [
    "alltoall",
    "c_allgather",
    "c_allreduce_sum",
    "c_broadcast",
    "c_identity",
    "c_reducescatter",
    "fused_linear_param_grad_add",
]


def _alone(name: str) -> Any:
    def collective(x: Any, *options: Any, **attributes: Any) -> Any:
        return ops.identity(need_value(name, "x", x))

    collective.__name__ = collective.__qualname__ = name
    collective.__doc__ = "Return what one rank has of all ranks' Tensors: this one's; options have no effect."
    return collective


alltoall = _alone("alltoall")
c_allgather = _alone("c_allgather")
c_allreduce_sum = _alone("c_allreduce_sum")
c_broadcast = _alone("c_broadcast")
c_identity = _alone("c_identity")
c_reducescatter = _alone("c_reducescatter")


@no_grad()
def fused_linear_param_grad_add(
    x: Any, dout: Any, dweight: Any = None, dbias: Any = None, multi_precision: bool = True, has_bias: bool = True
) -> tuple[Any, Any]:
    """Return the gradients of a linear layer's weight and bias, added to those given.

    Args:
        x: the layer's input, ``(..., in)``.
        dout: the incoming gradient, ``(..., out)``.
        dweight: ``(in, out)``, or None for zeros.
        dbias: ``(out,)``, or None for zeros.
        multi_precision: accepted; gradients have the dtype of ``dout``.
        has_bias: without one the second result is None.
    """
    rows, slopes = (ops.reshape(item, [-1, item.shape[-1]]) for item in (x, dout))
    weight = ops.matmul(rows, slopes, True)
    if dweight is not None:
        weight = ops.add(dweight, weight)
    if not has_bias:
        return weight, None
    bias = ops.reduce_sum(slopes, 0)
    return weight, bias if dbias is None else ops.add(dbias, bias)


__getattr__ = guard(globals())
