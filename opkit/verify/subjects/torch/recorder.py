"""The recorder of torch: keeps what custom Functions and library ops are called with.

It stands before ``Function.apply`` and before calls of what ``custom_op`` made, also as ``torch.ops.ns.name``, in this
process alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from opkit.errors import OpkitError
from opkit.listed import listed
from opkit.verify.subjects.recording import Recording, Traits, signature_of
from opkit.verify.subjects.subject import Subject
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.function import function_subject, is_function
from opkit.verify.subjects.torch.identity import identities
from opkit.verify.subjects.torch.library import library_subject
from opkit.verify.subjects.torch.tensors import device_of, plain, tensors_in

_OP = torch._library.custom_ops.CustomOpDef
#: A library op is called as a packet of overloads, or as one of them; what ``custom_op`` returned calls the latter.
_CALLED = (torch._ops.OpOverloadPacket, torch._ops.OpOverload)


def subject_of(function: Any, device: Device = CPU) -> Subject:
    """Return a Function or a library op as a subject that runs on a device.

    Raises:
        UsageError: it has no gradient to check.
    """
    return library_subject(function, device) if isinstance(function, _OP) else function_subject(function, device)


@contextmanager
def recording() -> Iterator[Recording]:
    """Record calls until the end; the recording is given at once and fills."""
    heard = Recording()
    apply = torch.autograd.Function.__dict__["apply"]
    calls = {kind: kind.__call__ for kind in _CALLED}

    def listened(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if is_function(cls):
            _hear(heard, cls, args, kwargs)
        return apply.__get__(None, cls)(*args, **kwargs)  # a classmethod, or one of C's since torch 2.14

    def listening(call: Any) -> Any:
        def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            op = _library_op(self)
            if op is not None:
                _hear(heard, op, args, kwargs)
            return call(self, *args, **kwargs)

        return called

    torch.autograd.Function.apply = classmethod(listened)
    for kind, call in calls.items():
        kind.__call__ = listening(call)
    try:
        yield heard
    finally:
        torch.autograd.Function.apply = apply
        for kind, call in calls.items():
            kind.__call__ = call


def _library_op(called: Any) -> Any:
    """Return the library op of the user's behind what is called, None where there is none."""
    name = getattr(called, "_qualified_op_name", None) or called.name()
    return torch._library.custom_ops.OPDEFS.get(name.partition(".")[0])


def _hear(heard: Recording, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        parameters = subject_of(function).parameters
    except (OpkitError, TypeError, ValueError):  # nothing to check; what it lacks is said where it is gathered
        heard.calls.setdefault(function, {})
        return
    if torch.compiler.is_compiling() or not all(map(_is_concrete, args)):
        return
    values = parameters.bind(list(args), dict(kwargs))
    identities.note(function, values)
    shapes = {name: _outline(value) for name, value in values.items()}
    floats = {name for name, value in values.items() if _floats(value)}
    closed = {name for name in floats if not any(item.requires_grad for item in _floats(values[name]))}
    is_idle = bool(floats) and (floats == closed or not torch.is_grad_enabled())
    device = device_of(tensors_in(values))
    traits = Traits(frozenset(closed), is_idle=is_idle, device=device)
    heard.hear(function, traits, signature_of(shapes), lambda: {name: plain(value) for name, value in values.items()})


def _is_concrete(value: Any) -> bool:
    """Return whether a tensor has values: those of a trace, a fake run or a transform have none to keep."""
    if not isinstance(value, torch.Tensor):
        return True
    plain_kinds = (torch.Tensor, torch.nn.Parameter)
    return type(value) in plain_kinds and not torch._C._functorch.is_functorch_wrapped_tensor(value)


def _outline(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), str(value.dtype), value.stride())
    if isinstance(value, (list, tuple)):
        return [_outline(item) for item in value]
    return value


def _floats(value: Any) -> list[Any]:
    items = listed(value)
    return [item for item in items if isinstance(item, torch.Tensor) and item.dtype.is_floating_point]
