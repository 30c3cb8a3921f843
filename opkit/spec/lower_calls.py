"""Lowering of calls: methods by the library's table, functions of the file, constructions, OneFlow's macros.

Overloads are chosen by argument types, as C++ does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opkit.errors import nearest
from opkit.spec import syntax
from opkit.spec.conversions import (
    condition,
    construct_list,
    convert,
    convert_number,
    copied,
    default_code,
    fit,
    number_literal,
    zero_code,
)
from opkit.spec.library import FREE_FUNCTIONS, METHODS, STATIC_FUNCTIONS, LibraryFunction, substitute
from opkit.spec.lower_expressions import ExpressionLowering, unknown
from opkit.spec.lower_structs import constructed, field_types, field_value, missing_field, struct_of
from opkit.spec.types import (
    ATTR_TYPES,
    BOOL,
    DIM_VECTOR,
    DOUBLE,
    ERROR,
    INT32,
    INT64,
    INT_INFO,
    OP_ARG,
    SIZE,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    pointer,
    spelled,
)
from opkit.spec.value import ATOM, LowerError, Value

__all__ = ["ATTR_KINDS", "CallLowering", "special_names"]

#: C++ type to attribute type.
ATTR_KINDS: dict[Type, str] = {kind: name for name, kind in ATTR_TYPES.items()}
_STRING_CHANGES = frozenset({"push_back", "append", "pop_back", "clear"})
_ATTR_OWNERS = frozenset(
    {"InferContext", "SbpContext", "SbpInferContext", "OpConf", "FwOp", "DeviceInferContext", "BatchAxisContext"}
)


class CallLowering(ExpressionLowering):
    """Lower calls and members."""

    # -- members ------------------------------------------------------------------------------

    def owner_of(self, node: syntax.Member) -> Value:
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

    def member(self, node: syntax.Member) -> Value:
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
                return Value(f"{owner.at(ATOM)}[{place}]", part, ATOM, True)
            if kind.name == "mapiter":
                part = kind.args[min(place, len(kind.args) - 1)]
                code = f"{owner.at(ATOM)}.{name}"
                return Value(code, part, ATOM, True, code if place and not part.is_object else "")
        if name in METHODS[kind.name]:
            raise LowerError("SPEC021", f"{name!r} is a function of {spelled(kind)}", node, f"call it: {name}()")
        raise self.missing_member(name, kind, node)

    def missing_member(self, name: str, kind: Type, node: syntax.Node) -> LowerError:
        known = set(METHODS[kind.name])
        if kind.name in _ATTR_OWNERS:
            known |= {"Attr", "attr"}
        near = nearest(name, known)
        help_line = f"did you mean {near[0]!r}?" if near else ""
        if not near and known:
            help_line = f"it has {', '.join(sorted(known)[:8])}"
        return LowerError("SPEC021", f"{spelled(kind)} has no member {name!r}", node, help_line)

    # -- calls --------------------------------------------------------------------------------

    def call(self, node: syntax.Call) -> Value:
        function = node.function
        if isinstance(function, syntax.Member):
            return self.method_call(node, function)
        if isinstance(function, syntax.Name):
            return self.name_call(node, function)
        value = self.lower(function)
        return self.value_call(value, node)

    def method_call(self, node: syntax.Call, member: syntax.Member) -> Value:
        name = member.name.text
        if name in ("Attr", "attr", "attr_or_default"):
            made = self.attr_call(node, member)
            if made is not None:
                return made
        owner = self.owner_of(member)
        args = [self.lower(arg) for arg in node.args]
        if owner.is_unknown or any(arg.is_unknown for arg in args):
            return unknown()
        kind = owner.type
        if kind.name == "struct":
            return self.struct_call(owner, name, args, node)
        if name in ("emplace_back", "push_back") and kind.is_vector:
            return self.append(owner, args, node)
        if name == "emplace" and kind.name in ("map", "ordered_map") and len(args) == 1:
            name = "insert"
        if name == "insert" and kind.name in ("set", "ordered_set", "map", "ordered_map") and len(args) == 2:
            if args[0].type.name in ("iter", "mapiter"):
                code = f"[{owner.at(ATOM)}.insert(_x) for _x in between({args[0].code}, {args[1].code})]"
                return Value(code, VOID)
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

    def struct_call(self, owner: Value, name: str, args: list[Value], node: syntax.Call) -> Value:
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
        self, name: str, overloads: list[LibraryFunction], owner: Value | None, args: list[Value], node: syntax.Call
    ) -> Value:
        """Lower a call of the library: choose the overload, convert the arguments, fill in the code."""
        kind = owner.type if owner is not None else VOID
        chosen = self.choose(name, overloads, kind, args, node)
        params = [substitute(param, kind) for param in chosen.params]
        ready = [
            self.argument(arg, param, node.args[i]) for i, (arg, param) in enumerate(zip(args, params, strict=True))
        ]
        if owner is not None:
            ready.insert(0, owner.at(ATOM))
        if chosen.flags:
            self.unit.note_use(chosen.flags, name, kind, args, node)
        code = _fill(chosen.code, ready)
        result = substitute(chosen.result, kind)
        made = Value(code, result, _prec(code), chosen.is_ref, is_small="small" in chosen.flags)
        if chosen.deref:
            made.deref = _fill(chosen.deref, ready)
        if name in ("at", "front", "back", "Get") and kind.is_vector and owner is not None:
            self.mark_element(made, name, owner, ready)
        elif name == "at" and kind.name in ("map", "ordered_map") and not result.is_object:
            made.target = f"{ready[0]}.data[{ready[1]}]"
        return made

    def mark_element(self, made: Value, name: str, owner: Value, ready: list[str]) -> None:
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
        self, name: str, overloads: Sequence[LibraryFunction], kind: Type, args: list[Value], node: syntax.Call
    ) -> LibraryFunction:
        """Choose an overload by how well its parameters fit, or raise what C++ would say."""
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

    def argument(self, value: Value, wanted: Type, node: syntax.Node) -> str:
        """Return the code that passes an argument: by reference, or as a value of its own."""
        if wanted.name == "ref":
            return self.address(value, node).code
        made = convert(value, wanted, node)
        return made.code if made.prec > 2 or made.prec == ATOM else f"({made.code})"

    def append(self, owner: Value, args: list[Value], node: syntax.Call) -> Value:
        """Lower push_back and emplace_back, whose arguments construct the element."""
        element = owner.type.element
        if len(args) == 1 and fit(args[0], element, node) is not None:
            item = convert(args[0], element, node)
        else:
            item = self.construct(element, args, node, False)
        name = "push_axis" if owner.type.name == "fixed_vector" else "push"
        if owner.is_read_only or owner.code.endswith(".dims"):
            raise LowerError("SPEC027", "this vector is const and cannot be changed", node)
        return Value(f"{name}({owner.code}, {copied(item)})", VOID)

    def change_string(self, name: str, owner: Value, args: list[Value], node: syntax.Call) -> Value:
        """Lower what changes a string: a new one is assigned, as Python's do not change."""
        self.store_check(owner, node)
        function = node.function
        if isinstance(function, syntax.Member):
            self.note_assignment(function.object)
        wanted = 1 if name in ("push_back", "append") else 0
        if len(args) != wanted:
            raise LowerError(
                "SPEC022", f"{name!r} takes {wanted} argument{'s' * (wanted != 1)}, {len(args)} given", node
            )
        code = '""' if name == "clear" else f"{owner.code}[:-1]"
        if wanted:
            code = self.join_strings(Value(owner.code, STRING, owner.prec), args[0], node).code
        self.emit(f"{owner.target} = {code}", node)
        return Value("None", VOID)

    def swapped(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower std::swap."""
        if len(node.args) != 2:
            raise LowerError("SPEC022", f"std::swap takes 2 arguments, {len(node.args)} given", node)
        left, right = (self.lower_target(arg) for arg in node.args)
        if left.is_unknown or right.is_unknown:
            return unknown()
        if left.type != right.type:
            raise LowerError("SPEC022", f"std::swap of a {spelled(left.type)} and a {spelled(right.type)}", node)
        if left.type.is_vector:
            return Value(f"swap({left.code}, {right.code})", VOID)
        if left.type.name == "Shape":
            one, other = f"{left.at(ATOM)}.dims", f"{right.at(ATOM)}.dims"
            self.emit(f"{one}, {other} = {other}, {one}", node)
            return Value("None", VOID)
        for value, arg in ((left, node.args[0]), (right, node.args[1])):
            self.store_check(value, arg)
            self.note_assignment(arg)
        self.emit(f"{left.target}, {right.target} = {right.code}, {left.code}", node)
        return Value("None", VOID)

    def inserter(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower std::back_inserter."""
        owner = self.lower(node.args[0]) if len(node.args) == 1 else unknown()
        if owner.is_unknown or not owner.type.is_vector:
            raise LowerError("SPEC022", "std::back_inserter takes a vector", node)
        return Value(owner.code, Type("inserter", owner.type.args))

    def size_of(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower sizeof of an arithmetic type."""
        kind = self.program.template_type_argument(name.parts[-1].args, self.bindings)
        if kind.is_integer:
            return number_literal(max(INT_INFO[kind.name][0] // 8, 1), SIZE)
        if kind.is_real:
            return number_literal(4 if kind.name == "float" else 8, SIZE)
        raise LowerError("SPEC012", f"sizeof({spelled(kind)}) is not supported in specs", node)

    def resized(self, owner: Value, args: list[Value], node: syntax.Call) -> Value:
        element = owner.type.element
        count = convert(args[0], INT64, node).code
        fill = convert(args[1], element, node).code if len(args) > 1 else zero_code(element)
        code = f"resize({owner.code}, {count}, {fill})"
        return Value(f"axes({code} or {owner.code})" if owner.type == DIM_VECTOR else code, VOID)

    # -- attributes ---------------------------------------------------------------------------

    def attr_call(self, node: syntax.Call, member: syntax.Member) -> Value | None:
        """Lower ``Attr<T>("name")`` of contexts and ``Attr("name", value)`` of builders."""
        owner = self.owner_of(member)
        kind = owner.type
        given = member.name.args
        wanted = self.program.template_type_argument(given, self.bindings) if given else None
        args = [self.lower(arg) for arg in node.args]
        if owner.is_unknown or any(arg.is_unknown for arg in args):
            return unknown()
        if kind.name == "OpBuilder":
            return self.builder_attr(owner, wanted, args, node)
        if kind.name not in _ATTR_OWNERS:
            return None
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
        return Value(code, wanted, ATOM, True, is_read_only=True)

    def builder_attr(self, owner: Value, wanted: Type | None, args: list[Value], node: syntax.Call) -> Value:
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
        return Value(f"{owner.at(ATOM)}.attr({name.code}, {attr_kind!r}, {copied(value)})", owner.type, is_stored=True)

    # -- names that are called ----------------------------------------------------------------

    def name_call(self, node: syntax.Call, name: syntax.Name) -> Value:
        text = self.program.plain_name(name)
        first = name.parts[0].text
        if len(name.parts) == 1:
            variable = self.lookup(first)
            if variable is not None:
                return self.value_call(self.read(variable, name), node)
            bound = self.bindings.get(first)
            if isinstance(bound, Value):
                return self.value_call(bound, node)
        special = _SPECIAL.get(text)
        if special is not None:
            return special(self, node, name)
        if text.startswith("CHECK") or text.startswith("DCHECK"):
            return self.check_value(node, text)
        local = self.program.functions_named(text, self.bindings)
        if local:
            args = [self.lower(arg) for arg in node.args]
            if any(arg.is_unknown for arg in args):
                return unknown()
            return self.program.call_local(self, text, name, args, node)
        overloads = FREE_FUNCTIONS.get(text) or STATIC_FUNCTIONS.get(text)
        if overloads is None and "::" in text:
            overloads = STATIC_FUNCTIONS.get("::".join(text.split("::")[-2:])) or FREE_FUNCTIONS.get(
                name.parts[-1].text
            )
        if overloads is not None:
            args = [self.lower(arg) for arg in node.args]
            if any(arg.is_unknown for arg in args):
                return unknown()
            return self.free_call(text, overloads, args, node)
        kind = self.program.find_type(name, self.bindings)
        if kind is not None:
            return self.construct(kind, [self.lower(arg) for arg in node.args], node, False)
        return self.missing_function(text, name)

    def free_call(self, name: str, overloads: list[LibraryFunction], args: list[Value], node: syntax.Call) -> Value:
        chosen = self.choose(name, overloads, VOID, args, node)
        ready = [
            self.argument(arg, param, node.args[i])
            for i, (arg, param) in enumerate(zip(args, chosen.params, strict=True))
        ]
        code = _fill(chosen.code.replace("{all}", ", ".join(ready)), ready)
        return Value(code, chosen.result, _prec(code), is_small="small" in chosen.flags)

    def missing_function(self, text: str, name: syntax.Name) -> Value:
        known = self.program.known_functions() | set(FREE_FUNCTIONS) | set(STATIC_FUNCTIONS) | set(_SPECIAL)
        near = nearest(text, known)
        help_line = f"did you mean {near[0]!r}?" if near else "define it in this file, or include the header that does"
        raise LowerError("SPEC020", f"no function is named {text!r}", name, help_line)

    def value_call(self, value: Value, node: syntax.Call) -> Value:
        """Lower a call of a function value: a lambda, a parameter, a std::function."""
        args = [self.lower(arg) for arg in node.args]
        if value.is_unknown or any(arg.is_unknown for arg in args):
            return unknown()
        if value.functions:
            return self.program.call_functions(self, value.functions, args, node)
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
        return Value(f"{value.at(ATOM)}({', '.join(ready)})", kind.args[0])

    def passed(self, value: Value, wanted: Type, node: syntax.Node, is_copy: bool = False) -> str:
        """Return the code of an argument; by value it is copied."""
        made = convert(value, wanted, node)
        code = copied(made) if is_copy else made.code
        return f"({code})" if made.prec <= 2 else code

    # -- constructions ------------------------------------------------------------------------

    def construct(self, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value:
        """Lower ``T(args)`` and ``T{args}``."""
        if any(arg.is_unknown for arg in args) or kind is UNKNOWN:
            return Value("None", kind)
        maker = _CONSTRUCTORS.get(kind.name)
        if maker is not None:
            made = maker(self, kind, args, node, braced)
            if made is not None:
                return made
        elif kind.name == "struct":
            return constructed(self, kind, args, node, braced)  # type: ignore[arg-type]
        if not args:
            code = default_code(kind) or zero_code(kind)
            value = Value(code, kind)
            if kind.is_number:
                return number_literal(_ZERO.get(code, 0), kind)
            return value
        if len(args) == 1:
            if kind.is_number and args[0].type.is_number:
                return convert_number(args[0], kind)
            if braced and fit(args[0], kind, node) is None:
                return construct_list(Value("", Type("init"), items=tuple(args)), kind, node)
            return convert(args[0], kind, node) if not kind.is_object else self.owned(convert(args[0], kind, node))
        if braced:
            return construct_list(Value("", Type("init"), items=tuple(args)), kind, node)
        raise LowerError("SPEC022", f"a {spelled(kind)} is not made of {len(args)} arguments", node)

    def owned(self, value: Value) -> Value:
        """Return a copy where the value is stored elsewhere."""
        return Value(copied(value), value.type)

    # -- macros -------------------------------------------------------------------------------

    def check_value(self, node: syntax.Call, text: str) -> Value:
        """Lower a CHECK macro that stands inside of an expression."""
        if text in ("CHECK_NOTNULL", "CHECK_NOTNULL_OR_RETURN"):
            value = self.lower(node.args[0]) if node.args else unknown()
            if value.is_unknown:
                return value
            if value.deref:
                return value
            return Value(f"not_null({self.program.site(node)}, {value.code})", value.type, is_stored=value.is_stored)
        if text == "CHECK_JUST":
            return self.just(node, None)
        raise LowerError("SPEC012", f"{text} has to be a statement of its own", node)

    def just(self, node: syntax.Call, _name: syntax.Name | None) -> Value:
        """Lower JUST(maybe): the error leaves the function, the value stays."""
        if len(node.args) != 1:
            raise LowerError("SPEC022", "JUST takes one value", node)
        value = self.lower(node.args[0])
        if value.is_unknown:
            return value
        if value.type.name != "maybe":
            if value.type == ERROR:
                return value
            return value
        held = value.type.element
        code, prec = value.code, value.prec
        if held == VOID or held.is_number or held.name in ("DataType", "ptr", "DeviceType"):
            return Value(code, held, prec)
        if held.name in ("OpConf",):
            return Value(code, held, prec)
        return Value(code, pointer(held), prec, deref=code if self.is_celled(held) else "")

    def unimplemented(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower UNIMPLEMENTED() and its like where a value is expected."""
        return Value(f"fail({self.program.site(node)}, [], 'not implemented')", VOID, error_parts=())

    def error_value(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower ``Error::CheckFailedError()``: a value that a return turns into a refusal."""
        args = [self.lower(arg) for arg in node.args]
        parts = tuple(arg.code for arg in args)
        return Value(f"Stream({', '.join(f'show({part})' for part in parts[:1])})", ERROR, error_parts=parts)

    def log_value(self, node: syntax.Call, name: syntax.Name) -> Value:
        level = node.args[0] if node.args else None
        text = level.parts[-1].text if isinstance(level, syntax.Name) else ""
        return Value("Stream()", Type("log_" + text), error_parts=())

    # -- functions of std ---------------------------------------------------------------------

    def min_max(self, node: syntax.Call, name: syntax.Name) -> Value:
        word = name.parts[-1].text
        args = [self.lower(arg) for arg in node.args]
        given = self.program.template_type_argument(name.parts[-1].args, self.bindings) if name.parts[-1].args else None
        if len(args) == 1 and args[0].items:
            args = list(args[0].items)
        if len(args) < 2:
            raise LowerError("SPEC022", f"std::{word} takes two values", node)
        if any(arg.is_unknown for arg in args):
            return unknown()
        kind = given or args[0].type
        for arg, item in zip(args[1:], node.args[1:] or node.args, strict=False):
            if given is None and arg.type != kind:
                raise LowerError(
                    "SPEC022",
                    f"std::{word} needs two values of one type, not {spelled(kind)} and {spelled(arg.type)}",
                    item,
                    f"write std::{word}<{spelled(kind)}>(...) or cast one of them",
                )
        ready = [convert(arg, kind, node) for arg in args]
        small = all(arg.is_small for arg in ready)
        return Value(f"{word}({', '.join(arg.code for arg in ready)})", kind, is_small=small)

    def moved(self, node: syntax.Call, name: syntax.Name) -> Value:
        if len(node.args) != 1:
            raise LowerError("SPEC022", "std::move takes one value", node)
        value = self.lower(node.args[0])
        return Value(value.code, value.type, value.prec, value.is_stored, is_small=value.is_small, items=value.items)

    def to_string(self, node: syntax.Call, name: syntax.Name) -> Value:
        args = [self.lower(arg) for arg in node.args]
        if len(args) != 1 or args[0].is_unknown:
            return Value("''", STRING)
        value = args[0]
        if value.type.is_real:
            return Value(f"format({value.code}, '.6f')", STRING)
        if not value.type.is_integer:
            raise LowerError("SPEC022", f"std::to_string takes a number, not a {spelled(value.type)}", node.args[0])
        if value.is_const:
            return Value(repr(str(int(value.const))), STRING, const=str(int(value.const)), is_const=True)
        return Value(f"str({convert(value, INT64, node).code})", STRING)

    def absolute(self, node: syntax.Call, name: syntax.Name) -> Value:
        value = self.promoted(self.lower(node.args[0])) if len(node.args) == 1 else unknown()
        if value.is_unknown:
            return value
        return Value(f"abs({value.code})", value.type)

    def limit(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower ``std::numeric_limits<T>::max()``."""
        part, word = name.parts[-2], name.parts[-1].text
        kind = self.program.template_type_argument(part.args, self.bindings) if part.args else UNKNOWN
        if kind.is_integer:
            bits, signed = INT_INFO[kind.name]
            top = (1 << (bits - 1 if signed else bits)) - 1
            return number_literal(
                {"max": top, "min": -top - 1 if signed else 0, "lowest": -top - 1 if signed else 0}[word], kind
            )
        limits = {
            "float": {"max": 3.4028234663852886e38, "min": 1.1754943508222875e-38},
            "double": {"max": 1.7976931348623157e308, "min": 2.2250738585072014e-308},
        }.get(kind.name)
        if limits is None:
            raise LowerError("SPEC022", f"std::numeric_limits of {spelled(kind)}", name)
        return number_literal(-limits["max"] if word == "lowest" else limits[word], kind)

    def make_pair(self, node: syntax.Call, name: syntax.Name) -> Value:
        args = [self.lower(arg) for arg in node.args]
        if len(args) != 2:
            raise LowerError("SPEC022", "std::make_pair takes two values", node)
        return Value(f"({copied(args[0])}, {copied(args[1])})", Type("pair", (args[0].type, args[1].type)))

    def make_shared(self, node: syntax.Call, name: syntax.Name) -> Value:
        given = name.parts[-1].args
        kind = self.program.template_type_argument(given, self.bindings) if given else UNKNOWN
        made = self.construct(kind, [self.lower(arg) for arg in node.args], node, False)
        if self.is_celled(kind):
            return Value(f"Cell({made.code})", pointer(kind))
        return Value(copied(made), pointer(kind))

    def algorithm(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower the std algorithms over iterators."""
        word = name.parts[-1].text
        args = [self.lower(arg) for arg in node.args]
        if any(arg.is_unknown for arg in args):
            return unknown()
        codes = [arg.code for arg in args]
        result, least, most, code = _ALGORITHMS[word]
        if not least <= len(args) <= most:
            raise LowerError("SPEC022", f"std::{word} takes {least} arguments, {len(args)} given", node)
        if args[0].type.name not in ("iter", "mapiter"):
            raise LowerError("SPEC022", f"std::{word} takes iterators, not a {spelled(args[0].type)}", node.args[0])
        element = args[0].type.element
        if word in ("find", "count", "remove", "fill", "iota"):
            codes[2] = convert(args[2], element, node.args[2]).code
        kind = {"iter": args[0].type, "last": args[-1].type, "count": INT64, "bool": BOOL, "void": VOID}[result]
        if word == "accumulate":
            operation = codes[3] if len(args) > 3 else "lambda _a, _b: _a + _b"
            code, kind = f"accumulate({codes[0]}, {codes[1]}, {codes[2]}, {operation})", args[2].type
            return Value(code, kind)
        if word in ("copy", "transform"):
            kind = args[2].type
            if kind.name == "inserter":
                values = f"between({codes[0]}, {codes[1]})"
                return Value(
                    f"extend({codes[2]}, {values if word == 'copy' else f'list(map({codes[3]}, {values}))'})", kind
                )
        return Value(code.format(*codes, more=", ".join(codes[2:])), kind)

    def multiplies(self, node: syntax.Call, name: syntax.Name) -> Value:
        given = name.parts[-1].args
        kind = self.program.template_type_argument(given, self.bindings) if given else INT64
        operation = "*" if name.parts[-1].text == "multiplies" else "+"
        body = f"_a {operation} _b"
        if kind.is_integer:
            body = f"to_i64({body})"
        return Value(f"(lambda _a, _b: {body})", Type("function", (kind, kind, kind)))

    def modifier_like(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower GetOneVal<T>() and GetZeroVal<T>()."""
        given = name.parts[-1].args
        kind = self.program.template_type_argument(given, self.bindings) if given else INT32
        return number_literal(1 if "One" in name.parts[-1].text else 0, kind)

    def maths(self, node: syntax.Call, name: syntax.Name) -> Value:
        args = [self.lower(arg) for arg in node.args]
        if len(args) < 1 or any(arg.is_unknown for arg in args):
            return unknown()
        word = name.parts[-1].text
        is_float = all(arg.type == Type("float") for arg in args)
        codes = ", ".join(convert_number(arg, DOUBLE).code for arg in args)
        kind = Type("float") if is_float else DOUBLE
        code = f"math_{word}({codes})"
        return Value(f"f32({code})" if is_float else code, kind)

    def ok(self, node: syntax.Call, name: syntax.Name) -> Value:
        """Lower ``Maybe<void>::Ok()``."""
        return Value("None", Type("maybe", (VOID,)), const="ok")


def _attr_help() -> str:
    return "attributes are int32_t, int64_t, bool, float, double, std::string, Shape, DataType or vectors of them"


def _fill(code: str, ready: list[str]) -> str:
    return code.format(*ready) if "{" in code else code


def _prec(code: str) -> int:
    return ATOM if not code.startswith("not ") else 5


_ZERO = {"0": 0, "0.0": 0.0, "False": False}
#: name: (result, fewest and most arguments, code)
_ALGORITHMS: dict[str, tuple[str, int, int, str]] = {
    "find": ("iter", 3, 3, "find({0}, {1}, {2})"),
    "find_if": ("iter", 3, 3, "find_if({0}, {1}, {2})"),
    "count": ("count", 3, 3, "between({0}, {1}).count({2})"),
    "count_if": ("count", 3, 3, "sum(map({2}, between({0}, {1})))"),
    "remove": ("iter", 3, 3, "remove({0}, {1}, {2})"),
    "fill": ("void", 3, 3, "write_from({0}, [{2}] * len(between({0}, {1})))"),
    "iota": ("void", 3, 3, "iota({0}, {1}, {2})"),
    "copy": ("last", 3, 3, "write_from({2}, between({0}, {1}))"),
    "transform": ("last", 4, 4, "write_from({2}, list(map({3}, between({0}, {1}))))"),
    "sort": ("void", 2, 3, "sort({0}, {1}{2})"),
    "reverse": ("void", 2, 2, "write_from({0}, between({0}, {1})[::-1])"),
    "all_of": ("bool", 3, 3, "all(map({2}, between({0}, {1})))"),
    "any_of": ("bool", 3, 3, "any(map({2}, between({0}, {1})))"),
    "none_of": ("bool", 3, 3, "(not any(map({2}, between({0}, {1}))))"),
    "equal": ("bool", 3, 3, "equal({0}, {1}, {2})"),
    "accumulate": ("last", 3, 4, ""),
    "distance": ("count", 2, 2, "len(between({0}, {1}))"),
    "max_element": ("iter", 2, 2, "max_element({0}, {1})"),
    "min_element": ("iter", 2, 2, "min_element({0}, {1})"),
    "unique": ("iter", 2, 2, "unique({0}, {1})"),
}
_ALGORITHMS["sort"] = ("void", 2, 3, "sort({0}, {1}, {more})")

_Special = Callable[[CallLowering, syntax.Call, syntax.Name], Value]
_SPECIAL: dict[str, _Special] = {
    "JUST": CallLowering.just,
    "CHECK_JUST": CallLowering.just,
    "UNIMPLEMENTED": CallLowering.unimplemented,
    "UNIMPLEMENTED_THEN_RETURN": CallLowering.unimplemented,
    "OF_UNIMPLEMENTED": CallLowering.unimplemented,
    "LOG": CallLowering.log_value,
    "VLOG": CallLowering.log_value,
    "Maybe::Ok": CallLowering.ok,
    "std::min": CallLowering.min_max,
    "std::max": CallLowering.min_max,
    "std::move": CallLowering.moved,
    "std::ref": CallLowering.moved,
    "std::to_string": CallLowering.to_string,
    "std::abs": CallLowering.absolute,
    "abs": CallLowering.absolute,
    "std::make_pair": CallLowering.make_pair,
    "std::swap": CallLowering.swapped,
    "std::back_inserter": CallLowering.inserter,
    "sizeof": CallLowering.size_of,
    "std::make_shared": CallLowering.make_shared,
    "std::numeric_limits::max": CallLowering.limit,
    "std::numeric_limits::min": CallLowering.limit,
    "std::numeric_limits::lowest": CallLowering.limit,
    "GetMaxVal": CallLowering.modifier_like,
    "GetOneVal": CallLowering.modifier_like,
    "GetZeroVal": CallLowering.modifier_like,
    "std::multiplies": CallLowering.multiplies,
    "std::plus": CallLowering.multiplies,
}
for _word in _ALGORITHMS:
    _SPECIAL["std::" + _word] = CallLowering.algorithm
for _word in ("ceil", "floor", "sqrt", "pow", "log", "exp", "round", "log2", "fabs"):
    _SPECIAL["std::" + _word] = CallLowering.maths
    _SPECIAL[_word] = CallLowering.maths
for _word in (
    "CheckFailedError",
    "Unimplemented",
    "UnimplementedError",
    "TodoError",
    "InvalidValueError",
    "IndexError",
    "ValueError",
    "TypeError",
    "RuntimeError",
    "Todo",
    "OutOfRangeError",
    "ShapeError",
    "DimensionError",
):
    _SPECIAL["Error::" + _word] = CallLowering.error_value


def special_names() -> list[str]:
    """Return the functions of std and the macros that calls know, for the language reference."""
    return sorted({*_SPECIAL, "CHECK", "CHECK_EQ", "CHECK_OR_RETURN", "CHECK_EQ_OR_RETURN", "CHECK_NOTNULL"})


_Maker = Callable[[CallLowering, Type, list[Value], Any, bool], "Value | None"]


def _make_vector(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    check = "axes(" if kind.name == "fixed_vector" else "("
    if braced and args and not (len(args) == 1 and args[0].type == kind):
        return construct_list(Value("", Type("init"), items=tuple(args)), kind, node)
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
                return Value(f"{check}[{default_code(kind.element)} for _ in filled({count}, 0)])", kind)
            return Value(f"{check}filled({count}, {zero_code(kind.element)}))", kind)
    elif len(args) == 2:
        if all(arg.type.name in ("iter", "mapiter") for arg in args):
            return Value(f"{check}between({args[0].code}, {args[1].code}))", kind)
        if args[0].type.is_integer and fit(args[1], kind.element, node) is not None:
            count, fill = convert(args[0], INT64, node).code, convert(args[1], kind.element, node)
            if kind.element.is_object:
                return Value(
                    f"{check}[{copied(Value(fill.code, fill.type, is_stored=True))} for _ in filled({count}, 0)])", kind
                )
            return Value(f"{check}filled({count}, {fill.code}))", kind)
    return None


def _make_shape(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    if len(args) == 1:
        value = args[0]
        if value.items is not None:
            return construct_list(value, kind, node)
        if value.type == DIM_VECTOR:
            return Value(f"Shape(tuple({value.code}))", kind)
        if value.type.name in ("Shape", "ShapeView"):
            code = f"Shape({value.at(ATOM)}.dims)" if kind.name == "Shape" else value.code
            return Value(code, kind)
        if braced and value.type.is_integer:
            return construct_list(Value("", Type("init"), items=(value,)), kind, node)
        raise LowerError("SPEC022", f"a Shape is not made of a {spelled(value.type)}", node, "write Shape({...})")
    if args and braced:
        return construct_list(Value("", Type("init"), items=tuple(args)), kind, node)
    return None


def _make_op_arg(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    if len(args) == 1 and args[0].items is not None:
        return construct_list(args[0], OP_ARG, node)
    if len(args) != 2:
        return None
    return construct_list(Value("", Type("init"), items=tuple(args)), kind, node)


def _make_pair(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    return construct_list(Value("", Type("init"), items=tuple(args)), kind, node) if len(args) == 2 else None


def _make_set(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    if len(args) == 2 and all(arg.type.name in ("iter", "mapiter") for arg in args):
        return Value(f'make_map("{kind.name}", between({args[0].code}, {args[1].code}))', kind)
    if args and (braced or args[0].items is not None):
        value = args[0] if args[0].items is not None else Value("", Type("init"), items=tuple(args))
        return construct_list(value, kind, node)
    return None


def _make_string(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    if len(args) == 2 and args[0].type.is_integer and args[1].type.is_integer:
        return Value(f"chr({args[1].code}) * len(filled({args[0].code}, 0))", STRING, 13)
    return None


def _make_called(name: str, params: tuple[Type, ...]) -> _Maker:
    def make(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
        if len(args) == 1 and args[0].type == kind:
            return args[0]
        if len(args) != len(params):
            raise LowerError(
                "SPEC022", f"a {spelled(kind)} is made of {len(params)} arguments, {len(args)} given", node
            )
        codes = [convert(arg, param, node).code for arg, param in zip(args, params, strict=True)]
        return Value(f"{name}({', '.join(codes)})", kind)

    return make


def _make_builder(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    if len(args) != 1:
        raise LowerError("SPEC022", "a UserOpConfWrapperBuilder is made of the op's name", node)
    return Value(f"OpBuilder({convert(args[0], STRING, node).code})", kind)


def _make_desc(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    return self.owned(args[0]) if len(args) == 1 and args[0].type == kind else None


def _make_stream(self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool) -> Value | None:
    return Value(f"Stream({convert(args[0], STRING, node).code})", kind) if len(args) == 1 else None


def _make_sbp_builder(
    self: CallLowering, kind: Type, args: list[Value], node: syntax.Node, braced: bool
) -> Value | None:
    if len(args) == 1 and args[0].type == pointer(Type("SbpSignatureList")):
        return Value(f"SbpBuilder({args[0].code})", kind)
    return args[0] if len(args) == 1 and args[0].type == kind else None


_VECTOR_I32 = Type("vector", (INT32,))
_CONSTRUCTORS: dict[str, _Maker] = {
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
    "PoolingParams": _make_called(
        "PoolingParams",
        (INT32, Type("ShapeView"), STRING, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, BOOL, BOOL),
    ),
    "AvgPoolingParams": _make_called(
        "AvgPoolingParams",
        (INT32, Type("ShapeView"), STRING, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, BOOL, BOOL, INT64),
    ),
    "Params3D": _make_called(
        "Params3D",
        (INT32, Type("ShapeView"), STRING, STRING, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, _VECTOR_I32, BOOL),
    ),
}
__all__ += ["SIZE", "condition"]
