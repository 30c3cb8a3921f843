"""Parsing option values that several commands accept: shapes of inputs."""

from __future__ import annotations

from opkit.errors import UsageError

__all__ = ["shape_of"]


def shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``NAME=SIZES``: an input's name and its shape.

    Raises:
        UsageError: it cannot be read.
    """
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(",") if size.strip())
        if not equals or not name.strip() or any(size < 0 for size in shape):
            raise ValueError
    except ValueError:
        raise UsageError(f"--shape {text!r}: expected NAME=SIZES, for example x=3,4 (x= for a 0-d array)") from None
    return name.strip(), shape
