"""``to_static``: what would be compiled to a graph runs in dynamic mode, and remembers its input spec for saving."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.paddle.nn.layer.layers import Layer


class StaticFunction:
    """A function that was marked for compilation; calling it runs the function in dynamic mode.

    Args:
        function: the function or bound method.
        input_spec: InputSpecs of its arguments, or None.
    """

    def __init__(self, function: Function, input_spec: Sequence[Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.input_spec = None if input_spec is None else list(input_spec)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return StaticFunction(self._function.__get__(instance, owner), self.input_spec)

    @property
    def dygraph_function(self) -> Function:
        """Return the function itself."""
        return self._function

    def __repr__(self) -> str:
        return f"<StaticFunction of {getattr(self._function, '__qualname__', self._function)!r}>"


def to_static(
    function: Any = None,
    input_spec: Sequence[Any] | None = None,
    build_strategy: Any = None,
    backend: str | None = None,
    **kwargs: Any,
) -> Any:
    """Mark a function or a Layer for compilation: it runs in dynamic mode, with the same values and gradients.

    Args:
        function: a function, a Layer, or nothing (then the decorator is returned).
        input_spec: InputSpecs of its arguments; ``paddle.jit.save`` uses them.
        build_strategy: a BuildStrategy or None, without effect.
        backend: "CINN" or None, without effect.
        kwargs: ``full_graph`` and others, without effect.

    Raises:
        TypeError: an argument is of another type.
    """
    if input_spec is not None and not isinstance(input_spec, list | tuple):
        raise TypeError(f"to_static: input_spec is a list or tuple of InputSpecs, got {type(input_spec).__name__}")
    if backend not in (None, "CINN"):
        raise UsageError(f"to_static: backend is 'CINN' or None, got {backend!r}")

    def mark(item: Any) -> Any:
        if isinstance(item, StaticFunction):
            return StaticFunction(item.dygraph_function, input_spec or item.input_spec)
        if isinstance(item, Layer):
            held = item.forward
            plain = held.dygraph_function if isinstance(held, StaticFunction) else held
            vars(item)["forward"] = StaticFunction(plain, input_spec)
            return item
        if not callable(item):
            raise TypeError(f"to_static takes a function or a Layer, got {type(item).__name__}")
        return StaticFunction(item, input_spec)

    return mark if function is None else mark(function)


def spec_of(function: Any) -> Sequence[Any] | None:
    """Return the input spec that ``to_static`` gave a function, None where there is none."""
    return function.input_spec if isinstance(function, StaticFunction) else None


def not_to_static(func: Any = None) -> Any:
    """Leave a function out of compilation: return it as it is."""
    return func if func is not None else lambda function: function


def ignore_module(modules: list[Any]) -> None:
    """Leave modules out of compilation: nothing is compiled.

    Raises:
        TypeError: it is not a list.
    """
    if not isinstance(modules, list):
        raise TypeError(f"ignore_module takes a list of modules, got {type(modules).__name__}")


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Switch compilation on or off; nothing is compiled either way.

    Raises:
        TypeError: it is not a bool.
    """
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError(f"enable_to_static takes a bool, got {type(enable_to_static_bool).__name__}")
