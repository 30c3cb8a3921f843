"""Names: what a file defines, and what types and values its names stand for.

Functions and templates become units in ``instances``.
"""

from __future__ import annotations

from opkit.errors import unknown
from opkit.spec.findings import Findings
from opkit.spec.library.table import CONSTANTS, DATA_TYPE_OF, DATA_TYPES, FREE_FUNCTIONS, STATIC_FUNCTIONS
from opkit.spec.library.types import (
    DATA_TYPE,
    STRING,
    UNKNOWN,
    Type,
    TypeTooLargeError,
    from_text,
    known_type_names,
    plain_type,
    pointer,
    template_count,
    template_type,
)
from opkit.spec.lower.conversions import convert, is_cell_parameter, number_literal
from opkit.spec.lower.lowered import Bindings, Lowered, LowerError, SpentError
from opkit.spec.lower.units import ConstantLowering, Site, Unit
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Declaration, Declarator, Expr, Function, Name, Node, Struct, TypeName

#: Expressions and type names that are lowered for one file; OneFlow's largest spec has some 20,000.
MOST_LOWERED = 500_000
_SMALLER = "a type here multiplies itself; write it out or make it smaller"
_NAMESPACES = frozenset({"oneflow", "user_op", "cfg", "summary", "maybe", "details", "internal"})
#: Names that OneFlow gives to function types.
FUNCTION_TYPES: dict[str, Type] = {
    "TensorDescInferFn": from_text("function<maybe<void>,InferContext*>"),
    "DataTypeInferFn": from_text("function<maybe<void>,InferContext*>"),
    "CheckAttrFn": from_text("function<maybe<void>,OpDef,OpConf>"),
    "GetSbpFn": from_text("function<maybe<void>,SbpContext*>"),
    "GetInputArgModifier": from_text("function<InputArgModifier*,str,i32>"),
    "InputArgModifyFn": from_text("function<void,function<InputArgModifier*,str,i32>,OpConf>"),
    "AddOpFn": from_text("function<void,OpConf>"),
    "GenBackwardOpConfFn": from_text("function<void,FwOp,function<void,OpConf>>"),
    "BackwardOpConfGenFn": from_text("function<void,GradContext*>"),
    "BackwardOpBuilderFn": from_text("function<OpConf,OpBuilder>"),
    "UserOpInputGradGetFn": from_text("function<str>"),
}


class Names:
    """The names of one file."""

    def function_name(self, overloads: list[Function], node: Name, bindings: Bindings) -> Lowered:
        """Return the value of a function's name; the instances provide it."""
        raise NotImplementedError

    def lowering(self, unit: Unit, bindings: Bindings) -> ConstantLowering:
        """Return the lowering of one unit; the program provides it."""
        raise NotImplementedError

    def __init__(self, tree: syntax.Tree, findings: Findings) -> None:
        self.tree = tree
        self.findings = findings
        self.functions: dict[str, list[Function]] = {}
        self.aliases: dict[str, TypeName] = {}
        self.structs: dict[str, Struct] = {}
        self.globals: dict[str, tuple[Declaration, Declarator]] = {}
        self.units: dict[str, Unit] = {}
        self.instances: dict[tuple[int, tuple[tuple[str, str], ...]], Unit] = {}
        self.pending: list[tuple[Unit, Function, Bindings]] = []
        self.sites: list[Site] = []
        self.addressed = tree.addressed
        #: enumerators by name, with the value or the expression of it and the number counted on from that
        self.enums: dict[str, tuple[Expr | None, int]] = {}
        self.enum_types: set[str] = set()
        #: the struct that a function is defined in, by the function's identity
        self.owners: dict[int, Struct] = {}
        self.resolving: set[str] = set()
        self.current: Unit | None = None
        self.spent = 0
        self.is_spent = False

    def collect(self, items: list[Node]) -> list[syntax.ExprStatement]:
        """Collect what a file defines; return the expressions at file scope."""
        expressions: list[syntax.ExprStatement] = []
        for item in items:
            if isinstance(item, Function):
                self.functions.setdefault(self.plain_name(item.name), []).append(item)
            elif isinstance(item, Struct):
                self.structs[item.name] = item
                for function in item.functions:
                    self.functions.setdefault(f"{item.name}::{function.name.text}", []).append(function)
                    self.owners[id(function)] = item
            elif isinstance(item, syntax.Enum):
                self.collect_enum(item)
            elif isinstance(item, syntax.Alias):
                self.aliases[item.name] = item.type
            elif isinstance(item, Declaration):
                for declarator in item.names:
                    self.globals[declarator.name] = (item, declarator)
            elif isinstance(item, syntax.ExprStatement):
                expressions.append(item)
        return expressions

    def collect_enum(self, item: syntax.Enum) -> None:
        """Collect enumerators, plain and qualified."""
        self.enum_types.add(item.name)
        base: Expr | None = None
        offset = 0
        for name, value in item.items:
            if value is not None:
                base, offset = value, 0
            for text in (name, f"{item.name}::{name}"):
                self.enums[text] = (base, offset)
            offset += 1

    def plain_name(self, name: Name) -> str:
        """Return a name without the namespaces of OneFlow."""
        parts = [part.text for part in name.parts]
        while len(parts) > 1 and parts[0] in _NAMESPACES:
            del parts[0]
        return "::".join(parts)

    def is_addressed(self, name: str) -> bool:
        """Return whether ``&name`` occurs in the file, or the name is passed by reference."""
        return name in self.addressed

    def known_names(self) -> set[str]:
        """Return the names of values, for suggestions."""
        return set(self.globals) | set(self.functions)

    def known_functions(self) -> set[str]:
        """Return the names of functions, for suggestions."""
        return set(self.functions)

    def functions_named(self, text: str, bindings: Bindings) -> list[Function]:
        """Return the functions of the file with a name."""
        owner = bindings.get("<struct>")
        found = self.functions.get(f"{owner}::{text}") if isinstance(owner, str) else None
        found = found or self.functions.get(text)
        if found is None and "::" in text:
            last = text.rsplit("::", 1)[-1]
            if (
                text.split("::")[0] not in self.structs
                and text not in STATIC_FUNCTIONS
                and not text.startswith("std::")
            ):
                found = self.functions.get(last)
        return found or []

    def report(self, error: LowerError, subject: str = "") -> None:
        """Report a mistake with the macro it comes from."""
        if isinstance(error, SpentError):
            # Past the bound every further piece of the definition file would be reported.
            if self.is_spent:
                return
            self.is_spent = True
        node = error.node
        self.findings.add(
            error.code, error.message, self.tree.span(node), self.tree.expansion(node), help=error.help, subject=subject
        )

    def site(self, node: Node, text: str = "") -> int:
        """Return the number of a place that can stop a function."""
        span = self.tree.span(node)
        shown = text or " ".join(span.text.split())
        self.sites.append(Site(span, shown if len(shown) <= 200 else shown[:197] + "..."))
        return len(self.sites) - 1

    def type_of(self, name: TypeName, bindings: Bindings, stars: int | None = None) -> Type:
        """Return the type that a type name stands for, or raise a LowerError."""
        try:
            kind = self.find_type(name.name, bindings)
        except TypeTooLargeError as error:
            raise LowerError("SPEC007", f"this is {error}", name, _SMALLER) from None
        if kind is None:
            text = name.name.text
            last = name.name.parts[-1].text
            help_line = unknown("no type is named", last, known_type_names() | set(self.aliases)).help
            raise LowerError("SPEC020", f"no type is named {text!r}", name, help_line)
        if name.params is not None:
            kind = Type("function", (kind, *(self.parameter_type(param, bindings) for param in name.params)))
        count = name.stars if stars is None else stars
        if count and kind.name == "char" and name.is_const:
            # a C string
            kind, count = STRING, count - 1
        for _ in range(count):
            kind = pointer(kind)
        return kind

    def parameter_type(self, name: TypeName, bindings: Bindings) -> Type:
        """Return the type of a parameter, with ``ref`` where a scalar is assigned through it."""
        kind = self.type_of(name, bindings)
        return Type("ref", (kind,)) if is_cell_parameter(name, kind) else kind

    def spend(self, node: Node) -> None:
        """Count an expression or a type name that is lowered; constants and templates lower theirs at each use."""
        self.spent += 1
        if self.spent > MOST_LOWERED:
            raise SpentError(
                "SPEC007",
                f"this definition file has more than {MOST_LOWERED:,} expressions and type names, those of constants, "
                "default arguments and templates counted at each use",
                node,
                "a constant, type or template here multiplies itself; write it out or make it smaller",
            )

    def find_type(self, name: Name, bindings: Bindings) -> Type | None:
        """Return the type that a name stands for, None where it does not name one."""
        self.spend(name)
        part = name.parts[-1]
        text = part.text
        if len(name.parts) == 1:
            bound = bindings.get(text)
            if isinstance(bound, Type):
                return bound
        if text == "auto":
            return Type("auto")
        function = FUNCTION_TYPES.get(text)
        if text in self.aliases and text not in self.resolving:
            self.resolving.add(text)
            try:
                return self.type_of(self.aliases[text], bindings)
            finally:
                self.resolving.discard(text)
        if function is not None:
            return function
        if part.args is not None:
            args = tuple(self.argument_type(arg, bindings) for arg in part.args)
            if text == "function" and args and args[0].name == "function":
                return args[0]
            count = template_count(text)
            if len(args) < count:
                said = f"template arguments of {name.text!r}: {count} expected, {len(args)} given"
                raise LowerError("SPEC022", said, name)
            return template_type(text, args)
        if text in self.structs:
            return Type("struct", (Type(text),))
        if text in self.enum_types:
            return Type("int32_t")
        return plain_type(text)

    def argument_type(self, arg: TypeName | Expr, bindings: Bindings) -> Type:
        """Return the type that a template argument names; a constant counts as unknown."""
        return self.type_of(arg, bindings) if isinstance(arg, TypeName) else UNKNOWN

    def template_type_argument(self, args: tuple[TypeName | Expr, ...] | None, bindings: Bindings) -> Type:
        """Return the first template argument, which has to be a type."""
        if not args or not isinstance(args[0], TypeName):
            return UNKNOWN
        return self.type_of(args[0], bindings)

    def named_value(self, text: str, node: Name, bindings: Bindings) -> Lowered | None:
        """Return the value of a name at file scope or in the framework, None where there is none."""
        last = node.parts[-1].text
        if text.startswith("DataType::") or (text == last and last in DATA_TYPES):
            found = DATA_TYPES.get(last)
            return Lowered(repr(found), DATA_TYPE, const=found, is_const=True) if found else None
        if text == "GetDataType::value":
            kind = self.template_type_argument(node.parts[-2].args, bindings)
            named = DATA_TYPE_OF.get(kind.name)
            return Lowered(repr(named), DATA_TYPE, const=named, is_const=True) if named else None
        if text in self.enums:
            return self.enumerator(text, node)
        if text in self.globals:
            return self.global_value(text, node)
        overloads = self.functions_named(text, bindings)
        if overloads:
            return self.function_name(overloads, node, bindings)
        constant = CONSTANTS.get(text) or CONSTANTS.get("::".join(text.split("::")[-2:]))
        if constant is not None:
            value = Lowered(constant[1], constant[0])
            if constant[0].is_integer:
                value.const, value.is_const = int(constant[1]), True
            elif constant[0].name == "string":
                value.const, value.is_const = constant[1][1:-1], True
            return value
        library = STATIC_FUNCTIONS.get(text) or FREE_FUNCTIONS.get(text)
        if library is not None and len(library) == 1:
            item = library[0]
            return Lowered(item.code.split("(", 1)[0], Type("function", (item.result, *item.params)))
        return None

    def global_value(self, name: str, node: Node) -> Lowered:
        """Lower a constant of the file where it is used."""
        if name in self.resolving:
            raise LowerError("SPEC020", f"{name!r} is defined by itself", node)
        declaration, declarator = self.globals[name]
        if not declaration.type.is_const and not declaration.type.name.text == "auto":
            raise LowerError("SPEC012", f"{name!r} is a variable at file scope", node, "make it const")
        self.resolving.add(name)
        try:
            lowering = self.lowering(self.scratch(declaration), {})
            kind = self.type_of(declaration.type, {}, stars=declarator.stars)
            value = lowering.initial(kind, declarator)
            if value is None:
                raise LowerError("SPEC023", f"the constant {name!r} has no value", node)
            if kind.name != "auto":
                value = convert(value, kind, declarator)
            if lowering.lines:
                raise LowerError("SPEC012", f"the constant {name!r} is too complicated for a definition", declarator)
        finally:
            self.resolving.discard(name)
        value.is_read_only, value.target = True, ""
        return value

    def enumerator(self, name: str, node: Node) -> Lowered:
        """Return the value of an enumerator."""
        base, offset = self.enums[name]
        if name in self.resolving:
            raise LowerError("SPEC020", f"{name!r} is defined by itself", node)
        if base is None:
            return number_literal(offset, Type("int32_t"))
        self.resolving.add(name)
        try:
            value = self.lowering(self.scratch(base), {}).lower(base)
        finally:
            self.resolving.discard(name)
        if not value.is_const or not value.type.is_integer:
            raise LowerError("SPEC036", "an enumerator needs a constant integer", base)
        return number_literal(int(value.const) + offset, Type("int32_t"))

    def scratch(self, node: Node) -> Unit:
        """Return a unit that nothing runs, for expressions outside functions."""
        return Unit("_", self, node)
