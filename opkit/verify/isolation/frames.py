"""Frames: pickled messages with a length in front, over a pipe; of plain data, numpy's and opkit's own classes.

Who talks to whom, and about what, is not decided here.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any

from opkit.record import record

_HEADER = struct.Struct("<Q")
#: More than this is a broken stream, not a message.
_LARGEST = 1 << 34
#: Packages whose classes every reader has; a user's class may be missing there, or do something when it is made.
_KNOWN = ("builtins", "collections", "copyreg", "_codecs", "functools", "numpy", "opkit", "pathlib")


@record
class Unreadable:
    """What is read in place of a message that cannot be rebuilt.

    Args:
        why: the error.
    """

    why: str


class _PlainUnpickler(pickle.Unpickler):
    """Rebuilds nothing but data of known classes."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of a known package.

        Raises:
            UnpicklingError: the message holds an object of another.
        """
        if module.partition(".")[0] not in _KNOWN:
            raise pickle.UnpicklingError(f"the message holds an object of {module}.{name}")
        return super().find_class(module, name)


def is_plain(message: object) -> bool:
    """Return whether a message can be sent, and be read where the user's modules are not loaded."""
    try:
        _PlainUnpickler(io.BytesIO(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))).load()
    except Exception:  # user code of any kind may run here, that of a __reduce__
        return False
    return True


def pack(message: object) -> bytes:
    """Return a message as bytes: the length, then the pickle."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(len(body)) + body


def send(descriptor: int, message: object) -> None:
    """Write a message to a file descriptor, whole.

    Raises:
        OSError: the other end is gone.
        TypeError, AttributeError, pickle.PicklingError: the message holds something that cannot be pickled.
    """
    rest = memoryview(pack(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def received(read: Callable[[int], bytes]) -> Iterator[Any]:
    """Yield the messages of a stream until its end, but for those that cannot be rebuilt.

    Args:
        read: gives the next bytes, a number at most, none at the end.
    """
    reader = FrameReader()
    while data := read(1 << 20):
        for message in reader.feed(data):
            if not isinstance(message, Unreadable):
                yield message


class FrameReader:
    """Cuts a stream of bytes into messages; bytes may come in any portions."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Take in bytes and yield each message that they complete, ``Unreadable`` where it cannot be rebuilt.

        Raises:
            ValueError: the stream holds no frames.
        """
        self._held += data
        while len(self._held) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._held)
            if length > _LARGEST:
                raise ValueError(f"a frame of {length} bytes: the stream is broken")
            end = _HEADER.size + length
            if len(self._held) < end:
                return
            body = bytes(self._held[_HEADER.size : end])
            del self._held[:end]
            yield _rebuilt(body)


def _rebuilt(body: bytes) -> Any:
    try:
        return _PlainUnpickler(io.BytesIO(body)).load()
    except Exception as error:  # one message is lost, not those after it
        return Unreadable(f"{type(error).__name__}: {error}")
