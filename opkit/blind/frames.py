"""Frames: messages with a length in front, over a pipe or a socket; pickled ones of numpy's and opkit's own classes.

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
#: How many bytes are read at once.
_PORTION = 1 << 20
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


def framed(body: bytes) -> bytes:
    """Return a frame: the length, then the body."""
    return _HEADER.pack(len(body)) + body


def write(descriptor: int, body: bytes) -> None:
    """Write a frame to a file descriptor, whole.

    Raises:
        OSError: the other end is gone.
    """
    rest = memoryview(framed(body))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def send(descriptor: int, message: object) -> None:
    """Write a message to a file descriptor, whole.

    Raises:
        OSError: the other end is gone.
        TypeError, AttributeError, pickle.PicklingError: the message holds something that cannot be pickled.
    """
    write(descriptor, pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def received(read: Callable[[int], bytes]) -> Iterator[Any]:
    """Yield the messages of a stream until its end, but for those that cannot be rebuilt.

    Args:
        read: gives the next bytes, a number at most, none at the end.
    """
    reader = FrameReader()
    while data := read(_PORTION):
        for body in reader.feed(data):
            message = rebuilt(body)
            if not isinstance(message, Unreadable):
                yield message


class FrameReader:
    """Cuts a stream of bytes into frames; bytes may come in any portions."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take in bytes and yield the body of each frame that they complete.

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
            yield body

    def following(self, read: Callable[[int], bytes]) -> bytes:
        """Return the body of the next frame of a stream; see ``received``.

        Raises:
            EOFError: the stream ends before.
        """
        data = b""
        while (body := next(self.feed(data), None)) is None:
            data = read(_PORTION)
            if not data:
                raise EOFError
        return body


def rebuilt(body: bytes) -> Any:
    """Return the message of a frame, ``Unreadable`` where it cannot be rebuilt."""
    try:
        return _PlainUnpickler(io.BytesIO(body)).load()
    except Exception as error:  # one message is lost, not those after it
        return Unreadable(f"{type(error).__name__}: {error}")
