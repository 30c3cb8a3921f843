"""Where text goes: data to standard output, everything else to standard error, colours only where wanted."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from opkit.errors import OpkitError

_settings = {"is_quiet": False}
_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "good": "32", "strong": "1", "dim": "2"}


def put(text: str) -> None:
    """Write data to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def warn(text: str) -> None:
    """Write a message for the person at the terminal to standard error."""
    sys.stdout.flush()
    sys.stderr.write(text if text.endswith("\n") else text + "\n")


def hint(text: str) -> None:
    """Write a hint about the next step to standard error, unless the person asked for none."""
    if not _settings["is_quiet"]:
        warn(text)


def be_quiet() -> None:
    """Leave out hints from here on."""
    _settings["is_quiet"] = True


def use_colour(wanted: str) -> None:
    """Colour what this process and those that it starts write: always, never, or (auto) where a terminal reads it."""
    if wanted != "auto":
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ["FORCE_COLOR" if wanted == "always" else "NO_COLOR"] = "1"


@contextlib.contextmanager
def user_code() -> Iterator[None]:
    """Run code that loads a user's files: what these print is not opkit's data, and they may import the frameworks."""
    from opkit.shim import frameworks

    with contextlib.redirect_stdout(sys.stderr), frameworks():
        yield


def uses_colour(stream: TextIO) -> bool:
    """Whether colours are wanted on a stream: NO_COLOR, FORCE_COLOR and TERM decide before the terminal does."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Colour a text for a stream (standard error by default)."""
    return styled(text, style, uses_colour(stream or sys.stderr))


def styled(text: str, style: str, is_coloured: bool) -> str:
    """Colour a text where colours are wanted."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if is_coloured and style else text


def screen_width(stream: TextIO | None = None) -> int:
    """Return how wide a stream's reader is (standard output by default); 120 columns where it is not a terminal."""
    is_known = (stream or sys.stdout).isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size((120, 24)).columns if is_known else 120


def text_width() -> int:
    """Return how wide running text should be: as wide as the terminal, from 40 columns to a comfortable width."""
    return max(40, min(screen_width(), 100))


def error_line(error: OpkitError) -> str:
    """Return an error as the command line shows it."""
    return f"{paint('error', 'error')}: {error}"


def console(stream: TextIO | None = None) -> Console:
    """Return a rich console on a stream (standard output by default); 120 columns wide where it is not a terminal."""
    from rich.console import Console

    target = stream or sys.stdout
    return Console(
        file=target, width=screen_width(target), highlight=False, soft_wrap=False, no_color=not uses_colour(target)
    )
