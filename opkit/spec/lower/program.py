"""SpecProgram: the names of a file, and the units of Python that its functions become.

A unit is made for each function, template instance and registered lambda that something refers to.

Constructors: how they become units, and what the functions of a struct see of its object.

What a struct holds is in ``structs``.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.diagnostics import Note
from opkit.spec.library.types import UNKNOWN, Type, TypeTooLargeError, spelled
from opkit.spec.lower.conversions import convert, copied, default_code, zero_code
from opkit.spec.lower.instances import Instances
from opkit.spec.lower.lowered import Bindings, Lowered, LowerError
from opkit.spec.lower.statements import StatementLowering
from opkit.spec.lower.structs import field_types, field_value, missing_field
from opkit.spec.lower.units import Unit
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Declarator, Expr, Function, Node, Struct


def bind_fields(lowering: StatementLowering, struct: Struct, node: Node) -> None:
    """Let the fields of ``self`` be named alone, and ``this`` name it."""
    owner = Lowered("self", Type("struct", (Type(struct.name),)))
    for name, (kind, _) in field_types(lowering.program, struct).items():
        lowering.declare(name, kind, "alias", node, field_value(owner, name, kind))
    this = Lowered("self", Type("ptr", (owner.type,)))
    lowering.declare("this", this.type, "alias", node, this)


def lower_constructor(
    lowering: StatementLowering, struct: Struct, constructor: syntax.Constructor | None
) -> tuple[str, list[Type]]:
    """Write the body of a unit that makes an object; return its parameters and their types."""
    node: Node = constructor or struct
    params, kinds = lowering.parameters(constructor.params) if constructor is not None else ("", [])
    inits = dict(constructor.inits) if constructor is not None else {}
    lowering.emit("METER.enter(8)", node)
    lowering.emit("self = Record()", node)
    with lowering.scope():
        for name, (kind, item) in field_types(lowering.program, struct).items():
            lowering.emit(f"self.{name} = {_initial(lowering, kind, item, inits.pop(name, None))}", item)
        for name in inits:
            raise missing_field(lowering.program, name, struct, node)
    if constructor is not None:
        shadowed = {param.name for param in constructor.params}
        outer = dict(lowering.scopes[-1])
        bind_fields(lowering, struct, node)
        lowering.scopes[-1].update({name: item for name, item in outer.items() if name in shadowed})
        lowering.result = Type("void")
        lowering.statements(constructor.body.items)
    lowering.emit("return self", node)
    return params, kinds


def _initial(lowering: StatementLowering, kind: Type, item: Declarator, args: tuple[Expr, ...] | None) -> str:
    """Return the code of a field's first value."""
    if args is not None:
        return copied(lowering.construct(kind, [lowering.lower(arg) for arg in args], item, False))
    value = lowering.initial(kind, item)
    if value is not None:
        return copied(convert(value, kind, item))
    if kind.name == "struct":
        return lowering.construct(kind, [], item, False).code
    if item.size is not None:
        return f"filled({lowering.lower(item.size).code}, {zero_code(kind.element)})"
    return default_code(kind) or "None"


#: The line with which a function of the definition file counts that it is called.
ENTER = "    METER.enter()"


class SpecProgram(Instances):
    """The names and units of one file."""

    def lowering(self, unit: Unit, bindings: Bindings) -> StatementLowering:
        """Return the lowering of one unit."""
        return StatementLowering(self, unit, bindings)

    def lower_unit(
        self, unit: Unit, bindings: Bindings, write: Callable[[StatementLowering], tuple[str, list[Type]]]
    ) -> None:
        """Write a unit with a function that gives its parameters; its mistakes are reported."""
        lowering = StatementLowering(self, unit, bindings)
        saved, self.current = self.current, unit
        params = "*_args"
        for binding in bindings.values():
            if isinstance(binding, Lowered) and binding.code in self.units:
                unit.calls.add(binding.code)
        try:
            lowering.names.update(self.units)
            params, kinds = write(lowering)
            if unit.type.args[0].name == "auto":
                unit.type = Type("function", (lowering.result, *kinds))
        except LowerError as error:
            unit.report(error)
        except TypeTooLargeError as too_large:
            unit.report(LowerError("SPEC007", f"this makes {too_large}", unit.node))
        except RecursionError:
            unit.report(LowerError("SPEC011", "this function is nested too deeply", unit.node))
        finally:
            self.current = saved
        self.close(unit, lowering, f"def {unit.name}({params if not unit.has_errors else '*_args'}):", unit.node)

    def finish(self) -> None:
        """Lower every function that has been referred to, and those that those refer to."""
        while self.pending:
            unit, function, bindings = self.pending.pop()
            self.lower_function(unit, function, bindings)
        called = {name for unit in self.units.values() for name in unit.calls}
        for unit in self.units.values():
            # A function that calls no other, or that no other calls, cannot multiply what its callers do.
            if unit.is_leaf or unit.name not in called:
                kept = [line for line in unit.lines if line[0] != ENTER]
                unit.lines = kept if len(kept) > 1 else [*kept, ("    pass", kept[0][1])]

    def lower_function(self, unit: Unit, function: Function, bindings: Bindings) -> None:
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
                lowering.emit(ENTER.strip(), function)
                lowering.function_body(body, unit.type.args[0])
            return first + params, kinds

        self.lower_unit(unit, bindings, write)

    def constructor_unit(self, struct: Struct, number: int) -> Unit:
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

    def close(self, unit: Unit, lowering: StatementLowering, header: str, node: Node) -> None:
        """Complete a unit: its header, its lints about variables."""
        body = lowering.lines or [("    pass", node.first)]
        unit.lines = [(header, node.first), *body]
        for variable in lowering.declared:
            if not variable.is_set and variable.first_read is not None and variable.kind == "plain":
                name = variable.name
                unit.warn(
                    "SPEC024",
                    f"{name!r} is read, but no value was assigned to it",
                    variable.first_read,
                    help=f"initialise {name} where it is declared",
                )

    def slot_unit(self, name: str, expression: Expr, wanted: Type, subject: str) -> Unit | None:
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
        except TypeTooLargeError as too_large:
            unit.report(LowerError("SPEC007", f"this makes {too_large}", unit.node))
        except RecursionError:
            unit.report(LowerError("SPEC011", "this function is nested too deeply", expression))
        finally:
            self.current = saved
        del self.units[python]
        return None

    def lambda_unit(self, unit: Unit, lowering: StatementLowering, node: syntax.Lambda, wanted: Type) -> Unit:
        """Write the unit of a lambda that a setter was given."""
        params, kinds = lowering.parameters(node.params)
        result = self.type_of(node.result, {}) if node.result is not None else wanted.args[0]
        lowering.function_body(node.body, result)
        self.check_signature(Type("function", (result, *kinds)), wanted, node)
        self.close(unit, lowering, f"def {unit.name}({params}):", node)
        return unit

    def check_signature(self, given: Type, wanted: Type, node: Node) -> None:
        """Refuse a function that its setter cannot call."""
        if given is UNKNOWN or given.name != "function" or not given.args:
            if given is not UNKNOWN and given.name != "null":
                raise LowerError("SPEC023", f"this setter takes a function, not a {spelled(given)}", node)
            return
        given_params, wanted_params = given.args[1:], wanted.args[1:]
        same = len(given_params) == len(wanted_params) and all(
            a == b or UNKNOWN in (a, b) or a.name == "function" == b.name
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

    def note(self, message: str, node: Node) -> Note:
        """Return a note about a piece of syntax."""
        return Note(message, self.tree.span(node))
