"""Library: functions, methods and constants that definitions may use, read from ``library.texts``.

What their Python does is in ``framework``, ``contexts`` and the value library.
"""

from __future__ import annotations

from functools import lru_cache

from opkit.record import record
from opkit.spec.library.texts import FREE_TEXT, METHOD_TEXTS, STATIC_TEXT
from opkit.spec.library.types import Type, from_text


@record
class LibraryFunction:
    """One overload of a function or method, and the Python it becomes."""

    params: tuple[Type, ...]
    result: Type
    is_ref: bool
    code: str
    deref: str
    flags: frozenset[str]
    optional: int = 0


#: DataType enumerators; the names are opkit's dtype names.
DATA_TYPES = {
    "kInvalidDataType": "invalid",
    "kChar": "char",
    "kFloat": "float32",
    "kDouble": "float64",
    "kInt8": "int8",
    "kInt32": "int32",
    "kInt64": "int64",
    "kUInt8": "uint8",
    "kOFRecord": "of_record",
    "kFloat16": "float16",
    "kTensorBuffer": "tensor_buffer",
    "kBool": "bool",
    "kInt16": "int16",
    "kUInt16": "uint16",
    "kUInt32": "uint32",
    "kUInt64": "uint64",
    "kFloat32": "float32",
}

#: DataType of a C++ type, as GetDataType<T>::value gives it.
DATA_TYPE_OF = {
    "float": "float32",
    "double": "float64",
    "int8_t": "int8",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint8_t": "uint8",
    "char": "char",
    "bool": "bool",
    "int16_t": "int16",
}

#: Named constants of the framework: C++ name to type and Python code.
CONSTANTS: dict[str, tuple[Type, str]] = {
    "DeviceType::kCPU": (Type("DeviceType"), '"kCPU"'),
    "DeviceType::kGPU": (Type("DeviceType"), '"kGPU"'),
    "kUserSourceOpTickInputArgName": (from_text("str"), '"UserSourceOpTickInput"'),
    "kDimGatherMaxDimCount": (from_text("i32"), "8"),
    "SHAPE_MAX_AXIS_SIZE": (from_text("i32"), "20"),
    "INT_MAX": (from_text("i32"), "2147483647"),
    "INT_MIN": (from_text("i32"), "-2147483648"),
    "INT64_MAX": (from_text("i64"), "9223372036854775807"),
    "INT64_MIN": (from_text("i64"), "-9223372036854775808"),
    "INT32_MAX": (from_text("i32"), "2147483647"),
    "string::npos": (from_text("size"), "18446744073709551615"),
}


def _read(text: str) -> dict[str, list[LibraryFunction]]:
    table: dict[str, list[LibraryFunction]] = {}
    for line in text.split("\n"):
        if not line:
            continue
        head, code = line.split(" = ", 1)
        before, after = head.split(" -> ", 1)
        name, params = before.rstrip(")").split("(", 1)
        words = after.split()
        kinds = tuple(from_text(item) for item in _top_level(params))
        result = words[0]
        plain, _, deref = code.partition(" | ")
        table.setdefault(name, []).append(
            LibraryFunction(
                kinds,
                from_text(result.rstrip("&")),
                result.endswith("&"),
                plain.strip(),
                deref.strip(),
                frozenset(words[1:]),
            )
        )
    return table


def _top_level(text: str) -> list[str]:
    parts, depth = [""], 0
    for char in text:
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


class _Tables(dict[str, dict[str, list[LibraryFunction]]]):
    """Method tables by type name, read when first asked for."""

    def __missing__(self, name: str) -> dict[str, list[LibraryFunction]]:
        base = {
            "fixed_vector": "vector",
            "ordered_map": "map",
            "ordered_set": "set",
        }
        text = METHOD_TEXTS.get(base.get(name, name))
        table = _read(text) if text else {}
        if name == "fixed_vector":
            table = {key: [_bounded(item) for item in items] for key, items in table.items()}
        self[name] = table
        return table


def _bounded(item: LibraryFunction) -> LibraryFunction:
    """Return a method of vector as fixed_vector has it: with at most 20 elements."""
    code = item.code
    if code.startswith("insert("):
        code = code[:-1] + ", 20)"
    elif code.startswith("assign({0}, "):
        code = "assign({0}, axes(" + code[len("assign({0}, ") :] + ")"
    return LibraryFunction(item.params, item.result, item.is_ref, code, item.deref, item.flags)


def type_names() -> list[str]:
    """Return the names of the types that have members."""
    return [name for name, text in METHOD_TEXTS.items() if text]


METHODS = _Tables()
FREE_FUNCTIONS = _read(FREE_TEXT)
STATIC_FUNCTIONS = _read(STATIC_TEXT)


@lru_cache(maxsize=4096)
def substitute(kind: Type, owner: Type) -> Type:
    """Put the type arguments of an object into a type of its table."""
    if not kind.args:
        if kind.name == "T" or kind.name == "K":
            return owner.args[0] if owner.args else kind
        if kind.name == "V":
            return owner.args[1] if len(owner.args) > 1 else owner.args[0] if owner.args else kind
        return kind
    return Type(kind.name, tuple(substitute(arg, owner) for arg in kind.args))
