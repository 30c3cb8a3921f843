"""torch, as far as finding and serving its custom functions goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch

from opkit.checker import CheckResult, OpReport, Options, Status
from opkit.errors import OpkitError, UsageError
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.foreign.framework import Served
from opkit.verify.subjects.foreign.making import UntakenError, given, recorded, searched
from opkit.verify.subjects.foreign.recording import Recording
from opkit.verify.subjects.foreign.subject import Subject
from opkit.verify.subjects.torch.function import is_function
from opkit.verify.subjects.torch.library import is_library_op
from opkit.verify.subjects.torch.recorder import recording, subject_of
from opkit.verify.subjects.torch.whole import examples_of, whole_case, whole_subject

__all__ = ["Torch", "framework"]


class Torch:
    """See ``opkit.verify.subjects.foreign.framework.Framework``."""

    @property
    def kinds(self) -> str:
        """What its custom functions are called."""
        return "torch.autograd.Function or torch.library.custom_op"

    def knows(self, value: Any) -> bool:
        """Say whether a value is a custom function of the user's."""
        return is_function(value) or is_library_op(value)

    # --- FILE.py::Name
    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve one custom function of a file."""
        subject = subject_of(value)
        declared = declared_in(names, ["forward", subject.name], subject.name)
        declared = replace(declared, second_order=declared.second_order or options.demand_second)
        return _served(subject, declared, declared.cases, label, options)

    # --- FILE.py
    def recording(self) -> AbstractContextManager[Recording]:
        """Record the calls of custom functions from here on."""
        return recording()

    def gathered(self, heard: Recording, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve what a run called, and the custom functions of its script that it did not call."""
        every = [*_heard(heard, names, label), *self._uncalled(heard, names, label, options)]
        taken: set[str] = set()
        checkables = []
        for item in every:
            for checkable in item.checkables:
                name, number = checkable.name, 1
                while name in taken:
                    number += 1
                    name = f"{checkable.name}#{number}"
                taken.add(name)
                checkables.append((checkable, name))
        renamed = tuple(_renamed(checkable, name) for checkable, name in checkables)
        return Served(renamed, tuple(report for item in every for report in item.reports))

    def _uncalled(self, heard: Recording, names: Mapping[str, Any], label: str, options: Options) -> Iterator[Served]:
        """Serve what the script defines and did not call: on cases, or searched where it called nothing at all."""
        for name, value in names.items():
            is_own = self.knows(value) and getattr(value, "__module__", "__main__") == "__main__"
            if not is_own or value in heard.calls or (is_function(value) and value.__name__ != name):
                continue
            if heard.calls and f"cases_{name}" not in names:
                text = f"{name} was never called in this run; call it, or define cases_{name}(rng)"
                skip = CheckResult("domain", Status.SKIP, "GC182", text)
                yield Served(reports=(OpReport(f"{label}::{name}", (skip,), notes=(text,)),))
                continue
            try:
                yield self.named(value, names, f"{label}::{name}", options)
            except OpkitError as error:
                yield Served(reports=(_malformed(f"{label}::{name}", error),))

    # --- gradcheck(f, inputs)
    def takes(self, target: Any, inputs: Any = None) -> bool:
        """Say whether ``called`` can serve a value."""
        if self.knows(target) or isinstance(target, torch.nn.Module) or _applied(target) is not None:
            return True
        return callable(target) and not isinstance(target, type) and _holds_tensor(inputs)

    def called(self, target: Any, inputs: Any, cases: Callable[..., Any] | None, options: Options) -> Served:
        """Serve a function, a custom function or a model of this process.

        Args:
            target: what to check.
            inputs: example inputs: what is wrong on them fails, what is wrong only near them is undecided.
            cases: in place of inputs: ``cases(rng)`` yields them.
            options: of the check.

        Raises:
            UsageError: a function or model without inputs, or both inputs and cases.
        """
        target = _applied(target) or target
        if inputs is not None and cases is not None:
            raise UsageError("gradcheck takes inputs, or cases=function of a generator, not both")
        if self.knows(target):
            subject = subject_of(target)
            if inputs is None:
                return _served(subject, Declared(), cases, subject.name, options)
            return Served((_on_examples(subject, [_bound(subject, case) for case in examples_of(inputs)]),))
        if inputs is None:
            raise UsageError("gradcheck of a function or a Module takes example inputs: gradcheck(f, (x, w))")
        return _whole(target, inputs)


def _served(
    subject: Subject, declared: Declared, cases: Callable[..., Any] | None, label: str, options: Options
) -> Served:
    if cases is None and options.shapes:
        shapes = dict(options.shapes)

        def cases(rng: Any) -> Any:
            return [{name: rng.standard_normal(shape) for name, shape in shapes.items()} for _ in range(3)]

    if cases is not None:
        return Served((given(subject, cases, declared, label),))
    try:
        return Served((searched(subject, declared, label, options),))
    except UntakenError as error:
        result = CheckResult("domain", Status.ERROR, "GC182", error.message, where=error.where)
        return Served(reports=(OpReport(label, (result,)),))


def _malformed(label: str, error: OpkitError) -> OpReport:
    return OpReport(label, (CheckResult("cases", Status.ERROR, "GC183", str(error), where=error.where),))


def _heard(heard: Recording, names: Mapping[str, Any], label: str) -> Iterator[Served]:
    """Serve what was called, by the inputs that took no gradient."""
    for function in heard.calls:
        try:
            subject = subject_of(function)
            declared = declared_in(names, ["forward", subject.name], subject.name)
        except OpkitError as error:
            yield Served(reports=(_malformed(f"{label}::{getattr(function, '__name__', function)}", error),))
            continue
        for constants, is_idle, calls in heard.groups(function):
            made = recorded(subject, calls, constants, declared, f"{label}::{subject.name}", is_idle)
            yield Served((made,))


def _renamed(checkable: Any, name: str) -> Any:
    return checkable if checkable.name == name else replace(checkable, name=name)


# --- functions of this process
def _applied(target: Any) -> Any:
    """Return the Function whose ``apply`` a value is, None where it is none."""
    owner = getattr(target, "__self__", None)
    return owner if is_function(owner) and getattr(target, "__name__", "") == "apply" else None


def _holds_tensor(inputs: Any) -> bool:
    if isinstance(inputs, torch.Tensor):
        return True
    if isinstance(inputs, Mapping):
        return any(map(_holds_tensor, inputs.values()))
    return isinstance(inputs, (list, tuple)) and any(map(_holds_tensor, inputs))


def _bound(subject: Subject, case: Any) -> dict[str, Any]:
    if isinstance(case, Mapping):
        return dict(case)
    return subject.parameters.bind(list(case) if isinstance(case, (list, tuple)) else [case], {})


def _constants(subject: Subject, cases: list[dict[str, Any]]) -> frozenset[str] | None:
    """Return the tensors that take no gradient beside others that do; None where none takes one."""
    marks: dict[str, set[bool | None]] = {}
    for case in cases:
        for name, value in case.items():
            marks.setdefault(name, set()).add(subject.takes_gradient(value))
    if not any(True in found for found in marks.values()):
        return None
    return frozenset(name for name, found in marks.items() if found == {False})


def _on_examples(subject: Subject, cases: list[dict[str, Any]]) -> Any:
    calls = [{name: subject.plain(value) for name, value in case.items()} for case in cases]
    return recorded(subject, calls, _constants(subject, cases), Declared(), subject.name)


def _whole(target: Any, inputs: Any) -> Served:
    """Serve a function or Module, and each custom function that it goes through on these inputs."""
    subject = whole_subject(target)
    cases = [whole_case(target, case, subject) for case in examples_of(inputs)]
    calls = [{name: subject.plain(value) for name, value in case.items()} for case in cases]
    constants = _constants(subject, cases) or frozenset()
    with recording() as heard:
        tensors = frozenset(name for name in cases[0] if _holds_tensor(cases[0][name]))
        runner = subject.make(tensors, constants)
        for call in calls:
            runner.forward(
                {name: value for name, value in call.items() if name in tensors},
                {name: value for name, value in call.items() if name not in tensors},
            )
    parts = list(_heard(heard, {}, subject.name))
    made = recorded(subject, calls, constants, Declared(), subject.name)
    return Served(
        (replace(made, beyond=None), *(item for part in parts for item in part.checkables)),
        tuple(report for part in parts for report in part.reports),
    )


framework = Torch()
