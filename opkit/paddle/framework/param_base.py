"""``EagerParamBase``: the class that Paddle gives parameters. Here a parameter is a Tensor that is marked as one."""

from __future__ import annotations

from typing import Any

from opkit.eager import Tensor, wrap
from opkit.paddle.framework.parameter import ParamAttr, is_parameter, make_parameter
from opkit.paddle.nn.initializer import Constant
from opkit.shim.missing import guard

__all__ = ["EagerParamBase"]


class _IsParameter(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and is_parameter(instance)


class EagerParamBase(metaclass=_IsParameter):
    """A new parameter of zeros; to ``isinstance`` every parameter of dynamic mode is one.

    Args:
        shape: its shape.
        dtype: its dtype.
        kwargs: ``name``, ``trainable``, ``need_clip``, ``regularizer``, ``optimize_attr`` with a "learning_rate".
    """

    def __new__(cls, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Any:
        """Return the parameter."""
        return make_parameter(shape, dtype, _attr(kwargs), Constant(0.0), "_eager_param_base")

    @staticmethod
    def from_tensor(tensor: Any, **kwargs: Any) -> Any:
        """Return a new parameter with a copy of a Tensor's data.

        Raises:
            TypeError: it is not a Tensor.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"EagerParamBase.from_tensor takes a Tensor, got {type(tensor).__name__}")
        made = EagerParamBase(tensor.shape, tensor._data.dtype, **kwargs)
        made.set_value(wrap(tensor._data.copy()))
        return made


def _attr(options: dict[str, Any]) -> ParamAttr:
    rate = (options.get("optimize_attr") or {}).get("learning_rate", 1.0)
    return ParamAttr(
        options.get("name"),
        None,
        rate,
        options.get("regularizer"),
        options.get("trainable", True),
        need_clip=options.get("need_clip", True),
    )


__getattr__ = guard(__name__, globals())
