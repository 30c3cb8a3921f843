"""Variable and Parameter as scripts ask for them: what ``isinstance`` says depends on the mode, as in Paddle 2.6.

The values themselves are ``opkit.ir.Variable`` and ``opkit.eager.Tensor``.
"""

from __future__ import annotations

from typing import Any

from opkit import ir
from opkit.eager import Tensor
from opkit.ops.core.mode import local


def _is_parameter(item: Any) -> bool:
    return bool(getattr(item, "is_parameter", False))


class _IsVariable(type):
    """In dynamic mode a Tensor is a Variable, and an instance of any subclass of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Tensor):
            return not local.mode.is_static
        return isinstance(instance, ir.Variable) if cls is Variable else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or (cls is Variable and issubclass(subclass, ir.Variable))


class Variable(ir.Variable, metaclass=_IsVariable):
    """A named value of a graph; in dynamic mode ``isinstance`` counts Tensors too.

    Source: Paddle 2.6, paddle.static.Variable.
    """

    __slots__ = ()


class _IsParameter(_IsVariable):
    """In dynamic mode the parameters of layers are Parameters, in static mode those of programs."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, (Tensor, ir.Variable)) or not _is_parameter(instance):
            return False
        return isinstance(instance, ir.Variable) or not local.mode.is_static


class Parameter(Variable, metaclass=_IsParameter):
    """A Variable that training changes.

    Source: Paddle 2.6, paddle.base.framework.Parameter.
    """

    __slots__ = ()
