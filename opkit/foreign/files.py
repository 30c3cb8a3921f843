"""The bytes of a file, where it is a file and not larger than it may be.

No format is known here.

The entries of a zip archive, such as a .npz, as bytes by name.

An archive may not hold more than it says, what is encrypted, or the same name twice.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib

from opkit.errors import OpkitError
from opkit.paths import StrPath

#: Reading never waits: a pipe in the place of a file is noticed, not read.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class FormatError(OpkitError, ValueError):
    """A file does not have the shape that it must have; the message says which part, without the file's name."""


def read_file(path: StrPath, most: int | None = None) -> bytes:
    """Return what a file holds.

    Args:
        path: the file; symlinks are followed.
        most: the largest size in bytes that is read; None for the size of this machine's memory.

    Raises:
        OSError: it does not exist or cannot be read.
        FormatError: it is a pipe, a device or a folder, or larger than ``most``.
    """
    bound = _memory() if most is None else most
    opened = os.open(path, _FLAGS)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"it is {_kind(status.st_mode)}, not a file")
        if status.st_size > bound:
            raise FormatError(f"it has {status.st_size} bytes, more than the {bound} that are read")
        with os.fdopen(opened, "rb", buffering=0, closefd=False) as stream:
            parts = []
            left = bound
            while left and (part := stream.read(min(left, max(status.st_size, 1 << 16)))):
                parts.append(part)
                left -= len(part)
    finally:
        os.close(opened)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return 1 << 36


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


_MOST_ENTRIES = 1 << 16
_IS_ENCRYPTED = 0x1


def read_entries(data: bytes, inflated: int = 0) -> tuple[dict[str, bytes], bytes]:
    """Return the entries of an archive in its order, and its comment.

    Args:
        data: the whole file.
        inflated: how many bytes compressed entries may come to in all; 0 where none may be compressed.

    Raises:
        FormatError: it is not such an archive, is damaged, or an entry is encrypted, compressed or too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            chosen = archive.infolist()
            _check(chosen, len(data), inflated)
            return {info.filename: _content(archive, info) for info in chosen}, archive.comment
    except FormatError:
        raise
    except MemoryError as error:
        raise FormatError("it does not fit into memory") from error
    except Exception as error:  # zipfile meets damage with a dozen kinds of error
        raise FormatError(f"it is not an archive, or is damaged ({type(error).__name__}: {error})") from error


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of an entry, of which no more are inflated than it says it has."""
    with archive.open(info) as stream:
        found = stream.read(info.file_size)
    if len(found) != info.file_size or zlib.crc32(found) != info.CRC:
        raise FormatError(f"entry {info.filename!r} is damaged")
    return found


def _check(entries: list[zipfile.ZipInfo], size: int, inflated: int) -> None:
    if len(entries) > _MOST_ENTRIES:
        raise FormatError(f"the archive has {len(entries)} entries, more than {_MOST_ENTRIES}")
    if len({info.filename for info in entries}) < len(entries):
        raise FormatError("the archive has two entries of one name")
    kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if inflated else (zipfile.ZIP_STORED,)
    for info in entries:
        if info.flag_bits & _IS_ENCRYPTED:
            raise FormatError(f"entry {info.filename!r} is encrypted")
        if info.compress_type not in kinds:
            raise FormatError(f"entry {info.filename!r} is compressed in a way that is not read")
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise FormatError(f"entry {info.filename!r} has {info.compress_size} bytes and claims {info.file_size}")
    if sum(info.compress_size for info in entries) > size:
        raise FormatError("the entries overlap: they are larger than the archive")
    total = sum(info.file_size for info in entries if info.compress_type != zipfile.ZIP_STORED)
    if total > inflated:
        raise FormatError(f"the entries come to {total} bytes, more than the {inflated} that are read")
