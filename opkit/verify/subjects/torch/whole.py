"""A plain function of tensors, or a Module with its parameters, as a subject: its gradient is what autograd gives.

The custom functions that it goes through are subjects of their own.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import torch

from opkit.ops.core.types import Function
from opkit.verify.subjects.parameters import Parameters, sorted_parameters
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Subject
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.runner import Runner
from opkit.verify.subjects.torch.tensors import TorchSubject


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
