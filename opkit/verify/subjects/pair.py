"""A checkable from any pair of numpy functions: a forward and its gradient, on inputs given, drawn or searched.

No framework takes part; how the two are called is in ``functions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attr, Attrs, Case, Checkable, Options, constants_of, first_cases
from opkit.checker.model.copies import option_copied
from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.verify.subjects.annotated import shaped
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.functions import Functions, as_input, is_input, is_list_of_arrays, options_of
from opkit.verify.subjects.half_precision_ops import of_halves
from opkit.verify.subjects.neighbours import near, with_choices
from opkit.verify.subjects.parameters import annotations_of, names_taken, numbered, parameters_in
from opkit.verify.subjects.readings import readings
from opkit.verify.subjects.references import NumpyReference, reference_in, referred
from opkit.verify.subjects.source_location import location_of

__all__ = ["cases_of", "location_of", "pair"]

#: Cases that are looked at to distinguish inputs from options.
MOST_READ = 8


def pair(
    forward: Function,
    backward: Function,
    inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    name: str = "",
    options: Options | None = None,
) -> Checkable:
    """Make a checkable of two functions.

    Args:
        forward: ``forward(*inputs)`` -> an array, or a tuple or list of arrays.
        backward: ``backward(*inputs, *douts)`` or ``backward(*inputs, *outputs, *douts)``, by the number of its
            parameters; with the incoming gradients first where its first parameter says so by its name (``dy``,
            ``g``, ``grad`` ...). An option of forward is passed on where backward has a parameter of its name.
            Returns one gradient per input (None for an input without one), or one per float input.
        inputs: what was seen: arrays, lists of arrays, floats and options by position or by parameter name. Only
            float arrays are differentiated. A list of tuples or of dicts is a list of cases. What lies near them is
            searched too.
        cases: in place of ``inputs``: ``cases(rng)`` yields as many of them as it likes; they are the domain.
        name: what the report calls the op; the function's name by default.
        options: of the checker, for the search where there are neither inputs nor cases.

    Raises:
        UsageError: both inputs and cases, none that forward takes, or parameters that fit neither signature.
    """
    if inputs is not None and cases is not None:
        raise UsageError("gradcheck of a function pair takes inputs=[...], or cases=function of a generator")
    name = name or getattr(forward, "__qualname__", getattr(forward, "__name__", "forward")).replace("<locals>.", "")
    if inputs is None and cases is None:
        return _searched(forward, backward, name, options or Options())
    draw = cases if cases is not None else (lambda _: cases_of(inputs))
    every = list(islice(draw(np.random.default_rng(0)), MOST_READ if cases is not None else None))
    if not every:
        raise UsageError("the cases function yields no case" if cases is not None else "inputs holds no case")
    names = _names(forward, every[0])
    every = [_values(case, names) for case in every]
    arrays = [name for name in names if any(is_input(values[name]) for values in every)]
    defaults = options_of(forward, names)
    functions = Functions(forward, backward, names, arrays, defaults)
    options_given = {name: every[0][name] for name in names if name not in arrays}
    count = _count(functions, [_split(values, arrays, {**options_given, **defaults}) for values in every])
    functions.binding(count)
    given = reference_in(options) if options else None
    made = _made(functions, forward, backward, name, _args(arrays, every), {**options_given, **defaults}, count)
    made = _with_reference(made, given, names)
    if cases is None:
        labels = (
            [f"case {number} of the inputs given" for number in range(len(every))]
            if every[1:]
            else ["the inputs given"]
        )
        seen = tuple(_case(values, arrays, made.default_attrs, label) for values, label in zip(every, labels))
        return near(of_halves(replace(made, recorded=seen), seen[0].inputs, seen[0].attrs), [forward, backward])

    def drawn(rng: np.random.Generator) -> Iterable[Mapping[str, Any]]:
        for case in cases(rng):
            values = _values(case, names)
            yield {key: as_input(value) if key in arrays else value for key, value in values.items()}

    return of_halves(replace(made, cases=drawn), *_split(every[0], arrays, made.default_attrs))


def _count(functions: Functions, every: Sequence[tuple[Any, ...]]) -> int:
    """Return how many results forward gives on the first case that it takes; one where it takes none."""
    for given in every:
        try:
            return len(functions.forward(*map(option_copied, given)))
        except Exception:  # user code: the checks report what it raises
            continue
    return 1


def _made(
    functions: Functions,
    forward: Function,
    backward: Function,
    name: str,
    inputs: Sequence[Arg],
    options: Mapping[str, Any],
    count: int = 1,
) -> Checkable:
    return Checkable(
        name=name,
        inputs=tuple(inputs),
        outputs=tuple(map(Arg, numbered("y", count))),
        forward=functions.forward,
        backward=functions.backward,
        attrs=tuple(Attr(key, "any", value) for key, value in options.items()),
        sources=(forward, backward),
        forward_where=location_of(forward),
        backward_where=location_of(backward),
    )


def _with_reference(made: Checkable, function: Function | None, names: Sequence[str]) -> Checkable:
    """Return the pair compared with a function of what forward takes, itself where there is none."""
    if function is None:
        return made

    def call(arrays: Arrays, attrs: Attrs) -> Any:
        values = {**attrs, **arrays}
        named = {name: value for name, value in attrs.items() if name not in names}
        return function(*(values[name] for name in names), **named)

    return replace(made, reference=referred(Declared(reference=function), NumpyReference(call)))


def _searched(forward: Function, backward: Function, name: str, options: Options) -> Checkable:
    """Return the pair with inputs to be searched, as those of an op directory are."""
    try:
        parameters = parameters_in(forward)
    except ValueError as error:
        raise UsageError(f"{error}: give gradcheck inputs=[...], or cases=function of a generator") from None
    own = options_of(forward, ())
    for reading in readings(parameters, annotations_of(forward), (forward, backward)):
        if not reading.inputs:
            continue
        swept = {key: value for key, value in reading.options.items() if key in own or key not in parameters.defaults}
        given = [key for key in parameters.names if key in reading.inputs or key not in parameters.defaults]
        further = {key: value for key, value in swept.items() if key not in given}
        functions = Functions(forward, backward, given, reading.inputs, further)
        args = [Arg(key, key in reading.optional) for key in reading.inputs]
        made = _made(functions, forward, backward, name, args, swept)
        made = shaped(replace(made, constants=constants_of([forward, backward])), annotations_of(forward))
        made = with_choices(made, [forward, backward])
        with np.errstate(all="ignore"):
            case = next(iter(first_cases(made, options, 1)), None)
        if case is not None:
            count = len(functions.forward(case.inputs, case.attrs))
            functions.binding(count)
            made = _with_reference(made, reference_in(options), given)
            return replace(made, outputs=tuple(map(Arg, numbered("y", count))))
    raise UsageError(
        f"{name} raised on all arguments that were tried",
        help="give gradcheck inputs=[...], or cases=function of a generator",
        where=location_of(forward),
    )


def cases_of(inputs: Any) -> Sequence[Any]:
    """Return inputs as a list of cases: what holds tuples or dicts is one already."""
    is_several = (
        isinstance(inputs, (list, tuple)) and bool(inputs) and all(isinstance(i, (tuple, dict)) for i in inputs)
    )
    return inputs if is_several else [inputs]


def _names(forward: Function, probe: Sequence[Any] | Mapping[str, Any]) -> list[str]:
    if isinstance(probe, Mapping):
        return list(probe)
    return names_taken(forward, len(probe))


def _values(case: Sequence[Any] | Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: case[name] for name in names} if isinstance(case, Mapping) else dict(zip(names, case))


def _args(arrays: Sequence[str], every: Sequence[Mapping[str, Any]]) -> list[Arg]:
    return [Arg(name, is_variadic=any(is_list_of_arrays(values[name]) for values in every)) for name in arrays]


def _split(
    values: Mapping[str, Any], arrays: Sequence[str], defaults: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a case's inputs, and its options with the defaults of those that it leaves out."""
    options = {name: value for name, value in values.items() if name not in arrays}
    return {name: as_input(values[name]) for name in arrays}, {**defaults, **options}


def _case(values: Mapping[str, Any], arrays: Sequence[str], defaults: Mapping[str, Any], label: str) -> Case:
    inputs, attrs = _split(values, arrays, defaults)
    return Case(inputs, attrs, "given", origin="given", label=label)
