"""Writing by indices where Paddle's rule is not the shared one: rows that are summed instead of replaced."""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics import builders as ops


def scatter(x: Any, indices: Any, updates: Any, overwrite: bool = True) -> Any:
    """Return ``x`` with rows replaced by the updates; without ``overwrite`` the updates of a row are summed instead.

    Source: Paddle 2.6, paddle.scatter: not overwriting starts from 0, so that the old row does not count.
    """
    if overwrite:
        return ops.scatter(x, indices, updates)
    column = ops.reshape(indices, (-1, 1))
    return ops.scatter_nd_add(ops.scatter(x, indices, ops.mul(updates, 0)), column, updates)
