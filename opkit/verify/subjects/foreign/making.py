"""Checkables of a subject: from given cases, or from what a run recorded; what those of searched inputs share.

What is said of outputs and constants comes of one run on an example; how a subject runs is its runner's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, constants_of
from opkit.checker.model.evaluate import leaves_of
from opkit.errors import UsageError
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.foreign.constants import silence
from opkit.verify.subjects.foreign.domain import Domain
from opkit.verify.subjects.foreign.subject import ForeignRunner, Subject

Cases = Callable[[np.random.Generator], Iterable[Any]]
#: How many of the cases are looked at to learn what the arguments are.
_LOOKED_AT = 8


def given(
    subject: Subject,
    cases: Cases,
    declared: Declared,
    label: str,
    learn: Callable[[Mapping[str, Any]], object] = lambda call: None,
) -> Checkable:
    """Make a checkable of a subject with cases.

    Args:
        subject: what to check.
        cases: yields its arguments, by name or in order; float arrays take a gradient, unless they are tensors of the
            framework that take none beside others that do.
        declared: exceptions that the file declares.
        label: what the report calls it.
        learn: is shown each of the first cases.

    Raises:
        UsageError: there is no case, or a case does not fit the parameters.
    """
    named = [_named(subject, case) for case, _ in zip(cases(np.random.default_rng(0)), range(_LOOKED_AT))]
    if not named:
        raise UsageError(f"there is no case for {subject.name}", where=declared.cases_where)
    for case in named:
        learn(case)

    def drawn(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        for case in cases(rng):
            yield _scaled(subject, {key: subject.plain(value) for key, value in _named(subject, case).items()})

    named = [_scaled(subject, case) for case in named]
    made = _of_examples(subject, named, declared, label, constants_in(subject, named))
    return replace(made, cases=drawn, cases_where=declared.cases_where)


def recorded(
    subject: Subject,
    calls: Sequence[Mapping[str, Any]],
    constants: frozenset[str] | None,
    declared: Declared,
    label: str,
    is_idle: bool = False,
) -> Checkable:
    """Make a checkable of a subject with the arguments that a run saw, and one near them.

    Args:
        subject: what to check.
        calls: arguments by name, arrays as numpy arrays.
        constants: the float inputs that took no gradient, None where nothing says which.
        declared: exceptions that the file declares.
        label: what the report calls it.
        is_idle: whether no input took a gradient.
    """
    made = _of_examples(subject, calls, declared, label, frozenset() if is_idle else constants)
    names = [arg.name for arg in made.inputs]
    seen = tuple(_case(call, names) for call in calls)
    made = replace(made, recorded=seen, is_beyond=is_idle)
    attrs = tuple(_with_choices(attr, seen, subject) for attr in made.attrs)
    near = replace(made, recorded=(), seen=seen, second=None, attrs=attrs, constants=constants_of(subject.functions))
    return replace(made, beyond=replace(near, sources=subject.sources))


def _with_choices(attr: Attr, seen: Sequence[Case], subject: Subject) -> Attr:
    values = [case.attrs[attr.name] for case in seen if attr.name in case.attrs]
    defaults = subject.parameters.defaults
    others = [*values, *([attr.default] if attr.name in defaults else [])]
    choices = tuple(value for value in others if value is None or isinstance(value, (bool, int, float, str)))
    return Attr(attr.name, "any", values[0] if values else attr.default, choices)


def _case(values: Mapping[str, Any], inputs: Sequence[str]) -> Case:
    arrays = {name: values.get(name) for name in inputs}
    attrs = {name: value for name, value in values.items() if name not in inputs}
    return Case(arrays, attrs, "recorded", origin="recorded", label="seen in the run")


def _named(subject: Subject, case: Any) -> dict[str, Any]:
    parameters = subject.parameters
    if not isinstance(case, Mapping):
        return parameters.bind(list(case) if isinstance(case, (list, tuple)) else [case], {})
    unknown = [name for name in case if name not in parameters.names]
    if unknown and not parameters.takes_any:
        known = ", ".join(parameters.names) or "nothing"
        raise UsageError(f"a case of {subject.name} names {unknown[0]!r}; it takes {known}")
    return dict(case)


def _scaled(subject: Subject, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case with the Python floats that are arrays as such, of the dtype that its float arrays have."""
    arrays = [array for value in case.values() for _, array in leaves_of({"": subject.plain(value)})]
    dtypes = [array.dtype for array in arrays if isinstance(array, np.ndarray) and array.dtype.kind == "f"]
    dtype = next(iter(dtypes), np.dtype(np.float64))
    return {
        name: np.asarray(value, dtype) if type(value) is float and name in subject.scalars else value
        for name, value in case.items()
    }


def _laid_out(made: Checkable, case: Case) -> Checkable:
    """Return a function that draws random numbers as one that sees its inputs in one layout and dtype.

    What is drawn for which element follows the layout and the dtype; neither makes the function wrong.
    """
    dtypes = {array.dtype for _, array in leaves_of(case.inputs) if array.dtype.kind == "f"}

    def dense(arrays: Mapping[str, Any]) -> dict[str, Any]:
        if {array.dtype for _, array in leaves_of(arrays) if array.dtype.kind == "f"} - dtypes:
            raise UsageError("what a function draws depends on the dtype")
        return {
            name: [np.ascontiguousarray(item).reshape(item.shape) for item in value]
            if isinstance(value, (list, tuple))
            else np.ascontiguousarray(value).reshape(value.shape)
            if isinstance(value, np.ndarray)
            else value
            for name, value in arrays.items()
        }

    forward, vjp = made.forward, made.vjp
    assert vjp is not None
    return replace(
        made,
        forward=lambda arrays, attrs: forward(dense(arrays), attrs),
        vjp=lambda arrays, attrs: vjp(dense(arrays), attrs),
        remarks=(*made.remarks, "forward draws random numbers: the same ones at every call of a check"),
    )


def constants_in(subject: Subject, named: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return the inputs that examples give as tensors without a gradient, where others have one.

    None where no tensor has one: nothing says then which inputs are constants.
    """
    marks: dict[str, set[bool | None]] = {}
    for case in named:
        for name, value in case.items():
            if _is_array(subject, value):
                marks.setdefault(name, set()).add(subject.takes_gradient(value))
    fixed = {name for name, found in marks.items() if found == {False}}
    return frozenset(fixed) if any(True in found for found in marks.values()) else None


def _is_array(subject: Subject, value: Any) -> bool:
    value = subject.plain(value)
    return isinstance(value, np.ndarray) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, np.ndarray) for item in value)
    )


def _of_examples(
    subject: Subject,
    named: Sequence[Mapping[str, Any]],
    declared: Declared,
    label: str,
    constants: frozenset[str] | None,
) -> Checkable:
    """Return a checkable that takes what examples show, still without cases."""
    parameters = subject.parameters
    names = list(dict.fromkeys((*parameters.names, *(name for case in named for name in case))))
    inputs = [name for name in names if any(_is_array(subject, case.get(name)) for case in named)]
    runner = subject.make(frozenset(inputs), constants or frozenset())
    args = []
    for name in inputs:
        is_list = any(isinstance(subject.plain(case.get(name)), list) for case in named)
        args.append(Arg(name, any(not _is_array(subject, case.get(name)) for case in named), is_list))
    attrs = []
    for name in names:
        values = [case[name] for case in named if name in case]
        if name not in inputs and name != parameters.starred and (values or name in parameters.defaults):
            attrs.append(Attr(name, "any", parameters.defaults.get(name, values[0] if values else None)))
    made = replace(frame(subject, runner, declared, label), inputs=tuple(args), attrs=tuple(attrs))
    arrays = {name: subject.plain(named[0].get(name)) for name in inputs}
    case = Case(arrays, {**made.default_attrs, **{k: v for k, v in named[0].items() if k not in inputs}})
    return finished(made, subject, runner, case, constants)


# --- what all have in common
def frame(subject: Subject, runner: ForeignRunner, declared: Declared, label: str) -> Checkable:
    """Return what every checkable of a subject says, still without inputs and options."""
    return Checkable(
        name=label,
        inputs=(),
        outputs=(Arg("y"),),
        forward=runner.forward,
        vjp=runner.vjp,
        infer=subject.infer,
        surrogate=None if declared.surrogate is None else runner.surrogate(declared.surrogate),
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        tolerance=declared.tolerance,
        allow=declared.allow,
        asks_second=declared.second_order,
        forward_where=subject.forward_where,
        backward_where=subject.backward_where,
        remarks=(subject.remark,) if subject.remark else (),
    )


def finished(
    made: Checkable, subject: Subject, runner: ForeignRunner, case: Case, constants: frozenset[str] | None = None
) -> Checkable:
    """Add what one run on an example shows: outputs, those without a gradient, inputs that count as constants.

    Args:
        made: the checkable so far.
        subject: what to check.
        runner: runs it, ``constants`` left out of differentiation.
        case: arguments that it takes.
        constants: the inputs that are known to take no gradient, None where nothing says so.
    """
    try:
        fixed = runner.fixed_outputs(case.inputs, case.attrs)
    except Exception:  # user code: the checks report what it raises
        return replace(made, own=tuple(runner.own_checks()))
    names = ["y"] if len(fixed) == 1 else [f"y{index}" for index in range(len(fixed))]
    hidden = made.nondifferentiable_outputs
    if not all(fixed):
        hidden = hidden | {name for name, is_fixed in zip(names, fixed) if is_fixed}
    outputs = tuple(map(Arg, names))
    own = tuple(runner.own_checks())
    if constants is None:
        results = runner.forward(case.inputs, case.attrs)
        quiet = silence(runner, case, is_loss=all(np.size(item) == 1 for item in results))
        constants, extra = quiet.constants, quiet.checks
        if constants:
            is_searched = made.forward != runner.forward
            runner = subject.make(frozenset(arg.name for arg in made.inputs), constants)
            forward = Domain(runner, made.default_attrs).forward if is_searched else runner.forward
            made = replace(made, forward=forward, vjp=runner.vjp)
        own = (*runner.own_checks(), *extra)
    if not runner.steady(case.inputs, case.attrs):
        made = _laid_out(made, case)
    whole = frozenset(leaf.name for leaf, array in leaves_of(case.inputs) if array.dtype.kind != "f")
    floats = frozenset(arg.name for arg in made.inputs) - constants - whole
    made = replace(
        made,
        outputs=outputs,
        nondifferentiable_outputs=hidden,
        gradients=floats,
        own=own,
    )
    if not made.asks_second:  # it takes as long as the first order
        return made
    example = {**case.inputs, **case.attrs}
    return replace(made, second=runner.second(replace(made, recorded=(case,)), example))
