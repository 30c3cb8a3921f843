"""Paths: what functions that read or write a file take for its place.

Nothing is read or written here.
"""

from __future__ import annotations

import os
from typing import TypeAlias

#: A path as text or as an object.
StrPath: TypeAlias = "str | os.PathLike[str]"
