"""Uses: the argument and attribute names that a unit names as constants, for the lints.

What they are compared with stands in ``checks``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opkit.spec.library.types import Type
from opkit.spec.lower.lowered import Value
from opkit.spec.parse.syntax import Call, InitList, Node

__all__ = ["Use", "attr_use", "use_of"]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a name.

    Args:
        kind: any, in, out, query, grad, bind, attr, bwtype, bwin, bwout, bwattr.
        name: the constant.
        owner: type of the object that was asked.
        node: the literal, or the call where there is none.
        detail: index for arguments, attribute type for attributes.
    """

    kind: str
    name: str
    owner: str
    node: Node
    detail: tuple[Any, ...]


def use_of(flags: frozenset[str], method: str, owner: Type, args: list[Value], node: Call) -> Use | None:
    """Return the use that a library call makes, None where it names no constant."""
    for flag in flags:
        if not flag.startswith("@"):
            continue
        kind = flag[1:]
        place = 1 if kind == "bind" else 0
        if place >= len(args) or not args[place].is_const:
            return None
        value, index = args[place].const, None
        if kind in ("arg", "bindarg"):
            if not isinstance(value, tuple):
                return None
            value, index = value
        elif place + 1 < len(args) and args[place + 1].is_const:
            index = args[place + 1].const
        if not isinstance(value, str):
            return None
        found = {"arg": "any", "bindarg": "bind"}.get(kind, kind)
        if kind == "in" and method == "NeedGenGradTensor4OpInput":
            found = "need"
        return Use(found, value, owner.name, _literal(node.args[place]), (index,))
    return None


def _literal(node: Node) -> Node:
    """Return the name itself where it stands in ``OpArg("x", 0)`` or ``{"x", 0}``."""
    if isinstance(node, Call) and node.args:
        return node.args[0]
    if isinstance(node, InitList) and node.items:
        return node.items[0]
    return node


def attr_use(name: str, kind: str, owner: Type, node: Call) -> Use:
    """Return the use of an attribute."""
    return Use("attr", name, owner.name, node.args[0], (kind,))
