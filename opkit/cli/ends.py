"""Ends: exit statuses, and how a command ends on what it raises: one message, and the status.

It knows no command line, so that a script is run without waiting for what reads one.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from opkit.cli.console import error_line, warn
from opkit.errors import OpkitError, ProjectError, UsageError
from opkit.signals import Terminated

CLEAN = 0
FINDINGS = 1
USAGE = 2
SPEC_ERRORS = 3
NOTHING = 5
INTERRUPTED = 130
TERMINATED = 143


@contextlib.contextmanager
def ended() -> Iterator[None]:
    """Turn the known errors that a ``with`` block raises into a message and an exit status.

    Raises:
        SystemExit: there was one.
    """
    try:
        _check_folder()
        try:
            yield
        finally:
            sys.stdout.flush()  # here, where what goes wrong can be reported
    except OpkitError as error:
        warn(error_line(error))
        is_spec = isinstance(error, ProjectError)
        status = USAGE if isinstance(error, UsageError) else SPEC_ERRORS if is_spec else FINDINGS
        raise SystemExit(status) from error
    except KeyboardInterrupt as stop:
        is_terminated = isinstance(stop, Terminated)
        warn("terminated" if is_terminated else "interrupted")
        raise SystemExit(TERMINATED if is_terminated else INTERRUPTED) from None
    except BrokenPipeError:
        # The reader has gone (`opkit ... | head`): nobody is left to report to.
        _drop_output()
        raise SystemExit(FINDINGS) from None
    except OSError as error:
        # A full disk, a folder that cannot be written: the error is reported without a traceback.
        if error.filename is None:
            _drop_output()
        place = f"{str(error.filename)!r}: " if error.filename is not None else "output: "
        warn(f"error: {place}{error.strerror or error}")
        raise SystemExit(FINDINGS) from None


def _drop_output() -> None:
    """Let what is still waiting to be printed go nowhere: the interpreter would try again, and fail, at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _check_folder() -> None:
    """Refuse to work in a folder that is gone.

    Raises:
        UsageError: the working folder was removed.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError("the working folder does not exist any more", help="cd to another folder") from error
