"""Listed: what users give alone or as a list, as a list.

What else a value may be, such as a Tensor of several numbers, is its reader's business.
"""

from __future__ import annotations

from typing import Any


def listed(given: Any) -> list[Any]:
    """Return a list or tuple as a new list, and anything else as a list of it alone."""
    return list(given) if isinstance(given, (list, tuple)) else [given]
