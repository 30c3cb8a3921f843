"""torch, as far as finding and serving its custom functions goes.

A plain function of tensors, or a Module with its parameters, as a subject: its gradient is what autograd gives.

The custom functions that it goes through are subjects of their own.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from opkit.blind.call import Kind
from opkit.blind.limits import INTERPRETED
from opkit.ops.core.types import Function
from opkit.replaced import keep
from opkit.verify.subjects.foreign.serving import Framework
from opkit.verify.subjects.from_cases import constants_in
from opkit.verify.subjects.parameters import Parameters, sorted_parameters
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Subject
from opkit.verify.subjects.torch.device import CPU, Device, device_named
from opkit.verify.subjects.torch.function import is_function
from opkit.verify.subjects.torch.interpreted import refuse_bfloat16
from opkit.verify.subjects.torch.library import is_library_op
from opkit.verify.subjects.torch.recorder import recording, subject_of
from opkit.verify.subjects.torch.runner import Runner
from opkit.verify.subjects.torch.tensors import TorchSubject, device_of, tensors_in


def whole_subject(function: Any, device: Device = CPU) -> Subject:
    """Return a function or a Module as a subject that runs on a device."""
    is_module = isinstance(function, torch.nn.Module)
    body = function.forward if is_module else function
    parameters = _parameters(body)
    call: Function = function
    if is_module:
        names = [name for name, _ in function.named_parameters()]
        parameters = replace(parameters, named=(*parameters.named, *names))
        call = _functional(function, frozenset(names), device)

    where, name = location_of(body), str(getattr(function, "__qualname__", type(function).__name__))
    return TorchSubject(
        name=type(function).__name__ if is_module else name.replace("<locals>.", ""),
        parameters=parameters,
        runs=lambda signature: Runner(call, signature, device),
        forward_where=where,
        backward_where=where,
    )


def _parameters(body: Any) -> Parameters:
    try:
        return sorted_parameters(list(inspect.signature(body).parameters.values()))
    except (TypeError, ValueError):
        return Parameters(tuple(f"x{index}" for index in range(16)), takes_any=True)


def _functional(module: Any, names: frozenset[str], device: Device) -> Function:
    """Return a Module as a function of its parameters too; its buffers are as they were at every call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = {name: kwargs.pop(name) for name in names if name in kwargs}
        dtype = next((item.dtype for item in tensors.values() if item.dtype.is_floating_point), None)
        for name, buffer in module.named_buffers():
            is_cast = dtype is not None and buffer.dtype.is_floating_point
            held = buffer.detach().to(dtype) if is_cast else buffer.detach()
            tensors[name] = held.clone() if device.place is None else held.to(device.place, copy=True)
        return torch.func.functional_call(module, tensors, args, kwargs)

    return call


#: What values are read and compared with; whole packages of torch are changed by others for reasons of their own.
_READING = ("abs", "allclose", "detach", "eq", "equal", "finfo", "isclose", "isfinite", "isnan", "numpy", "sub")
for _label, _owner, _names in (
    ("torch", torch, _READING),
    ("torch.Tensor", torch.Tensor, (*_READING, "backward")),
    ("torch.autograd", torch.autograd, ("backward", "grad")),
    ("torch.testing", torch.testing, ()),
):
    keep(_label, _owner, _names)

#: The newest release of torch that opkit is tested with.
NEWEST = (2, 14)


def untested(version: str) -> str:
    """Say that a release of torch is newer than what opkit is tested with, "" of one that is not."""
    if tuple(int(part) for part in version.split(".")[:2]) <= NEWEST:
        return ""
    return f"torch {version} is newer than {NEWEST[0]}.{NEWEST[1]}, the newest that opkit is tested with"


class Torch(Framework):
    """See ``Framework``."""

    kinds = "torch.autograd.Function or torch.library.custom_op"
    kind = Kind.TORCH
    arrays = (torch.Tensor,)
    recording = staticmethod(recording)

    @property
    def remark(self) -> str:
        """What is untested of torch as it is installed, and whether Triton's kernels are interpreted."""
        is_interpreted = "triton" in sys.modules and os.environ.get(INTERPRETED) == "1"
        said = "there is no GPU: Triton's kernels ran in its interpreter, which refuses operations on bfloat16"
        return "; ".join(filter(None, (untested(torch.__version__), said * is_interpreted)))

    @property
    def place(self) -> Device:
        """The device.

        Raises:
            NamedError: torch lacks it.
        """
        return device_named(self.device)

    def device_of(self, target: Any, inputs: Any) -> str:
        """Return the device of the first example tensor, or of a Module, that is not on the CPU."""
        held = [*tensors_in(inputs), *(target.parameters() if isinstance(target, torch.nn.Module) else ())]
        return device_of(held)

    def knows(self, value: Any) -> bool:
        """Return whether a value is a custom function of the user's."""
        return is_function(value) or is_library_op(value)

    def subject_of(self, value: Any) -> Subject:
        """Return a Function or a library op as a subject.

        Raises:
            UsageError: it has no gradient to check.
            NamedError: torch lacks the device.
        """
        refuse_bfloat16()
        return subject_of(value, self.place)

    def custom(self, target: Any) -> Any:
        """Return the Function whose ``apply`` a value is."""
        owner = getattr(target, "__self__", None)
        return owner if is_function(owner) and getattr(target, "__name__", "") == "apply" else target

    def home_of(self, value: Any) -> str:
        """Return the module that defined a Function, or the function that became a library op."""
        return super().home_of(value._init_fn if is_library_op(value) else value)

    def takes(self, target: Any, inputs: Any = None) -> bool:
        """Return whether ``called`` can serve a value."""
        return isinstance(target, torch.nn.Module) or super().takes(target, inputs)

    def holds_array(self, inputs: Any) -> bool:
        """Return whether there is a tensor among inputs."""
        return bool(tensors_in(dict(inputs) if isinstance(inputs, Mapping) else inputs))

    # --- functions and Modules
    def whole(self, target: Any) -> Subject:
        """Return a function or a Module as a subject."""
        return whole_subject(target, self.place)

    def held_by(self, target: Any) -> Mapping[str, Any]:
        """Return a Module's parameters by name."""
        return dict(target.named_parameters()) if isinstance(target, torch.nn.Module) else {}

    def run(self, target: Any, subject: Subject, calls: Sequence[Mapping[str, Any]]) -> None:
        """Call a function or a Module with example inputs."""
        tensors = frozenset(name for name in calls[0] if tensors_in(calls[0][name]))
        runner = subject.make(tensors, constants_in(subject, calls) or frozenset())
        for call in calls:
            plain = subject.plainly(call)
            runner.forward(
                {name: value for name, value in plain.items() if name in tensors},
                {name: value for name, value in plain.items() if name not in tensors},
            )


framework = Torch()
