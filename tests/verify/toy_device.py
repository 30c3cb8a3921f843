"""A second device for torch without hardware: tensors that hold one of the CPU and refuse to meet those of the CPU.

Import it once in a process; it is ``torch.device("toy")`` then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("toy")


class ToyTensor(torch.Tensor):
    """A tensor on the device; ``inner`` holds its values."""

    inner: Any

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device("toy", 0),
        )
        made.inner = inner
        return made

    def __init__(self, inner: Any) -> None:
        super().__init__()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.ops.aten.copy_.default:
            target, source = (item.inner if isinstance(item, ToyTensor) else item for item in args[:2])
            target.copy_(source)
            return args[0]
        leaves = kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cpu"
        if kwargs.get("device") is not None:
            kwargs["device"] = "cpu"
        found = function(*tree_map(_held, args), **tree_map(_held, kwargs))
        if leaves:
            return found
        given = {id(item.inner): item for item in (*args, *kwargs.values()) if isinstance(item, ToyTensor)}
        return tree_map(lambda item: _wrapped(item, given), found)


def _held(value: Any) -> Any:
    if isinstance(value, ToyTensor):
        return value.inner
    if isinstance(value, torch.Tensor) and value.dim():
        raise RuntimeError("expected all tensors to be on the same device, found toy:0 and cpu")
    return value


def _wrapped(value: Any, given: dict[int, Any]) -> Any:
    """Return a result on the device: the argument itself where it was changed in place."""
    if not isinstance(value, torch.Tensor):
        return value
    return given[id(value)] if id(value) in given else ToyTensor(value)


@torch.library.impl("aten::empty_strided", "privateuseone")
def _empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Any:
    return ToyTensor(torch.empty_strided(size, stride, dtype=dtype))


@torch.library.impl("aten::empty.memory_format", "privateuseone")
def _empty(
    size: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:
    return ToyTensor(torch.empty(size, dtype=dtype))


@torch.library.impl("aten::_copy_from", "privateuseone")
def _copy_from(source: Any, target: Any, non_blocking: bool = False) -> Any:
    target.inner.copy_(source)
    return target
