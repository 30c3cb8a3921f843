"""Gradient clipping: what an optimizer's ``grad_clip`` may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.mode import local
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard as _guard

__all__ = ["ClipGradBase", "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

Pairs = Sequence[tuple[Any, Any]]


class ClipGradBase:
    """Called with (parameter, gradient) pairs; users' subclasses define ``_dygraph_clip`` and ``_static_clip``."""

    def __call__(self, params_grads: Pairs) -> Any:
        """Return the pairs with their gradients cut off or scaled."""
        return self._static_clip(params_grads) if local.mode.is_static else self._dygraph_clip(params_grads)

    def _dygraph_clip(self, params_grads: Pairs) -> Any:
        takes = [getattr(param, "need_clip", True) and grad is not None for param, grad in params_grads]
        clipped = iter(self._clip([grad for (_, grad), taken in zip(params_grads, takes) if taken]))
        return [(param, next(clipped) if taken else grad) for (param, grad), taken in zip(params_grads, takes)]

    _static_clip = _dygraph_clip

    def _clip(self, grads: list[Any]) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines neither _dygraph_clip nor _static_clip")


class ClipGradByValue(ClipGradBase):
    """Cut every element off at ``min`` (left out: ``-max``) and ``max``."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def _clip(self, grads: list[Any]) -> list[Any]:
        return [ops.clip(grad, self.min, self.max) for grad in grads]


class ClipGradByNorm(ClipGradBase):
    """Scale each gradient whose norm exceeds ``clip_norm``, which must be positive, down to it."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def _clip(self, grads: list[Any]) -> list[Any]:
        if self.clip_norm <= 0:
            raise UsageError(f"ClipGradByNorm: clip_norm must be positive, got {self.clip_norm}")
        found = []
        for grad in grads:
            norm = ops.sqrt(ops.reduce_sum(ops.square(grad)))
            limit = ops.full_like(norm, self.clip_norm)
            found.append(ops.mul(grad, ops.div(limit, ops.maximum(norm, limit))))
        return found


class ClipGradByGlobalNorm(ClipGradBase):
    """Scale all gradients together where the norm of all of them exceeds ``clip_norm``."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)
        self.auto_skip_clip = auto_skip_clip

    def _clip(self, grads: list[Any]) -> list[Any]:
        if not grads:
            return grads
        squares = [ops.reduce_sum(ops.square(grad)) for grad in grads]
        total = squares[0]
        for square in squares[1:]:
            total = ops.add(total, square)
        norm = ops.sqrt(total)
        limit = ops.full_like(norm, self.clip_norm)
        factor = ops.div(limit, ops.maximum(norm, limit))
        return [ops.mul(grad, ops.cast_like(factor, grad)) for grad in grads]


__getattr__ = _guard(globals())
