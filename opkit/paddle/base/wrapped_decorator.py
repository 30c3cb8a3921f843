"""``paddle.base.wrapped_decorator``: decorators that keep a function's signature."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from opkit.ops.core.types import Function
from opkit.shim.missing import guard

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that applies another at each call, and keeps the function's name and signature."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return decorator_func(function)(*args, **kwargs)

        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return call

    return decorate


signature_safe_contextmanager = wrap_decorator(contextlib.contextmanager)

__getattr__ = guard(globals())
