"""Lowered: what lowering knows of one expression: its Python, its C++ type, where it is stored.

Also the errors of lowering and the variables that names stand for.

Bindings: what the template parameters of a function stand for while it is lowered.

A parameter is bound to a type, to the value of a constant or function, or to the name of a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from opkit.record import mutable
from opkit.spec.library.types import UNKNOWN, Type
from opkit.spec.parse.syntax import Function, Node

#: Python's precedence levels, as far as generated code needs them.
ATOM, UNARY, MUL, ADD, SHIFT, CMP, NOT, AND, OR, TERNARY, ANY = 20, 14, 13, 12, 11, 6, 5, 4, 3, 2, 0


class LowerError(Exception):
    """A mistake in the definition file that lowering found; it is reported and the statement left out."""

    def __init__(self, code: str, message: str, node: Node, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.node = node
        self.help = help


class SpentError(LowerError):
    """The definition file is too much to lower; only the first place is reported."""


@mutable
class Lowered:
    """One lowered expression.

    Args:
        code: Python that evaluates to it.
        type: its C++ type.
        prec: precedence of ``code``.
        is_stored: whether it refers to something stored, so that initialising from it copies.
        target: Python that can be assigned to, "" where it cannot.
        place: how a pointer to it is made: ("item", object, index), ("field", object, name), ("cell", code).
        deref: for a pointer, Python of what it points at, "" where the pointer has to be followed.
        is_small: an integer that is small and not negative, so that arithmetic with it cannot overflow.
        const: its value where that is known, else None; ``is_const`` distinguishes None from unknown.
        functions: for the name of a function, its overloads.
        items: for a braced list, its elements.
        error_parts: for an error, code of the parts of its message.
        is_read_only: whether it is const.
        negated: code of its opposite, where that reads better than ``not``.
    """

    code: str
    type: Type
    prec: int = ATOM
    is_stored: bool = False
    target: str = ""
    place: tuple[str, ...] = ()
    deref: str = ""
    is_small: bool = False
    const: Any = None
    is_const: bool = False
    functions: tuple[Function, ...] = ()
    items: tuple[Any, ...] | None = None
    error_parts: tuple[str, ...] | None = None
    is_read_only: bool = False
    negated: str = ""

    @property
    def negation(self) -> str:
        """Code of the opposite of a condition."""
        return self.negated or f"not {self.at(CMP)}"

    def at(self, prec: int) -> str:
        """Return the code, in parentheses where it binds less tightly than asked for."""
        return self.code if self.prec >= prec else f"({self.code})"

    @property
    def is_unknown(self) -> bool:
        """Whether a finding about it has already been made."""
        return self.type is UNKNOWN


@mutable
class Frame:
    """One Python function that is being written: the variables it must declare nonlocal."""

    parent: Frame | None = None
    nonlocals: set[str] = field(default_factory=set)
    captured: dict[str, tuple[str, str]] = field(default_factory=dict)
    by_value: frozenset[str] = frozenset()
    captures_all: bool = False
    is_mutable: bool = False

    def captures(self, name: str) -> bool:
        """Return whether this function captures a variable by value."""
        return name in self.by_value or self.captures_all


@mutable
class Variable:
    """What a name stands for: kind "plain" (a Python variable), "cell" (its ``.v``) or "alias" (other code)."""

    name: str
    python: str
    type: Type
    kind: str
    frame: Frame
    node: Node
    is_read_only: bool = False
    value: Lowered | None = None
    is_set: bool = True
    first_read: Node | None = None
    is_used: bool = False


Binding: TypeAlias = Type | Lowered | str
Bindings: TypeAlias = Mapping[str, Binding]


def binding_text(binding: Binding) -> str:
    """Return a binding in a form that distinguishes it from others."""
    if isinstance(binding, Lowered):
        return f"={binding.const!r}" if binding.is_const else f"={binding.code}"
    return binding if isinstance(binding, str) else f":{binding}"


def binding_key(bindings: Bindings) -> tuple[tuple[str, str], ...]:
    """Return a key that distinguishes one set of bindings from another."""
    return tuple(sorted((name, binding_text(item)) for name, item in bindings.items()))
