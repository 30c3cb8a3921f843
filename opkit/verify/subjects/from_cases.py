"""From cases: checkables of a subject, from given cases or a recorded run; what those of searched inputs share.

What is said of outputs and constants comes of one run on an example; how a subject runs is its runner's business.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attr, Attrs, Case, Checkable
from opkit.checker.checks.reference import cast_to
from opkit.checker.model.evaluate import is_float, leaves_of
from opkit.checker.model.formats import HALVES
from opkit.checker.model.own import OwnCheck
from opkit.checker.model.session import cast_case
from opkit.checker.model.thresholds import SLOW_GRADIENT
from opkit.checker.search.fatal import FatalCallError
from opkit.errors import UsageError
from opkit.listed import each, listed
from opkit.ops.core.types import Function
from opkit.verify.codes import HALF
from opkit.verify.isolation.announced_calls import Looks
from opkit.verify.isolation.flight import Phase
from opkit.verify.subjects.declared import Declared, drawn_by, first_drawn, surrogate_of, together
from opkit.verify.subjects.functions import is_list_of_arrays
from opkit.verify.subjects.half_precision import given_in, half_precision, in_formats
from opkit.verify.subjects.input_formats import Formats, as_given, formats_in, formats_tried
from opkit.verify.subjects.neighbours import near
from opkit.verify.subjects.parameters import Parameters, numbered
from opkit.verify.subjects.recording import Traits
from opkit.verify.subjects.references import referred
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Subject, SubjectRunner, is_complex

Cases = Callable[[np.random.Generator], Iterable[Any]]


def of_examples(
    subject: Subject,
    declared: Declared,
    label: str,
    *,
    cases: Cases | None = None,
    calls: Sequence[Mapping[str, Any]] = (),
    traits: Traits | None = None,
    origin: str = "recorded",
) -> Checkable:
    """Make a checkable of a subject from its cases or from calls, and one near the calls where there are no cases.

    Args:
        subject: what to check.
        declared: exceptions that the file declares.
        label: what the report calls it.
        cases: yields its arguments, by name or in order; float arrays take a gradient, unless they are tensors of the
            framework that take none beside others that do.
        calls: arguments by name that a run saw.
        traits: how the arrays of the calls stood in the graph, None where nothing is known.
        origin: "recorded", or "given" for calls that were given by hand.

    Raises:
        UsageError: there is no case, or a case does not fit the parameters.
    """
    where = declared.cases_where
    shown = first_drawn(cases, declared) if cases else []
    mistakes = [*declared.mistakes, *subject.mistakes_in(shown, where)]
    if not (shown or calls):
        mistakes.append(UsageError(f"there is no case for {subject.name}", where=where))
    if mistakes:
        raise together(mistakes)
    drawn = list(map(subject.named, shown))
    for case in drawn:
        subject.learn(case)
    every = [(name, value) for case in (*calls, *drawn) for name, value in case.items()]
    pairs = frozenset(name for name, value in every if any(map(is_complex, listed(subject.plain(value)))))
    if pairs and subject.complex_maps is not None:
        subject = subject.paired(pairs)
    examples = [*calls, *(_scaled(subject, case) for case in drawn)]
    given = [
        (name, value) for case in examples for name, value in case.items() if isinstance(subject.plain(value), list)
    ]
    tuples, lists = (frozenset(name for name, value in given if isinstance(value, kind)) for kind in (tuple, list))
    subject = replace(subject, parameters=replace(subject.parameters, tuples=tuples - lists))
    traits = traits or Traits()
    constants = constants_in(subject, examples) if traits.constants is None else traits.constants
    regime = origin if cases is None else "user"
    made = _read(subject, examples, declared, label, replace(traits, constants=constants), regime)
    names = [arg.name for arg in made.inputs]
    seen = (_case(subject, call, names, origin, number if calls[1:] else None) for number, call in enumerate(calls))
    is_half = any(set(HALVES) & set(_given(call, names).values()) for call in examples)
    seen = (cast_case(case, "float32") for case in seen) if made.format or is_half else seen
    made = replace(made, recorded=tuple(seen), is_beyond=traits.is_idle)
    if cases is None:
        return near(made, subject.functions, subject.parameters.defaults)
    source = cases

    def every_case(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        for case in drawn_by(source, rng):
            call = subject.named(case)
            subject.learn(call)
            scaled = _scaled(subject, subject.plainly(call))
            if made.format or is_half:
                scaled = {key: cast_to(value, np.float32) for key, value in scaled.items()}
            yield scaled

    return replace(made, cases=every_case, cases_where=where)


def cases_in(inputs: Any) -> Sequence[Any]:
    """Return inputs as a list of cases: what holds tuples or dicts is one already."""
    is_list = isinstance(inputs, (list, tuple)) and bool(inputs)
    return inputs if is_list and all(isinstance(item, (tuple, dict)) for item in inputs) else [inputs]


def _case(subject: Subject, values: Mapping[str, Any], inputs: Sequence[str], origin: str, number: int | None) -> Case:
    arrays = {name: subject.plain(values.get(name)) for name in inputs}
    attrs = {name: value for name, value in values.items() if name not in inputs}
    label = "the inputs given" if number is None else f"case {number} of the inputs given"
    label = label if origin == "given" else "seen in the run"
    return Case(arrays, attrs, origin, origin=origin, label=label)


def _scaled(subject: Subject, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case with the Python floats that are arrays as such, of the dtype that its float arrays have."""
    dtype = next((array.dtype for _, array in leaves_of(subject.plainly(case)) if is_float(array)), np.float64)
    return {
        name: np.asarray(value, dtype) if type(value) is float and name in subject.scalars else value
        for name, value in case.items()
    }


def _laid_out(made: Checkable, case: Case) -> Checkable:
    """Return a function that draws random numbers as one that sees its inputs in one layout and dtype.

    What is drawn for which element follows the layout and the dtype; neither makes the function wrong.
    """
    dtypes = {array.dtype for array in case.floats}

    def dense(arrays: Arrays) -> dict[str, Any]:
        if not dtypes.issuperset(array.dtype for array in Case(arrays).floats):
            raise UsageError("what a function draws depends on the dtype")
        return {name: each(partial(np.asarray, order="C"), value) for name, value in arrays.items()}

    forward, vjp = made.forward, made.vjp
    assert vjp is not None
    return replace(
        saying(made, "forward draws random numbers: the same ones at every call of a check"),
        forward=lambda arrays, attrs: forward(dense(arrays), attrs),
        vjp=lambda arrays, attrs: vjp(dense(arrays), attrs),
    )


def _own(made: Checkable, runner: SubjectRunner) -> tuple[OwnCheck, ...]:
    """Return the checks that a subject brings; a reference says more of half precision than float32 does."""
    if made.format:  # they compare what float32 and float64 give
        return ()
    own = (*made.own, *runner.own_checks())
    return tuple(item for item in own if made.reference is None or item.row is not HALF)


def constants_in(subject: Subject, every: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return the float inputs that examples give as tensors without a gradient, where others may have one.

    None where no other may: nothing says then which inputs are constants.
    """
    marks: dict[str, set[bool | None]] = {}
    for case in every:
        for name, value in case.items():
            arrays = [array for _, array in leaves_of({"": subject.plain(value)})]
            if arrays and all(is_float(array) for array in arrays):
                marks.setdefault(name, set()).update(map(subject.takes_gradient, listed(value)))
    fixed = {name for name, found in marks.items() if found == {False}}
    return frozenset(fixed) if len(fixed) < len(marks) else None


def silent_in(runner: SubjectRunner, announced: Looks, case: Case) -> frozenset[str]:
    """Return the inputs for which backward gives None in a case; none where it raises."""
    try:
        with np.errstate(all="ignore"):
            found: frozenset[str] = announced.call(Phase.BACKWARD, runner.silent_inputs, case.inputs, case.attrs)
            return found
    except Exception:  # user code: the checks report what it raises
        return frozenset()


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, list) and is_list_of_arrays(value))


def _read(
    subject: Subject,
    every: Sequence[Mapping[str, Any]],
    declared: Declared,
    label: str,
    traits: Traits,
    regime: str,
) -> Checkable:
    """Return a checkable that takes what examples show, which are values of a regime, still without cases."""
    parameters = subject.parameters
    names = list(dict.fromkeys((*parameters.names, *(name for case in every for name in case))))
    plainly = list(map(subject.plainly, every))
    plain = {name: [case.get(name) for case in plainly] for name in names}
    inputs = [name for name in names if name not in traits.options and any(map(_is_array, plain[name]))]
    constants = frozenset() if traits.is_idle else traits.constants
    runner = subject.make(frozenset(inputs), constants or frozenset(), traits.leaves)
    args = []
    for name in inputs:
        is_list = any(isinstance(value, list) for value in plain[name])
        is_optional, is_tuple = not all(map(_is_array, plain[name])), name in parameters.tuples
        args.append(Arg(name, is_optional, is_list, is_tuple=is_tuple, parts=runner.parts(name)))
    attrs = []
    for name in names:
        values = [case[name] for case in every if name in case]
        if name not in inputs and name != parameters.starred and (values or name in parameters.defaults):
            default = parameters.defaults.get(name, values[0] if values else None)
            attrs.append(Attr(name, "any", default, is_required=name not in parameters.defaults))
    runner.unsaid = frozenset(parameters.defaults).difference(*every)
    made = replace(frame(runner, declared, label), inputs=tuple(args), attrs=tuple(attrs))
    arrays = {name: plain[name][0] for name in inputs}
    unseen = [name for name in inputs if any(map(is_complex, listed(arrays[name])))]
    if unseen:
        said = f"{' and '.join(unseen)} complex as given: the gradient of what is given so is not checked"
        made = saying(made, said)
    left = set(names).difference(inputs, traits.options)
    apart = [name for name in names if name in left and any(subject.takes_gradient(case.get(name)) for case in every)]
    if apart:
        said = f"the gradient of {' and '.join(apart)} is not checked, for want of a dense array"
        made = saying(made, said)
    case = Case(arrays, {**made.default_attrs, **{k: v for k, v in every[0].items() if k not in inputs}}, regime)
    announced = Looks()
    single, given = cast_case(case, "float32"), _given(every[0], inputs)
    if _takes(made, announced, single) or _takes(made, announced, cast_case(case, "float64")):
        if set(HALVES) & set(given.values()):
            made, case = _also_in(made, runner, given), single
        return finished(made, runner, announced, case, constants)
    for formats in formats_tried(given, runner.inputs):
        narrow = in_formats(made, runner, formats)
        if len(set(formats.values())) > 1:
            said = ", ".join(f"{name} as {formats[name]}" for name in inputs)
            narrow = saying(narrow, f"it gets {said}")
        if _takes(narrow, announced, single):
            return finished(narrow, runner, announced, given_in(runner, formats, single), constants)
    return finished(in_formats(made, runner, {}), runner, announced, case, constants)


def _given(call: Mapping[str, Any], inputs: Collection[str]) -> Formats:
    return formats_in({name: value for name, value in call.items() if name in inputs})


def _also_in(made: Checkable, runner: SubjectRunner, given: Formats) -> Checkable:
    """Return a function that takes float32 as one that is compared in the formats of its cases too."""
    if made.in_format is not None and len(set(given.values())) == 1:
        return made
    other = runner.subject.make(runner.inputs, runner.constants)
    narrow = in_formats(replace(made, forward=other.forward, vjp=other.vjp), other, given)
    run = as_given(runner.vjp, narrow.run, given)
    return replace(made, in_format=run, own=(OwnCheck(HALF, partial(half_precision, run)),))


def _takes(made: Checkable, announced: Looks, case: Case) -> bool:
    try:
        announced.call(Phase.FORWARD, made.forward, case.inputs, case.attrs)
    except Exception:  # user code: whatever it raises, it does not take the case
        return False
    return True


# --- what all have in common
def saying(made: Checkable, said: str) -> Checkable:
    """Return a checkable with more that a reader of its reports should know."""
    return replace(made, remarks=(*made.remarks, said))


def _need_own_signature(surrogate: Function, parameters: Parameters) -> None:
    """Refuse a surrogate that forward's arguments cannot be given to.

    Raises:
        UsageError: it has other parameters.
    """
    try:
        signature = inspect.signature(surrogate)
    except (TypeError, ValueError):  # a function of C
        return
    try:
        signature.bind(*parameters.positional, **dict.fromkeys(parameters.named))
    except TypeError:
        raise UsageError(
            f"SURROGATE's function takes {signature}, forward takes ({', '.join(parameters.names)})",
            where=location_of(surrogate),
            help="give it the parameters of forward, without ctx",
        ) from None


def frame(runner: SubjectRunner, declared: Declared, label: str) -> Checkable:
    """Return what every checkable of a subject says, still without inputs and options."""
    subject = runner.subject
    if declared.mistakes:
        raise together(declared.mistakes)
    if callable(declared.surrogate) and declared.cases is None:  # cases may leave out what has a default
        _need_own_signature(declared.surrogate, subject.parameters)
    runner.overwrites = declared.inplace
    said = f"forward overwrites {', '.join(sorted(declared.inplace))} on purpose (INPLACE)" if declared.inplace else ""
    return Checkable(
        name=label,
        inputs=(),
        outputs=(Arg("y"),),
        forward=runner.forward,
        backward=runner.backward,
        vjp=None if runner.backward else runner.vjp,
        surrogate=surrogate_of(declared, runner.forward, runner.surrogate),
        reference=None if declared.reference is None else referred(declared, runner.reference(declared.reference)),
        in_format=runner.in_format,
        unlike="complex numbers" if runner.complex_inputs else "",
        settings=subject.settings,
        culprit=runner.culprit,
        held=subject.held,
        widening=subject.widening,
        promotes=subject.promotes,
        uses_misfits=subject.uses_misfits,
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        tolerance=declared.tolerance,
        allow=declared.allow,
        asks_second=declared.second_order,
        forward_where=subject.forward_where,
        backward_where=subject.backward_where,
        if_zero=subject.if_zero,
        remarks=tuple(filter(None, (subject.remark, said))),
    )


def finished(
    made: Checkable,
    runner: SubjectRunner,
    announced: Looks,
    case: Case,
    constants: frozenset[str] | None = None,
) -> Checkable:
    """Add what one run on an example shows: outputs, those without a gradient, inputs that count as constants.

    Args:
        made: the checkable so far.
        runner: runs it, ``constants`` left out of differentiation.
        announced: calls it.
        case: arguments that it takes.
        constants: the inputs that are known to take no gradient, None where nothing says so.
    """
    begun = perf_counter()
    try:
        fixed = announced.call(Phase.FORWARD, runner.fixed_outputs, case.inputs, case.attrs)
        is_slow = perf_counter() - begun > SLOW_GRADIENT
    except Exception:  # user code: the checks report what it raises
        return replace(made, own=_own(made, runner), fatal=announced.fatal)
    names = numbered(runner.result, len(fixed), {arg.name for arg in made.inputs})
    hidden = made.nondifferentiable_outputs
    if not all(fixed):
        hidden = hidden | {name for name, is_fixed in zip(names, fixed) if is_fixed}
    outputs = tuple(map(Arg, names))
    if runner.draws:
        made = _laid_out(made, case)
        said = "backward draws random numbers of its own: it gets forward's only where forward keeps them"
        with suppress(Exception):  # user code: the checks report what it raises
            if announced.call(Phase.BACKWARD, runner.redraws, case.inputs, case.attrs):
                made = saying(made, said)
    given = [(leaf.name, array.dtype.kind in "fV") for leaf, array in leaves_of(case.inputs)]
    whole = {name for name, is_open in given if (name, True) not in given}
    floats = frozenset(arg.name for arg in made.inputs) - (constants or frozenset()) - whole
    made = replace(
        made,
        outputs=outputs,
        nondifferentiable_outputs=hidden,
        gradients=None if runner.gives_none and not constants else floats,
        own=_own(made, runner),
        fatal=announced.fatal,
    )
    if made.format or not (made.asks_second or runner.subject.offers_second):  # it takes as long as the first order
        return made
    if is_slow and not made.asks_second:
        said = "the gradient of the gradient is not looked for where calls take long: --second-order asks for it"
        return saying(made, said)

    def second(arrays: Arrays, attrs: Attrs) -> Checkable | None:
        return runner.second(made, case)

    try:
        return replace(made, second=announced.call(Phase.BACKWARD, second, case.inputs, case.attrs))
    except FatalCallError:
        return replace(made, fatal=announced.fatal)
