"""Conversions: how a value becomes one of another type, and how well it fits a parameter.

Nothing is emitted here: a conversion is a new Lowered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opkit.spec.library.types import (
    BOOL,
    DIM_VECTOR,
    INT_INFO,
    NULL,
    OP_ARG,
    SHAPE,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    spelled,
)
from opkit.spec.lower.lowered import ATOM, CMP, Lowered, LowerError
from opkit.spec.parse.syntax import Node, TypeName
from opkit.spec.runtime.arithmetic import f32, to_signed, truncate


def copied(value: Lowered) -> str:
    """Return code that evaluates to a value of its own, where C++ would copy."""
    if not value.is_stored or not value.type.is_object:
        return value.code
    kind, code = value.type, value.at(ATOM)
    if kind.is_vector:
        if kind.element.is_object:
            item = Lowered("item", kind.element, is_stored=True)
            return f"[{copied(item)} for item in METER.whole({code})]"
        return f"list(METER.whole({code}))" if kind.name == "vector" else f"list({code})"
    if kind.is_shape:
        return f"Shape({code}.dims)"
    return f"dict({code})" if kind.name == "SbpSignature" else f"{code}.copy()"


#: What ``T()`` is, by the name of the type.
_DEFAULTS = {
    "string": '""',
    "TensorDesc": 'Desc(Shape(), "invalid", False)',
    "SbpParallel": "Sbp()",
    "ParallelDistribution": "Distribution()",
    "function": "None",
    **dict.fromkeys(("vector", "fixed_vector", "SbpSignatureList"), "[]"),
    "Shape": "Shape()",
    "ShapeView": "Shape()",
    "stringstream": "Stream()",
    "Error": "Stream()",
    "SbpSignature": "{}",
    **{name: f'make_map("{name}")' for name in ("map", "ordered_map", "set", "ordered_set")},
}


def default_code(kind: Type) -> str:
    """Return code for ``T()``; "" where a variable of the type starts without a value."""
    if kind.name == "pair":
        first, second = (default_code(arg) or zero_code(arg) for arg in kind.args)
        return f"({first}, {second})"
    return _DEFAULTS.get(kind.name, "")


def zero_code(kind: Type) -> str:
    """Return code for the zero of a scalar type."""
    if kind == BOOL:
        return "False"
    if kind.is_integer:
        return "0"
    if kind.is_real:
        return "0.0"
    if kind.name == "DataType":
        return '"invalid"'
    return default_code(kind) or "None"


def made_of_nothing(kind: Type, node: Node) -> str:
    """Return code for ``T()``, or raise an error for a type that cannot be constructed without arguments."""
    code = default_code(kind) or zero_code(kind)
    if code == "None" and kind.name not in ("ptr", "function", "maybe", "void", "DeviceType", "any"):
        raise LowerError("SPEC022", f"a {spelled(kind)} cannot be constructed without arguments", node)
    return code


def condition(value: Lowered, node: Node) -> Lowered:
    """Convert to bool, as a condition does."""
    kind = value.type
    if kind == BOOL or value.is_unknown:
        return value
    if kind.is_number:
        const = bool(value.const) if value.is_const else None
        return Lowered(f"{value.at(CMP + 1)} != 0", BOOL, CMP, const=const, is_const=value.is_const)
    if kind.name in ("ptr", "function", "null"):
        shown = value.at(CMP + 1)
        return Lowered(f"{shown} is not None", BOOL, CMP, negated=f"{shown} is None")
    raise LowerError("SPEC023", f"a {spelled(kind)} is not a condition", node)


def convert(value: Lowered, wanted: Type, node: Node) -> Lowered:
    """Convert implicitly, or raise a LowerError that names both types."""
    kind = value.type
    if kind == wanted or kind is UNKNOWN or wanted is UNKNOWN:
        return value
    if value.items is not None:
        return construct_list(value, wanted, node)
    if kind.is_number and wanted.is_number:
        return convert_number(value, wanted)
    if kind.name == "OpBuilder" and wanted.name == "OpConf":
        raise unbuilt(node)
    made = _convert_other(value, wanted)
    if made is None and kind.name == wanted.name == "function":
        raise LowerError("SPEC023", _function_mismatch(kind, wanted), node)
    if made is None:
        raise LowerError("SPEC023", f"a {spelled(kind)} cannot be converted to a {spelled(wanted)}", node)
    return made


def _convert_other(value: Lowered, wanted: Type) -> Lowered | None:
    kind = value.type
    if wanted.name == "ptr":
        if kind == NULL:
            return Lowered(value.code, wanted, value.prec)
        if kind.name == "ptr" and (_is_base(wanted.element, kind.element) or wanted.element is UNKNOWN):
            return value
        return None
    if wanted.name == "function":
        if kind == NULL or (kind.name == "function" and not _function_mismatch(kind, wanted)):
            return Lowered(value.code, wanted, value.prec)
        return None
    if wanted == BOOL and kind.name in ("ptr", "function"):
        return Lowered(f"{value.at(CMP + 1)} is not None", BOOL, CMP)
    is_same = kind.name == wanted.name
    stands = (
        (kind.name, wanted.name) == ("Shape", "ShapeView")
        or _is_base(wanted, kind)
        or (is_same and wanted.is_vector and wanted.element is UNKNOWN)
        or (kind.is_iterator and wanted.name == "iter")
        or (is_same and (wanted.name == "pair" or (wanted.name == "maybe" and wanted.element == VOID)))
    )
    return value if stands else None


def unbuilt(node: Node) -> LowerError:
    """Return the error for a backward op that is described and never built."""
    return LowerError(
        "SPEC052", "this describes a backward op that is never built", node, "end the chain with .Build()"
    )


def _function_mismatch(given: Type, wanted: Type) -> str:
    """Say why a function cannot stand for one of another type; "" where it can, or where that is not known."""
    if not given.args or not wanted.args:
        return ""
    if len(given.args) != len(wanted.args):
        count = len(wanted.args) - 1
        return f"this takes a function of {count} argument{'s' * (count != 1)}, not of {len(given.args) - 1}"
    result, needed = given.args[0], wanted.args[0]
    if needed != VOID and result == VOID:
        return f"this takes a function that returns a {spelled(needed)}, and it returns nothing"
    if needed.name == "OpConf" and result.name not in ("OpConf", "auto", "?"):
        return f"this takes a function that returns a {spelled(needed)}, and it returns a {spelled(result)}"
    return ""


def _is_base(base: Type, derived: Type) -> bool:
    if base == derived:
        return True
    return (
        base.name == derived.name
        and len(base.args) == len(derived.args)
        and all(a is UNKNOWN or a == b for a, b in zip(base.args, derived.args, strict=True))
    )


def convert_number(value: Lowered, wanted: Type) -> Lowered:
    """Convert between arithmetic types as C++ does: keep the low bits, truncate, round to float32."""
    kind = value.type
    if value.is_const:
        return _convert_const(value, wanted)
    if wanted == BOOL:
        return Lowered(f"{value.at(CMP + 1)} != 0", BOOL, CMP)
    if wanted.is_real:
        if wanted.name == "float" and kind.name != "float":
            return Lowered(f"f32({value.code})", wanted)
        return Lowered(
            value.code if kind.is_real else f"float({value.code})", wanted, value.prec if kind.is_real else ATOM
        )
    bits, signed = INT_INFO[wanted.name]
    if kind.is_real:
        return Lowered(f"truncate({value.code}, {bits}, {signed})", wanted)
    if kind == BOOL:
        return Lowered(f"int({value.code})", wanted, is_small=True)
    return Lowered(*narrowed(value, kind, wanted), is_small=value.is_small)


def narrowed(value: Lowered, kind: Type, wanted: Type) -> tuple[str, Type, int]:
    """Return code, type and precedence of an integer in another integer type."""
    bits, signed = INT_INFO[wanted.name]
    old_bits, old_signed = INT_INFO[kind.name]
    if (
        value.is_small
        or (bits > old_bits and (signed or not old_signed))
        or (bits == old_bits and signed == old_signed)
    ):
        return value.code, wanted, value.prec
    if signed:
        if bits in (32, 64):
            return f"to_i{bits}({value.code})", wanted, ATOM
        return f"to_signed({value.code}, {bits})", wanted, ATOM
    return f"{value.at(11)} & {(1 << bits) - 1:#x}", wanted, 10


def _convert_const(value: Lowered, wanted: Type) -> Lowered:
    number = value.const
    if wanted == BOOL:
        made: object = bool(number)
    elif wanted.name == "float":
        made = f32(float(number))
    elif wanted.name == "double":
        made = float(number)
    else:
        bits, signed = INT_INFO[wanted.name]
        if isinstance(number, float):
            made = truncate(number, bits, signed)
        else:
            made = to_signed(int(number), bits) if signed else int(number) & ((1 << bits) - 1)
    return number_literal(made, wanted)


def number_literal(number: object, kind: Type) -> Lowered:
    """Return a known number, lowered."""
    code = repr(number)
    if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
        code = f'float("{number}")'
    small = isinstance(number, int) and 0 <= number < 1 << 20
    prec = ATOM if not code.startswith("-") else 14
    return Lowered(code, kind, prec, const=number, is_const=True, is_small=small)


def listed(values: Iterable[Lowered]) -> Lowered:
    """Return a braced list of values."""
    return Lowered("", Type("init"), items=tuple(values))


def is_range(values: Sequence[Lowered]) -> bool:
    """Return whether the values are two iterators, the bounds of a range."""
    return len(values) == 2 and all(value.type.is_iterator for value in values)


def construct_list(value: Lowered, wanted: Type, node: Node) -> Lowered:
    """Make a value of a type from a braced list."""
    items = value.items or ()
    name = wanted.name
    if wanted.is_vector:
        if len(items) == 1 and items[0].items is not None and fit(items[0], wanted.element, node) is None:
            items = items[0].items
        return Lowered(_vector_code(items, wanted, node), wanted)
    if wanted.is_shape:
        if len(items) == 1 and items[0].type == DIM_VECTOR:
            return Lowered(f"Shape(tuple({items[0].code}))", wanted)
        return Lowered(f"shape_of({_tuple_code(items, Type('int64_t'), node)})", wanted)
    if name in ("OpArg", "pair") and len(items) == 2:
        kinds = wanted.args if name == "pair" else (STRING, Type("int32_t"))
        parts = [convert(item, kind, node) for item, kind in zip(items, kinds, strict=True)]
        const = tuple(part.const for part in parts) if all(part.is_const for part in parts) else None
        made = Lowered(f"({copied(parts[0])}, {copied(parts[1])})", wanted)
        made.const, made.is_const = const, const is not None
        return made
    if wanted.is_set:
        return Lowered(f'make_map("{name}", {_vector_code(items, Type("vector", wanted.args[:1]), node)})', wanted)
    if wanted.is_map:
        return Lowered(
            f'make_map("{name}", {_vector_code(items, Type("vector", (Type("pair", wanted.args),)), node)})', wanted
        )
    if not items:
        return Lowered(made_of_nothing(wanted, node), wanted)
    if len(items) == 1:
        return convert(items[0], wanted, node)
    raise LowerError("SPEC023", f"a {spelled(wanted)} cannot be constructed from {len(items)} values in braces", node)


def _vector_code(items: tuple[Lowered, ...], wanted: Type, node: Node) -> str:
    if is_range(items):
        return _checked(f"between({items[0].code}, {items[1].code})", wanted)
    if len(items) == 1 and items[0].type == wanted:
        return copied(items[0])
    parts = ", ".join(copied(convert(item, wanted.element, node)) for item in items)
    return f"[{parts}]"


def _checked(code: str, wanted: Type) -> str:
    return f"axes({code})" if wanted.name == "fixed_vector" else code


def _tuple_code(items: tuple[Lowered, ...], kind: Type, node: Node) -> str:
    if is_range(items):
        return f"between({items[0].code}, {items[1].code})"
    parts = [convert(item, kind, node).code for item in items]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def fit(value: Lowered, wanted: Type, node: Node) -> int | None:
    """Return how well a value fits a parameter: 0 exactly, 1 promoted, 2 converted; None not at all."""
    if wanted.name == "ref":
        return 0 if value.type == wanted.element and (value.target or value.type.is_object) else None
    kind = value.type
    if kind == wanted or kind is UNKNOWN:
        return 0
    if value.items is not None:
        return _fit_list(value, wanted, node)
    if kind.is_number and wanted.is_number:
        if kind.is_real != wanted.is_real:
            return 3
        return 1 if kind.is_integer and wanted.name in ("int32_t", "int64_t", "uint64_t") and kind != BOOL else 2
    if wanted is UNKNOWN:
        return 3
    made = _convert_other(value, wanted)
    return None if made is None else 2 if wanted == BOOL else 1


def _fit_list(value: Lowered, wanted: Type, node: Node) -> int | None:
    items = value.items or ()
    if wanted.name in ("OpArg", "pair"):
        kinds = wanted.args if wanted.name == "pair" else (STRING, Type("int32_t"))
        if len(items) != 2:
            return None
        fits = [fit(item, kind, node) for item, kind in zip(items, kinds, strict=True)]
    elif wanted.name in ("vector", "fixed_vector", "set", "ordered_set"):
        if is_range(items):
            return 1
        fits = [fit(item, wanted.element, node) for item in items]
    elif wanted == SHAPE or wanted.name == "ShapeView":
        fits = [fit(item, Type("int64_t"), node) for item in items]
    elif wanted.is_map:
        fits = [fit(item, Type("pair", wanted.args), node) for item in items]
    elif len(items) <= 1 and not wanted.is_object and wanted != OP_ARG:
        fits = [fit(item, wanted, node) for item in items]
    else:
        return None
    worst = 1
    for item_fit in fits:
        if item_fit is None:
            return None
        worst = max(worst, item_fit)
    return worst


def is_cell_parameter(kind: TypeName, resolved: Type) -> bool:
    """Return whether a parameter is a reference through which a scalar is assigned."""
    return (
        kind.ref == "&"
        and not kind.is_const
        and (resolved.is_number or resolved.name in ("string", "DataType", "pair", "ptr"))
    )
