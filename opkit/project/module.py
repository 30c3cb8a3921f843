"""Loading one Python file of a user as a module: from its current text, without reading or writing caches.

The purpose of the file is not known here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from opkit.forked import end_if_forked

__all__ = ["load_module"]


def load_module(path: str | os.PathLike[str]) -> ModuleType:
    """Execute a Python file as a new module.

    The module is registered under a name made of the file's name and its real path, where it replaces what an
    earlier load put there: classes defined in it can be pickled and inspected, and no other file can hide it.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
        SyntaxError: it does not parse.
        BaseException: whatever its top level raises.

    If the file forks, the child process ends here when it returns.
    """
    full = os.path.abspath(path)
    digest = hashlib.blake2s(os.fsencode(os.path.realpath(full)), digest_size=6).hexdigest()
    name = f"{Path(full).stem}__{digest}"
    source = importlib.util.decode_source(Path(full).read_bytes())
    code = compile(source, full, "exec", dont_inherit=True)
    module = ModuleType(name)
    module.__file__ = full
    module.__loader__ = SourceFileLoader(name, full)
    module.__spec__ = ModuleSpec(name, module.__loader__, origin=full)
    before = sys.modules.get(name)
    sys.modules[name] = module
    process = os.getpid()
    try:
        exec(code, module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    finally:
        end_if_forked(process)
    return module
