"""``LazyGuard``: in Paddle parameters get their first values later; here they have them at once."""

from __future__ import annotations

from types import TracebackType


class LazyGuard:
    """A block in which layers may be made without memory; their parameters have their values at once."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None
