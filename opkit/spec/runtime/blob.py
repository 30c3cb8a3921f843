"""Blob: the name of a value in a gradient graph, a text with its parts.

Which op computes a blob, and what it holds, stands in the graph and not here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

#: Forward's input, its output, the incoming gradient of an output, an output of a backward op, and a name that the
#: definition's own code puts together and that nothing in the graph has.
BlobKind = Literal["in", "out", "dout", "made", "foreign"]


class Blob(str):
    """The name of a value in a gradient graph: "in:x_0", "out:y_0", "dout:y_0" or "<op name>/dx_0".

    The definition language has strings here, and so do scripts that read a gradient graph; code that must know what a
    blob is reads its parts, never its text.

    Args:
        kind: what the blob is.
        arg: the argument of forward, or of the backward op.
        place: its index among the argument's blobs.
        op: name of the backward op, "" where forward has the blob.

    Example:
        >>> blob = Blob("made", "dx", 0, "fw_grad")
        >>> blob == "fw_grad/dx_0", blob.kind, blob.arg, blob.place
        (True, 'made', 'dx', 0)
    """

    __slots__ = ("arg", "kind", "op", "place")

    kind: BlobKind
    arg: str
    op: str
    place: int

    def __new__(cls, kind: BlobKind, arg: str, place: int, op: str = "") -> Blob:
        """Make a blob, and its text of its parts."""
        if kind == "foreign":
            text = arg
        else:
            text = f"{op}/{arg}_{place}" if kind == "made" else f"{kind}:{arg}_{place}"
        blob = super().__new__(cls, text)
        blob.kind = kind
        blob.arg = arg
        blob.place = place
        blob.op = op
        return blob

    def __getnewargs__(self) -> tuple[BlobKind, str, int, str]:  # type: ignore[override]
        return self.kind, self.arg, self.place, self.op


@lru_cache(maxsize=4096)
def forward_blob(kind: Literal["in", "out", "dout"], arg: str, place: int) -> Blob:
    """Return the blob of an argument of forward; the same few are asked for again and again."""
    return Blob(kind, arg, place)
