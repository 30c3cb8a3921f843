"""Loading one Python file of a user as a module: from its current text, without reading or writing caches.

The purpose of the file is not known here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from opkit.forked import end_if_forked
from opkit.paths import StrPath


def load_module(path: StrPath) -> ModuleType:
    """Execute a Python file as a new module.

    The module is registered under a name made of the file's name and its real path, where it replaces what an
    earlier load put there: classes defined in it can be pickled and inspected, and no other file can hide it.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
        SyntaxError: it does not parse.
        BaseException: whatever its top level raises.

    If the file forks, the child process ends here when it returns. A file of a package that imports by relative names
    finds its package, whose parent folder is then the last one on Python's path.
    """
    full = os.path.abspath(path)
    digest = hashlib.blake2s(os.fsencode(os.path.realpath(full)), digest_size=6).hexdigest()
    name = f"{Path(full).stem}__{digest}"
    source = importlib.util.decode_source(Path(full).read_bytes())
    code = compile(source, full, "exec", dont_inherit=True)
    package = _package_of(Path(full), source)
    module = ModuleType(name)
    module.__file__ = full
    module.__loader__ = SourceFileLoader(name, full)
    module.__spec__ = ModuleSpec(f"{package}.{name}" if package else name, module.__loader__, origin=full)
    module.__package__ = package
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


def _package_of(file: Path, source: str) -> str:
    """Return the package by which a file's relative imports go, "" where it has none or is in none."""
    if "from ." not in source:
        return ""
    with warnings.catch_warnings():  # what it warns of was said when the file was compiled
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    if not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
        return ""
    names: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    if names and str(folder) not in sys.path:
        sys.path.append(str(folder))
    return ".".join(names)
