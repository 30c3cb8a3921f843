"""File functions: the custom functions of a file, each under the name to ask for it by, and who serves it.

Nothing of the user's is imported or run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from opkit.checker import Checkable, OpReport
from opkit.errors import OpkitError, UsageError
from opkit.record import record
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.declared import CasesError, mistakes_of, together, unread
from opkit.verify.subjects.foreign.framework import loaded_frameworks
from opkit.verify.subjects.foreign.serving import Framework, name_of
from opkit.verify.subjects.from_cases import saying
from opkit.verify.subjects.loaded import Found, Unmade, reported_as, skipped, unloadable
from opkit.verify.subjects.pylayer import layers
from opkit.verify.subjects.source_location import location_of
from opkit.verify.targets.imports import imported_names, is_check, replaced_at


@record
class Held:
    """A custom function.

    Args:
        name: such as ``Outer.Inner``.
        value: the function.
        family: serves it.
    """

    name: str
    value: Any
    family: Framework


def families(device: str = "") -> list[Framework]:
    """Return what serves custom functions: of opkit, and of the frameworks that this process has imported."""
    return [layers, *loaded_frameworks(device)]


def named_in(names: Mapping[str, Any], name: str, device: str = "") -> tuple[Any, Held | None]:
    """Return what a dotted name stands for, and the custom function behind it, None where it is none."""
    found: Any = names.get(name.partition(".")[0])
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found, _custom(name, found, families(device))


def held(names: Mapping[str, Any], home: str, device: str = "") -> list[Held]:
    """Return the custom functions that a file's names lead to, one of several names once.

    What the file imports is another's, but in a file ``check_*.py``, and where the file has cases for it.

    Args:
        names: of the file.
        home: the name that its module goes by.
        device: where they are checked.
    """
    known, file = families(device), str(names.get("__file__", ""))
    imported = imported_names(file)
    found: dict[int, Held] = {}
    for name, value in _walk("", names, home, set()):
        item = _custom(name, value, known)
        if item is None:
            continue
        is_made = "<locals>" in getattr(item.value, "__qualname__", "") and name not in imported
        if item.family.home_of(item.value) == home or is_made or is_check(file) or f"cases_{name}" in names:
            known_as = found.get(id(item.value))
            if known_as is None or (name == name_of(item.value) != known_as.name):
                found[id(item.value)] = item
    return list(found.values())


def _custom(name: str, value: Any, known: list[Framework]) -> Held | None:
    for family in known:
        custom = family.custom(value)
        if family.knows(custom):
            return Held(name, custom, family)
    return None


def _walk(prefix: str, names: Mapping[str, Any], home: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield every name of a file and of the classes that it defines, with its value."""
    for name, value in list(names.items()):
        if not name.startswith("__"):
            yield f"{prefix}{name}", value
            if isinstance(value, type) and value.__module__ == home and id(value) not in seen:
                seen.add(id(value))
                yield from _walk(f"{prefix}{name}.", vars(value), home, seen)


def with_untaken(found: tuple[Found, ...], names: Mapping[str, Any], label: str, device: str) -> tuple[Found, ...]:
    """Return what a file gives with the report of what it declares, cases above all, and no function takes."""
    if found:
        every = (_custom(name, value, families(device)) for name, value in _walk("", names, "", set()))
        known = {name for item in every if item for name in (item.name, _last(name_of(item.value)))}
        mistakes = list(unread(names, {_last(reported_as(item)) for item in found}, sorted(known)))
        return (*found, unloadable(label, together(mistakes))) if mistakes else found
    cases = [value for name, value in names.items() if f"{name}_".startswith("cases_") and callable(value)]
    said = (
        "no function of the file takes these cases: those of a py_func stand in the script that calls it, and plain "
        "functions are checked by opkit.gradcheck(forward=f, backward=g, cases=...)"
    )
    mistakes = [UsageError(said, where=location_of(value)) for value in cases]
    return (unloadable(label, together(mistakes)),) if mistakes else ()


def _last(name: str) -> str:
    return re.split("[.:]", name.partition("#")[0])[-1]


def serve(item: Held, names: Mapping[str, Any], label: str, options: RunOptions, is_shared: bool = False) -> Unmade:
    """Return a custom function: an op is made of it with the cases that its file declares, else of searched inputs.

    Args:
        item: the function.
        names: of the file.
        label: what reports call it.
        options: of the run.
        is_shared: cases without a name may be meant for another function.
    """

    def make(names: Mapping[str, Any] = names, is_shared: bool = is_shared) -> Checkable | OpReport:
        try:
            made = item.family.named(item.value, names, label, options.check)
        except OpkitError as error:
            if is_shared and not any(isinstance(one, CasesError) for one in mistakes_of(error)):
                return make({key: value for key, value in names.items() if key != "cases"}, is_shared=False)
            return unloadable(label, error)
        lines = replaced_at(str(names.get("__file__", "")), item.name)
        said = f"{item.name} is defined several times: the last is checked, not line {' and '.join(map(str, lines))}"
        return saying(made, said) if lines and isinstance(made, Checkable) else made

    return Unmade(label, make)


def serve_all(
    items: list[Held], names: Mapping[str, Any], file: str, options: RunOptions
) -> Iterator[tuple[Held, Found]]:
    """Do the same for several; a base class of others is skipped."""
    for item in items:
        label = f"{file}::{item.name}"
        try:
            item.family.subject_of(item.value)
        except NamedError:
            pass
        except UsageError as error:
            yield item, skipped(label, error.message, error.where)
            continue
        is_shared = len(items) > 1 and "cases" in names and f"cases_{item.name}" not in names
        yield item, serve(item, names, label, options, is_shared)
