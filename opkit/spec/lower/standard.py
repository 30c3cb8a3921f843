"""Lowering of the standard library's functions, and of the macros that are words of the language.

CHECK statements are in ``lower.statements``.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.spec.library.types import (
    BOOL,
    DOUBLE,
    ERROR,
    INT32,
    INT64,
    INT_INFO,
    SIZE,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    pointer,
    spelled,
)
from opkit.spec.lower.calls import CallLowering
from opkit.spec.lower.conversions import convert, convert_number, copied, number_literal
from opkit.spec.lower.expressions import any_unknown, unknown_value
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.parse.syntax import Call, Name

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


class StandardLowering(CallLowering):
    """Lower calls that the library's table cannot describe."""

    def special_call(self, text: str, node: Call, name: Name) -> Lowered | None:
        """Lower a call of std or of a macro; None where it is neither."""
        handler = _SPECIAL.get(text)
        if handler is not None:
            return handler(self, node, name)
        return self.check_value(node, text) if text.startswith(("CHECK", "DCHECK")) else None

    def special_names(self) -> set[str]:
        """Return the names that ``special_call`` knows, for suggestions."""
        return set(_SPECIAL)

    def given_type(self, name: Name, otherwise: Type = UNKNOWN, at: int = -1) -> Type:
        """Return the type that a part of a name has as its template argument."""
        given = name.parts[at].args
        return self.program.template_type_argument(given, self.bindings) if given else otherwise

    def swapped(self, node: Call, name: Name) -> Lowered:
        """Lower std::swap."""
        if len(node.args) != 2:
            raise LowerError("SPEC022", f"std::swap takes 2 arguments, {len(node.args)} given", node)
        left, right = (self.lower_target(arg) for arg in node.args)
        if left.is_unknown or right.is_unknown:
            return unknown_value()
        if left.type != right.type:
            raise LowerError("SPEC022", f"std::swap of a {spelled(left.type)} and a {spelled(right.type)}", node)
        if left.type.is_vector:
            return Lowered(f"swap({left.code}, {right.code})", VOID)
        if left.type.name == "Shape":
            one, other = f"{left.at(ATOM)}.dims", f"{right.at(ATOM)}.dims"
            self.emit(f"{one}, {other} = {other}, {one}", node)
            return Lowered("None", VOID)
        for value, arg in ((left, node.args[0]), (right, node.args[1])):
            self.store_check(value, arg)
            self.note_assignment(arg)
        self.emit(f"{left.target}, {right.target} = {right.code}, {left.code}", node)
        return Lowered("None", VOID)

    def inserter(self, node: Call, name: Name) -> Lowered:
        """Lower std::back_inserter."""
        owner = self.lower(node.args[0]) if len(node.args) == 1 else unknown_value()
        if owner.is_unknown or not owner.type.is_vector:
            raise LowerError("SPEC022", "std::back_inserter takes a vector", node)
        return Lowered(owner.code, Type("inserter", owner.type.args))

    def size_of(self, node: Call, name: Name) -> Lowered:
        """Lower sizeof of an arithmetic type."""
        kind = self.given_type(name)
        if kind.is_integer:
            return number_literal(max(INT_INFO[kind.name][0] // 8, 1), SIZE)
        if kind.is_real:
            return number_literal(4 if kind.name == "float" else 8, SIZE)
        raise LowerError("SPEC012", f"sizeof({spelled(kind)}) is not supported in definitions", node)

    def check_value(self, node: Call, text: str) -> Lowered:
        """Lower a CHECK macro that stands inside an expression."""
        if text in ("CHECK_NOTNULL", "CHECK_NOTNULL_OR_RETURN"):
            value = self.lower(node.args[0]) if node.args else unknown_value()
            if value.is_unknown or value.deref:
                return value
            return Lowered(f"not_null({self.program.site(node)}, {value.code})", value.type, is_stored=value.is_stored)
        if text == "CHECK_JUST":
            return self.just(node, None)
        raise LowerError("SPEC012", f"{text} has to be a statement of its own", node)

    def just(self, node: Call, _name: Name | None) -> Lowered:
        """Lower JUST(maybe): the error leaves the function, the value stays."""
        if len(node.args) != 1:
            raise LowerError("SPEC022", "JUST takes one value", node)
        value = self.lower(node.args[0])
        if value.type.name != "maybe":
            return value
        held = value.type.element
        code, prec = value.code, value.prec
        if held == VOID or held.is_number or held.name in ("DataType", "ptr", "DeviceType", "OpConf"):
            return Lowered(code, held, prec)
        return Lowered(code, pointer(held), prec, deref=code if self.is_celled(held) else "")

    def unimplemented(self, node: Call, name: Name) -> Lowered:
        """Lower UNIMPLEMENTED() and similar macros where a value is expected."""
        return Lowered(f"fail({self.program.site(node)}, [], 'not implemented')", VOID, error_parts=())

    def error_value(self, node: Call, name: Name) -> Lowered:
        """Lower ``Error::CheckFailedError()``: a value that a return turns into a refusal."""
        args = self.arguments(node)
        parts = tuple(arg.code for arg in args)
        return Lowered(f"Stream({', '.join(f'show({part})' for part in parts[:1])})", ERROR, error_parts=parts)

    def log_value(self, node: Call, name: Name) -> Lowered:
        """Lower ``LOG(level)``, which takes what is written to it and drops it."""
        level = node.args[0] if node.args else None
        text = level.parts[-1].text if isinstance(level, Name) else ""
        return Lowered("Stream()", Type("log_" + text), error_parts=())

    def min_max(self, node: Call, name: Name) -> Lowered:
        """Lower std::min and std::max."""
        word = name.parts[-1].text
        args = self.arguments(node)
        given = self.given_type(name) if name.parts[-1].args else None
        if len(args) == 1 and args[0].items:
            args = list(args[0].items)
        if len(args) < 2:
            raise LowerError("SPEC022", f"std::{word} takes two values", node)
        if any_unknown(args):
            return unknown_value()
        kind = given or args[0].type
        for arg, item in zip(args[1:], node.args[1:] or node.args, strict=False):
            if given is None and arg.type != kind:
                raise LowerError(
                    "SPEC022",
                    f"std::{word} needs two values of the same type, not {spelled(kind)} and {spelled(arg.type)}",
                    item,
                    f"write std::{word}<{spelled(kind)}>(...) or cast one of them",
                )
        ready = [convert(arg, kind, node) for arg in args]
        small = all(arg.is_small for arg in ready)
        return Lowered(f"{word}({', '.join(arg.code for arg in ready)})", kind, is_small=small)

    def moved(self, node: Call, name: Name) -> Lowered:
        """Lower std::move: the value itself."""
        if len(node.args) != 1:
            raise LowerError("SPEC022", "std::move takes one value", node)
        value = self.lower(node.args[0])
        return Lowered(value.code, value.type, value.prec, value.is_stored, is_small=value.is_small, items=value.items)

    def to_string(self, node: Call, name: Name) -> Lowered:
        """Lower std::to_string."""
        args = self.arguments(node)
        if len(args) != 1 or args[0].is_unknown:
            return Lowered("''", STRING)
        value = args[0]
        if value.type.is_real:
            return Lowered(f"format({value.code}, '.6f')", STRING)
        if not value.type.is_integer:
            raise LowerError("SPEC022", f"std::to_string takes a number, not a {spelled(value.type)}", node.args[0])
        if value.is_const:
            return Lowered(repr(str(int(value.const))), STRING, const=str(int(value.const)), is_const=True)
        return Lowered(f"str({convert(value, INT64, node).code})", STRING)

    def absolute(self, node: Call, name: Name) -> Lowered:
        """Lower std::abs."""
        value = self.promoted(self.lower(node.args[0])) if len(node.args) == 1 else unknown_value()
        if value.is_unknown:
            return value
        return Lowered(f"abs({value.code})", value.type)

    def limit(self, node: Call, name: Name) -> Lowered:
        """Lower ``std::numeric_limits<T>::max()``."""
        kind, word = self.given_type(name, at=-2), name.parts[-1].text
        if kind.is_integer:
            bits, signed = INT_INFO[kind.name]
            top = (1 << (bits - 1 if signed else bits)) - 1
            return number_literal(top if word == "max" else -top - 1 if signed else 0, kind)
        limits = {
            "float": {"max": 3.4028234663852886e38, "min": 1.1754943508222875e-38},
            "double": {"max": 1.7976931348623157e308, "min": 2.2250738585072014e-308},
        }.get(kind.name)
        if limits is None:
            raise LowerError("SPEC022", f"std::numeric_limits of {spelled(kind)}", name)
        return number_literal(-limits["max"] if word == "lowest" else limits[word], kind)

    def make_pair(self, node: Call, name: Name) -> Lowered:
        """Lower std::make_pair."""
        args = self.arguments(node)
        if len(args) != 2:
            raise LowerError("SPEC022", "std::make_pair takes two values", node)
        return Lowered(f"({copied(args[0])}, {copied(args[1])})", Type("pair", (args[0].type, args[1].type)))

    def make_shared(self, node: Call, name: Name) -> Lowered:
        """Lower std::make_shared: a pointer to a new object."""
        kind = self.given_type(name)
        made = self.construct(kind, self.arguments(node), node, False)
        if self.is_celled(kind):
            return Lowered(f"Cell({made.code})", pointer(kind))
        return Lowered(copied(made), pointer(kind))

    def algorithm(self, node: Call, name: Name) -> Lowered:
        """Lower the std algorithms over iterators."""
        word = name.parts[-1].text
        args = self.arguments(node)
        if any_unknown(args):
            return unknown_value()
        codes = [arg.code for arg in args]
        result, least, most, code = _ALGORITHMS[word]
        if not least <= len(args) <= most:
            raise LowerError("SPEC022", f"std::{word} takes {least} arguments, {len(args)} given", node)
        if not args[0].type.is_iterator:
            raise LowerError("SPEC022", f"std::{word} takes iterators, not a {spelled(args[0].type)}", node.args[0])
        element = args[0].type.element
        if word in ("find", "count", "remove", "fill", "iota"):
            codes[2] = convert(args[2], element, node.args[2]).code
        kind = {"iter": args[0].type, "last": args[-1].type, "count": INT64, "bool": BOOL, "void": VOID}[result]
        if word == "accumulate":
            operation = codes[3] if len(args) > 3 else "lambda _a, _b: _a + _b"
            code, kind = f"accumulate({codes[0]}, {codes[1]}, {codes[2]}, {operation})", args[2].type
            return Lowered(code, kind)
        if word in ("copy", "transform"):
            kind = args[2].type
            if kind.name == "inserter":
                values = f"between({codes[0]}, {codes[1]})"
                return Lowered(
                    f"extend({codes[2]}, {values if word == 'copy' else f'list(map({codes[3]}, {values}))'})", kind
                )
        return Lowered(code.format(*codes, more=", ".join(codes[2:])), kind)

    def multiplies(self, node: Call, name: Name) -> Lowered:
        """Lower std::multiplies and std::plus, as functions for std::accumulate."""
        kind = self.given_type(name, INT64)
        operation = "*" if name.parts[-1].text == "multiplies" else "+"
        body = f"_a {operation} _b"
        if kind.is_integer:
            body = f"to_i64({body})"
        return Lowered(f"(lambda _a, _b: {body})", Type("function", (kind, kind, kind)))

    def modifier_like(self, node: Call, name: Name) -> Lowered:
        """Lower GetOneVal<T>() and GetZeroVal<T>()."""
        kind = self.given_type(name, INT32)
        return number_literal(1 if "One" in name.parts[-1].text else 0, kind)

    def maths(self, node: Call, name: Name) -> Lowered:
        """Lower the functions of <cmath>."""
        args = self.arguments(node)
        if len(args) < 1 or any_unknown(args):
            return unknown_value()
        word = name.parts[-1].text
        is_float = all(arg.type == Type("float") for arg in args)
        codes = ", ".join(convert_number(arg, DOUBLE).code for arg in args)
        kind = Type("float") if is_float else DOUBLE
        code = f"math_{word}({codes})"
        return Lowered(f"f32({code})" if is_float else code, kind)

    def ok(self, node: Call, name: Name) -> Lowered:
        """Lower ``Maybe<void>::Ok()``."""
        return Lowered("None", Type("maybe", (VOID,)), const="ok")


_Special = Callable[[StandardLowering, Call, Name], Lowered]

_SPECIAL: dict[str, _Special] = {
    "JUST": StandardLowering.just,
    "CHECK_JUST": StandardLowering.just,
    "UNIMPLEMENTED": StandardLowering.unimplemented,
    "UNIMPLEMENTED_THEN_RETURN": StandardLowering.unimplemented,
    "OF_UNIMPLEMENTED": StandardLowering.unimplemented,
    "LOG": StandardLowering.log_value,
    "VLOG": StandardLowering.log_value,
    "Maybe::Ok": StandardLowering.ok,
    "std::min": StandardLowering.min_max,
    "std::max": StandardLowering.min_max,
    "std::move": StandardLowering.moved,
    "std::ref": StandardLowering.moved,
    "std::to_string": StandardLowering.to_string,
    "std::abs": StandardLowering.absolute,
    "abs": StandardLowering.absolute,
    "std::make_pair": StandardLowering.make_pair,
    "std::swap": StandardLowering.swapped,
    "std::back_inserter": StandardLowering.inserter,
    "sizeof": StandardLowering.size_of,
    "std::make_shared": StandardLowering.make_shared,
    "std::numeric_limits::max": StandardLowering.limit,
    "std::numeric_limits::min": StandardLowering.limit,
    "std::numeric_limits::lowest": StandardLowering.limit,
    "GetMaxVal": StandardLowering.modifier_like,
    "GetOneVal": StandardLowering.modifier_like,
    "GetZeroVal": StandardLowering.modifier_like,
    "std::multiplies": StandardLowering.multiplies,
    "std::plus": StandardLowering.multiplies,
}
for _word in _ALGORITHMS:
    _SPECIAL["std::" + _word] = StandardLowering.algorithm
for _word in ("ceil", "floor", "sqrt", "pow", "log", "exp", "round", "log2", "fabs"):
    _SPECIAL["std::" + _word] = StandardLowering.maths
    _SPECIAL[_word] = StandardLowering.maths
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
    _SPECIAL["Error::" + _word] = StandardLowering.error_value


def special_names() -> list[str]:
    """Return the functions of std and the macros that calls know, for the language reference."""
    return sorted({*_SPECIAL, "CHECK", "CHECK_EQ", "CHECK_OR_RETURN", "CHECK_EQ_OR_RETURN", "CHECK_NOTNULL"})
