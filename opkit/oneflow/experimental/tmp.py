"""``oneflow.experimental.tmp``: what v0.4 keeps apart for now."""

from __future__ import annotations

from collections.abc import Sequence

from opkit.oneflow.experimental.functions import Tensor
from opkit.oneflow.semantics.slices import slice_attrs
from opkit.shim.missing import guard

__all__ = ["logical_slice_assign"]


def logical_slice_assign(x: Tensor, update: Tensor, slice_tup_list: Sequence[Sequence[int | None]]) -> None:
    """Write a tensor into a slice of another, in place; triples (start, stop, step)."""
    start, stop, step = slice_attrs("flow.experimental.tmp.logical_slice_assign", slice_tup_list, x.shape)
    x[tuple(slice(*item) for item in zip(start, stop, step))] = update  # type: ignore[index]


__getattr__ = guard("flow.experimental.tmp", __all__)
