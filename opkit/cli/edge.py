"""The edge: known errors become one message and an exit status here, and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from opkit.cli.console import error_line, warn
from opkit.errors import OpkitError, ProjectError, UsageError, unknown
from opkit.signals import Terminated

__all__ = [
    "CLEAN",
    "FINDINGS",
    "INTERRUPTED",
    "NOTHING",
    "SPEC_ERRORS",
    "TERMINATED",
    "USAGE",
    "Edge",
    "choice",
    "refuse_options",
]

CLEAN = 0
FINDINGS = 1
USAGE = 2
SPEC_ERRORS = 3
NOTHING = 5
INTERRUPTED = 130
TERMINATED = 143


class Edge(TyperGroup):
    """The root command: runs a sub-command and turns what it raises into a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            _check_folder(ctx)
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # here, where what goes wrong can be reported
        except OpkitError as error:
            warn(error_line(error))
            raise typer.Exit(_status(error)) from error
        except KeyboardInterrupt as stop:
            is_terminated = isinstance(stop, Terminated)
            warn("terminated" if is_terminated else "interrupted")
            raise typer.Exit(TERMINATED if is_terminated else INTERRUPTED) from None
        except BrokenPipeError:
            # The reader has gone (`opkit ... | head`): nobody is left to report to.
            _drop_output()
            raise typer.Exit(FINDINGS) from None
        except OSError as error:
            # A full disk, a folder that cannot be written: the error is reported without a traceback.
            if error.filename is None:
                _drop_output()
            place = f"{str(error.filename)!r}: " if error.filename is not None else "output: "
            warn(f"error: {place}{error.strerror or error}")
            raise typer.Exit(FINDINGS) from None


def _drop_output() -> None:
    """Let what is still waiting to be printed go nowhere: the interpreter would try again, and fail, at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _check_folder(ctx: Any) -> None:
    """Refuse to work in a folder that is gone.

    Raises:
        UsageError: the working folder was removed.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError("the working folder does not exist any more", help="cd to another folder") from error


def refuse_options(command: str, script: str) -> None:
    """Refuse an argument that begins like an option where a script is expected.

    Raises:
        UsageError: it does; the nearest option of the command is named.
    """
    if not script.startswith("-") or os.path.exists(script):
        return
    options = ["--show-plan", "--profile", "--gpu-as-cpu", "--help"]
    raise unknown(f"opkit {command} has no option", script, options, has="it has").error(UsageError)


def choice(option: str, value: str, known: Sequence[str]) -> str:
    """Return an option's value if it is one of the known ones.

    Raises:
        UsageError: it is not; the nearest is named.
    """
    if value in known:
        return value
    raise unknown(f"{option}: there is no", value, known, has="there are").error(UsageError)


def _status(error: OpkitError) -> int:
    if isinstance(error, UsageError):
        return USAGE
    return SPEC_ERRORS if isinstance(error, ProjectError) else FINDINGS
