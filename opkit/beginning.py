"""The first moments of a command of opkit's own: Ctrl-C ends it without a traceback while the rest is loaded.

It is imported before everything else and imports next to nothing; what a signal does later is decided in
``opkit.signals``.
"""

import os
import sys
from types import TracebackType


def _is_command() -> bool:
    if sys.argv[:1] == ["-m"]:  # Python is still looking for the module that it was told to run
        return sys.orig_argv[-len(sys.argv)] in ("opkit", "-mopkit")
    return os.path.basename(sys.argv[0]) in ("opkit", "opkit.exe") if sys.argv else False


def _quietly(kind: "type[BaseException]", error: BaseException, trace: "TracebackType | None") -> None:
    if issubclass(kind, KeyboardInterrupt):
        os._exit(130)
    sys.__excepthook__(kind, error, trace)


#: Whether this process is opkit's own.
IS_COMMAND = _is_command()
if IS_COMMAND:
    sys.excepthook = _quietly
