"""Key: what each key of ``[tool.opkit]`` may hold, what it means, and its value where nobody sets it.

Where values come from is not known here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from opkit.diagnostics import codes
from opkit.errors import UsageError, unknown
from opkit.record import record
from opkit.reporters import FORMS


@record
class Key:
    """A key of the configuration.

    Args:
        name: as it is written.
        default: what holds where nobody sets it.
        expects: what a value must be, in words.
        meaning: one sentence.
        reads: returns the value to use of the one in the file; raises a ValueError where it is not what is expected.
        is_per_op: whether ``[tool.opkit.overrides.OP]`` may set it.
    """

    name: str
    default: Any
    expects: str
    meaning: str
    reads: Callable[[Any], Any]
    is_per_op: bool = False


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise ValueError
    return float(value)


def _positive(value: Any) -> float:
    if (number := _number(value)) == 0:
        raise ValueError
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise ValueError
    return tuple(value)


def _device(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    kind, colon, number = value.partition(":")
    if not kind.isidentifier() or (colon and not number.isdecimal()):
        raise ValueError
    return value


def _codes(value: Any) -> tuple[str, ...]:
    found = tuple(item.strip().upper() for item in _texts(value))
    known = [code for code in codes() if code.startswith(("GC", "SBP"))]
    for code in found:
        if code not in known:
            raise unknown("there is no check", code, known, limit=3).error(UsageError)
    return found


def _reports(value: Any) -> tuple[str, ...]:
    found = _texts(value)
    for item in found:
        form, equals, file = item.partition("=")
        if not equals or not file:
            raise ValueError
        if form not in FORMS:
            raise unknown("there is no report form", form, FORMS, has="there are").error(UsageError)
    return found


_ALL = (
    Key("paths", (), "a list of files and folders", "where commands look that are given no path", _texts),
    Key("seed", 0, "a whole number, 0 or more", "of all random choices", _whole, is_per_op=True),
    Key("effort", 1.0, "a number above 0", "how much to try", _positive, is_per_op=True),
    Key("timeout", 60.0, "seconds, 0 for no limit", "that one op may take", _number, is_per_op=True),
    Key("memory", 4096, "mebibytes, 0 for no limit", "that one op may use", _whole, is_per_op=True),
    Key("jobs", 0, "a whole number, 0 for one per core", "ops checked at once", _whole),
    Key("strict", False, "true or false", "whether undecided checks count as failed", _flag),
    Key("device", "", 'a name such as "cuda:1"', "where functions of torch and JAX run", _device),
    Key("select", (), 'a list of codes, such as ["GC101"]', "the checks to run; empty: all", _codes, is_per_op=True),
    Key("ignore", (), 'a list of codes, such as ["GC140"]', "checks to skip", _codes, is_per_op=True),
    Key("reports", (), 'a list of FORM=FILE, such as ["html=report.html"]', "what gradcheck also writes", _reports),
)
#: Every key by name, in the order in which they are shown.
KEYS = {key.name: key for key in _ALL}
