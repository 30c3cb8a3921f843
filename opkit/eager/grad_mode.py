"""Whether dynamic mode records what it runs: ``no_grad``, ``enable_grad``, ``set_grad_enabled``."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from opkit.errors import UsageError
from opkit.ops.core.mode import local

Function = TypeVar("Function", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Return whether ops are recorded in this thread."""
    return local.mode.is_grad_enabled


def _signed(made: Any, function: Function) -> Function:
    """Give a wrapper the signature of its function, for those who ask for arguments by ``getfullargspec``."""
    with contextlib.suppress(TypeError, ValueError):
        made.__signature__ = inspect.signature(function)
    return made  # type: ignore[no-any-return]


class _GradMode:
    """A context manager and decorator that sets the flag and restores it; may be nested and used again."""

    _value: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        mode = local.mode
        self._before.append(mode.is_grad_enabled)
        mode.is_grad_enabled = self._value

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        local.mode.is_grad_enabled = self._before.pop()

    def __call__(self, function: Function) -> Function:
        kind = type(self)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                # The flag holds while the generator's own code runs, not while it is suspended.
                with kind():
                    generator = function(*args, **kwargs)
                sent: Any = None
                while True:
                    with kind():
                        try:
                            item = generator.send(sent)
                        except StopIteration as stop:
                            return stop.value
                    sent = yield item

            return _signed(generate, function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with kind():
                return function(*args, **kwargs)

        return _signed(call, function)


class _DecoratorOrContext(type):
    """Lets ``@no_grad`` stand for ``@no_grad()``."""

    def __call__(cls, function: Any = None) -> Any:
        made = super().__call__()
        return made if function is None else made(function)


class no_grad(_GradMode, metaclass=_DecoratorOrContext):  # noqa: N801 - Paddle's name
    """In this context, or in the function decorated with it, nothing is recorded.

    Example:
        >>> with no_grad():
        ...     is_grad_enabled()
        False
    """

    _value = False


class enable_grad(_GradMode, metaclass=_DecoratorOrContext):  # noqa: N801
    """In this context, or in the function decorated with it, ops are recorded, also within ``no_grad``."""

    _value = True


class set_grad_enabled:  # noqa: N801
    """Set whether ops are recorded: at once, and until the end of the block where it is used as a context.

    Args:
        mode: True to record.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise UsageError(f"set_grad_enabled takes a bool, got {type(mode).__name__} {mode!r}")
        self._before = local.mode.is_grad_enabled
        local.mode.is_grad_enabled = mode

    def __call__(self, function: Function) -> Function:
        """Return a function that runs with the mode; what was set at once is undone."""
        inside: _GradMode = enable_grad() if local.mode.is_grad_enabled else no_grad()
        local.mode.is_grad_enabled = self._before
        return inside(function)

    def __enter__(self) -> None:
        """Keep what was set when the object was made."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        local.mode.is_grad_enabled = self._before
