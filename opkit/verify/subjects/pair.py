"""Any pair of numpy functions as a subject: a forward and its gradient, on inputs given, drawn or searched.

No framework takes part; how the two are called is in ``functions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from opkit.checker import Checkable, Options
from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.verify.subjects.declared import Declared, drawn_by
from opkit.verify.subjects.from_cases import cases_in, of_examples
from opkit.verify.subjects.from_search import searched
from opkit.verify.subjects.functions import FunctionsRunner, as_input, is_input, is_plain_option, options_of
from opkit.verify.subjects.input_formats import widen
from opkit.verify.subjects.parameters import Parameters, names_taken, parameters_in
from opkit.verify.subjects.readings import UntakenError
from opkit.verify.subjects.references import reference_in
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Signature, Subject


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
    if not callable(forward) or not callable(backward):
        raise UsageError(f"forward= and backward= are functions; got {forward!r} and {backward!r}")
    if isinstance(inputs, np.ndarray):
        raise UsageError("inputs= is a list of what forward takes", help="inputs=[x] of a single array")
    if inputs is not None and cases is not None:
        raise UsageError("gradcheck of a function pair takes inputs=[...], or cases=function of a generator")
    name = name or getattr(forward, "__qualname__", getattr(forward, "__name__", "forward")).replace("<locals>.", "")
    options = options or Options()
    declared = Declared(reference=reference_in(options))
    if inputs is None and cases is None:
        try:
            return searched(pair_subject(forward, backward, name, _own_parameters(forward)), declared, name, options)
        except UntakenError as error:
            help = "give gradcheck inputs=[...], or cases=function of a generator"
            raise UsageError(f"{name}: {error.said}", help=help, where=error.where) from error
    given = cases_in(inputs)
    first = next(islice(drawn_by(cases, np.random.default_rng(0)) if cases is not None else given, 1), None)
    if first is None:
        raise UsageError("the cases function yields no case" if cases is not None else "inputs holds no case")
    call = first if isinstance(first, Mapping) else dict(zip(names_taken(forward, len(first)), first))
    told, defaults = _told(forward), options_of(forward, call)
    placed = tuple(item for item in (*call, *defaults) if item not in told.named)
    named = tuple(item for item in (*call, *defaults) if item in told.named)
    taken = Parameters(placed, named=named, defaults=defaults)
    subject, told = pair_subject(forward, backward, name, taken), _told(backward)
    both = options_of(forward, ()).keys() & {*told.named, *told.defaults}
    subject = replace(subject, static=frozenset(item for item in both if is_plain_option(call.get(item))))
    calls = [subject.named(case) for case in given] if cases is None else []
    made = of_examples(subject, declared, name, cases=cases, calls=calls, origin="given")
    inputs_taken = frozenset(arg.name for arg in made.inputs)
    FunctionsRunner(forward, backward, Signature(subject.parameters, inputs_taken)).binding(len(made.outputs))
    return made


def pair_subject(forward: Function, backward: Function, name: str, parameters: Parameters) -> Subject:
    """Return two functions as a subject, forward with these parameters."""
    return Subject(
        name=name,
        parameters=parameters,
        runs=lambda signature: FunctionsRunner(forward, backward, signature),
        plain=lambda value: widen(as_input(value)) if is_input(value) else value,  # numpy has no bfloat16
        functions=(forward, backward),
        promotes=True,
        forward_where=location_of(forward),
        backward_where=location_of(backward),
    )


def _told(function: Function) -> Parameters:
    """Return the parameters of a function, none of one that does not say what it takes."""
    try:
        return parameters_in(function)
    except ValueError:
        return Parameters(())


def _own_parameters(forward: Function) -> Parameters:
    """Return the parameters of a function that are asked about: a library's options are not what its user means.

    Raises:
        UsageError: nothing says what it takes.
    """
    try:
        known = parameters_in(forward)
    except ValueError as error:
        raise UsageError(f"{error}: give gradcheck inputs=[...], or cases=function of a generator") from None
    own = options_of(forward, ())
    defaults = {name: value for name, value in known.defaults.items() if name in own or value is None}
    positional, named = (
        tuple(name for name in names if name in defaults or name not in known.defaults)
        for names in ((*known.positional, *filter(None, [known.starred])), known.named)
    )
    return replace(known, positional=positional, starred="", named=named, defaults=defaults)
