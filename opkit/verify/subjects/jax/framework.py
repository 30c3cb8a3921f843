"""JAX, as far as finding and serving its custom functions goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from opkit.checker import CheckResult, OpReport, Options, Status
from opkit.errors import OpkitError, UsageError
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.foreign.framework import Served
from opkit.verify.subjects.foreign.making import UntakenError, given, recorded, searched
from opkit.verify.subjects.foreign.recording import Recording
from opkit.verify.subjects.foreign.subject import Subject
from opkit.verify.subjects.jax.arrays import is_array, leaves_of
from opkit.verify.subjects.jax.function import function_subject, is_custom, learn_trees, whole_subject
from opkit.verify.subjects.jax.recorder import recording

__all__ = ["Jax", "framework"]


class Jax:
    """See ``opkit.verify.subjects.foreign.framework.Framework``."""

    @property
    def kinds(self) -> str:
        """What its custom functions are called."""
        return "jax.custom_vjp or jax.custom_jvp"

    def knows(self, value: Any) -> bool:
        """Say whether a value is a custom function of the user's."""
        return is_custom(value)

    # --- FILE.py::Name
    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve one custom function of a file."""
        jax.config.update("jax_traceback_filtering", "off")  # it takes longer than what a search tries in between
        subject = function_subject(value)
        declared = declared_in(names, ["forward", subject.name], subject.name)
        return _served(value, subject, declared, declared.cases, label, options)

    # --- FILE.py
    def recording(self) -> AbstractContextManager[Recording]:
        """Record the calls of custom functions from here on."""
        return recording()

    def gathered(self, heard: Recording, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve what a run called, and the custom functions of its script that it did not call."""
        every = [*_heard(heard, names, label), *self._uncalled(heard, names, label, options)]
        taken: dict[str, int] = {}
        checkables = []
        for item in (checkable for served in every for checkable in served.checkables):
            number = taken[item.name] = taken.get(item.name, 0) + 1
            checkables.append(item if number == 1 else replace(item, name=f"{item.name}#{number}"))
        return Served(tuple(checkables), tuple(report for served in every for report in served.reports))

    def _uncalled(self, heard: Recording, names: Mapping[str, Any], label: str, options: Options) -> Iterator[Served]:
        for name, value in names.items():
            if not self.knows(value) or value.__module__ != "__main__" or any(heard.calls.get(value, {}).values()):
                continue
            if any(map(bool, heard.calls.values())) and f"cases_{name}" not in names:
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
        if self.knows(target):
            return True
        arrays = leaves_of(inputs)
        return callable(target) and not isinstance(target, type) and any(not isinstance(i, np.ndarray) for i in arrays)

    def called(self, target: Any, inputs: Any, cases: Callable[..., Any] | None, options: Options) -> Served:
        """Serve a function or a custom function of this process.

        Raises:
            UsageError: a function without inputs, or both inputs and cases.
        """
        if inputs is not None and cases is not None:
            raise UsageError("gradcheck takes inputs, or cases=function of a generator, not both")
        subject = function_subject(target) if self.knows(target) else whole_subject(target)
        if inputs is None:
            if not self.knows(target):
                raise UsageError("gradcheck of a function takes example inputs: gradcheck(f, (x, w))")
            return _served(target, subject, Declared(), cases, subject.name, options)
        calls = [_bound(subject, case) for case in _examples(inputs)]
        for call in calls:
            learn_trees(target, call)
        flat = [{name: subject.plain(value) for name, value in call.items()} for call in calls]
        if self.knows(target):
            return Served((recorded(subject, flat, None, Declared(), subject.name),))
        return _whole(target, subject, calls, flat)


def _whole(target: Any, subject: Subject, calls: list[dict[str, Any]], flat: list[dict[str, Any]]) -> Served:
    """Serve a function, and each custom function that it goes through on these inputs."""
    with recording() as heard:
        for call in calls:
            args, rest = subject.parameters.call(call)
            target(*args, **rest)
    made = replace(recorded(subject, flat, None, Declared(), subject.name), beyond=None)
    parts = list(_heard(heard, {}, subject.name))
    return Served(
        (made, *(item for part in parts for item in part.checkables)),
        tuple(report for part in parts for report in part.reports),
    )


def _served(
    function: Any,
    subject: Subject,
    declared: Declared,
    cases: Callable[..., Any] | None,
    label: str,
    options: Options,
) -> Served:
    if cases is None and options.shapes:
        shapes = dict(options.shapes)

        def cases(rng: np.random.Generator) -> Any:
            return [{name: rng.standard_normal(shape) for name, shape in shapes.items()} for _ in range(3)]

    if cases is not None:
        for case in cases(np.random.default_rng(0)):
            learn_trees(function, _bound(subject, case))
            break
        return Served((given(subject, cases, declared, label),))
    try:
        return Served((searched(subject, declared, label, options),))
    except UntakenError as error:
        result = CheckResult("domain", Status.ERROR, "GC182", error.message, where=error.where)
        return Served(reports=(OpReport(label, (result,)),))


def _malformed(label: str, error: OpkitError) -> OpReport:
    return OpReport(label, (CheckResult("cases", Status.ERROR, "GC183", str(error), where=error.where),))


def _heard(heard: Recording, names: Mapping[str, Any], label: str) -> Iterator[Served]:
    for function, kept in heard.calls.items():
        if not any(kept.values()):
            continue
        try:
            subject = function_subject(function)
            declared = declared_in(names, ["forward", subject.name], subject.name)
        except OpkitError as error:
            yield Served(reports=(_malformed(f"{label}::{function.fun.__name__}", error),))
            continue
        for _, is_idle, calls in heard.groups(function):
            yield Served((recorded(subject, calls, None, declared, f"{label}::{subject.name}", is_idle),))


def _bound(subject: Subject, case: Any) -> dict[str, Any]:
    if isinstance(case, Mapping):
        return dict(case)
    return subject.parameters.bind(list(case) if isinstance(case, (list, tuple)) else [case], {})


def _examples(inputs: Any) -> list[Any]:
    """Return example inputs as a list of cases: an array is one, what holds tuples or dicts is a list of them."""
    if is_array(inputs):
        return [[inputs]]
    if isinstance(inputs, Mapping):
        return [inputs]
    items = list(inputs)
    return items if items and all(isinstance(item, (tuple, dict)) for item in items) else [items]


framework = Jax()
