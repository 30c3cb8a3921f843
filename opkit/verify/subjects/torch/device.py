"""Device: where the tensors of a check live, how arrays get there, and what of them comes back.

On the CPU a tensor lies in its array's own memory; elsewhere in memory that is laid out in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from opkit.blind.call import RANDOM_SEED
from opkit.errors import unknown
from opkit.record import record
from opkit.verify.options import NamedError
from opkit.verify.subjects.torch.tensors import array_of, share


@record
class Device:
    """A device.

    Args:
        place: as torch names it, None for the CPU.
    """

    place: Any = None

    def share(self, array: np.ndarray) -> Any:
        """Return a tensor on an array's own memory; on a copy of the same strides where the device has its own."""
        tensor = share(array)
        return tensor if self.place is None else self._moved(tensor)

    def private(self, array: np.ndarray) -> Any:
        """Return a tensor of the array's values that nothing else holds, laid out in the same order."""
        return self.share(np.array(array, order="K"))

    def _moved(self, tensor: Any) -> Any:
        """Copy the stretch of memory that a tensor spans: a copy of its elements alone would lose its layout."""
        sizes, strides = tuple(tensor.shape), tensor.stride()
        if not tensor.numel():
            return torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=self.place)
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
        there = tensor.as_strided((span,), (1,)).to(self.place)
        return there if there.shape == sizes and there.stride() == strides else there.as_strided(sizes, strides)

    def give_back(self, tensor: Any, array: np.ndarray, is_apart: bool = False) -> None:
        """Let an array show what a function wrote to the tensor that was made of it, where this lies elsewhere."""
        if self.place is None and not is_apart:
            return
        found = array_of(tensor)
        if found.tobytes() != np.ascontiguousarray(array).tobytes():
            share(array).copy_(torch.from_numpy(np.array(found)))

    # --- random numbers
    def seed(self, is_backward: bool = False) -> None:
        """Let torch's random numbers start anew, those of the CPU and of the device: backward gets other ones."""
        torch.default_generator.manual_seed(RANDOM_SEED + is_backward)
        if self.place is not None:
            torch.manual_seed(RANDOM_SEED + is_backward)

    def random_state(self) -> list[Any]:
        """Return what tells whether random numbers were drawn."""
        states = [torch.default_generator.get_state()]
        if self.place is not None and hasattr(torch, self.place.type):
            module = torch.get_device_module(self.place)
            if hasattr(module, "get_rng_state"):
                states.append(module.get_rng_state())
        return states


CPU = Device()


def device_named(name: str) -> Device:
    """Return a device by its name; "" is the CPU.

    Raises:
        NamedError: torch has no such device here.
    """
    try:
        place = torch.device(name or "cpu")
    except RuntimeError as error:
        if "Expected one of" not in str(error):  # "cuda:x"
            raise NamedError(f"torch cannot read the device {name!r}", help="name it as cuda or cuda:1") from error
        kinds = ("cpu", "cuda", "mps", "xpu", "hpu", "mtia", "xla")
        raise unknown("torch has no device", name.partition(":")[0], kinds, has="it has").error(NamedError) from error
    if place.type == "cpu":
        return CPU
    if place.type == "meta":
        raise NamedError("torch's device 'meta' holds no values to check", help="leave out --device, or name another")
    try:
        made = torch.zeros(1, device=place).add(1)
        if float(made) != 1.0:
            raise RuntimeError("it computes 0 + 1 wrongly")
        return Device(made.device)
    except Exception as error:
        why = str(error).strip().partition("\n")[0].partition(". ")[0]
        raise NamedError(
            f"torch {torch.__version__} cannot use the device {name!r} here ({type(error).__name__}: {why}); "
            f"it has {', '.join(_present())}",
            help=f"leave out --device, or install a torch and a driver that serve {place.type}",
        ) from error


def _present() -> list[str]:
    found = ["cpu"]
    current = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else None
    if current is not None:
        found += [f"{current.type}:{index}" for index in range(torch.accelerator.device_count())]
    return found
