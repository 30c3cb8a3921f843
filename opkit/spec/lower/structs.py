"""Lowering of structs: their objects, fields, functions and constructors become Records and units.

What a struct holds is read from its syntax; objects are copied where C++ copies them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.errors import unknown
from opkit.spec.library.types import Type
from opkit.spec.lower.conversions import convert, copied, default_code, zero_code
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.parse import syntax

if TYPE_CHECKING:
    from opkit.spec.lower.program import SpecProgram
    from opkit.spec.lower.statements import StatementLowering


def struct_of(program: SpecProgram, kind: Type) -> syntax.Struct:
    """Return the struct that a type names."""
    return program.structs[kind.element.name]


def field_types(program: SpecProgram, struct: syntax.Struct) -> dict[str, tuple[Type, syntax.Declarator]]:
    """Return the fields of a struct in order, with their types."""
    fields: dict[str, tuple[Type, syntax.Declarator]] = {}
    for declaration in struct.fields:
        for item in declaration.names:
            kind = program.type_of(declaration.type, {}, stars=item.stars)
            fields[item.name] = (Type("vector", (kind,)) if item.size is not None else kind, item)
    return fields


def field_value(owner: Lowered, name: str, kind: Type) -> Lowered:
    """Return the value of a field of an object."""
    code = f"{owner.at(ATOM)}.{name}"
    return Lowered(code, kind, ATOM, True, "" if owner.is_read_only else code, ("field", owner.at(ATOM), name))


def missing_field(program: SpecProgram, name: str, struct: syntax.Struct, node: syntax.Node) -> LowerError:
    """Return the error for a member that a struct does not have."""
    known = [*field_types(program, struct), *(item.name.text for item in struct.functions)]
    said = unknown(f"{struct.name} has no member", name, known, otherwise=f"it has {', '.join(known) or 'none'}")
    return LowerError("SPEC021", said.message, node, said.help)


def bind_fields(lowering: StatementLowering, struct: syntax.Struct, node: syntax.Node) -> None:
    """Let the fields of ``self`` be named alone, and ``this`` name it."""
    owner = Lowered("self", Type("struct", (Type(struct.name),)))
    for name, (kind, _) in field_types(lowering.program, struct).items():
        lowering.declare(name, kind, "alias", node, field_value(owner, name, kind))
    this = Lowered("self", Type("ptr", (owner.type,)))
    lowering.declare("this", this.type, "alias", node, this)


def constructed(
    lowering: StatementLowering, kind: Type, args: list[Lowered], node: syntax.Node, is_braced: bool
) -> Lowered:
    """Lower the construction of an object: a copy, a constructor, or the fields in order."""
    program = lowering.program
    struct = struct_of(program, kind)
    if struct.has_base or struct.template:
        raise LowerError(
            "SPEC012", f"objects of {struct.name} cannot be created in definitions", node, "use a plain struct"
        )
    if len(args) == 1 and args[0].type == kind:
        return Lowered(copied(args[0]), kind)
    if len(args) == 1 and args[0].items is not None:
        args, is_braced = list(args[0].items), True
    for number, constructor in enumerate(struct.constructors):
        if len(constructor.params) == len(args):
            unit = program.constructor_unit(struct, number)
            ready = [
                lowering.argument(arg, wanted, node)
                if wanted.name == "ref"
                else lowering.passed(arg, wanted, node, True)
                for arg, wanted in zip(args, unit.type.args[1:], strict=True)
            ]
            return Lowered(f"{unit.name}({', '.join(ready)})", kind)
    if struct.constructors and args:
        counts = " or ".join(str(len(item.params)) for item in struct.constructors)
        raise LowerError("SPEC022", f"{struct.name} is constructed from {counts} arguments, {len(args)} given", node)
    fields = list(field_types(program, struct).items())
    if len(args) > len(fields) or (args and not is_braced):
        raise LowerError("SPEC022", f"{struct.name} cannot be constructed from {len(args)} arguments", node)
    given = [
        f"{name}={copied(convert(arg, field, node))}" for arg, (name, (field, _)) in zip(args, fields, strict=False)
    ]
    unit = program.constructor_unit(struct, -1)
    return Lowered(f"{unit.name}().set({', '.join(given)})" if given else f"{unit.name}()", kind)


def lower_constructor(
    lowering: StatementLowering, struct: syntax.Struct, constructor: syntax.Constructor | None
) -> tuple[str, list[Type]]:
    """Write the body of a unit that makes an object; return its parameters and their types."""
    node: syntax.Node = constructor or struct
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


def _initial(
    lowering: StatementLowering, kind: Type, item: syntax.Declarator, args: tuple[syntax.Expr, ...] | None
) -> str:
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
