"""Linear algebra in numpy, of the primitives of ``jax.lax.linalg`` whose results are unique.

Eigenvectors and singular vectors are not: they are left to JAX, as is what numpy refuses (singular matrices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ops.core.types import Function


def _cholesky(params: Any, x: Any) -> Any:
    try:
        return np.linalg.cholesky(x) if x.dtype.kind in "fc" else NotImplemented
    except np.linalg.LinAlgError:
        return NotImplemented


def _triangular_solve(params: Any, a: Any, b: Any) -> Any:
    """Return x of a x = b, or of x a = b."""
    if a.dtype.kind not in "fc":
        return NotImplemented
    part = np.tril(a) if params["lower"] else np.triu(a)
    if params["unit_diagonal"]:
        part = np.where(np.eye(a.shape[-1], dtype=bool), 1, part)
    part = part.conj() if params["conjugate_a"] else part
    is_left = params["left_side"]
    # x a = b is a' x' = b'.
    part = part.swapaxes(-1, -2) if params["transpose_a"] == is_left else part
    try:
        found = np.linalg.solve(part, b if is_left else b.swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        return NotImplemented
    return found if is_left else found.swapaxes(-1, -2)


def _lu(params: Any, x: Any) -> Any:
    """Return L below the diagonal of U, the rows that were exchanged one after the other, and where rows came from."""
    if x.dtype.kind not in "fc":
        return NotImplemented
    *outer, rows, columns = x.shape
    steps = min(rows, columns)
    made = np.array(x).reshape(-1, rows, columns)
    pivots = np.zeros((len(made), steps), np.int32)
    order = np.tile(np.arange(rows, dtype=np.int32), (len(made), 1))
    for part, pivot, places in zip(made, pivots, order):
        for step in range(steps):
            pivot[step] = other = step + int(np.argmax(abs(part[step:, step])))
            part[[step, other]], places[[step, other]] = part[[other, step]], places[[other, step]]
            if part[step, step] != 0:
                part[step + 1 :, step] /= part[step, step]
            part[step + 1 :, step + 1 :] -= np.outer(part[step + 1 :, step], part[step, step + 1 :])
    return made.reshape(x.shape), pivots.reshape(*outer, steps), order.reshape(*outer, rows)


LINALG: dict[str, Function] = {"cholesky": _cholesky, "triangular_solve": _triangular_solve, "lu": _lu}
