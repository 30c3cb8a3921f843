"""Bindings: what the template parameters of a function stand for while it is lowered.

A parameter is bound to a type, to the value of a constant or function, or to the name of a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from opkit.spec.library.types import Type
from opkit.spec.lower.lowered import Lowered

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
