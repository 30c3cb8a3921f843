"""What a cases file (or a file with PyLayers) declares: the domain, and deliberate exceptions.

Read and validated here, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from inspect import signature
from itertools import islice, product
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
    "cases": (Callable, "a function of one numpy Generator"),
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
        mistakes: what is wrong with them; an op is made of none that has any.
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
    mistakes: tuple[UsageError, ...] = ()


def surrogate_of(declared: Declared, forward: Forward, made: Callable[[Function], Forward]) -> Forward | None:
    """Return what is declared as a forward: a function as ``made`` makes one, a factor times forward's results."""
    surrogate = declared.surrogate
    if surrogate is None or callable(surrogate):
        return surrogate and made(surrogate)
    return lambda arrays, attrs: [surrogate * item if is_float(item) else item for item in forward(arrays, attrs)]


def declared_in(
    names: Mapping[str, Any],
    of: Sequence[str],
    suffix: str = "",
    takes: Collection[str] = (),
    gives: Collection[str] = (),
    others: Collection[str] = (),
    overwrites: bool = True,
) -> Declared:
    """Read the declarations of a module, as far as they have the right form; what is mistaken comes with them.

    Args:
        names: the module's names.
        of: what the op's forward may be called as a key of SURROGATE.
        suffix: the PyLayer's name: ``cases_Name`` and ``TOLERANCE_Name`` win over ``cases`` and ``TOLERANCE``.
        takes: the inputs that declarations may name, those with a number besides; none for any.
        gives: the results, likewise.
        others: what SURROGATE may call other ops by, beside the module's names.
        overwrites: whether forward may overwrite an input on purpose.
    """
    where = {name: _line_of(names, name, suffix) for name in _FORMS}
    given = {name: _pick(names, name, suffix) for name in _FORMS}
    mistakes = list(_misspelt(names, suffix))
    for name, (kind, said) in _FORMS.items():
        value = given[name]
        is_named = said != "a tuple of names" or not value or all(isinstance(item, str) for item in value)
        if value is not None and not (isinstance(value, kind) and is_named):
            shown = repr(value) if isinstance(value, kind) else type(value).__name__
            help = f"see {', '.join(_FORMS)}"
            mistakes.append(UsageError(f"{name} must be {said}, is {shown}", where=where[name], help=help))
            given[name] = None
    cases, surrogates, tolerance, allow = (given[name] for name in ("cases", "SURROGATE", "TOLERANCE", "ALLOW"))
    surrogate = next((surrogates[key] for key in of if key in surrogates), None) if surrogates else None
    if surrogate is not None or not {*names, *others}.issuperset(surrogates or ()):  # else those are of others
        mistakes += _wrong_surrogate(of[0], surrogate, surrogates, where["SURROGATE"])
    for name, said, known in (
        ("TOLERANCE", "input or result", (*takes, *gives) if takes else ()),
        ("NONDIFFERENTIABLE_OUTPUTS", "result", gives),
        ("INPLACE", "input", takes),
    ):
        functions = () if f"{name}_{suffix}" in names or known is gives else names.values()
        for item in given[name] or ():
            if known and not {item, item.rstrip("0123456789")}.intersection(known) and not _is_taken(item, functions):
                error = unknown(
                    f"{name} names", item, known, tail=f", no {said}", otherwise=f"known names: {', '.join(known)}"
                )
                mistakes.append(error.error(UsageError, where[name]))
    if given["INPLACE"] and not overwrites:
        said = "INPLACE: a kernel of an op directory must not write to its arguments"
        mistakes.append(
            UsageError(said, where=where["INPLACE"], help="write to a copy in the kernel, and take this out")
        )
    mistakes += _wrong_tolerance(tolerance or {}, where["TOLERANCE"])
    mistakes += _wrong_allow(allow or {}, where["ALLOW"])
    return Declared(
        cases,
        location_of(cases) if cases is not None else None,
        frozenset(given["NONDIFFERENTIABLE_OUTPUTS"] or ()),
        surrogate,
        tolerance or {},
        allow or {},
        bool(given["SECOND_ORDER"]),
        frozenset(given["INPLACE"] or ()),
        given["REFERENCE"],
        tuple(mistakes),
    )


class CasesError(UsageError):
    """A cases function raised."""


class MistakesError(UsageError):
    """Several mistakes in what a file declares and in its cases, each with its place.

    Args:
        every: an error for each.
    """

    def __init__(self, every: Sequence[UsageError]) -> None:
        super().__init__("; ".join(item.message for item in every), where=every[0].where)
        self.every = every

    def __str__(self) -> str:
        return "\n".join(map(str, self.every))


def together(mistakes: Sequence[UsageError]) -> UsageError:
    """Return the error that says all mistakes of a file at once."""
    in_order = sorted(mistakes, key=lambda error: error.where.line if error.where else 0)
    return MistakesError(in_order) if mistakes[1:] else mistakes[0]


def mistakes_of(error: OpkitError) -> Sequence[OpkitError]:
    """Return the errors that one stands for: itself, but where it was raised for several."""
    return error.every if isinstance(error, MistakesError) else (error,)


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


def first_drawn(cases: Callable[[Any], Any], declared: Declared) -> list[Any]:
    """Return the first cases of a cases function, by calls that are announced.

    Raises:
        UsageError: see ``drawn_by``; what is mistaken in the file's declarations is told with it.
        CasesError: it raised.
    """
    try:
        return list(islice(Looks().drawing(partial(drawn_by, cases))(np.random.default_rng(0)), _LOOKED_AT))
    except UsageError as error:
        raise together([*declared.mistakes, error]) from None
    except OpkitError:
        raise
    except Exception as error:  # user code
        said, where = f"the cases function raised {words_of(error)}", raised_at(error, declared.cases_where)
        raise together([*declared.mistakes, CasesError(said, where=where)]) from error


def _misspelt(names: Mapping[str, Any], suffix: str) -> Iterator[UsageError]:
    """Refuse names that are nearly those of what a file declares, and hold what these would: nothing reads them.

    A cases function is one of one argument, which its file never uses.
    """
    forms = ["cases", f"cases_{suffix}"] if suffix else ["cases"]
    absent = [form for form in forms if form not in names]
    for name, value in names.items():
        if isinstance(value, FunctionType) and name.lower().startswith("case") and name not in forms:
            near = get_close_matches(name, absent, 1, 0.85) if value.__code__.co_argcount == 1 else []
            of, lines = name.partition("_")[2], getlines(value.__code__.co_filename) if near else []
            words = re.findall(r"\w+", "".join(lines))
            if words.count(name) == 1 and (of == suffix or not (of in names or of in words)):
                yield UsageError(f"nothing reads {name}", where=location_of(value), help=did_you_mean(near))
            continue
        found = re.fullmatch(r"([A-Z_]+?)(?:_([A-Z0-9]*[a-z]\w*))?", name)
        own, of = (found[1], found[2] or "") if found else ("", "")
        if own in _FORMS and of and of not in names and f"{own}_{suffix}" not in names:
            if near := get_close_matches(of, [suffix], 1, 0.85):
                help = did_you_mean([f"{own}_{suffix}"])
                yield UsageError(f"nothing reads {name}", where=_line_of(names, name), help=help)
            continue
        is_one = own in _FORMS or name.startswith(tuple(f"{form}_" for form in _FORMS))
        near = [] if is_one else get_close_matches(own, _FORMS, 1, 0.85)
        kind: Any = _FORMS[near[0]][0] if near else ()
        if isinstance(value, kind) or (kind is Mapping and isinstance(value, (list, tuple, set))):
            help = did_you_mean([name.replace(own, near[0])])
            yield UsageError(f"nothing reads {name}", where=_line_of(names, name), help=help)


def unread(names: Mapping[str, Any], checked: Collection[str], known: Collection[str]) -> Iterator[UsageError]:
    """Yield the mistakes of what a file declares for functions that it has not.

    Args:
        names: of the file, which does not use these.
        checked: the functions that tell themselves what is nearly theirs.
        known: all of the file's functions.
    """
    told = {item.message for name in checked for item in _misspelt(names, name)}
    words = re.findall(r"\w+", "".join(getlines(str(names.get("__file__", "")))))
    for (own, (kind, _)), name in product(_FORMS.items(), names):
        of, said = name.removeprefix(f"{own}_"), f"nothing reads {name}"
        is_one = of != name and isinstance(names[name], kind) and words.count(name) == 1
        if is_one and said not in told and of not in {*names, *checked, *known}:
            where = location_of(names[name]) if own == "cases" else _line_of(names, name)
            yield unknown(f"{said}: the file has no function", of, known, has="it has").error(UsageError, where)


def _line_of(names: Mapping[str, Any], name: str, suffix: str = "") -> Location | None:
    """Return the line that assigns a name, with the suffix or without; the file's first where none is seen to."""
    file = str(names.get("__file__", ""))
    assigns = re.compile(rf"{name}(_{suffix})?\s*[:=]").match
    lines = (number for number, text in enumerate(getlines(file), 1) if assigns(text))
    return Location(shown_path(file), next(lines, 1)) if file else None


def _pick(names: Mapping[str, Any], name: str, suffix: str) -> Any:
    return names.get(f"{name}_{suffix}", names.get(name)) if suffix else names.get(name)


def _wrong_surrogate(own: str, given: Any, keys: Iterable[str], where: Location | None) -> Iterator[UsageError]:
    if given is None:
        said = f"SURROGATE must map {own!r} to a function or a factor, its keys are {sorted(keys)}"
        yield UsageError(said, where=where)
    elif not callable(given) and type(given) not in (int, float):
        said = f"SURROGATE[{own!r}] must be a function or a factor, is {type(given).__name__}"
        yield UsageError(said, where=where)


def _wrong_tolerance(given: Mapping[str, Any], where: Location | None) -> Iterator[UsageError]:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            yield UsageError(f"TOLERANCE[{name!r}] must be a number from 0 to 1, is {value!r}", where=where)


def _wrong_allow(given: Mapping[str, Any], where: Location | None) -> Iterator[UsageError]:
    known = codes() if given else ()
    for code, why in given.items():
        if code not in known:
            yield unknown("ALLOW accepts", code, known, tail=", which is no code").error(UsageError, where)
        elif not isinstance(why, str) or not why.strip():
            yield UsageError(f"ALLOW[{code!r}] must say why, as a string", where=where)


def _is_taken(name: str, values: Iterable[Any]) -> bool:
    """Return whether a function among these values, or a class of theirs, may have an argument of that name."""
    for value in values:
        if isinstance(value, type):
            own = f"{value.__qualname__}."
            inner = (item for item in vars(value).values() if getattr(item, "__qualname__", "").startswith(own))
            if _is_taken(name, [getattr(value, "forward", None), *(item for item in inner if isinstance(item, type))]):
                return True
            continue
        try:
            parameters = signature(value).parameters.values()
        except Exception:  # user code, and what is no function
            continue
        is_open = not isinstance(value, FunctionType) and any(item.kind is item.VAR_KEYWORD for item in parameters)
        if is_open or name in [item.name for item in parameters]:
            return True
    return False
