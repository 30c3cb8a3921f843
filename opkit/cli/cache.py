"""``opkit cache``: the compiled C++ kernels of this user."""

from __future__ import annotations

import time
from typing import Annotated

import typer


def cache(
    prune: Annotated[bool, typer.Option("--prune", help="Remove what was not used for --days.")] = False,
    days: Annotated[float, typer.Option("--days", metavar="N", help="With --prune: 0 removes everything.")] = 30.0,
) -> None:
    """Show the libraries of C++ kernels that were compiled, last used first, or remove old ones.

    Example: `opkit cache --prune --days 7`.

    OPKIT_CACHE names another folder.
    """
    from opkit.cli.columns import columns_text
    from opkit.cli.console import hint, put
    from opkit.native.cache import cache_folder, entries
    from opkit.native.cache import prune as remove

    found = remove(days * 86400) if prune else entries()
    now = time.time()
    rows = [
        (
            ", ".join(item.sources) or "the compiled headers",
            f"{item.size / 1e6:.1f} MB",
            f"{max(now - item.used, 0) / 86400:.1f} days ago",
        )
        for item in found
    ]
    if rows:
        head = "removed" if prune else "sources"
        put(columns_text(rows, (head, "size", "last used"), 120, flexible=head))
    hint(f"{len(found)} {'removed from' if prune else 'in'} {cache_folder()}")
