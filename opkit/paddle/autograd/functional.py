"""``paddle.autograd.jacobian`` and ``hessian``: matrices of derivatives, row by row through the reverse walk."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.listed import listed
from opkit.paddle.autograd.backward_mode import grad
from opkit.paddle.semantics import builders as ops


class Jacobian:
    """A matrix of derivatives that is computed when it is first read; ``J[:]`` is all of it, as a Tensor.

    Args:
        ys: a tensor of at most one axis (two with a batch axis).
        xs: likewise; what ys depend on.
        is_batched: the first axis of both counts samples that do not depend on each other.

    Its shape is ``[ys' size, xs' size]``, without the axis of one that is a scalar; with a batch axis that comes first.
    """

    def __init__(self, ys: Any, xs: Any, is_batched: bool = False) -> None:
        limit = 2 if is_batched else 1
        for item in (ys, xs):
            if item.ndim > limit:
                raise ShapeError(f"a derivative takes tensors of at most {limit} axes here, got {list(item.shape)}")
        self._ys, self._xs, self._is_batched = ys, xs, is_batched
        self._held: Any = None

    @property
    def shape(self) -> list[int]:
        """The sizes."""
        ys, xs = list(self._ys.shape), list(self._xs.shape)
        return [ys[0], *ys[1:], *xs[1:]] if self._is_batched else ys + xs

    def _all(self) -> Any:
        if self._held is None:
            axis = 1 if self._is_batched else 0
            parts = ops.unstack(self._ys, axis) if self._ys.ndim > axis else [self._ys]
            rows = [self._row(part) for part in parts]
            self._held = ops.stack(rows, axis) if self._ys.ndim > axis else rows[0]
        return self._held

    def _row(self, part: Any) -> Any:
        (found,) = grad(part, self._xs, create_graph=True, allow_unused=True)
        return ops.zeros_like(self._xs) if found is None else found

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._all(), name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"


class Hessian(Jacobian):
    """A matrix of second derivatives that is computed when it is first read."""


def _is_batched(batch_axis: int | None) -> bool:
    if batch_axis not in (None, 0):
        raise UsageError(f"batch_axis is None or 0, got {batch_axis!r}")
    return batch_axis == 0


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Return the derivatives of ys by xs; of a tuple of either, a tuple of them (of both, a tuple of tuples)."""
    batched = _is_batched(batch_axis)
    if isinstance(ys, (list, tuple)):
        return tuple(jacobian(y, xs, batch_axis) for y in ys)
    if isinstance(xs, (list, tuple)):
        return tuple(Jacobian(ys, x, batched) for x in xs)
    return Jacobian(ys, xs, batched)


def hessian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Return the second derivatives of a scalar ys (of one per sample, with a batch axis) by xs, or by each pair."""
    batched = _is_batched(batch_axis)
    count = ys.size if not batched else ys.size // max(ys.shape[0], 1)
    if count != 1:
        raise ShapeError(f"hessian takes one number{' per sample' if batched else ''}, got shape {list(ys.shape)}")
    targets = listed(xs)
    firsts = grad(ys, targets, create_graph=True, allow_unused=True)
    table = tuple(
        tuple(Hessian(ops.mul(x, 0.0) if first is None else first, other, batched) for other in targets)
        for x, first in zip(targets, firsts)
    )
    return table if isinstance(xs, (list, tuple)) else table[0][0]
