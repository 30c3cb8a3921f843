"""What a cases file (or a file with PyLayers) declares: the domain, and deliberate exceptions.

Read and validated here, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from typing import Any

from opkit.errors import Location, UsageError, did_you_mean
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.isolation.shown import shown_path
from opkit.verify.subjects.places import location_of

_FORMS: dict[str, Any] = {
    "SURROGATE": dict,
    "REFERENCE": Callable,
    "TOLERANCE": dict,
    "ALLOW": dict,
    "NONDIFFERENTIABLE_OUTPUTS": (tuple, list, set, frozenset),
    "INPLACE": (tuple, list, set, frozenset),
    "SECOND_ORDER": bool,
}
_KINDS = "SURROGATE, REFERENCE, TOLERANCE, ALLOW, NONDIFFERENTIABLE_OUTPUTS, INPLACE and SECOND_ORDER"


@record
class Declared:
    """Declarations about one op.

    Args:
        cases: ``cases(rng)``, None where there is none.
        cases_where: file and line of it.
        nondifferentiable_outputs: names of outputs without a gradient.
        surrogate: the function whose derivative backward is, in forward's own signature.
        tolerance: {input: relative tolerance}.
        allow: {code: why}.
        second_order: whether a correct gradient of the gradient is promised.
        inplace: the inputs that forward overwrites on purpose.
        reference: a function of forward's parameters that gives what forward should.
    """

    cases: Callable[[Any], Any] | None = None
    cases_where: Location | None = None
    nondifferentiable_outputs: frozenset[str] = frozenset()
    surrogate: Function | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    allow: Mapping[str, str] = field(default_factory=dict)
    second_order: bool = False
    inplace: frozenset[str] = frozenset()
    reference: Function | None = None


def declared_in(names: Mapping[str, Any], of: Sequence[str], suffix: str = "") -> Declared:
    """Read the declarations of a module.

    Args:
        names: the module's names.
        of: what the op's forward may be called as a key of SURROGATE.
        suffix: the PyLayer's name: ``cases_Name`` and ``TOLERANCE_Name`` win over ``cases`` and ``TOLERANCE``.

    Raises:
        UsageError: a declaration has a wrong form; ``where`` is the file.
    """
    file = str(names.get("__file__", ""))
    where = Location(shown_path(file), 1) if file else None
    _refuse_misspelt(names, where)
    cases = _pick(names, "cases", suffix)
    if cases is not None and not callable(cases):
        raise UsageError("`cases` must be a function of one numpy Generator", where=where)
    surrogates = _mapping(_pick(names, "SURROGATE", suffix), "SURROGATE", where)
    surrogate = next((surrogates[key] for key in of if key in surrogates), None)
    if surrogates and surrogate is None:
        raise UsageError(f"SURROGATE must map {of[0]!r} to a function, its keys are {sorted(surrogates)}", where=where)
    if surrogate is not None and not callable(surrogate):
        raise UsageError(f"SURROGATE[{of[0]!r}] must be a function, is {type(surrogate).__name__}", where=where)
    reference = _pick(names, "REFERENCE", suffix)
    if reference is not None and not callable(reference):
        raise UsageError(f"REFERENCE must be a function, is {type(reference).__name__}", where=where)
    hidden, inplace = (_names(names, word, suffix, where) for word in ("NONDIFFERENTIABLE_OUTPUTS", "INPLACE"))
    return Declared(
        cases,
        location_of(cases) if cases is not None else None,
        hidden,
        surrogate,
        _tolerance(_mapping(_pick(names, "TOLERANCE", suffix), "TOLERANCE", where), where),
        _allow(_mapping(_pick(names, "ALLOW", suffix), "ALLOW", where), where),
        _truth(_pick(names, "SECOND_ORDER", suffix), where),
        inplace,
        reference,
    )


def _refuse_misspelt(names: Mapping[str, Any], where: Location | None) -> None:
    """Refuse a name that is nearly that of a declaration, and holds what that one would: it would be ignored."""
    for name, value in names.items():
        found = re.fullmatch(r"([A-Z_]+?)(?:_[A-Z][a-z]\w*)?", name)
        own = found[1] if found else ""
        near = get_close_matches(own, _FORMS, 1, 0.85) if own not in _FORMS else []
        if near and isinstance(value, _FORMS[near[0]]):
            raise UsageError(f"nothing reads {name}", where=where, help=did_you_mean([name.replace(own, near[0])]))


def _pick(names: Mapping[str, Any], name: str, suffix: str) -> Any:
    return names.get(f"{name}_{suffix}", names.get(name)) if suffix else names.get(name)


def _names(names: Mapping[str, Any], word: str, suffix: str, where: Location | None) -> frozenset[str]:
    value = _pick(names, word, suffix) or ()
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{word} must be a tuple of names", where=where)
    return frozenset(value)


def _mapping(value: Any, name: str, where: Location | None) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must be a dict, is {type(value).__name__}", where=where, help=f"see {_KINDS}")
    return value


def _truth(value: Any, where: Location | None) -> bool:
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"SECOND_ORDER must be True or False, is {type(value).__name__}", where=where)
    return bool(value)


def _tolerance(given: Mapping[str, Any], where: Location | None) -> dict[str, float]:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise UsageError(f"TOLERANCE[{name!r}] must be a number from 0 to 1, is {value!r}", where=where)
    return {name: float(value) for name, value in given.items()}


def _allow(given: Mapping[str, Any], where: Location | None) -> dict[str, str]:
    for code, why in given.items():
        if not isinstance(why, str) or not why.strip():
            raise UsageError(f"ALLOW[{code!r}] must say why, as a string", where=where)
    return {str(code): why for code, why in given.items()}
