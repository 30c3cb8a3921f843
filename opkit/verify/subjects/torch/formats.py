"""Formats: a function of torch, and its gradient, in any floating-point format; references in float64 throughout.

What a reference casts to narrower floats on its way is cast to float64; what a kernel casts is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})
_CASTS = frozenset({torch.Tensor.float, torch.Tensor.bfloat16, torch.Tensor.half})


class _Widened(TorchFunctionMode):  # type: ignore[misc]  # without torch its base is unknown
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function in _CASTS:
            return args[0].double()
        named = {key: _wide(item) for key, item in (kwargs or {}).items()}
        return function(*map(_wide, args), **named)


def _wide(item: Any) -> Any:
    return torch.float64 if isinstance(item, torch.dtype) and item in _NARROW else item


@contextmanager
def widened() -> Iterator[None]:
    """Let what runs within compute in float64."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Widened():
            yield
    finally:
        torch.set_default_dtype(usual)
