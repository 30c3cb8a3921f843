"""Golden reports of the codes that other frameworks' functions bring, and what of a report is left out of them."""

from __future__ import annotations

import re

__all__ = ["masked"]


def masked(text: str) -> str:
    """Return a text report without times, notes, line numbers, and what depends on the machine (paths, cases)."""
    text = re.sub(r" +\d+\.\d\d s", " 0.00 s", re.sub(r"\(\d+\.\d\d s, seed", "(0.00 s, seed", text))
    text = re.sub(r"(?m)^(>?) +\d+ \|", r"\1 LINE |", text)
    text = re.sub(
        r"(?m)^( *-->) (?:\S*/)?(\w+\.py):\d+", r"\1 \2:LINE", re.sub(r"(?m)^  note .*\n(    .*\n)*", "", text)
    )
    text = re.sub(r"\(\S+ at \[[\d, ]*\], not \S+?\)", "(# at #, not #)", text)  # of the cases that were found
    return re.sub(r"(?m)^    (case|expected|actual|at|d y)\b.*\n", "", text)
