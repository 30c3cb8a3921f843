"""Types: the C++ types of the language, as interned values, and their properties.

Which members a type has stands in the tables of ``library``. The module is long because the tables of every name that
a type has (plain, class, template, short, spelled) must agree, and are read side by side.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache

from opkit.record import record

#: Parts of a type: the names in it, each as often as it stands there.
MOST_PARTS = 200


class TypeTooLargeError(Exception):
    """A type has too many parts."""


@record
class Type:
    """A C++ type: ``Type("vector", (INT32,))``; a pointer is ``ptr`` and a function ``function``.

    References are not types: they belong to variables and parameters. ``Type("ref", (T,))`` stands
    only among the arguments of a function type, for a parameter that can be assigned through.
    """

    name: str
    args: tuple[Type, ...] = ()
    parts: int = field(init=False, compare=False, repr=False, default=1)

    def __post_init__(self) -> None:
        if self.args:
            parts = 1 + sum(arg.parts for arg in self.args)
            # A pair of a type and itself doubles it: thirty aliases would make a type of a thousand million parts.
            if parts > MOST_PARTS:
                raise TypeTooLargeError(f"a type of more than {MOST_PARTS} parts")
            object.__setattr__(self, "parts", parts)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, bool included."""
        return self.name in INT_INFO

    @property
    def is_real(self) -> bool:
        """Whether it is float or double."""
        return self.name in ("float", "double")

    @property
    def is_number(self) -> bool:
        """Whether it is arithmetic."""
        return self.name in INT_INFO or self.name in ("float", "double")

    @property
    def is_object(self) -> bool:
        """Whether its values are Python objects with an identity that C++ copies on assignment."""
        return self.name in _OBJECTS

    @property
    def is_vector(self) -> bool:
        """Whether it is std::vector or fixed_vector."""
        return self.name in ("vector", "fixed_vector")

    @property
    def is_map(self) -> bool:
        """Whether it is HashMap or std::map."""
        return self.name in ("map", "ordered_map")

    @property
    def is_set(self) -> bool:
        """Whether it is HashSet or std::set."""
        return self.name in ("set", "ordered_set")

    @property
    def is_shape(self) -> bool:
        """Whether it is Shape or ShapeView."""
        return self.name in ("Shape", "ShapeView")

    @property
    def is_iterator(self) -> bool:
        """Whether it is an iterator, of a vector or of a map."""
        return self.name in ("iter", "mapiter")

    @property
    def element(self) -> Type:
        """First type argument: of a vector, pointer, set, Maybe."""
        return self.args[0] if self.args else UNKNOWN

    def __str__(self) -> str:
        return spelled(self)


#: Integer types: bits, signedness.
INT_INFO: dict[str, tuple[int, bool]] = {
    "bool": (1, False),
    "char": (8, True),
    **{f"{sign}int{bits}_t": (bits, not sign) for bits in (8, 16, 32, 64) for sign in ("", "u")},
}
_OBJECTS = frozenset(
    {
        "Shape",
        "ShapeView",
        "vector",
        "fixed_vector",
        "map",
        "ordered_map",
        "set",
        "ordered_set",
        "TensorDesc",
        "SbpParallel",
        "ParallelDistribution",
        "SbpSignature",
        "SbpSignatureList",
        "stringstream",
        "struct",
    }
)

VOID = Type("void")
BOOL = Type("bool")
INT32 = Type("int32_t")
INT64 = Type("int64_t")
SIZE = Type("uint64_t")
FLOAT = Type("float")
DOUBLE = Type("double")
STRING = Type("string")
SHAPE = Type("Shape")
DATA_TYPE = Type("DataType")
DIM_VECTOR = Type("fixed_vector", (INT64,))
OP_ARG = Type("OpArg")
NULL = Type("null")
ERROR = Type("Error")
#: The type of what could not be understood; it silences every further finding about it.
UNKNOWN = Type("?")

#: Spellings of the language's plain types.
_PLAIN = {
    "int": INT32,
    "signed": INT32,
    "signed int": INT32,
    "unsigned": Type("uint32_t"),
    "unsigned int": Type("uint32_t"),
    "long": INT64,
    "long int": INT64,
    "long long": INT64,
    "long long int": INT64,
    "unsigned long": SIZE,
    "unsigned long long": SIZE,
    "size_t": SIZE,
    "uint64": SIZE,
    "short": Type("int16_t"),
    "unsigned short": Type("uint16_t"),
    "unsigned char": Type("uint8_t"),
    "signed char": Type("int8_t"),
    "ptrdiff_t": INT64,
    "string": STRING,
    "int32": INT32,
    "int64": INT64,
    "DimVector": DIM_VECTOR,
    "AxisVector": DIM_VECTOR,
    "FixedDimVector": DIM_VECTOR,
    "FixedVector": Type("fixed_vector", (INT32,)),
    "double": DOUBLE,
    "float": FLOAT,
    "void": VOID,
    "nullptr_t": NULL,
    "ssize_t": INT64,
    "uint": Type("uint32_t"),
}
#: Other names of class types; versions v0.3.4 to v0.5.0 of OneFlow in one table.
CLASS_ALIASES = {
    "NaiveTensorDesc": "TensorDesc",
    "BackwardOpBuilder": "OpBuilder",
    "UserOpConfWrapperBuilder": "OpBuilder",
    "UserOpConfWrapper": "OpConf",
    "UserOpWrapper": "FwOp",
    "BackwardOpConfContext": "GradContext",
    "UserOpDefWrapper": "OpDef",
    "UserOpSbpSignatureBuilder": "SbpBuilder",
    "SbpContextBase": "SbpContext",
    "InputBlobModifier": "InputArgModifier",
    "NdSbp": "ParallelDistribution",
    "ostringstream": "stringstream",
    "ErrorProto": "Error",
    "ShapeProto": "Shape",
}
#: Every class type that definitions may name besides the templates.
_CLASSES = frozenset(
    {
        "Shape",
        "ShapeView",
        "MutShapeView",
        "DataType",
        "OpArg",
        "InferContext",
        "SbpContext",
        "OpBuilder",
        "OpConf",
        "FwOp",
        "GradContext",
        "OpDef",
        "SbpBuilder",
        "InputArgModifier",
        "SbpParallel",
        "SbpSignature",
        "SbpSignatureList",
        "ParallelDistribution",
        "ParallelContext",
        "ParallelDesc",
        "stringstream",
        "Error",
        "BalancedSplitter",
        "Range",
        "DeviceType",
        "Device",
        "JobDesc",
        "Params3D",
        "AttrType",
        "SplitParallel",
        "BroadcastParallel",
        "PartialSumParallel",
        "UserOpConf",
        "OperatorConf",
        "TensorDesc",
        "DeviceTag",
        "ConfAttr",
    }
)
_TEMPLATES = {
    "vector": "vector",
    "fixed_vector": "fixed_vector",
    "HashMap": "map",
    "unordered_map": "map",
    "map": "ordered_map",
    "HashSet": "set",
    "unordered_set": "set",
    "set": "ordered_set",
    "pair": "pair",
    "function": "function",
    "Maybe": "maybe",
    "shared_ptr": "ptr",
    "unique_ptr": "ptr",
    "PbRf": "vector",
    "PbRpf": "vector",
    "initializer_list": "vector",
    "Symbol": "ptr",
    "list": "vector",
    "array": "vector",
    "deque": "vector",
}
#: The 14 attribute types with their C++ type.
ATTR_TYPES: dict[str, Type] = {
    "int32": INT32,
    "int64": INT64,
    "bool": BOOL,
    "float": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "shape": SHAPE,
    "data_type": DATA_TYPE,
}
ATTR_TYPES |= {
    f"list_{name}": Type("vector", (ATTR_TYPES[name],))
    for name in ("int32", "int64", "float", "data_type", "shape", "string")
}


def pointer(target: Type) -> Type:
    """Return the type of a pointer to a type."""
    return Type("ptr", (target,))


def plain_type(name: str) -> Type | None:
    """Return the type that a name without template arguments stands for, None where it does not name one."""
    if name in INT_INFO:
        return Type(name)
    found = _PLAIN.get(name)
    if found is not None:
        return found
    name = CLASS_ALIASES.get(name, name)
    return Type(name) if name in _CLASSES else None


def template_count(name: str) -> int:
    """Return how many types a template needs; what may follow them (a size, an allocator) is not read."""
    kind = _TEMPLATES.get(name)
    return 0 if kind is None else 2 if kind in ("map", "ordered_map", "pair") else 1


def template_type(name: str, args: tuple[Type, ...]) -> Type | None:
    """Return the type of a template with its arguments, None where there is no such template."""
    kind = _TEMPLATES.get(name)
    if kind is None:
        return None
    return Type(kind, args if kind == "function" else args[: template_count(name)])


def known_type_names() -> frozenset[str]:
    """Return every type name, for suggestions."""
    return frozenset(INT_INFO) | frozenset(_PLAIN) | frozenset(CLASS_ALIASES) | _CLASSES | frozenset(_TEMPLATES)


def common_integer(left: Type, right: Type) -> Type:
    """Return the type that C++'s usual arithmetic conversions give two integers."""
    a_bits, a_signed = INT_INFO[left.name]
    b_bits, b_signed = INT_INFO[right.name]
    if a_bits < 32:
        a_bits, a_signed = 32, True
    if b_bits < 32:
        b_bits, b_signed = 32, True
    bits = max(a_bits, b_bits)
    signed = (a_signed or a_bits < bits) and (b_signed or b_bits < bits)
    return Type(f"{'' if signed else 'u'}int{bits}_t")


_SHORT = {
    "i32": INT32,
    "i64": INT64,
    "size": SIZE,
    "u64": SIZE,
    "f32": FLOAT,
    "f64": DOUBLE,
    "str": STRING,
    "bool": BOOL,
    "dtype": DATA_TYPE,
    "void": VOID,
    "dims": DIM_VECTOR,
    "any": UNKNOWN,
}


@cache
def from_text(text: str) -> Type:
    """Read the short notation of the library tables: ``vector<pair<str,i32>>``, ``Shape*``, ``fn(void,OpConf)``."""
    text = text.strip()
    if text.endswith("*"):
        return pointer(from_text(text[:-1]))
    if text.endswith("&"):
        return Type("ref", (from_text(text[:-1]),))
    if text in _SHORT:
        return _SHORT[text]
    at = text.find("<")
    if at < 0:
        return Type(text)
    inside = text[at + 1 : -1]
    args: list[str] = [""]
    depth = 0
    for char in inside:
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "," and depth == 0:
            args.append("")
        else:
            args[-1] += char
    return Type(text[:at], tuple(from_text(arg) for arg in args))


_SPELLED = {
    "string": "std::string",
    "vector": "std::vector",
    "ptr": "pointer",
    "map": "HashMap",
    "set": "HashSet",
    "ordered_map": "std::map",
    "ordered_set": "std::set",
    "pair": "std::pair",
    "maybe": "Maybe",
    "OpBuilder": "UserOpConfWrapperBuilder",
    "OpConf": "UserOpConfWrapper",
    "FwOp": "UserOpWrapper",
    "GradContext": "BackwardOpConfContext",
    "OpDef": "UserOpDefWrapper",
    "SbpBuilder": "UserOpSbpSignatureBuilder",
    "null": "nullptr",
    "stringstream": "std::stringstream",
}


def spelled(kind: Type) -> str:
    """Return a type as C++ spells it, for messages."""
    if kind.name == "ptr":
        return f"{spelled(kind.element)}*"
    if kind.name == "ref":
        return f"{spelled(kind.element)}&"
    if kind.name == "function" and kind.args:
        return f"std::function<{spelled(kind.args[0])}({', '.join(map(spelled, kind.args[1:]))})>"
    if kind == DIM_VECTOR:
        return "DimVector"
    if kind.name == "uint64_t":
        return "size_t"
    name = _SPELLED.get(kind.name, kind.name)
    return f"{name}<{', '.join(map(spelled, kind.args))}>" if kind.args else name
