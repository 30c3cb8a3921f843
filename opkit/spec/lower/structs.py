"""Lowering of structs: their fields, and the objects that are made of them, which become Records.

What a struct holds is read from its syntax; objects are copied where C++ copies them.
"""

from __future__ import annotations

from opkit.errors import unknown
from opkit.spec.library.types import Type
from opkit.spec.lower.conversions import convert, copied
from opkit.spec.lower.instances import Instances
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.lower.units import UnitLowering
from opkit.spec.parse.syntax import Declarator, Node, Struct


def struct_of(program: Instances, kind: Type) -> Struct:
    """Return the struct that a type names."""
    return program.structs[kind.element.name]


def field_types(program: Instances, struct: Struct) -> dict[str, tuple[Type, Declarator]]:
    """Return the fields of a struct in order, with their types."""
    fields: dict[str, tuple[Type, Declarator]] = {}
    for declaration in struct.fields:
        for item in declaration.names:
            kind = program.type_of(declaration.type, {}, stars=item.stars)
            fields[item.name] = (Type("vector", (kind,)) if item.size is not None else kind, item)
    return fields


def field_value(owner: Lowered, name: str, kind: Type) -> Lowered:
    """Return the value of a field of an object."""
    code = f"{owner.at(ATOM)}.{name}"
    return Lowered(code, kind, ATOM, True, "" if owner.is_read_only else code, ("field", owner.at(ATOM), name))


def missing_field(program: Instances, name: str, struct: Struct, node: Node) -> LowerError:
    """Return the error for a member that a struct does not have."""
    known = [*field_types(program, struct), *(item.name.text for item in struct.functions)]
    said = unknown(f"{struct.name} has no member", name, known, otherwise=f"it has {', '.join(known) or 'none'}")
    return LowerError("SPEC021", said.message, node, said.help)


def constructed(
    program: Instances, lowering: UnitLowering, kind: Type, args: list[Lowered], node: Node, is_braced: bool
) -> Lowered:
    """Lower the construction of an object: a copy, a constructor, or the fields in order."""
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
