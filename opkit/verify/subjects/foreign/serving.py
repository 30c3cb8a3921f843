"""Serving: how custom functions of another framework become checkables, whatever the framework.

What is a framework's own (what it calls a custom function, how it listens to calls, how a value of it looks) is asked
of the class that extends this one.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from opkit.blind.call import Kind
from opkit.checker import Checkable, CheckResult, OpReport, Options, Status
from opkit.errors import OpkitError, UsageError
from opkit.ops.core.types import Function
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.from_cases import cases_in, constants_in, of_examples
from opkit.verify.subjects.from_search import searched
from opkit.verify.subjects.loaded import RAN_ON, Found, numbered, unloadable
from opkit.verify.subjects.parameters import results_of
from opkit.verify.subjects.readings import UntakenError
from opkit.verify.subjects.recording import Recording, Traits
from opkit.verify.subjects.references import reference_in
from opkit.verify.subjects.subject import Subject


class Framework(ABC):
    """What is known of one framework.

    Args:
        device: where functions run, "" for where the framework runs them by itself.
    """

    def __init__(self, device: str = "") -> None:
        self.device = device

    def on(self, device: str) -> Framework:
        """Return the same for functions that run on a device; whether it is there is said where one is served."""
        return type(self)(device)

    # --- what each framework says
    #: What its custom functions are called.
    kinds = ""
    kind: Kind
    #: The classes of its arrays.
    arrays: tuple[type, ...] = ()

    @property
    def remark(self) -> str:
        """What a reader of every report should know of the framework as it is installed."""
        return ""

    @abstractmethod
    def knows(self, value: Any) -> bool:
        """Return whether a value is a custom function of the user's."""

    @abstractmethod
    def subject_of(self, value: Any) -> Subject:
        """Return a custom function as a subject.

        Raises:
            UsageError: it has no gradient to check.
            NamedError: the framework lacks the device.
        """

    def heard_subject(self, value: Any) -> Subject:
        """Return a custom function that a run called as a subject; see ``subject_of``."""
        return self.subject_of(value)

    def takes(self, target: Any, inputs: Any = None) -> bool:
        """Return whether ``called`` can serve a value: a custom function, or a function with arrays as inputs."""
        is_known = self.knows(self.custom(target))
        return is_known or (callable(target) and not isinstance(target, type) and self.holds_array(inputs))

    def holds_array(self, inputs: Any) -> bool:
        """Return whether there is an array of the framework's own among inputs."""
        return False

    def recording(self) -> AbstractContextManager[Recording]:
        """Record the calls of custom functions from here on."""
        return nullcontext(Recording())

    def whole(self, target: Any) -> Subject:
        """Return any other function, or a model, as a subject."""
        raise UsageError(f"{target!r} is not a {self.kinds}")

    def run(self, target: Any, subject: Subject, calls: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027
        """Call a function or a model with example inputs, so that the recorder hears what it goes through."""

    def custom(self, target: Any) -> Any:
        """Return the custom function behind a value, the value itself where there is none."""
        return target

    def device_of(self, target: Any, inputs: Any) -> str:
        """Return the device on which example inputs or a model lie, "" where nothing says so."""
        return ""

    def home_of(self, value: Any) -> str:
        """Return the name of the module that defined a custom function."""
        return str(getattr(value, "__module__", ""))

    def held_by(self, target: Any) -> Mapping[str, Any]:
        """Return what a model holds that is among its inputs, by name."""
        return {}

    def _placed(self, subject: Subject, device: str = "") -> Subject:
        """Return a subject whose reports say what else a reader should know: where it ran, if that was asked for."""
        device = device or self.device
        ran = f"{RAN_ON} {device!r}" if device else ""
        remarks = (ran, subject.remark, self.remark)
        return replace(subject, remark="; ".join(filter(None, remarks)))

    # --- FILE.py::Name
    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Checkable | OpReport:
        """Serve one custom function of a file, whose names may hold cases and exceptions for it.

        Raises:
            OpkitError: it cannot be checked as it is, the device is not there, or a declaration has a wrong form.
        """
        subject = self._placed(self.subject_of(value))
        declared = self._declared(subject, names, label, options)
        return self._served(subject, declared, declared.cases, label, options)

    def _declared(self, subject: Subject, names: Mapping[str, Any], label: str, options: Options) -> Declared:
        """Read what a file declares of a function under its own name, or under the one by which it is asked for."""
        asked = re.split("[.:]", label)[-1]
        suffix = asked if any(name.endswith(f"_{asked}") for name in names) else subject.name
        takes = () if subject.parameters.takes_any else subject.parameters.names
        declared = declared_in(names, ["forward", subject.name, asked], suffix, takes, results_of("y", takes))
        asked_for = reference_in(options) or declared.reference
        return replace(declared, second_order=declared.second_order or options.demand_second, reference=asked_for)

    def _served(
        self,
        subject: Subject,
        declared: Declared,
        cases: Function | None,
        label: str,
        options: Options,
    ) -> Checkable | OpReport:
        if cases is not None:
            return of_examples(subject, declared, label, cases=cases)
        subject.named(options.shapes, said="a shape is given for")
        try:
            return searched(subject, declared, label, options)
        except UntakenError as error:
            return OpReport(label, (CheckResult("domain", Status.ERROR, "GC182", error.message, where=error.where),))

    # --- FILE.py
    def gathered(
        self,
        heard: Recording,
        names: Mapping[str, Any],
        label: Callable[[Any], str],
        options: Options,
        is_single: bool = False,
    ) -> Iterator[Found]:
        """Serve what a run called, by the inputs that took no gradient: on what it saw, and on cases of its own.

        Args:
            heard: the calls.
            names: of the file.
            label: what reports call a function.
            options: of the check.
            is_single: whether cases without a name can be meant for no other function.
        """
        for function in heard.calls:
            name = label(function)
            try:
                subject = self._placed(self.heard_subject(function))
                declared = self._declared(subject, names, name, options)
            except OpkitError as error:
                yield unloadable(name, error)
                continue
            declared = replace(declared, second_order=declared.second_order or function in heard.twice)
            cases = declared.cases if is_single or f"cases_{subject.name}" in names else None
            for traits, calls in heard.groups(function):
                placed = subject
                if traits.device and not self.device:
                    placed = self._placed(self.on(traits.device).subject_of(function), traits.device)
                if cases is not None:  # which say what takes a gradient; what was a leaf works as a result of an op too
                    traits = replace(traits, is_idle=False, leaves=frozenset())
                try:
                    yield of_examples(placed, declared, name, cases=cases, calls=calls, traits=traits)
                except UsageError as error:
                    yield unloadable(name, error)
                    break
                cases = None

    # --- gradcheck(f, inputs)
    def called(self, target: Any, inputs: Any, cases: Function | None, options: Options) -> tuple[Found, ...]:
        """Serve a function, a custom function or a model of this process.

        Args:
            target: what to check.
            inputs: example inputs: what is wrong on them fails, what is wrong only near them is undecided.
            cases: in place of inputs: ``cases(rng)`` yields them.
            options: of the check.

        Raises:
            UsageError: a function or model without inputs, or both inputs and cases.
            NamedError: the framework lacks the device.
        """
        target = self.custom(target)
        device = self.device or self.device_of(target, inputs)
        if device != self.device:
            return self.on(device).called(target, inputs, cases, options)
        if inputs is not None and cases is not None:
            raise UsageError("gradcheck takes inputs, or cases=function of a generator, not both")
        if not self.knows(target):
            if inputs is None:
                raise UsageError("gradcheck of a function or a model takes example inputs: gradcheck(f, (x, w))")
            return self._whole(target, inputs, options)
        subject = self._placed(self.subject_of(target))
        module = vars(sys.modules.get(self.home_of(target), re))
        names = {key: value for key, value in module.items() if key.endswith(f"_{subject.name}")}
        declared = self._declared(subject, names, subject.name, options)
        if inputs is None:
            return (self._served(subject, declared, cases or declared.cases, subject.name, options),)
        examples = [subject.named(case) for case in self._examples(inputs, subject)]
        return (self._on_examples(subject, examples, declared),)

    def _on_examples(
        self,
        subject: Subject,
        examples: Sequence[Mapping[str, Any]],
        declared: Declared,
    ) -> Checkable:
        for case in examples:
            subject.learn(case)
        calls, traits = list(map(subject.plainly, examples)), Traits(constants_in(subject, examples))
        return of_examples(subject, declared, subject.name, calls=calls, traits=traits, origin="given")

    def _whole(self, target: Any, inputs: Any, options: Options) -> tuple[Found, ...]:
        """Serve a function or a model, and each custom function that it goes through on these inputs."""
        subject = self._placed(self.whole(target))
        examples = [{**subject.named(case), **self.held_by(target)} for case in self._examples(inputs, subject)]
        made = self._on_examples(subject, examples, Declared(reference=reference_in(options)))
        with self.recording() as heard:
            self.run(target, subject, examples)
        options = replace(options, reference=None)
        parts = self.gathered(heard, {}, lambda value: f"{subject.name}::{name_of(value)}", options)
        return numbered([replace(made, beyond=None), *parts])

    def _examples(self, inputs: Any, subject: Subject) -> Sequence[Any]:
        """Return example inputs as a list of cases: an array is one, what holds tuples or dicts is a list of them.

        A dict that names no parameter is an argument, where dicts of arrays are.
        """
        if isinstance(inputs, self.arrays):
            return [[inputs]]
        if isinstance(inputs, Mapping):
            return [inputs]
        found = cases_in(list(inputs))
        trees = [case for case in found if isinstance(case, Mapping) and isinstance(subject.plain(case), list)]
        return found if all(set(case) & set(subject.parameters.names) for case in trees) else [inputs]


def name_of(function: Any) -> str:
    """Return what a custom function calls itself."""
    found = getattr(function, "fun", function)
    return str(getattr(found, "__name__", None) or getattr(found, "_name", found))  # as torch's library ops have
