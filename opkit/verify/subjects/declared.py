"""What a cases file (or a file with PyLayers) declares: the domain, and deliberate exceptions.

Read and validated here, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from inspect import signature
from itertools import islice
from linecache import getlines
from types import FunctionType
from typing import Any

import numpy as np

from opkit.checker.model.checkable import Forward
from opkit.checker.model.evaluate import is_float
from opkit.checker.model.raised import raised_at, words_of
from opkit.diagnostics.pages import codes
from opkit.errors import Location, OpkitError, UsageError, did_you_mean, unknown
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.isolation.announced_calls import Looks
from opkit.verify.isolation.shown import shown_path
from opkit.verify.subjects.source_location import location_of

#: How many of the cases are looked at to learn what the arguments are.
_LOOKED_AT = 8
#: What each name takes, and in words.
_FORMS: dict[str, tuple[Any, str]] = {
    "SURROGATE": (Mapping, "a dict"),
    "REFERENCE": (Callable, "a function"),
    "TOLERANCE": (Mapping, "a dict"),
    "ALLOW": (Mapping, "a dict"),
    "NONDIFFERENTIABLE_OUTPUTS": ((tuple, list, set, frozenset), "a tuple of names"),
    "INPLACE": ((tuple, list, set, frozenset), "a tuple of names"),
    "SECOND_ORDER": (bool, "True or False"),
}


@record
class Declared:
    """Declarations about one op.

    Args:
        cases: ``cases(rng)``, None where there is none.
        cases_where: file and line of it.
        nondifferentiable_outputs: names of outputs without a gradient.
        surrogate: the function whose derivative backward is, in forward's own signature; or a factor of forward's.
        tolerance: {input: relative tolerance}.
        allow: {code: why}.
        second_order: whether a correct gradient of the gradient is promised.
        inplace: the inputs that forward overwrites on purpose.
        reference: a function of forward's parameters that gives what forward should.
    """

    cases: Callable[[Any], Any] | None = None
    cases_where: Location | None = None
    nondifferentiable_outputs: frozenset[str] = frozenset()
    surrogate: Function | float | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    allow: Mapping[str, str] = field(default_factory=dict)
    second_order: bool = False
    inplace: frozenset[str] = frozenset()
    reference: Function | None = None


def surrogate_of(declared: Declared, forward: Forward, made: Callable[[Function], Forward]) -> Forward | None:
    """Return what is declared as a forward: a function as ``made`` makes one, a factor times forward's results."""
    surrogate = declared.surrogate
    if surrogate is None or callable(surrogate):
        return surrogate and made(surrogate)
    return lambda arrays, attrs: [surrogate * item if is_float(item) else item for item in forward(arrays, attrs)]


def declared_in(names: Mapping[str, Any], of: Sequence[str], suffix: str = "") -> Declared:
    """Read the declarations of a module.

    Args:
        names: the module's names.
        of: what the op's forward may be called as a key of SURROGATE.
        suffix: the PyLayer's name: ``cases_Name`` and ``TOLERANCE_Name`` win over ``cases`` and ``TOLERANCE``.

    Raises:
        UsageError: a declaration has a wrong form; ``where`` is its line.
    """
    _refuse_misspelt(names)
    _refuse_misspelt_cases(names, suffix)
    cases = _pick(names, "cases", suffix)
    if cases is not None and not callable(cases):
        raise UsageError("`cases` must be a function of one numpy Generator", where=_line_of(names, "cases", suffix))
    where = {name: _line_of(names, name, suffix) for name in _FORMS}
    given = {name: _formed(name, _pick(names, name, suffix), where[name]) for name in _FORMS}
    surrogates = given["SURROGATE"] or {}
    surrogate = next((surrogates[key] for key in of if key in surrogates), None)
    if surrogates and surrogate is None and not surrogates.keys() <= names.keys():  # those are of other functions
        raise UsageError(
            f"SURROGATE must map {of[0]!r} to a function or a factor, its keys are {sorted(surrogates)}",
            where=where["SURROGATE"],
        )
    if surrogate is not None and not callable(surrogate) and type(surrogate) not in (int, float):
        raise UsageError(
            f"SURROGATE[{of[0]!r}] must be a function or a factor, is {type(surrogate).__name__}",
            where=where["SURROGATE"],
        )
    return Declared(
        cases,
        location_of(cases) if cases is not None else None,
        frozenset(given["NONDIFFERENTIABLE_OUTPUTS"] or ()),
        surrogate,
        _tolerance(given["TOLERANCE"] or {}, where["TOLERANCE"]),
        _allow(given["ALLOW"] or {}, where["ALLOW"]),
        bool(given["SECOND_ORDER"]),
        frozenset(given["INPLACE"] or ()),
        given["REFERENCE"],
    )


class CasesError(UsageError):
    """A cases function raised."""


def drawn_by(cases: Callable[[Any], Any], rng: Any) -> Iterable[Any]:
    """Return the cases that a cases function gives.

    Raises:
        UsageError: it takes no generator, or returns one case, or nothing, in place of yielding cases.
    """
    try:
        signature(cases).bind(rng)
    except TypeError as error:
        said = f"a cases function takes a random generator: {error}"
        raise UsageError(said, where=location_of(cases), help="write `def cases(rng):`, and draw from rng") from None
    drawn = cases(rng)
    if isinstance(drawn, Mapping) or not isinstance(drawn, Iterable):
        given = "a dict" if isinstance(drawn, Mapping) else repr(drawn)
        raise UsageError(
            f"a cases function yields one dict for each case; this one returns {given}",
            where=location_of(cases),
            help="write `yield {...}`, once for each case",
        )
    return drawn


def first_drawn(cases: Callable[[Any], Any], where: Location | None) -> list[Any]:
    """Return the first cases of a cases function, by calls that are announced.

    Raises:
        UsageError: see ``drawn_by``.
        CasesError: it raised.
    """
    try:
        return list(islice(Looks().drawing(partial(drawn_by, cases))(np.random.default_rng(0)), _LOOKED_AT))
    except OpkitError:
        raise
    except Exception as error:  # user code
        raise CasesError(f"the cases function raised {words_of(error)}", where=raised_at(error, where)) from error


def _formed(name: str, value: Any, where: Location | None) -> Any:
    """Return what a declaration holds, None where it is not there."""
    kind, said = _FORMS[name]
    is_named = said != "a tuple of names" or not value or all(isinstance(item, str) for item in value)
    if value is not None and not (isinstance(value, kind) and is_named):
        listed = ", ".join(_FORMS)
        given = repr(value) if isinstance(value, kind) else type(value).__name__
        raise UsageError(f"{name} must be {said}, is {given}", where=where, help=f"see {listed}")
    return value


def _refuse_misspelt(names: Mapping[str, Any]) -> None:
    """Refuse a name that is nearly that of a declaration, and holds what that one would: it would be ignored."""
    for name, value in names.items():
        found = re.fullmatch(r"([A-Z_]+?)(?:_[A-Z][a-z]\w*)?", name)
        own = found[1] if found else ""
        is_one = own in _FORMS or name.startswith(tuple(f"{form}_" for form in _FORMS))
        near = [] if is_one else get_close_matches(own, _FORMS, 1, 0.85)
        if near and isinstance(value, _FORMS[near[0]][0]):
            help = did_you_mean([name.replace(own, near[0])])
            raise UsageError(f"nothing reads {name}", where=_line_of(names, name), help=help)


def _refuse_misspelt_cases(names: Mapping[str, Any], suffix: str) -> None:
    """Refuse a function of one argument that its file never uses, and whose name is nearly that of a cases function."""
    forms = ["cases", f"cases_{suffix}"] if suffix else ["cases"]
    absent = [form for form in forms if form not in names]
    for name, value in names.items():
        is_other = name in forms or not name.lower().startswith("case") or not isinstance(value, FunctionType)
        near = [] if is_other or value.__code__.co_argcount != 1 else get_close_matches(name, absent, 1, 0.85)
        of, lines = name.partition("_")[2], getlines(value.__code__.co_filename) if near else []
        words = re.findall(r"\w+", "".join(lines))
        if words.count(name) == 1 and (of == suffix or not (of in names or of in words)):
            raise UsageError(f"nothing reads {name}", where=location_of(value), help=did_you_mean(near))


def _line_of(names: Mapping[str, Any], name: str, suffix: str = "") -> Location | None:
    """Return the line that assigns a name, with the suffix or without; the file's first where none is seen to."""
    file = str(names.get("__file__", ""))
    assigns = re.compile(rf"{name}(_{suffix})?\s*[:=]").match
    lines = (number for number, text in enumerate(getlines(file), 1) if assigns(text))
    return Location(shown_path(file), next(lines, 1)) if file else None


def _pick(names: Mapping[str, Any], name: str, suffix: str) -> Any:
    return names.get(f"{name}_{suffix}", names.get(name)) if suffix else names.get(name)


def _tolerance(given: Mapping[str, Any], where: Location | None) -> dict[str, float]:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise UsageError(f"TOLERANCE[{name!r}] must be a number from 0 to 1, is {value!r}", where=where)
    return {name: float(value) for name, value in given.items()}


def _allow(given: Mapping[str, Any], where: Location | None) -> dict[str, str]:
    known = codes() if given else ()
    for code, why in given.items():
        if code not in known:
            said = unknown("ALLOW accepts", code, known, tail=", which is no code")
            raise said.error(UsageError, where)
        if not isinstance(why, str) or not why.strip():
            raise UsageError(f"ALLOW[{code!r}] must say why, as a string", where=where)
    return {str(code): why for code, why in given.items()}
