"""Constructors: how they become units, and what the functions of a struct see of its object.

What a struct holds is in ``structs``.
"""

from __future__ import annotations

from opkit.spec.library.types import Type
from opkit.spec.lower.conversions import convert, copied, default_code, zero_code
from opkit.spec.lower.lowered import Lowered
from opkit.spec.lower.statements import StatementLowering
from opkit.spec.lower.structs import field_types, field_value, missing_field
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Declarator, Expr, Node, Struct


def bind_fields(lowering: StatementLowering, struct: Struct, node: Node) -> None:
    """Let the fields of ``self`` be named alone, and ``this`` name it."""
    owner = Lowered("self", Type("struct", (Type(struct.name),)))
    for name, (kind, _) in field_types(lowering.program, struct).items():
        lowering.declare(name, kind, "alias", node, field_value(owner, name, kind))
    this = Lowered("self", Type("ptr", (owner.type,)))
    lowering.declare("this", this.type, "alias", node, this)


def lower_constructor(
    lowering: StatementLowering, struct: Struct, constructor: syntax.Constructor | None
) -> tuple[str, list[Type]]:
    """Write the body of a unit that makes an object; return its parameters and their types."""
    node: Node = constructor or struct
    params, kinds = lowering.parameters(constructor.params) if constructor is not None else ("", [])
    inits = dict(constructor.inits) if constructor is not None else {}
    lowering.emit("METER.enter(8)", node)
    lowering.emit("self = Record()", node)
    with lowering.scope():
        for name, (kind, item) in field_types(lowering.program, struct).items():
            lowering.emit(f"self.{name} = {_initial(lowering, kind, item, inits.pop(name, None))}", item)
        for name in inits:
            raise missing_field(lowering.program, name, struct, node)
    if constructor is not None:
        shadowed = {param.name for param in constructor.params}
        outer = dict(lowering.scopes[-1])
        bind_fields(lowering, struct, node)
        lowering.scopes[-1].update({name: item for name, item in outer.items() if name in shadowed})
        lowering.result = Type("void")
        lowering.statements(constructor.body.items)
    lowering.emit("return self", node)
    return params, kinds


def _initial(lowering: StatementLowering, kind: Type, item: Declarator, args: tuple[Expr, ...] | None) -> str:
    """Return the code of a field's first value."""
    if args is not None:
        return copied(lowering.construct(kind, [lowering.lower(arg) for arg in args], item, False))
    value = lowering.initial(kind, item)
    if value is not None:
        return copied(convert(value, kind, item))
    if kind.name == "struct":
        return lowering.construct(kind, [], item, False).code
    if item.size is not None:
        return f"filled({lowering.lower(item.size).code}, {zero_code(kind.element)})"
    return default_code(kind) or "None"
