"""The versions that opkit is tested with; `.ci/run` installs the newest of them, and the documentation shows them.

What is installed is ``checkup``'s to look at.
"""

from __future__ import annotations

#: name -> (oldest, newest)
TESTED: dict[str, tuple[str, str]] = {
    "python": ("3.10", "3.13"),
    "numpy": ("2.0", "2.4"),
    "torch": ("2.13", "2.13"),
    "jax": ("0.10", "0.10"),
}


def remark(name: str, version: str) -> str:
    """Return how a version stands to those that were tested, "" where it is one of them."""
    oldest, newest = map(_parts, TESTED[name])
    how = "newer" if _parts(version) > newest else "older" if _parts(version) < oldest else ""
    return f"{how} than what opkit is tested with ({tested(name)})" if how else ""


def tested(name: str) -> str:
    """Return the range as people write it."""
    oldest, newest = TESTED[name]
    return oldest if oldest == newest else f"{oldest} to {newest}"


def _parts(version: str) -> list[int]:
    return [int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:2]]
