"""Running a script as ``python job.py`` would, with the shim in place.

Nothing is printed here: errors are raised as exceptions.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from opkit.errors import UsageError
from opkit.paths import StrPath
from opkit.shim.finder import frameworks


def run_script(path: StrPath, argv: Sequence[str] = ()) -> dict[str, Any]:
    """Run a script as ``__main__``, its framework imports served by opkit, and undo everything afterwards.

    Args:
        path: the script.
        argv: its arguments, ``sys.argv[1:]``.

    Returns:
        the script's global names.

    Raises:
        UsageError: there is no such file.
        BaseException: whatever the script raises, SystemExit included.
    """
    main, argv0, path0 = sys.modules.get("__main__"), sys.argv, list(sys.path)
    try:
        with frameworks():
            return exec_script(path, argv, replace_path=False)
    finally:
        sys.argv, sys.path[:] = argv0, path0
        if main is not None:
            sys.modules["__main__"] = main


def exec_script(path: StrPath, argv: Sequence[str] = (), *, replace_path: bool = True) -> dict[str, Any]:
    """Run a script as ``__main__`` in a process that serves it alone; the caller installs ``frameworks``.

    Args:
        path: the script.
        argv: its arguments.
        replace_path: the script's folder takes the place of ``sys.path[0]`` (as an interpreter started for the
            script has it) instead of being put in front.

    Returns:
        the script's global names.
    """
    shown = os.fspath(path)
    full = os.path.join(os.getcwd(), shown)
    code = _compile(shown, full)
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=full,
        __cached__=None,
        __doc__=None,
        __loader__=SourceFileLoader("__main__", full),
        __package__=None,
        __spec__=None,
        __builtins__=sys.modules["builtins"],
        __annotations__={},
    )
    sys.argv = [shown, *argv]
    sys.path[0 : 1 if replace_path and sys.path else 0] = [os.path.dirname(os.path.realpath(full))]
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
    return module.__dict__


def _compile(shown: str, full: str) -> CodeType:
    if Path(full).is_dir():
        raise UsageError(f"cannot run {shown!r}: it is a folder, not a Python script")
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"cannot open {shown!r}: {error.strerror or error}") from error
    return compile(source, full, "exec", dont_inherit=True)
