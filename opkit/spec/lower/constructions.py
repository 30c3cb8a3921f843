"""Constructions: ``T(args)`` and ``T{args}`` of the library's types.

Objects of structs that a definition defines are in ``lower.structs``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from opkit.spec.library.types import BOOL, DIM_VECTOR, INT32, INT64, OP_ARG, STRING, Type, pointer, spelled
from opkit.spec.lower.conversions import construct_list, convert, copied, fit, is_range, listed, made_of_nothing
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.parse.syntax import Node


class Constructing(Protocol):
    """What a construction needs of the lowering that it is part of."""

    def construct(self, kind: Type, args: list[Lowered], node: Any, braced: bool) -> Lowered:
        """Lower ``T(args)`` and ``T{args}``."""

    def owned(self, value: Lowered) -> Lowered:
        """Return a copy where the value is stored elsewhere."""


_Maker = Callable[[Constructing, Type, list[Lowered], Any, bool], "Lowered | None"]


def _make_vector(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    check = "axes(" if kind.name == "fixed_vector" else "("
    if braced and args and not (len(args) == 1 and args[0].type == kind):
        return construct_list(listed(args), kind, node)
    if len(args) == 1:
        value = args[0]
        if value.items is not None:
            items = value.items
            if len(items) == 1 and items[0].items is not None and fit(items[0], kind.element, node) is None:
                value = items[0]
            return construct_list(value, kind, node)
        if value.type.is_integer:
            count = convert(value, INT64, node).code
            if kind.element.is_object:
                made = self.construct(kind.element, [], node, False).code
                return Lowered(f"{check}[{made} for _ in filled({count}, 0)])", kind)
            return Lowered(f"{check}filled({count}, {made_of_nothing(kind.element, node)}))", kind)
    elif len(args) == 2:
        if is_range(args):
            return Lowered(f"{check}between({args[0].code}, {args[1].code}))", kind)
        if args[0].type.is_integer and fit(args[1], kind.element, node) is not None:
            count, fill = convert(args[0], INT64, node).code, convert(args[1], kind.element, node)
            if kind.element.is_object:
                return Lowered(
                    f"{check}[{copied(Lowered(fill.code, fill.type, is_stored=True))} for _ in filled({count}, 0)])",
                    kind,
                )
            return Lowered(f"{check}filled({count}, {fill.code}))", kind)
    return None


def _make_shape(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if len(args) == 1:
        value = args[0]
        if value.items is not None:
            return construct_list(value, kind, node)
        if value.type == DIM_VECTOR:
            return Lowered(f"Shape(tuple({value.code}))", kind)
        if value.type.is_shape:
            code = f"Shape({value.at(ATOM)}.dims)" if kind.name == "Shape" else value.code
            return Lowered(code, kind)
        if braced and value.type.is_integer:
            return construct_list(listed(args), kind, node)
        raise LowerError(
            "SPEC022", f"a Shape cannot be constructed from a {spelled(value.type)}", node, "write Shape({...})"
        )
    if args and braced:
        return construct_list(listed(args), kind, node)
    return None


def _make_op_arg(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if len(args) == 1 and args[0].items is not None:
        return construct_list(args[0], OP_ARG, node)
    if len(args) == 1 and args[0].type == kind:
        return args[0]
    if len(args) != 2:
        raise LowerError(
            "SPEC022", f"an OpArg is constructed from a name and an index, {len(args)} arguments given", node
        )
    return construct_list(listed(args), kind, node)


def _make_pair(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    return construct_list(listed(args), kind, node) if len(args) == 2 else None


def _make_set(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if is_range(args):
        return Lowered(f'make_map("{kind.name}", between({args[0].code}, {args[1].code}))', kind)
    if args and (braced or args[0].items is not None):
        value = args[0] if args[0].items is not None else listed(args)
        return construct_list(value, kind, node)
    return None


def _make_string(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if len(args) == 2 and args[0].type.is_integer and args[1].type.is_integer:
        return Lowered(f"chr({args[1].code}) * len(filled({args[0].code}, 0))", STRING, 13)
    return None


def _make_called(name: str, params: tuple[Type, ...]) -> _Maker:
    def make(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
        if len(args) == 1 and args[0].type == kind:
            return args[0]
        if len(args) != len(params):
            raise LowerError(
                "SPEC022", f"a {spelled(kind)} is constructed from {len(params)} arguments, {len(args)} given", node
            )
        codes = [convert(arg, param, node).code for arg, param in zip(args, params, strict=True)]
        return Lowered(f"{name}({', '.join(codes)})", kind)

    return make


def _make_builder(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if len(args) != 1:
        raise LowerError("SPEC022", "a UserOpConfWrapperBuilder is constructed from the op's name", node)
    return Lowered(f"OpBuilder({convert(args[0], STRING, node).code})", kind)


def _make_desc(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    return self.owned(args[0]) if len(args) == 1 and args[0].type == kind else None


def _make_stream(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    return Lowered(f"Stream({convert(args[0], STRING, node).code})", kind) if len(args) == 1 else None


def _make_sbp_builder(self: Constructing, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered | None:
    if len(args) == 1 and args[0].type == pointer(Type("SbpSignatureList")):
        return Lowered(f"SbpBuilder({args[0].code})", kind)
    return args[0] if len(args) == 1 and args[0].type == kind else None


_VECTOR_I32 = Type("vector", (INT32,))


CONSTRUCTORS: dict[str, _Maker] = {
    "vector": _make_vector,
    "fixed_vector": _make_vector,
    "Shape": _make_shape,
    "ShapeView": _make_shape,
    "OpArg": _make_op_arg,
    "pair": _make_pair,
    "set": _make_set,
    "ordered_set": _make_set,
    "map": _make_set,
    "ordered_map": _make_set,
    "string": _make_string,
    "OpBuilder": _make_builder,
    "SbpBuilder": _make_sbp_builder,
    "TensorDesc": _make_desc,
    "stringstream": _make_stream,
    "BalancedSplitter": _make_called("BalancedSplitter", (INT64, INT64)),
    "Params3D": _make_called(
        "Params3D", (INT32, Type("ShapeView"), STRING, STRING, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, BOOL)
    ),
}
