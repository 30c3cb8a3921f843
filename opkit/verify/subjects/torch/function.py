"""A ``torch.autograd.Function`` as a subject: its parameters, and the runner that listens to its context.

Both styles are taken: the context in forward, or in a setup_context of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from opkit.checker import Attrs, Case, Checkable
from opkit.checker.model.evaluate import InputLeaf
from opkit.checker.model.own import OwnCheck
from opkit.errors import UsageError
from opkit.verify.options import NoGradientError
from opkit.verify.subjects.parameters import sorted_parameters
from opkit.verify.subjects.source_location import location_of, method_at
from opkit.verify.subjects.subject import Signature, Subject
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.identity import identities
from opkit.verify.subjects.torch.own import own_checks
from opkit.verify.subjects.torch.runner import Runner, Twice
from opkit.verify.subjects.torch.tensors import TorchSubject, as_complex, parted, tensors_in

_BASE = torch.autograd.Function


def is_function(value: Any) -> bool:
    """Return whether a value is a class of the user's that can be applied."""
    return isinstance(value, type) and issubclass(value, _BASE) and value.__module__.partition(".")[0] != "torch"


def has_setup_context(function: type) -> bool:
    """Return whether forward takes no context, which a setup_context gets."""
    return function.setup_context is not _BASE.setup_context  # type: ignore[attr-defined]


def function_subject(function: type, device: Device = CPU) -> Subject:
    """Return a Function as a subject that runs on a device.

    Raises:
        UsageError: it has no forward.
        NoGradientError: it has no backward and no vjp.
    """
    forward, backward = getattr(function, "forward", None), _own_backward(function)
    if forward is None or forward is _BASE.forward:
        raise UsageError(f"{function.__name__} has no forward", where=location_of(function))
    if backward is None:
        raise NoGradientError(
            f"{function.__name__} has no backward: there is no gradient to check",
            where=method_at(function, "forward"),
            help="define backward(ctx, *incoming gradients) as a static method",
        )
    every = list(inspect.signature(forward).parameters.values())
    taken = every if has_setup_context(function) else every[1:]
    # apply hands nothing on by name: what has to be named keeps its default.
    parameters = sorted_parameters([item for item in taken if item.kind is not item.KEYWORD_ONLY])
    context = function.setup_context if has_setup_context(function) else None  # type: ignore[attr-defined]
    return TorchSubject(
        name=function.__name__,
        parameters=parameters,
        runs=lambda signature: FunctionRunner(function, signature, device),
        complex_maps=(as_complex, parted),
        held=partial(identities.of, function),
        learn=partial(identities.note, function),
        functions=(forward, backward, *([context] if context else [])),
        context=context,
        forward_where=method_at(function, "forward"),
        backward_where=method_at(function, "backward"),
    )


def _own_backward(function: type) -> Any:
    for name in ("backward", "vjp"):
        found = getattr(function, name, None)
        if found is not None and found is not getattr(_BASE, name):
            return found
    return None


class FunctionRunner(Runner):
    """Runs a Function.

    Args:
        function: the class.
        signature: of its forward, context left out.
        device: where it runs.
    """

    gradient_op = Twice

    def __init__(self, function: type, signature: Signature, device: Device = CPU) -> None:
        self.function = function
        self._dirty: list[Any] = []
        marks = any(_names(getattr(function, name, None), "mark_dirty") for name in ("forward", "setup_context"))
        listener: Any = _listening(function, self._dirty) if marks else function
        super().__init__(listener.apply, signature, device)
        self.changes_inputs = marks
        self.has_forward_mode = function.jvp is not _BASE.jvp  # type: ignore[attr-defined]

    def called(self, values: Mapping[str, Any]) -> Any:
        """Call the Function; what it hands on out of a list goes past its backward, and takes no gradient."""
        past = set(map(id, tensors_in([value for value in values.values() if isinstance(value, list)])))
        return [item.detach() if id(item) in past else item for item in tensors_in(super().called(values))]

    def marked_dirty(self) -> Sequence[Any]:
        """Return the inputs that the last call changed in place and said so."""
        return self._dirty

    def own_checks(self) -> Sequence[OwnCheck]:
        """Return the checks of what a Function and its context must keep to.

        They change inputs, and must not where these are parameters of a module of the user's.
        """
        return () if identities.has(self.function) else own_checks(self)

    def originals(self, attrs: Attrs) -> Mapping[InputLeaf, Any]:
        """Return the tensors that stand for inputs, with these options."""
        return identities.of(self.function, attrs)

    def second(self, first: Checkable, case: Case) -> Checkable | None:
        """Return the gradient as an op of its own, None where it is not offered."""
        return None if identities.has(self.function) else super().second(first, case)


def _names(function: Any, word: str) -> bool:
    """Return whether a function's code names a word."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return code is not None and word in code.co_names


def _listening(function: type, dirty: list[Any]) -> type:
    """Return a subclass that is the user's Function, and that keeps what its context calls dirty."""
    name = "setup_context" if has_setup_context(function) else "forward"
    inner = getattr(function, name)

    def heard(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        result = inner(ctx, *args, **kwargs)
        dirty[:] = getattr(ctx, "dirty_tensors", None) or ()
        return result

    return type(function.__name__, (function,), {name: staticmethod(heard), "__module__": function.__module__})
