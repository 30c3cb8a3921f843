"""Uses: the argument and attribute names that a unit names as constants, for the lints.

What they are compared with is in ``check``.
"""

from __future__ import annotations

import ast
from typing import Any

from opkit.record import record
from opkit.spec.library.types import Type
from opkit.spec.lower.lowered import Lowered
from opkit.spec.parse.syntax import Call, InitList, Node

#: Parts of a computed op type: what is not known, and the type of the forward op.
HOLE, FORWARD_TYPE = "*", "\0forward"


@record
class Use:
    """One use of a name.

    Args:
        kind: any, in, out, query, grad, bind, attr, bwtype, bwcomputed, bwin, bwout, bwattr.
        name: the constant, "" where the name is computed.
        owner: type of the object that was asked.
        node: the literal, or the call where there is none.
        detail: index for arguments, attribute type for attributes, what a computed op type is made of.
    """

    kind: str
    name: str
    owner: str
    node: Node
    detail: tuple[Any, ...]


def use_of(flags: frozenset[str], method: str, owner: Type, args: list[Lowered], node: Call) -> Use | None:
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
    """Return the name itself where it is in ``OpArg("x", 0)`` or ``{"x", 0}``."""
    if isinstance(node, Call) and node.args:
        return node.args[0]
    if isinstance(node, InitList) and node.items:
        return node.items[0]
    return node


def attr_use(name: str, kind: str, owner: Type, node: Call) -> Use:
    """Return the use of an attribute."""
    return Use("attr", name, owner.name, node.args[0], (kind,))


def computed_type(code: str, owner: Type, node: Call) -> Use:
    """Return the use of an op type that the code of a backward op computes.

    Args:
        code: the Python of the op type.
        owner: type of the builder.
        node: the call that sets it.
    """
    return Use("bwcomputed", "", owner.name, node.args[0], tuple(_parts(ast.parse(code, mode="eval").body)))


def _parts(code: ast.expr) -> list[tuple[str, ...]]:
    """Return the texts that a string expression can have, each as its constants, holes and the forward op's type."""
    if isinstance(code, ast.Constant) and isinstance(code.value, str):
        return [(code.value,)]
    if isinstance(code, ast.IfExp):
        return [*_parts(code.body), *_parts(code.orelse)]
    pair: tuple[ast.expr, ...] = ()
    if isinstance(code, ast.BinOp) and isinstance(code.op, ast.Add):
        pair = (code.left, code.right)
    elif isinstance(code, ast.Call) and isinstance(code.func, ast.Name) and code.func.id == "cat":
        pair = tuple(code.args)
    if len(pair) == 2:
        left, right = _parts(pair[0]), _parts(pair[1])
        # Chains of alternatives would multiply; past a few of them the rest is not distinguished.
        if len(left) * len(right) <= 64:
            return [(*a, *b) for a in left for b in right]
    is_forward = ast.unparse(code).endswith(".conf.op_type") if isinstance(code, ast.Attribute) else False
    return [(FORWARD_TYPE if is_forward else HOLE,)]
