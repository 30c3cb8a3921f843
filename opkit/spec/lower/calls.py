"""Lowering of calls: methods by the library's table, functions of the file, constructions, OneFlow's macros.

Overloads are chosen by argument types, as C++ does. Members and attributes that are read are in ``members``.
"""

from __future__ import annotations

from collections.abc import Sequence

from opkit.errors import unknown
from opkit.spec.library.table import FREE_FUNCTIONS, METHODS, STATIC_FUNCTIONS, LibraryFunction, substitute
from opkit.spec.library.types import DIM_VECTOR, INT64, STRING, UNKNOWN, VOID, Type, spelled
from opkit.spec.lower.constructions import CONSTRUCTORS
from opkit.spec.lower.conversions import (
    construct_list,
    convert,
    convert_number,
    copied,
    fit,
    made_of_nothing,
    number_literal,
)
from opkit.spec.lower.expressions import any_unknown, unknown_value
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.lower.members import ATTR_OWNERS, MemberLowering
from opkit.spec.lower.structs import constructed, field_types, field_value, missing_field, struct_of
from opkit.spec.parse.syntax import Call, Member, Name, Node

#: Parameters of containers' functions that stand for elements.
_ELEMENTS = frozenset({"T", "K", "V"})
_ATTR_READERS = frozenset({"Attr", "attr", "attr_or_default"})
#: Stands for a call's place in code that is being filled in; no code of a definition holds it.
_AT = "\0at"
_STRING_CHANGES = frozenset({"push_back", "append", "pop_back", "clear"})


class CallLowering(MemberLowering):
    """Lower calls."""

    def special_call(self, text: str, node: Call, name: Name) -> Lowered | None:
        """Lower a call of std or of a macro; the standard lowering provides it."""
        raise NotImplementedError

    def special_names(self) -> set[str]:
        """Return the names that ``special_call`` knows; the standard lowering provides it."""
        raise NotImplementedError

    # -- calls --------------------------------------------------------------------------------

    def call(self, node: Call) -> Lowered:
        """Lower a call: of a member, of a name, or of a value."""
        function = node.function
        if isinstance(function, Member):
            return self.method_call(node, function)
        if isinstance(function, Name):
            return self.name_call(node, function)
        value = self.lower(function)
        return self.value_call(value, node)

    def method_call(self, node: Call, member: Member) -> Lowered:
        """Lower a call of a member function."""
        name = member.name.text
        owner = self.owner_of(member)
        wanted = None
        if name in _ATTR_READERS and member.name.args:
            wanted = self.program.template_type_argument(member.name.args, self.bindings)
        args = self.arguments(node)
        if owner.is_unknown or any_unknown(args):
            return unknown_value()
        kind = owner.type
        if name in _ATTR_READERS:
            if kind.name == "OpBuilder":
                return self.builder_attr(owner, wanted, args, node)
            if kind.name in ATTR_OWNERS:
                return self.attr_call(owner, wanted, args, node, member)
        if kind.name == "struct":
            return self.struct_call(owner, name, args, node)
        if name in ("emplace_back", "push_back") and kind.is_vector:
            return self.append(owner, args, node)
        if name == "emplace" and kind.is_map and len(args) == 1:
            name = "insert"
        if name == "insert" and kind.is_set and len(args) == 2:
            code = f"[{owner.at(ATOM)}.insert(_x) for _x in between({args[0].code}, {args[1].code})]"
            return Lowered(code, VOID)
        if name == "resize" and kind.is_vector and args:
            return self.resized(owner, args, node)
        if kind == STRING and name in _STRING_CHANGES:
            return self.change_string(name, owner, args, node)
        if kind.name == "function":
            raise self.missing_member(name, kind, member.name)
        overloads = METHODS[kind.name].get(name)
        if overloads is None:
            raise self.missing_member(name, kind, member.name)
        return self.library_call(name, overloads, owner, args, node)

    def struct_call(self, owner: Lowered, name: str, args: list[Lowered], node: Call) -> Lowered:
        """Lower a call of a function of a struct's object."""
        struct = struct_of(self.program, owner.type)
        functions = [item for item in struct.functions if item.name.text == name and item.body is not None]
        if not functions:
            field = field_types(self.program, struct).get(name)
            if field is not None and field[0].name == "function":
                return self.value_call(field_value(owner, name, field[0]), node)
            raise missing_field(self.program, name, struct, node.function)
        receiver = "" if functions[0].is_static else owner.code
        bindings = {"<struct>": struct.name}
        return self.program.call_functions(self, tuple(functions), args, node, bindings, receiver)

    def library_call(
        self, name: str, overloads: list[LibraryFunction], owner: Lowered | None, args: list[Lowered], node: Call
    ) -> Lowered:
        """Lower a call of the library: choose the overload, convert the arguments, fill in the code."""
        kind = owner.type if owner is not None else VOID
        chosen = self.choose(name, overloads, kind, args, node)
        params = [substitute(param, kind) for param in chosen.params]
        ready = [
            self.kept(arg, param, node.args[i]) if plain.name in _ELEMENTS else self.argument(arg, param, node.args[i])
            for i, (arg, param, plain) in enumerate(zip(args, params, chosen.params, strict=True))
        ]
        if owner is not None:
            ready.insert(0, owner.at(ATOM))
        if chosen.flags:
            self.unit.note_use(chosen.flags, name, kind, args, node)
        code = _fill(chosen.code, ready)
        if "{at}" in chosen.code:  # the call's own place, for what is made there
            place = node.function.name if isinstance(node.function, Member) else node
            code = code.replace(_AT, str(self.program.site(place)))
        result = substitute(chosen.result, kind)
        made = Lowered(code, result, _prec(code), chosen.is_ref, is_small="small" in chosen.flags)
        if chosen.deref:
            made.deref = _fill(chosen.deref, ready)
        if name in ("at", "front", "back", "Get") and kind.is_vector and owner is not None:
            self.mark_element(made, name, owner, ready)
        elif name == "at" and kind.is_map and not result.is_object:
            made.target = f"{ready[0]}.data[{ready[1]}]"
        return made

    def mark_element(self, made: Lowered, name: str, owner: Lowered, ready: list[str]) -> None:
        """Let an element of a vector be assigned to and pointed at."""
        obj = ready[0]
        index = {"front": "0", "back": "-1"}.get(name) or ready[1]
        if obj.endswith(".dims"):
            made.is_read_only = True
            return
        if not made.type.is_object:
            made.target = f"{obj}[{index}]" if name in ("front", "back") else f"{obj}[idx({obj}, {index})]"
        made.place = ("item", obj, index if name != "back" else f"len({obj}) - 1")

    def choose(
        self, name: str, overloads: Sequence[LibraryFunction], kind: Type, args: list[Lowered], node: Call
    ) -> LibraryFunction:
        """Choose an overload by how well its parameters fit, or raise the error that C++ would report."""
        best: LibraryFunction | None = None
        best_score = 1 << 30
        for item in overloads:
            if len(item.params) != len(args):
                continue
            score = 0
            for arg, param, syntax_arg in zip(args, item.params, node.args, strict=True):
                found = fit(arg, substitute(param, kind), syntax_arg)
                if found is None:
                    score = -1
                    break
                score += found
            if 0 <= score < best_score:
                best, best_score = item, score
        if best is not None:
            return best
        counts = sorted({len(item.params) for item in overloads})
        if len(args) not in counts:
            wanted = " or ".join(map(str, counts))
            raise LowerError(
                "SPEC022", f"{name!r} takes {wanted} argument{'s' * (counts != [1])}, {len(args)} given", node
            )
        for arg, param, syntax_arg in zip(
            args, next(o for o in overloads if len(o.params) == len(args)).params, node.args, strict=True
        ):
            wanted_type = substitute(param, kind)
            if fit(arg, wanted_type, syntax_arg) is None:
                raise LowerError(
                    "SPEC022", f"{name!r} takes a {spelled(wanted_type)} here, not a {spelled(arg.type)}", syntax_arg
                )
        raise LowerError("SPEC022", f"no {name!r} takes these arguments", node)

    def argument(self, value: Lowered, wanted: Type, node: Node) -> str:
        """Return the code that passes an argument: by reference, or as a value of its own."""
        if wanted.name == "ref":
            return self.address(value, node).code
        made = convert(value, wanted, node)
        return made.code if made.prec > 2 or made.prec == ATOM else f"({made.code})"

    def kept(self, value: Lowered, wanted: Type, node: Node) -> str:
        """Return the code of an argument that a container keeps: a value of its own."""
        made = convert(value, wanted, node)
        return copied(made) if made.type.is_object else self.argument(value, wanted, node)

    def append(self, owner: Lowered, args: list[Lowered], node: Call) -> Lowered:
        """Lower push_back and emplace_back, whose arguments construct the element."""
        element = owner.type.element
        if len(args) == 1 and fit(args[0], element, node) is not None:
            item = convert(args[0], element, node)
        else:
            item = self.construct(element, args, node, False)
        name = "push_axis" if owner.type.name == "fixed_vector" else "push"
        if owner.is_read_only or owner.code.endswith(".dims"):
            raise LowerError("SPEC027", "this vector is const and cannot be changed", node)
        return Lowered(f"{name}({owner.code}, {copied(item)})", VOID)

    def change_string(self, name: str, owner: Lowered, args: list[Lowered], node: Call) -> Lowered:
        """Lower what changes a string: a new one is assigned, as Python's do not change."""
        self.store_check(owner, node)
        function = node.function
        if isinstance(function, Member):
            self.note_assignment(function.object)
        wanted = 1 if name in ("push_back", "append") else 0
        if len(args) != wanted:
            raise LowerError(
                "SPEC022", f"{name!r} takes {wanted} argument{'s' * (wanted != 1)}, {len(args)} given", node
            )
        code = '""' if name == "clear" else f"{owner.code}[:-1]"
        if wanted:
            code = self.join_strings(Lowered(owner.code, STRING, owner.prec), args[0], node).code
        self.emit(f"{owner.target} = {code}", node)
        return Lowered("None", VOID)

    def resized(self, owner: Lowered, args: list[Lowered], node: Call) -> Lowered:
        """Lower resize of a vector."""
        element = owner.type.element
        count = convert(args[0], INT64, node).code
        if len(args) > 1:
            fill = convert(args[1], element, node).code
        else:
            fill = self.fresh_value(element, node)
        code = f"resize({owner.code}, {count}, {fill})"
        return Lowered(f"axes({code} or {owner.code})" if owner.type == DIM_VECTOR else code, VOID)

    # -- names that are called ----------------------------------------------------------------

    def name_call(self, node: Call, name: Name) -> Lowered:
        """Lower a call of a name: a variable, a macro, a function of the file or of the library, or a type."""
        text = self.program.plain_name(name)
        first = name.parts[0].text
        if len(name.parts) == 1:
            variable = self.lookup(first)
            if variable is not None:
                return self.value_call(self.read(variable, name), node)
            bound = self.bindings.get(first)
            if isinstance(bound, Lowered):
                return self.value_call(bound, node)
        special = self.special_call(text, node, name)
        if special is not None:
            return special
        local = self.program.functions_named(text, self.bindings)
        if local:
            args = self.arguments(node)
            if any_unknown(args):
                return unknown_value()
            return self.program.call_local(self, text, name, args, node)
        overloads = FREE_FUNCTIONS.get(text) or STATIC_FUNCTIONS.get(text)
        if overloads is None and "::" in text:
            overloads = STATIC_FUNCTIONS.get("::".join(text.split("::")[-2:])) or FREE_FUNCTIONS.get(
                name.parts[-1].text
            )
        if overloads is not None:
            args = self.arguments(node)
            if any_unknown(args):
                return unknown_value()
            return self.free_call(text, overloads, args, node)
        kind = self.program.find_type(name, self.bindings)
        if kind is not None:
            return self.construct(kind, self.arguments(node), node, False)
        return self.missing_function(text, name)

    def free_call(self, name: str, overloads: list[LibraryFunction], args: list[Lowered], node: Call) -> Lowered:
        """Lower a call of a library function that belongs to no object."""
        chosen = self.choose(name, overloads, VOID, args, node)
        ready = [
            self.argument(arg, param, node.args[i])
            for i, (arg, param) in enumerate(zip(args, chosen.params, strict=True))
        ]
        code = _fill(chosen.code.replace("{all}", ", ".join(ready)), ready)
        return Lowered(code, chosen.result, _prec(code), is_small="small" in chosen.flags)

    def missing_function(self, text: str, name: Name) -> Lowered:
        """Report a function that does not exist."""
        known = self.program.known_functions() | set(FREE_FUNCTIONS) | set(STATIC_FUNCTIONS) | self.special_names()
        otherwise = "define it in this file, or include the header that does"
        said = unknown("no function is named", text, known, otherwise=otherwise)
        raise LowerError("SPEC020", said.message, name, said.help)

    def value_call(self, value: Lowered, node: Call) -> Lowered:
        """Lower a call of a function value: a lambda, a parameter, a std::function."""
        args = self.arguments(node)
        if value.is_unknown or any_unknown(args):
            return unknown_value()
        if value.functions:
            return self.program.call_functions(self, value.functions, args, node)
        self.unit.calls_values = True
        kind = value.type
        if kind.name == "ptr" and kind.element.name == "function":
            value, kind = self.dereference(value, node), kind.element
        if kind.name != "function" or not kind.args:
            raise LowerError("SPEC023", f"a {spelled(kind)} cannot be called", node.function)
        if kind.args[0].name == "ptr" and kind.args[0].element.name.endswith("ArgModifier"):
            self.unit.note_use(frozenset({"@modifier"}), "", kind.args[0].element, args, node)
        params = kind.args[1:]
        if len(params) != len(args):
            raise LowerError("SPEC022", f"this function takes {len(params)} arguments, {len(args)} given", node)
        ready = [
            self.argument(arg, param, item) if param.name == "ref" else self.passed(arg, param, item)
            for arg, param, item in zip(args, params, node.args, strict=True)
        ]
        return Lowered(f"{value.at(ATOM)}({', '.join(ready)})", kind.args[0])

    def passed(self, value: Lowered, wanted: Type, node: Node, is_copy: bool = False) -> str:
        """Return the code of an argument; by value it is copied."""
        made = convert(value, wanted, node)
        code = copied(made) if is_copy else made.code
        return f"({code})" if made.prec <= 2 else code

    # -- constructions ------------------------------------------------------------------------

    def construct(self, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered:
        """Lower ``T(args)`` and ``T{args}``."""
        if any_unknown(args) or kind is UNKNOWN:
            return Lowered("None", kind)
        maker = CONSTRUCTORS.get(kind.name)
        if maker is not None:
            made = maker(self, kind, args, node, braced)
            if made is not None:
                return made
        elif kind.name == "struct":
            return constructed(self.program, self, kind, args, node, braced)
        if not args:
            code = made_of_nothing(kind, node)
            value = Lowered(code, kind)
            if kind.is_number:
                return number_literal(_ZERO.get(code, 0), kind)
            return value
        if len(args) == 1:
            if kind.is_number and args[0].type.is_number:
                return convert_number(args[0], kind)
            if braced and fit(args[0], kind, node) is None:
                return construct_list(Lowered("", Type("init"), items=tuple(args)), kind, node)
            return convert(args[0], kind, node) if not kind.is_object else self.owned(convert(args[0], kind, node))
        if braced:
            return construct_list(Lowered("", Type("init"), items=tuple(args)), kind, node)
        raise LowerError("SPEC022", f"a {spelled(kind)} cannot be constructed from {len(args)} arguments", node)

    def fresh_value(self, kind: Type, node: Node) -> str:
        """Return code for a new element of a container."""
        return self.construct(kind, [], node, False).code

    def owned(self, value: Lowered) -> Lowered:
        """Return a copy where the value is stored elsewhere."""
        return Lowered(copied(value), value.type)


def _fill(code: str, ready: list[str]) -> str:
    return code.format(*ready, at=_AT) if "{" in code else code


def _prec(code: str) -> int:
    return ATOM if not code.startswith("not ") else 5


_ZERO = {"0": 0, "0.0": 0.0, "False": False}
