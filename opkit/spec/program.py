"""Program: the names of a file, and the units of Python that its functions become.

A unit is made for each function, template instance and registered lambda that something refers to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opkit.diagnostics import Note, Span
from opkit.errors import nearest
from opkit.spec import syntax
from opkit.spec.conversions import convert, fit, number_literal
from opkit.spec.findings import Findings
from opkit.spec.library import CONSTANTS, DATA_TYPE_OF, DATA_TYPES, FREE_FUNCTIONS, STATIC_FUNCTIONS
from opkit.spec.lower_declarations import is_cell_parameter
from opkit.spec.lower_statements import StatementLowering
from opkit.spec.lower_structs import bind_fields, lower_constructor
from opkit.spec.resolve import Binding, Bindings, binding_key, binding_text
from opkit.spec.types import (
    DATA_TYPE,
    STRING,
    UNKNOWN,
    Type,
    known_type_names,
    plain_type,
    pointer,
    spelled,
    template_type,
)
from opkit.spec.uses import Use, attr_use, use_of
from opkit.spec.value import ATOM, LowerError, Value

__all__ = ["Program", "Site", "Unit"]

#: Flags of library functions whose first argument names an argument of the op.
_NAMING = frozenset({"@any", "@out", "@grad", "@bind", "@bindarg", "@in"})
_NAMESPACES = frozenset({"oneflow", "user_op", "cfg", "summary", "maybe", "details", "internal"})
_DEEPEST_INSTANCES = 2_000


@dataclass(frozen=True, slots=True)
class Site:
    """A place that can stop a function: a CHECK, with the text of the spec."""

    span: Span
    text: str


@dataclass(slots=True)
class Unit:
    """One Python function made from the spec.

    Args:
        name: its Python name.
        tree: the file it comes from.
        node: what it was made from.
        lines: its source, each line with the token it comes from.
        uses: argument and attribute names that it uses.
        calls: names of the units that it refers to.
    """

    name: str
    program: Program
    node: syntax.Node
    lines: list[tuple[str, int]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    type: Type = UNKNOWN
    has_errors: bool = False
    subject: str = ""

    @property
    def source(self) -> str:
        """The Python source."""
        return "\n".join(text for text, _ in self.lines) + "\n"

    def report(self, error: LowerError) -> None:
        """Report a mistake in this unit."""
        self.has_errors = True
        self.program.report(error, self.subject)

    def warn(self, code: str, message: str, node: syntax.Node, at_end: bool = False, help: str = "") -> None:
        """Report what compiles and is wrong."""
        program = self.program
        span = program.tree.between(node.last, node.last) if at_end else program.tree.span(node)
        program.findings.add(code, message, span, program.tree.expansion(node), help=help, subject=self.subject)

    def note_use(self, flags: frozenset[str], method: str, owner: Type, args: list[Value], node: syntax.Call) -> None:
        """Note the name of an argument that a call uses."""
        made = use_of(flags, method, owner, args, node)
        if made is not None:
            self.uses.append(made)
        elif any(flag in _NAMING for flag in flags) and args and not args[0].is_const:
            self.uses.append(Use("dynamic", "", owner.name, node, ()))

    def note_attr(self, name: Value, kind: str, owner: Type, node: syntax.Call) -> None:
        """Note an attribute that a call reads."""
        if name.is_const:
            self.uses.append(attr_use(name.const, kind, owner, node))

    def note_builder_attr(self, name: Value, node: syntax.Call) -> None:
        """Note an attribute that a backward op gets."""
        if name.is_const:
            self.uses.append(Use("bwattr", name.const, "", node, ()))


class Program:
    """The names and units of one file."""

    def __init__(self, tree: syntax.Tree, findings: Findings) -> None:
        self.tree = tree
        self.findings = findings
        self.functions: dict[str, list[syntax.Function]] = {}
        self.aliases: dict[str, syntax.TypeName] = {}
        self.structs: dict[str, syntax.Struct] = {}
        self.globals: dict[str, tuple[syntax.Declaration, syntax.Declarator]] = {}
        self.units: dict[str, Unit] = {}
        self.instances: dict[tuple[int, tuple[tuple[str, str], ...]], Unit] = {}
        self.pending: list[tuple[Unit, syntax.Function, Bindings]] = []
        self.sites: list[Site] = []
        self.addressed = tree.addressed
        #: enumerators by name, with the value or the expression of it and the number counted on from that
        self.enums: dict[str, tuple[syntax.Expr | None, int]] = {}
        self.enum_types: set[str] = set()
        #: the struct that a function is defined in, by the function's identity
        self.owners: dict[int, syntax.Struct] = {}
        self.resolving: set[str] = set()
        self.current: Unit | None = None

    # -- names --------------------------------------------------------------------------------

    def collect(self, items: list[syntax.Node]) -> list[syntax.ExprStatement]:
        """Collect what a file defines; return the expressions at file scope."""
        expressions: list[syntax.ExprStatement] = []
        for item in items:
            if isinstance(item, syntax.Function):
                self.functions.setdefault(self.plain_name(item.name), []).append(item)
            elif isinstance(item, syntax.Struct):
                self.structs[item.name] = item
                for function in item.functions:
                    self.functions.setdefault(f"{item.name}::{function.name.text}", []).append(function)
                    self.owners[id(function)] = item
            elif isinstance(item, syntax.Enum):
                self.collect_enum(item)
            elif isinstance(item, syntax.Alias):
                self.aliases[item.name] = item.type
            elif isinstance(item, syntax.Declaration):
                for declarator in item.names:
                    self.globals[declarator.name] = (item, declarator)
            elif isinstance(item, syntax.ExprStatement):
                expressions.append(item)
        return expressions

    def collect_enum(self, item: syntax.Enum) -> None:
        """Collect enumerators, plain and qualified."""
        self.enum_types.add(item.name)
        base: syntax.Expr | None = None
        offset = 0
        for name, value in item.items:
            if value is not None:
                base, offset = value, 0
            for text in (name, f"{item.name}::{name}"):
                self.enums[text] = (base, offset)
            offset += 1

    def plain_name(self, name: syntax.Name) -> str:
        """Return a name without the namespaces of OneFlow."""
        parts = [part.text for part in name.parts]
        while len(parts) > 1 and parts[0] in _NAMESPACES:
            del parts[0]
        return "::".join(parts)

    def is_addressed(self, name: str) -> bool:
        """Say whether ``&name`` occurs in the file, or the name is passed by reference."""
        return name in self.addressed

    def known_names(self) -> set[str]:
        """Return the names of values, for suggestions."""
        return set(self.globals) | set(self.functions)

    def known_functions(self) -> set[str]:
        """Return the names of functions, for suggestions."""
        return set(self.functions)

    def functions_named(self, text: str, bindings: Bindings) -> list[syntax.Function]:
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
        node = error.node
        self.findings.add(
            error.code, error.message, self.tree.span(node), self.tree.expansion(node), help=error.help, subject=subject
        )

    def site(self, node: syntax.Node, text: str = "") -> int:
        """Return the number of a place that can stop a function."""
        span = self.tree.span(node)
        shown = text or " ".join(span.text.split())
        self.sites.append(Site(span, shown if len(shown) <= 200 else shown[:197] + "..."))
        return len(self.sites) - 1

    # -- types --------------------------------------------------------------------------------

    def type_of(self, name: syntax.TypeName, bindings: Bindings, stars: int | None = None) -> Type:
        """Return the type that a type name stands for, or raise a LowerError."""
        kind = self.find_type(name.name, bindings)
        if kind is None:
            text = name.name.text
            near = nearest(name.name.parts[-1].text, known_type_names() | set(self.aliases))
            raise LowerError(
                "SPEC020", f"no type is named {text!r}", name, f"did you mean {near[0]!r}?" if near else ""
            )
        if name.params is not None:
            kind = Type("function", (kind, *(self.parameter_type(param, bindings) for param in name.params)))
        count = name.stars if stars is None else stars
        if count and kind.name == "char" and name.is_const:
            # a C string
            kind, count = STRING, count - 1
        for _ in range(count):
            kind = pointer(kind)
        return kind

    def parameter_type(self, name: syntax.TypeName, bindings: Bindings) -> Type:
        """Return the type of a parameter, with ``ref`` where a scalar is assigned through it."""
        kind = self.type_of(name, bindings)
        return Type("ref", (kind,)) if is_cell_parameter(name, kind) else kind

    def find_type(self, name: syntax.Name, bindings: Bindings) -> Type | None:
        """Return the type that a name stands for, None where it stands for none."""
        part = name.parts[-1]
        text = part.text
        if len(name.parts) == 1:
            bound = bindings.get(text)
            if isinstance(bound, Type):
                return bound
        if text == "auto":
            return Type("auto")
        function = _FUNCTION_TYPES.get(text)
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
            return template_type(text, args)
        if text in self.structs:
            return Type("struct", (Type(text),))
        if text in self.enum_types:
            return Type("int32_t")
        return plain_type(text)

    def argument_type(self, arg: syntax.TypeName | syntax.Expr, bindings: Bindings) -> Type:
        """Return the type that a template argument names; a constant counts as unknown."""
        return self.type_of(arg, bindings) if isinstance(arg, syntax.TypeName) else UNKNOWN

    def template_type_argument(
        self, args: tuple[syntax.TypeName | syntax.Expr, ...] | None, bindings: Bindings
    ) -> Type:
        """Return the first template argument, which has to be a type."""
        if not args or not isinstance(args[0], syntax.TypeName):
            return UNKNOWN
        return self.type_of(args[0], bindings)

    # -- values of names ----------------------------------------------------------------------

    def named_value(self, text: str, node: syntax.Name, bindings: Bindings) -> Value | None:
        """Return the value of a name at file scope or in the framework, None where there is none."""
        last = node.parts[-1].text
        if text.startswith("DataType::") or (text == last and last in DATA_TYPES):
            found = DATA_TYPES.get(last)
            return Value(repr(found), DATA_TYPE, const=found, is_const=True) if found else None
        if text == "GetDataType::value":
            kind = self.template_type_argument(node.parts[-2].args, bindings)
            named = DATA_TYPE_OF.get(kind.name)
            return Value(repr(named), DATA_TYPE, const=named, is_const=True) if named else None
        if text in self.enums:
            return self.enumerator(text, node)
        if text in self.globals:
            return self.global_value(text, node)
        overloads = self.functions_named(text, bindings)
        if overloads:
            return self.function_name(overloads, node, bindings)
        constant = CONSTANTS.get(text) or CONSTANTS.get("::".join(text.split("::")[-2:]))
        if constant is not None:
            value = Value(constant[1], constant[0])
            if constant[0].is_integer:
                value.const, value.is_const = int(constant[1]), True
            elif constant[0].name == "string":
                value.const, value.is_const = constant[1][1:-1], True
            return value
        library = STATIC_FUNCTIONS.get(text) or FREE_FUNCTIONS.get(text)
        if library is not None and len(library) == 1:
            item = library[0]
            return Value(item.code.split("(", 1)[0], Type("function", (item.result, *item.params)))
        return None

    def global_value(self, name: str, node: syntax.Node) -> Value:
        """Lower a constant of the file where it is used."""
        if name in self.resolving:
            raise LowerError("SPEC020", f"{name!r} is defined by itself", node)
        declaration, declarator = self.globals[name]
        if not declaration.type.is_const and not declaration.type.name.text == "auto":
            raise LowerError("SPEC012", f"{name!r} is a variable at file scope", node, "make it const")
        self.resolving.add(name)
        try:
            lowering = StatementLowering(self, self.scratch(declaration), {})
            kind = self.type_of(declaration.type, {}, stars=declarator.stars)
            value = lowering.initial(kind, declarator)
            if value is None:
                raise LowerError("SPEC023", f"the constant {name!r} has no value", node)
            if kind.name != "auto":
                value = convert(value, kind, declarator)
            if lowering.lines:
                raise LowerError("SPEC012", f"the constant {name!r} is too complicated for a spec", declarator)
        finally:
            self.resolving.discard(name)
        value.is_read_only, value.target = True, ""
        return value

    def enumerator(self, name: str, node: syntax.Node) -> Value:
        """Return the value of an enumerator."""
        base, offset = self.enums[name]
        if name in self.resolving:
            raise LowerError("SPEC020", f"{name!r} is defined by itself", node)
        if base is None:
            return number_literal(offset, Type("int32_t"))
        self.resolving.add(name)
        try:
            value = StatementLowering(self, self.scratch(base), {}).lower(base)
        finally:
            self.resolving.discard(name)
        if not value.is_const or not value.type.is_integer:
            raise LowerError("SPEC036", "an enumerator needs a constant integer", base)
        return number_literal(int(value.const) + offset, Type("int32_t"))

    def scratch(self, node: syntax.Node) -> Unit:
        """Return a unit that nothing runs, for expressions outside of functions."""
        return Unit("_", self, node)

    def function_name(self, overloads: list[syntax.Function], node: syntax.Name, bindings: Bindings) -> Value:
        """Return the value of a function's name, with its template arguments where it has some."""
        args = node.parts[-1].args
        outer = self.struct_bindings(node, overloads[0], bindings)
        if args is not None:
            function, bound = self.instance(overloads, node, args, bindings)
            return self.function_value(function, {**outer, **bound}, node)
        if outer:
            return self.function_value(overloads[0], outer, node)
        plain = [item for item in overloads if item.template is None]
        if len({len(item.params) for item in plain}) == 1 and len([item for item in plain if item.body]) <= 1:
            chosen = next((item for item in plain if item.body), plain[0])
            return self.function_value(chosen, {}, node)
        return Value(overloads[0].name.text, Type("function"), functions=tuple(overloads))

    def is_method(self, function: syntax.Function) -> bool:
        """Say whether a function is called on an object."""
        return id(function) in self.owners and not function.is_static

    def constructor_unit(self, struct: syntax.Struct, number: int) -> Unit:
        """Return the unit that makes an object with one of a struct's constructors; -1 stands for none."""
        key = (id(struct), (("constructor", str(number)),))
        unit = self.instances.get(key)
        if unit is None:
            name = f"new_{struct.name}" + (f"_{number + 1}" if number > 0 else "")
            while name in self.units:
                name += "_"
            constructor = struct.constructors[number] if number >= 0 else None
            unit = Unit(name, self, constructor or struct)
            self.instances[key] = unit
            self.units[name] = unit
            kinds = [self.parameter_type(param.type, {}) for param in constructor.params] if constructor else []
            unit.type = Type("function", (Type("struct", (Type(struct.name),)), *kinds))
            self.lower_unit(
                unit, {"<struct>": struct.name}, lambda lowering: lower_constructor(lowering, struct, constructor)
            )
        if self.current is not None:
            self.current.calls.add(unit.name)
        return unit

    def lower_unit(
        self, unit: Unit, bindings: Bindings, write: Callable[[StatementLowering], tuple[str, list[Type]]]
    ) -> None:
        """Write a unit with a function that gives its parameters; its mistakes are reported."""
        lowering = StatementLowering(self, unit, bindings)
        saved, self.current = self.current, unit
        params = "*_args"
        for binding in bindings.values():
            if isinstance(binding, Value) and binding.code in self.units:
                unit.calls.add(binding.code)
        try:
            lowering.names.update(self.units)
            params, kinds = write(lowering)
            if unit.type.args[0].name == "auto":
                unit.type = Type("function", (lowering.result, *kinds))
        except LowerError as error:
            unit.report(error)
        except RecursionError:
            unit.report(LowerError("SPEC011", "this function is nested too deeply", unit.node))
        finally:
            self.current = saved
        self.close(unit, lowering, f"def {unit.name}({params if not unit.has_errors else '*_args'}):", unit.node)

    def struct_bindings(self, node: syntax.Name, function: syntax.Function, bindings: Bindings) -> dict[str, Binding]:
        """Return what the template parameters of a function's struct stand for, and the struct itself."""
        struct = self.owners.get(id(function))
        if struct is None:
            return {}
        bound: dict[str, Binding] = {"<struct>": struct.name}
        if struct.template:
            given = node.parts[-2].args if len(node.parts) > 1 else None
            if given is None:
                return {**bound, **{p.name: bindings[p.name] for p in struct.template if p.name in bindings}}
            for param, arg in zip(struct.template, given, strict=False):
                bound[param.name] = self.template_binding(arg, bindings)
        return bound

    def fitting(self, functions: tuple[syntax.Function, ...], wanted: Type) -> syntax.Function:
        """Return the overload whose parameters a function type asks for."""
        count = len(wanted.args) - 1 if wanted.name == "function" and wanted.args else -1
        for item in functions:
            if len(item.params) == count and item.body is not None:
                return item
        return functions[0]

    def function_value(self, function: syntax.Function, bindings: Bindings, node: syntax.Node) -> Value:
        """Return a function of the file as a value, and have its unit made."""
        unit = self.unit_of(function, bindings, node)
        return Value(unit.name, unit.type)

    def unit_of(self, function: syntax.Function, bindings: Bindings, node: syntax.Node) -> Unit:
        """Return the unit of a function with its template arguments."""
        key = (id(function), binding_key(bindings))
        unit = self.instances.get(key)
        if unit is None:
            if function.body is None:
                raise LowerError(
                    "SPEC020",
                    f"the function {function.name.text!r} is declared but not defined here",
                    node,
                    "define it in this file, or include the file that does",
                )
            if len(self.instances) > _DEEPEST_INSTANCES:
                raise LowerError("SPEC007", "templates are instantiated without end", node)
            result = self.type_of(function.result, bindings)
            params = tuple(self.parameter_type(param.type, bindings) for param in function.params)
            unit = Unit(self.unit_name(function, bindings), self, function)
            unit.type = Type("function", (result, *params))
            self.instances[key] = unit
            self.units[unit.name] = unit
            if result.name == "auto":
                # its result is what it returns, which has to be known here
                self.lower_function(unit, function, bindings)
            else:
                self.pending.append((unit, function, bindings))
        if self.current is not None:
            self.current.calls.add(unit.name)
        return unit

    def unit_name(self, function: syntax.Function, bindings: Bindings) -> str:
        base = "_".join(part.text for part in function.name.parts)
        for binding in bindings.values():
            text = binding_text(binding).strip("=:")
            base += "_" + "".join(char if char.isalnum() else "_" for char in text)[:40]
        name, number = base, 1
        while name in self.units:
            number += 1
            name = f"{base}_{number}"
        return name

    # -- templates and overloads --------------------------------------------------------------

    def instance(
        self,
        overloads: list[syntax.Function],
        node: syntax.Node,
        given: tuple[syntax.TypeName | syntax.Expr, ...],
        bindings: Bindings,
    ) -> tuple[syntax.Function, dict[str, Binding]]:
        """Return the template, or its specialisation, that template arguments choose."""
        ready = [self.template_binding(arg, bindings) for arg in given]
        texts = [binding_text(item) for item in ready]
        for item in overloads:
            if item.specialised is not None and item.body is not None:
                own = [binding_text(self.template_binding(arg, {})) for arg in item.specialised]
                if own == texts:
                    return item, {}
        for item in overloads:
            if item.template and item.specialised is None and len(item.template) >= len(ready):
                bound = {param.name: value for param, value in zip(item.template, ready, strict=False)}
                for param in item.template[len(ready) :]:
                    if param.default is None:
                        break
                    bound[param.name] = self.template_binding(param.default, bindings)
                if len(bound) == len(item.template):
                    return item, self.checked(item, bound)
        raise LowerError("SPEC022", "no template takes these template arguments", node)

    def checked(self, function: syntax.Function, bound: dict[str, Binding]) -> dict[str, Binding]:
        """Convert constants to the types of their template parameters."""
        for param in function.template or ():
            value = bound.get(param.name)
            kind = plain_type(param.kind)
            if isinstance(value, Value) and kind is not None and kind.is_integer and value.type.is_number:
                bound[param.name] = convert(value, kind, param)
        return bound

    def template_binding(self, arg: syntax.TypeName | syntax.Expr, bindings: Bindings) -> Binding:
        """Return what a template argument stands for: a type, a constant, a function or a template's name."""
        if isinstance(arg, syntax.TypeName):
            text = arg.name.text
            bound = bindings.get(text) if not arg.stars else None
            if bound is not None:
                return bound
            kind = self.find_type(arg.name, bindings)
            if kind is not None:
                return self.type_of(arg, bindings)
            if text in ("true", "false"):
                return Value(text.title(), Type("bool"), const=text == "true", is_const=True)
            value = self.named_value(self.plain_name(arg.name), arg.name, bindings)
            return value if value is not None else arg.name.parts[-1].text
        return StatementLowering(self, self.scratch(arg), bindings).lower(arg)

    def call_local(self, lowering: Any, text: str, name: syntax.Name, args: list[Value], node: syntax.Call) -> Value:
        """Lower a call of a function of the file."""
        overloads = self.functions_named(text, lowering.bindings)
        outer = self.struct_bindings(name, overloads[0], lowering.bindings)
        given = name.parts[-1].args
        if given is not None:
            bound = self.partial_instance(overloads, name, given, args, lowering.bindings)
            return self.finish_call(lowering, bound[0], {**outer, **bound[1]}, args, node)
        return self.call_functions(lowering, tuple(overloads), args, node, outer)

    def partial_instance(
        self,
        overloads: list[syntax.Function],
        name: syntax.Name,
        given: tuple[syntax.TypeName | syntax.Expr, ...],
        args: list[Value],
        bindings: Bindings,
    ) -> tuple[syntax.Function, Bindings]:
        try:
            return self.instance(overloads, name, given, bindings)
        except LowerError:
            ready = [self.template_binding(arg, bindings) for arg in given]
            for item in overloads:
                if item.template and len(item.params) == len(args):
                    start = {param.name: value for param, value in zip(item.template, ready, strict=False)}
                    bound = self.deduce(item, args, start)
                    if bound is not None:
                        return item, bound
            raise

    def call_functions(
        self,
        lowering: Any,
        overloads: tuple[syntax.Function, ...],
        args: list[Value],
        node: syntax.Call,
        outer: Bindings = MappingProxyType({}),
        receiver: str = "",
    ) -> Value:
        """Choose among overloads by the arguments and lower the call."""
        best: tuple[int, syntax.Function, Bindings] | None = None
        for item in overloads:
            needed = sum(1 for param in item.params if param.default is None)
            if not needed <= len(args) <= len(item.params) or (item.specialised is not None):
                continue
            bound: Bindings | None = outer
            if item.template:
                bound = self.deduce(item, args, dict(outer))
                if bound is None:
                    continue
            score = self.score(item, bound or {}, args, node)
            if score is not None:
                score = score * 2 + (1 if item.template else 0) + (0 if item.body is not None else 1 << 20)
                if best is None or score < best[0]:
                    best = (score, item, bound or {})
        if best is None:
            raise self.no_overload(overloads, args, node)
        function, bindings = best[1], best[2]
        if function.template and bindings:
            function, bindings = self.specialised(overloads, function, bindings)
        return self.finish_call(lowering, function, bindings, args, node, receiver)

    def specialised(
        self, overloads: tuple[syntax.Function, ...], function: syntax.Function, bindings: Bindings
    ) -> tuple[syntax.Function, Bindings]:
        texts = [binding_text(bindings[param.name]) for param in function.template or () if param.name in bindings]
        for item in overloads:
            if item.specialised is not None and item.body is not None:
                if [binding_text(self.template_binding(arg, {})) for arg in item.specialised] == texts:
                    return item, {}
        return function, bindings

    def score(self, function: syntax.Function, bindings: Bindings, args: list[Value], node: syntax.Call) -> int | None:
        total = 0
        for value, param in zip(args, function.params, strict=False):
            found = fit(value, self.parameter_type(param.type, bindings), node)
            if found is None:
                return None
            total += found
        return total

    def no_overload(self, overloads: tuple[syntax.Function, ...], args: list[Value], node: syntax.Call) -> LowerError:
        name = overloads[0].name.text
        counts = sorted({len(item.params) for item in overloads})
        if len(args) not in counts:
            wanted = " or ".join(map(str, counts))
            return LowerError(
                "SPEC022", f"{name!r} takes {wanted} argument{'s' * (counts != [1])}, {len(args)} given", node
            )
        given = ", ".join(spelled(arg.type) for arg in args)
        return LowerError("SPEC022", f"no {name!r} takes ({given})", node)

    def deduce(self, function: syntax.Function, args: list[Value], start: dict[str, Binding]) -> Bindings | None:
        """Deduce template arguments from call arguments; None where that fails."""
        bound = dict(start)
        names = {param.name for param in function.template or ()}
        for value, param in zip(args, function.params, strict=False):
            self.match(param.type, value.type, names, bound)
        for param in function.template or ():
            if param.name not in bound:
                if param.default is None:
                    return None
                bound[param.name] = self.template_binding(param.default, bound)
        return self.checked(function, bound)

    def match(self, pattern: syntax.TypeName, kind: Type, names: set[str], bound: dict[str, Binding]) -> None:
        if pattern.stars:
            if kind.name != "ptr":
                return
            kind = kind.element
        part = pattern.name.parts[-1]
        if part.text in names and part.args is None:
            bound.setdefault(part.text, kind)
        elif part.args:
            for arg, inner in zip(part.args, kind.args, strict=False):
                if isinstance(arg, syntax.TypeName):
                    self.match(arg, inner, names, bound)

    def finish_call(
        self,
        lowering: Any,
        function: syntax.Function,
        bindings: Bindings,
        args: list[Value],
        node: syntax.Call,
        receiver: str = "",
    ) -> Value:
        """Write a call: references as pointers, values as copies, defaults filled in."""
        if len(args) > len(function.params):
            raise self.no_overload((function,), args, node)
        unit = self.unit_of(function, bindings, node)
        kinds = unit.type.args[1:]
        codes: list[str] = [receiver] if receiver else []
        if not receiver and self.is_method(function):
            if lowering.lookup("this") is None:
                raise LowerError("SPEC022", f"{function.name.text!r} needs an object", node)
            codes = ["self"]
        for number, (param, kind) in enumerate(zip(function.params, kinds, strict=True)):
            if number >= len(args):
                if param.default is None:
                    raise self.no_overload((function,), args, node)
                value: Value = lowering.lower(param.default)
                codes.append(convert(value, kind, node).code)
            elif kind.name == "ref":
                codes.append(lowering.address(args[number], node.args[number]).code)
            else:
                by_value = not param.type.ref and not param.type.stars
                value = args[number]
                if value.functions:
                    value = self.function_value(self.fitting(value.functions, kind), {}, node)
                codes.append(lowering.passed(value, kind, node.args[number], by_value))
        result = unit.type.args[0]
        return Value(f"{unit.name}({', '.join(codes)})", result, ATOM, bool(function.result.ref))

    # -- making units -------------------------------------------------------------------------

    def finish(self) -> None:
        """Lower every function that has been referred to, and those that those refer to."""
        while self.pending:
            unit, function, bindings = self.pending.pop()
            self.lower_function(unit, function, bindings)

    def lower_function(self, unit: Unit, function: syntax.Function, bindings: Bindings) -> None:
        """Write the unit of a function."""
        body = function.body
        assert body is not None

        def write(lowering: StatementLowering) -> tuple[str, list[Type]]:
            owner = self.owners.get(id(function))
            first = ""
            if owner is not None and not function.is_static:
                first = "self, " if function.params else "self"
                lowering.names.add("self")
                bind_fields(lowering, owner, function)
            with lowering.scope():
                params, kinds = lowering.parameters(function.params)
                lowering.function_body(body, unit.type.args[0])
            return first + params, kinds

        self.lower_unit(unit, bindings, write)

    def close(self, unit: Unit, lowering: StatementLowering, header: str, node: syntax.Node) -> None:
        """Complete a unit: its header, its lints about variables."""
        body = lowering.lines or [("    pass", node.first)]
        unit.lines = [(header, node.first), *body]
        for variable in lowering.declared:
            if not variable.is_set and variable.first_read is not None and variable.kind == "plain":
                name = variable.name
                unit.warn(
                    "SPEC024",
                    f"{name!r} is read, but nothing has given it a value",
                    variable.first_read,
                    help=f"initialise {name} where it is declared",
                )

    def slot_unit(self, name: str, expression: syntax.Expr, wanted: Type, subject: str) -> Unit | None:
        """Return the unit of a function given to a setter: a lambda, a name, or an expression that makes one.

        Args:
            name: Python name for the unit, where it needs one of its own.
            expression: what the setter was given.
            wanted: the function type that the setter takes.
            subject: the op type, for findings.
        """
        python, number = name, 1
        while python in self.units:
            number += 1
            python = f"{name}_{number}"
        unit = Unit(python, self, expression, subject=subject)
        unit.type = wanted
        self.units[python] = unit
        saved, self.current = self.current, unit
        lowering = StatementLowering(self, unit, {})
        try:
            lowering.names.update(self.units)
            if isinstance(expression, syntax.Lambda):
                return self.lambda_unit(unit, lowering, expression, wanted)
            value = lowering.lower(expression)
            if value.functions:
                value = self.function_value(self.fitting(value.functions, wanted), {}, expression)
            self.check_signature(value.type, wanted, expression)
            if value.code in self.units and not lowering.lines:
                del self.units[python]
                return self.units[value.code]
            lowering.emit(f"return {value.code}", expression)
            unit.lines = [(f"def {python}_make():", expression.first), *lowering.lines]
            unit.lines += [(f"{python} = {python}_make()", expression.first)]
            return unit
        except LowerError as error:
            unit.report(error)
        except RecursionError:
            unit.report(LowerError("SPEC011", "this function is nested too deeply", expression))
        finally:
            self.current = saved
        del self.units[python]
        return None

    def lambda_unit(self, unit: Unit, lowering: StatementLowering, node: syntax.Lambda, wanted: Type) -> Unit:
        params, kinds = lowering.parameters(node.params)
        result = self.type_of(node.result, {}) if node.result is not None else wanted.args[0]
        lowering.function_body(node.body, result)
        self.check_signature(Type("function", (result, *kinds)), wanted, node)
        self.close(unit, lowering, f"def {unit.name}({params}):", node)
        return unit

    def check_signature(self, given: Type, wanted: Type, node: syntax.Node) -> None:
        """Refuse a function that its setter cannot call."""
        if given is UNKNOWN or given.name != "function" or not given.args:
            if given is not UNKNOWN and given.name != "null":
                raise LowerError("SPEC023", f"this setter takes a function, not a {spelled(given)}", node)
            return
        given_params, wanted_params = given.args[1:], wanted.args[1:]
        same = len(given_params) == len(wanted_params) and all(
            a == b or UNKNOWN in (a, b) or a.name == "function" == b.name or _is_context_pair(a, b)
            for a, b in zip(given_params, wanted_params, strict=True)
        )
        if not same:
            takes = ", ".join(map(spelled, wanted_params))
            has = ", ".join(map(spelled, given_params))
            raise LowerError("SPEC022", f"this setter takes a function of ({takes}), not of ({has})", node)
        if wanted.args[0].name == "maybe" and given.args[0].name != "maybe":
            raise LowerError(
                "SPEC023",
                f"this function returns {spelled(given.args[0])}, and not Maybe<void>",
                node,
                "declare it as returning Maybe<void>",
            )

    def reachable(self, unit: Unit) -> list[Unit]:
        """Return a unit and all units that it refers to, itself first."""
        found: dict[str, Unit] = {}
        stack = [unit]
        while stack:
            item = stack.pop()
            if item.name not in found:
                found[item.name] = item
                stack += [self.units[name] for name in sorted(item.calls) if name in self.units]
        return list(found.values())

    def note(self, message: str, node: syntax.Node) -> Note:
        """Return a note about a piece of syntax."""
        return Note(message, self.tree.span(node))


def _is_context_pair(a: Type, b: Type) -> bool:
    names = {a.element.name if a.name == "ptr" else a.name, b.element.name if b.name == "ptr" else b.name}
    return names == {"SbpContext", "SbpInferContext"}


def _function(text: str) -> Type:
    from opkit.spec.types import from_text

    return from_text(text)


#: Names that OneFlow gives to function types.
_FUNCTION_TYPES: dict[str, Type] = {
    "TensorDescInferFn": _function("function<maybe<void>,InferContext*>"),
    "DataTypeInferFn": _function("function<maybe<void>,InferContext*>"),
    "CheckAttrFn": _function("function<maybe<void>,OpDef,OpConf>"),
    "GetSbpFn": _function("function<maybe<void>,SbpContext*>"),
    "SbpSignatureInferFn": _function("function<maybe<void>,SbpInferContext*>"),
    "GetInputArgModifier": _function("function<InputArgModifier*,str,i32>"),
    "GetOutputArgModifier": _function("function<OutputArgModifier*,str,i32>"),
    "InputArgModifyFn": _function("function<void,function<InputArgModifier*,str,i32>,OpConf>"),
    "OutputArgModifyFn": _function("function<void,function<OutputArgModifier*,str,i32>,OpConf>"),
    "OutputBlobTimeShapeInferFn": _function("function<maybe<void>,TimeShapeContext*>"),
    "ParallelDistributionInferFn": _function("function<maybe<void>,DistributionContext*>"),
    "NdSbpInferFn": _function("function<maybe<void>,DistributionContext*>"),
    "BatchAxisInferFn": _function("function<maybe<void>,BatchAxisContext*>"),
    "AddOpFn": _function("function<void,OpConf>"),
    "GenBackwardOpConfFn": _function("function<void,FwOp,function<void,OpConf>>"),
    "BackwardOpConfGenFn": _function("function<void,GradContext*>"),
    "BackwardOpBuilderFn": _function("function<OpConf,OpBuilder>"),
    "UserOpInputGradGetFn": _function("function<str>"),
}
FUNCTION_TYPES = _FUNCTION_TYPES
__all__ += ["FUNCTION_TYPES"]
