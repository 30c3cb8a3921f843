"""The command line of a fresh interpreter that is like this one: same executable, flags and path.

Only the standard library is imported here; what the interpreter is asked to do is its starter's business.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from opkit.blind.limits import THREADS

_FLAGS = {"-I": "isolated", "-E": "ignore_environment", "-s": "no_user_site"}
# The collector would only look through what imports make; the program switches it on again.
_PROGRAM = (
    "import gc, sys, json; gc.disable(); given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from opkit.blind.server import main; main(**given)"
)


def command(module: str, frameworks: Sequence[str] = (), **given: Any) -> list[str]:
    """Return the command that calls ``main(**given)`` of a module in a fresh interpreter, which has a blind server.

    Args:
        module: as it is imported.
        frameworks: that the files to be checked there import, and that may be imported before the server is forked.
        given: arguments that JSON holds.
    """
    flags = [flag for flag, name in _FLAGS.items() if getattr(sys.flags, name)]
    path = [os.path.abspath(item) for item in sys.path]
    # This process may have been started so itself: then its own environment is pinned already.
    usual = getattr(sys.modules.get("opkit.blind.server"), "usual", {})
    unpinned = {name: usual.get(name, os.environ.get(name)) for name in THREADS}
    settings = {"path": path, "then": module, "frameworks": list(frameworks), "unpinned": unpinned}
    return [sys.executable, *flags, "-c", _PROGRAM, json.dumps({**settings, **given})]
