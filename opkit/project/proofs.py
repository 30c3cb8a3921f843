"""Proofs: the sharding signatures of an op directory that were proved, kept in the user's cache by its content.

What is proved, and how, is the checker's; a changed file is another content, about which nothing is known.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from opkit.atomic import write_file
from opkit.foreign import FormatError, read_file
from opkit.paths import StrPath
from opkit.version import __version__

#: A signature that holds: op type, number of axes of each input as text, the signature as text (inputs -> outputs).
Held = tuple[str, str, str]
_FORMAT = 1
_LARGEST = 4 << 20
_SOURCES = (".py", ".cpp", ".h", ".hpp")


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "opkit" / "proofs"


def content_of(directory: StrPath) -> str:
    """Return what identifies the content of an op directory: its sources, and what runs them.

    Raises:
        OSError: a file cannot be read.
    """
    found = hashlib.sha256(f"{__version__} {np.__version__}\0".encode())
    root = Path(directory)
    for path in sorted(root.rglob("*")):
        if path.suffix in _SOURCES and path.is_file() and not path.name.startswith("test_"):
            data = path.read_bytes()
            found.update(f"{path.relative_to(root)}\0{len(data)}\0".encode())
            found.update(data)
    return found.hexdigest()


def remember_proofs(directory: StrPath, held: Iterable[Held]) -> None:
    """Keep what was proved of an op directory as it is now; earlier proofs of this content are replaced.

    Raises:
        OSError: the cache cannot be written.
    """
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": _FORMAT, "held": sorted(set(held))})
    write_file(folder / f"{content_of(directory)}.json", text.encode())


def proved(directory: StrPath) -> frozenset[Held] | None:
    """Return what was proved of an op directory as it is now; None where it was never tried, or the file is damaged."""
    try:
        found: Any = json.loads(read_file(_folder() / f"{content_of(directory)}.json", _LARGEST))
        if found["format"] != _FORMAT:
            return None
        return frozenset((str(op), str(ranks), str(signature)) for op, ranks, signature in found["held"])
    except (OSError, FormatError, ValueError, TypeError, KeyError):
        return None
