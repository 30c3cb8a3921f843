"""The cache of compiled libraries: a folder of the user, written under locks, each file whole or not at all.

An entry is found by the contents of everything that it was made from. What is compiled is not known here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opkit.atomic import write_file
from opkit.foreign import read_file
from opkit.paths import StrPath
from opkit.record import record

if sys.platform != "win32":
    import fcntl

#: Seconds that a build waits for another process which builds the same.
_PATIENCE = 900.0
_MOST_FACTS = 1 << 20
#: Where libraries go in this process if the user's folder cannot be written.
_instead: list[str] = []


def cache_folder() -> Path:
    """Return the folder of compiled libraries: ``OPKIT_CACHE``/native, else in the user's cache folder."""
    named = os.environ.get("OPKIT_CACHE")
    if named:
        return Path(named, "native")
    if sys.platform == "darwin":
        base = os.path.join(os.path.expanduser("~"), "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base, "opkit", "native")


def writable_folder() -> Path:
    """Return the cache folder, which is made; a temporary one of this process where it cannot be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(error.errno, f"the cache folder is full ({error.strerror})", str(folder)) from error
    if not _instead:
        _instead.append(tempfile.mkdtemp(prefix="opkit-native-"))
    return Path(_instead[0])


def is_instead(folder: Path) -> bool:
    """Whether a folder is the temporary one that stands in for the user's."""
    return str(folder) in _instead


@contextlib.contextmanager
def held(folder: Path, key: str) -> Iterator[None]:
    """Keep other processes from building the same thing; the lock of a process that is killed ends with it.

    Raises:
        OSError: another one has been building for a quarter of an hour.
    """
    place = folder / f"{key}.lock"
    with open(place, "ab") as stream:
        end = time.monotonic() + _PATIENCE
        while not _taken(stream.fileno()):
            if time.monotonic() > end:
                raise OSError(errno.ETIMEDOUT, "another process builds this and does not finish", str(place))
            time.sleep(0.02)
        yield


def _taken(handle: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def digest_of(*parts: str | bytes) -> str:
    """Return the digest of texts and contents, each kept apart from the next."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()


def file_digest(path: StrPath) -> str:
    """Return the digest of a file's contents, "" where it cannot be read."""
    try:
        return digest_of(Path(path).read_bytes())
    except OSError:
        return ""


def find_entry(folder: Path, key: str) -> Path | None:
    """Return a library that was built before: whole, and with its headers as they are now."""
    facts = _facts(folder, key)
    if facts is None:
        return None
    library = folder / f"{key}.so"
    if file_digest(library) != facts["library"] or any(file_digest(name) != was for name, was in facts["headers"]):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / f"{key}.json")
    return library


def add_entry(folder: Path, key: str, made: Path, sources: Sequence[str], headers: Sequence[str]) -> Path:
    """Put a library that was just built into the cache.

    Raises:
        OSError: the folder cannot be written or is full.
    """
    library = folder / f"{key}.so"
    facts = {
        "library": file_digest(made),
        "sources": list(sources),
        "headers": [[name, file_digest(name)] for name in headers],
    }
    os.replace(made, library)
    write_file(folder / f"{key}.json", json.dumps(facts).encode())
    return library


def _facts(folder: Path, key: str) -> dict[str, Any] | None:
    try:
        facts = json.loads(read_file(folder / f"{key}.json", _MOST_FACTS))
    except (OSError, ValueError):
        return None
    is_whole = isinstance(facts, dict) and {"library", "sources", "headers"} <= set(facts)
    return facts if is_whole else None


@record
class Entry:
    """One library of the cache, or one prelude.

    Args:
        key: its name in the folder.
        sources: what it was built from; none for a prelude.
        size: in bytes.
        used: when it was last used, in seconds since the epoch.
    """

    key: str
    sources: tuple[str, ...]
    size: int
    used: float


def entries() -> list[Entry]:
    """Return what the cache holds, last used first."""
    folder = cache_folder()
    found: list[Entry] = []
    for place in folder.glob("*.json") if folder.is_dir() else ():
        facts = _facts(folder, place.stem)
        with contextlib.suppress(OSError):
            size = (folder / f"{place.stem}.so").stat().st_size
            found.append(Entry(place.stem, tuple((facts or {}).get("sources", ())), size, place.stat().st_mtime))
    for place in folder.glob("prelude-*") if folder.is_dir() else ():
        if place.is_dir():
            size = sum(item.stat().st_size for item in place.iterdir())
            found.append(Entry(place.name, (), size, place.stat().st_mtime))
    return sorted(found, key=lambda item: -item.used)


def prune(seconds: float) -> list[Entry]:
    """Remove what was not used for so long, and what dead builds left; return what was removed."""
    folder, now = cache_folder(), time.time()
    gone = [item for item in entries() if now - item.used >= seconds]
    for item in gone:
        shutil.rmtree(folder / item.key, ignore_errors=True)
        for suffix in (".json", ".so", ".lock"):
            with contextlib.suppress(OSError):
                os.unlink(folder / f"{item.key}{suffix}")
    return gone
