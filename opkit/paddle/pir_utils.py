"""``paddle.pir_utils``: tests that run in both of Paddle's forms of a graph run in opkit's one form."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from opkit.shim.missing import guard

__all__ = ["IrGuard", "test_with_pir_api"]


class IrGuard:
    """A block in which Paddle builds graphs in its new form; opkit has one form, and builds that."""

    def __enter__(self) -> None:
        """Change nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Change nothing."""


def test_with_pir_api(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a test as it is: it runs once, since there is one form of a graph."""
    return func


# The name is Paddle's; pytest does not collect it.
test_with_pir_api.__test__ = False  # type: ignore[attr-defined]

__getattr__ = guard(__name__, globals())
