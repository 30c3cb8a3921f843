"""Lowering of members: the object that a member is asked of, fields and parts of pairs, and the attributes of an op.

Which functions an object has, and how they are called, is in ``calls``.
"""

from __future__ import annotations

from opkit.errors import unknown
from opkit.spec.library.table import METHODS
from opkit.spec.library.types import ATTR_TYPES, STRING, Type, spelled
from opkit.spec.lower.assignments import AssignmentLowering
from opkit.spec.lower.conversions import convert, copied
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.lower.structs import field_types, field_value, missing_field, struct_of
from opkit.spec.parse.syntax import Call, Member, Node

#: C++ type to attribute type.
ATTR_KINDS: dict[Type, str] = {kind: name for name, kind in ATTR_TYPES.items()}
#: Types whose ``Attr`` and ``attr`` read an attribute of the op.
ATTR_OWNERS = frozenset({"InferContext", "SbpContext", "OpConf", "FwOp"})


class MemberLowering(AssignmentLowering):
    """Lower members that are not called, and attributes."""

    def owner_of(self, node: Member) -> Lowered:
        """Lower the object of a member, through the pointer where there is one."""
        owner = self.lower(node.object)
        if owner.is_unknown:
            return owner
        is_pointer = owner.type.name == "ptr"
        if node.arrow:
            if is_pointer:
                return self.dereference(owner, node.object)
            if owner.type.name == "iter":
                return self.dereference(owner, node.object)
            if owner.type.name == "mapiter":
                return owner
            raise LowerError(
                "SPEC021",
                f"'->' needs a pointer, and this is a {spelled(owner.type)}",
                node.object,
                "write '.' instead",
            )
        if is_pointer:
            raise LowerError(
                "SPEC021", f"'.' on a pointer to {spelled(owner.type.element)}", node.object, "write '->' instead"
            )
        return owner

    def member(self, node: Member) -> Lowered:
        """Lower a member that is not called: the parts of a pair."""
        owner = self.owner_of(node)
        if owner.is_unknown:
            return owner
        name, kind = node.name.text, owner.type
        if kind.name == "struct":
            struct = struct_of(self.program, kind)
            found = field_types(self.program, struct).get(name)
            if found is None:
                raise missing_field(self.program, name, struct, node)
            return field_value(owner, name, found[0])
        if name in ("first", "second"):
            place = 0 if name == "first" else 1
            if kind.name == "pair":
                part = kind.args[place]
                return Lowered(f"{owner.at(ATOM)}[{place}]", part, ATOM, True)
            if kind.name == "mapiter":
                part = kind.args[min(place, len(kind.args) - 1)]
                code = f"{owner.at(ATOM)}.{name}"
                return Lowered(code, part, ATOM, True, code if place and not part.is_object else "")
        if name in METHODS[kind.name]:
            raise LowerError("SPEC021", f"{name!r} is a function of {spelled(kind)}", node, f"call it: {name}()")
        raise self.missing_member(name, kind, node)

    def missing_member(self, name: str, kind: Type, node: Node) -> LowerError:
        """Return the error for a member that a type does not have."""
        known = set(METHODS[kind.name])
        if kind.name in ATTR_OWNERS:
            known |= {"Attr", "attr"}
        some = f"it has {', '.join(sorted(known)[:8])}" if known else ""
        said = unknown(f"{spelled(kind)} has no member", name, known, otherwise=some)
        return LowerError("SPEC021", said.message, node, said.help)

    # -- attributes ---------------------------------------------------------------------------

    def attr_call(
        self, owner: Lowered, wanted: Type | None, args: list[Lowered], node: Call, member: Member
    ) -> Lowered:
        """Lower ``Attr<T>("name")`` of a context."""
        kind = owner.type
        if len(args) != 1 and member.name.text != "attr_or_default":
            raise LowerError("SPEC022", f"'{member.name.text}' takes the attribute's name", node)
        if wanted is None:
            raise LowerError(
                "SPEC022",
                f"'{member.name.text}' needs the attribute's type",
                member.name,
                f'write {member.name.text}<T>("name")',
            )
        attr_kind = ATTR_KINDS.get(wanted)
        if attr_kind is None:
            raise LowerError("SPEC034", f"no attribute has the type {spelled(wanted)}", member.name, _attr_help())
        name = convert(args[0], STRING, node)
        self.unit.note_attr(name, attr_kind, kind, node)
        if name.is_const:
            key = repr(f"{name.const}:{attr_kind}")
        else:
            key = f'{name.at(12)} + ":{attr_kind}"'
        code = f"{owner.at(ATOM)}.attrs[{key}]"
        return Lowered(code, wanted, ATOM, True, is_read_only=True)

    def builder_attr(self, owner: Lowered, wanted: Type | None, args: list[Lowered], node: Call) -> Lowered:
        """Lower ``Attr("name", value)`` of a builder; the value's type is the attribute's."""
        if len(args) != 2:
            raise LowerError("SPEC022", "'Attr' of a builder takes a name and a value", node)
        value = args[1]
        if wanted is None:
            wanted = value.type
        attr_kind = ATTR_KINDS.get(wanted)
        if attr_kind is None:
            raise LowerError("SPEC034", f"no attribute has the type {spelled(wanted)}", node.args[1], _attr_help())
        value = convert(value, wanted, node.args[1])
        name = convert(args[0], STRING, node.args[0])
        self.unit.note_builder_attr(name, node)
        return Lowered(
            f"{owner.at(ATOM)}.attr({name.code}, {attr_kind!r}, {copied(value)})", owner.type, is_stored=True
        )


def _attr_help() -> str:
    return "attributes are int32_t, int64_t, bool, float, double, std::string, Shape, DataType or vectors of them"
