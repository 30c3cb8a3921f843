"""The command line of a fresh interpreter that is like this one: same executable, flags and path.

Only the standard library is imported here; what the interpreter is asked to do is its starter's business.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_FLAGS = {"-I": "isolated", "-E": "ignore_environment", "-s": "no_user_site"}
# The collector would only look through what imports make; the program switches it on again.
_PROGRAM = (
    "import gc, sys, json; gc.disable(); given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from {module} import main; main(**given)"
)


def command(module: str, **given: Any) -> list[str]:
    """Return the command that calls ``main(**given)`` of a module in a fresh interpreter.

    Args:
        module: as it is imported.
        given: arguments that JSON holds.
    """
    flags = [flag for flag, name in _FLAGS.items() if getattr(sys.flags, name)]
    path = [os.path.abspath(item) for item in sys.path]
    return [sys.executable, *flags, "-c", _PROGRAM.format(module=module), json.dumps({"path": path, **given})]
