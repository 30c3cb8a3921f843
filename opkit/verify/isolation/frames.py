"""Frames: pickled messages with a length in front, over a pipe.

Who talks to whom, and about what, is not decided here.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["FrameReader", "pack", "send"]

_HEADER = struct.Struct("<Q")
#: More than this is a broken stream, not a message.
_LARGEST = 1 << 34


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


class FrameReader:
    """Cuts a stream of bytes into messages; bytes may come in any portions."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Take in bytes and yield each message that they complete.

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
            yield pickle.loads(body)
