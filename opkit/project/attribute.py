"""Attributes as ``opkit new --attr NAME:TYPE=DEFAULT`` gives them, and how C++ and Python spell them."""

from __future__ import annotations

import json
import keyword
from typing import Any

from opkit.errors import UsageError, unknown
from opkit.record import record

#: type of one value as written -> (C++ type, Python type)
_SCALARS: dict[str, tuple[str, type]] = {
    "float": ("float", float),
    "double": ("double", float),
    "int": ("int32_t", int),
    "int32": ("int32_t", int),
    "int64": ("int64_t", int),
    "bool": ("bool", bool),
    "str": ("std::string", str),
    "string": ("std::string", str),
}
#: Those of which there are lists, written in the plural.
_LISTED = ("float", "int", "int64", "string")
#: type as written -> (C++ type, Python type of one element, is a list)
_TYPES: dict[str, tuple[str, type, bool]] = {
    **{name: (cpp, python, False) for name, (cpp, python) in _SCALARS.items()},
    **{f"{name}s": (f"std::vector<{_SCALARS[name][0]}>", _SCALARS[name][1], True) for name in _LISTED},
}
_TEST_VALUES: dict[type, tuple[object, object]] = {float: (2.0, 4.0), int: (3, 5), bool: (True, False), str: ("a", "b")}


@record
class ScaffoldAttr:
    """An attribute of an op that is being scaffolded.

    Args:
        name: an identifier.
        type: the type as the user wrote it.
        cpp_type: the type as the registration writes it.
        default: its default, a plain Python value.
    """

    name: str
    type: str
    cpp_type: str
    default: Any

    @property
    def is_scale(self) -> bool:
        """Whether the scaffolded formula can be multiplied by it."""
        return type(self.default) in (int, float)

    @property
    def cpp_default(self) -> str:
        """The default as C++ spells it."""
        if isinstance(self.default, list):
            return f"{self.cpp_type}({{{', '.join(_cpp(item) for item in self.default)}}})"
        return _cpp(self.default)

    @property
    def py_default(self) -> str:
        """The default as Python spells it; a list as a tuple, which is safe as a default argument."""
        if isinstance(self.default, list):
            inner = ", ".join(_py(item) for item in self.default)
            return f"({inner},)" if len(self.default) == 1 else f"({inner})"
        return _py(self.default)

    @property
    def test_value(self) -> Any:
        """A value for tests, another than the default; a number that keeps products exact."""
        if isinstance(self.default, list):
            return self.default
        return next(value for value in _TEST_VALUES[type(self.default)] if value != self.default)

    @property
    def test_text(self) -> str:
        """The value for tests as Python spells it."""
        return self.py_default if isinstance(self.default, list) else _py(self.test_value)


def _cpp(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _py(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def parse_attr(text: str) -> ScaffoldAttr:
    """Read ``NAME:TYPE`` or ``NAME:TYPE=DEFAULT``; a list's default is comma-separated.

    Raises:
        UsageError: it cannot be read; the message says which part.

    Example:
        >>> parse_attr("alpha:float=0.1").cpp_default
        '0.1'
        >>> parse_attr("axes:ints=0,1").cpp_default
        'std::vector<int32_t>({0, 1})'
    """
    head, has_default, written = text.partition("=")
    name, colon, kind = (part.strip() for part in head.partition(":"))
    if not colon or not kind:
        raise UsageError(f"--attr {text!r}: expected NAME:TYPE or NAME:TYPE=DEFAULT, for example alpha:float=0.1")
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise UsageError(f"--attr {text!r}: {name!r} is not a usable attribute name")
    if kind not in _TYPES:
        raise unknown(f"--attr {text!r}: there is no attribute type", kind, _TYPES, has="there are").error(UsageError)
    cpp_type, element, is_list = _TYPES[kind]
    if is_list:
        parts = [part.strip() for part in written.split(",")] if written.strip() else []
        return ScaffoldAttr(name, kind, cpp_type, [_value(part, element, text) for part in parts])
    default = _value(written.strip(), element, text) if has_default else element()
    return ScaffoldAttr(name, kind, cpp_type, default)


def _value(written: str, element: type, text: str) -> object:
    try:
        if element is bool:
            return {"true": True, "1": True, "false": False, "0": False}[written.lower()]
        value = element(written)
    except (ValueError, KeyError):
        article = "an" if element is int else "a"
        raise UsageError(f"--attr {text!r}: {written!r} is not {article} {element.__name__}") from None
    if element is float and value - value != 0:
        raise UsageError(f"--attr {text!r}: {written!r} cannot be written in C++; choose a finite number")
    return value
