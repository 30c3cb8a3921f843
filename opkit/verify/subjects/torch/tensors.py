"""Arrays as tensors and back, in the same memory wherever torch can express it.

Nothing of the user's is called here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from opkit.checker.model.evaluate import InputLeaf
from opkit.errors import KernelError
from opkit.listed import each, listed, parts
from opkit.verify.subjects.foreign.running import angles
from opkit.verify.subjects.subject import Subject

with warnings.catch_warnings():
    # Said once in a process: arrays come read-only, and what is written to them is found by their content.
    warnings.simplefilter("ignore")
    _read_only = np.zeros(1)
    _read_only.flags.writeable = False
    torch.from_numpy(_read_only)


def share(array: np.ndarray) -> Any:
    """Return a tensor on an array's own memory; on a copy where torch cannot express its strides."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = np.array(array, order="C")
    return torch.from_numpy(array)


def array_of(tensor: Any) -> np.ndarray:
    """Return a tensor's values, in its own memory where numpy has its dtype (bfloat16 becomes float32).

    Raises:
        KernelError: it is of a class of the user's, whose values are others when they are used than when they are read.
    """
    found = _read(tensor)
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) and tensor.dtype != torch.bool:
        used = tensor * 1
        with torch._C.DisableTorchFunctionSubclass():
            held = _read(tensor)
        for other in (_read(used), _read(tensor - torch.zeros_like(tensor)), held):
            if not np.array_equal(found, other, equal_nan=True):
                name = type(tensor).__name__
                raise KernelError(f"a tensor of the class {name} has other values when it is used than when it is read")
    return found


def _read(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    found: np.ndarray = tensor.cpu().resolve_conj().resolve_neg().numpy()
    return found


def arrays_of(found: Mapping[InputLeaf, Any]) -> dict[InputLeaf, np.ndarray | None]:
    """Return the values of tensors that there may be."""
    return {leaf: each(array_of, tensor) for leaf, tensor in found.items()}


def is_float(tensor: Any) -> bool:
    """Return whether a tensor holds real floating-point numbers."""
    return bool(tensor.dtype.is_floating_point)


def as_complex(tensor: Any) -> Any:
    """Return a tensor of floats as complex numbers, each on a curve of its own (see ``angles``)."""
    if not isinstance(tensor, torch.Tensor) or not is_float(tensor):
        return tensor
    bend = tensor * (tensor / torch.hypot(tensor, torch.ones_like(tensor)))
    return (tensor + 1j * bend) * torch.from_numpy(angles(tensor.shape)).to(tensor.device, tensor.dtype.to_complex())


def parted(result: Any) -> list[Any]:
    """Return the tensors of a result, complex ones as their real and imaginary parts."""
    return [torch.stack([item.real, item.imag], -1) if item.is_complex() else item for item in tensors_in(result)]


def plain(value: Any) -> Any:
    """Return tensors as arrays, lists of them as lists of arrays, and all else, such as sparse tensors, as it is."""
    if _is_dense(value):
        return np.array(array_of(value))
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) or _is_dense(item) for item in value):
        return [plain(item) for item in value]
    return value


def _is_dense(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def takes_gradient(value: Any) -> bool | None:
    """Return whether a tensor, or one of a list, takes a gradient; None for what is no tensor."""
    tensors = [item for item in listed(value) if isinstance(item, torch.Tensor)]
    return any(item.requires_grad for item in tensors) if tensors else None


def tensors_in(result: Any) -> list[Any]:
    """Return the tensors of what a function returned: bare, or in tuples, lists and dicts."""
    return list(parts(result, torch.Tensor))


def device_of(tensors: Iterable[Any]) -> str:
    """Return the device of the first tensor that is not on the CPU, "" where all are."""
    return next((str(item.device) for item in tensors if item.device.type not in ("cpu", "meta")), "")


def settings() -> dict[str, Any]:
    """Return what torch and numpy are set to in this process."""
    return {
        "torch's default dtype": torch.get_default_dtype(),
        "torch's grad mode": torch.is_grad_enabled(),
        "torch's number of threads": torch.get_num_threads(),
        **np.geterr(),
    }


#: A subject of torch: how its values are read is the same for all.
TorchSubject = partial(
    Subject,
    plain=plain,
    takes_gradient=takes_gradient,
    settings=settings,
    widening="x.double(), dtype=torch.float64 and tensors of numpy arrays (torch.as_tensor(np.ones(3))) are float64",
)
