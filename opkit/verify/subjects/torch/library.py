"""A ``torch.library.custom_op`` as a subject: its schema says what it takes; its fake kernel is its infer function.

Whether the fake kernel tells the truth is checked elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.codes import CODES
from opkit.checker.model.own import Fault, OwnCheck
from opkit.errors import UsageError
from opkit.verify.options import NoGradientError
from opkit.verify.subjects.parameters import Parameters
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Signature, Subject
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.fake import fake_check
from opkit.verify.subjects.torch.own import Step, own_checks
from opkit.verify.subjects.torch.runner import Runner, Twice
from opkit.verify.subjects.torch.tensors import TorchSubject

_USUAL: dict[str, Any] = {
    "int": 2,
    "float": 0.5,
    "bool": True,
    "str": "mean",
    "List[int]": [1, 2],
    "List[float]": [0.5],
}


def is_library_op(value: Any) -> bool:
    """Return whether a value is what ``torch.library.custom_op`` makes."""
    return isinstance(value, torch._library.custom_ops.CustomOpDef)


def library_subject(op: Any, device: Device = CPU) -> Subject:
    """Return a library op as a subject that runs on a device.

    Raises:
        NoGradientError: it changes its arguments, which have no gradient then, or none is registered.
    """
    schema = op._opoverload._schema
    changed = [item.name for item in schema.arguments if item.alias_info is not None and item.alias_info.is_write]
    where = location_of(op._init_fn)
    if changed:
        raise NoGradientError(
            f"{op._name} changes {changed[0]!r}: an op that changes an argument has no gradient", where=where
        )
    if op._backward_fn is None:
        raise NoGradientError(
            f"{op._name} has no gradient: register_autograd was not called", where=where, help="call register_autograd"
        )
    kinds = {item.name: str(item.type) for item in schema.arguments}
    parameters = Parameters(
        tuple(item.name for item in schema.arguments if not item.kwarg_only),
        named=tuple(item.name for item in schema.arguments if item.kwarg_only),
        defaults={item.name: item.default_value for item in schema.arguments if item.has_default_value()},
        annotations=kinds,
    )
    arrays = tuple(name for name, kind in kinds.items() if "Tensor" in kind)
    optional = frozenset(name for name in arrays if kinds[name].startswith("Optional["))
    open_ = kinds.keys() - parameters.defaults.keys() - set(arrays)
    return TorchSubject(
        name=op._name,
        parameters=parameters,
        runs=lambda signature: LibraryRunner(op, signature, device),
        functions=tuple(item for item in (op._init_fn, op._backward_fn, op._setup_context_fn) if item is not None),
        context=op._setup_context_fn,
        inputs=arrays,
        optional=optional,
        lists=frozenset(name for name in arrays if "List[" in kinds[name]),
        usual={name: _USUAL.get(kind) for name, kind in kinds.items() if name in open_},
        remark="" if op._abstract_fn else "no fake kernel: torch.compile and torch.export need one (register_fake)",
        forward_where=where,
        backward_where=location_of(op._backward_fn),
    )


class LibraryRunner(Runner):
    """Runs a library op through its dispatcher.

    Args:
        op: what ``custom_op`` made.
        signature: of its schema.
        device: where it runs.

    Raises:
        UsageError: its setup_context lacks a parameter of those that torch gives by name.
    """

    gradient_op = Twice

    def __init__(self, op: Any, signature: Signature, device: Device = CPU) -> None:
        given = ["ctx", "inputs", "output", *(["keyword_only_inputs"] if signature.parameters.named else [])]
        try:
            if op._setup_context_fn is not None:
                inspect.signature(op._setup_context_fn).bind(**dict.fromkeys(given))
        except TypeError as error:
            said = f"setup_context of {op._name} gets {', '.join(given)} by name: {error}"
            raise UsageError(said, where=location_of(op._setup_context_fn)) from None
        self.op = op
        super().__init__(op._opoverload, signature, device)

    def own_checks(self) -> Sequence[OwnCheck]:
        """Return the checks of a context, of the count of gradients, and of the fake kernel where there is one."""
        count = OwnCheck(CODES["GC181"], partial(_count, self))
        return (*own_checks(self), count, *([fake_check(self)] if self.op._abstract_fn is not None else []))


def _count(runner: LibraryRunner, arrays: Arrays, attrs: Attrs, douts: Results) -> Iterator[Fault]:
    """GC181: backward counts every argument; torch says nothing where the last ones have their defaults."""
    step = Step(runner, arrays, attrs, douts)
    node = next((item.grad_fn for item in step.apply().outputs if item.requires_grad), None)
    if node is None or runner.subject.lists:  # of lists torch compares how they are nested
        return
    count = len(node._forward_cls.backward(node, *step.seeds())) - 1  # the last one is of torch's own
    taken = list(runner.parameters.positional)
    while taken[-1] in runner.unsaid:
        taken.pop()
    if count < len(taken):
        refused = f"torch refuses that wherever {taken[-1]} is not its default"
        yield Fault(f"backward counts {count} of the arguments {', '.join(taken)}: {refused}")
