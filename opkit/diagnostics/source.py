"""SourceText and Span: a text with its path, and a piece of it.

Nothing is read, parsed or rendered here.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from opkit.errors import Location
from opkit.record import entity, record


@entity
class SourceText:
    r"""A text and the path it is shown under.

    Args:
        text: the whole text; lines end in ``\n``, ``\r\n`` or ``\r``.
        path: what messages name; need not exist on disk.

    Example:
        >>> SourceText("one\ntwo", "a.cpp").position(5)
        (2, 2)
    """

    text: str
    path: str
    _starts: list[int] = field(default_factory=list, init=False, repr=False)

    def _line_starts(self) -> list[int]:
        if not self._starts:
            starts, text = [0], self.text
            at = text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = text.find("\n", at + 1)
            if "\r" in text:
                starts += [i + 1 for i, c in enumerate(text) if c == "\r" and text[i + 1 : i + 2] != "\n"]
                starts.sort()
            self._starts.extend(starts)
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset; beyond the end means the end."""
        offset = min(max(offset, 0), len(self.text))
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def offset(self, line: int, col: int = 1) -> int:
        """Return the offset of a 1-based line and column, clipped to the text."""
        starts = self._line_starts()
        line = min(max(line, 1), len(starts))
        return min(starts[line - 1] + max(col, 1) - 1, len(self.text))

    def line(self, number: int) -> str:
        """Return one line (1-based) without its line end; "" where there is none."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        """Return the span between two offsets."""
        return Span(self, start, end)


@record
class Span:
    """The piece ``source.text[start:end]``; lines and columns are 1-based, ``end_col`` is one past the last.

    Args:
        source: the text.
        start: offset of the first character.
        end: offset after the last one.
    """

    source: SourceText
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line of the first character."""
        return self.source.position(self.start)[0]

    @property
    def col(self) -> int:
        """Column of the first character."""
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        """Line of the last character."""
        return self.source.position(max(self.end - 1, self.start))[0]

    @property
    def end_col(self) -> int:
        """Column after the last character."""
        if self.end <= self.start:
            return self.col
        return self.source.position(self.end - 1)[1] + 1

    @property
    def path(self) -> str:
        """Path of the text."""
        return self.source.path

    @property
    def text(self) -> str:
        """The characters themselves."""
        return self.source.text[self.start : self.end]

    @property
    def location(self) -> Location:
        """The start, in the form errors carry."""
        line, col = self.source.position(self.start)
        return Location(self.source.path, line, col)

    def __str__(self) -> str:
        line, col = self.source.position(self.start)
        return f"{self.source.path}:{line}:{col}"
