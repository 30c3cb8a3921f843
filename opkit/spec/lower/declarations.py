"""Lowering of declarations, parameters and lambdas.

Statements are in ``lower.statements``.
"""

from __future__ import annotations

from dataclasses import replace

from opkit.spec.library.types import INT64, UNKNOWN, VOID, Type
from opkit.spec.lower.conversions import convert, copied, default_code, is_cell_parameter, zero_code
from opkit.spec.lower.expressions import any_unknown, unknown_value
from opkit.spec.lower.lowered import ATOM, Frame, Lowered, LowerError, Variable
from opkit.spec.lower.standard import StandardLowering
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Declaration, Declarator, Node

AUTO = Type("auto")


class DeclarationLowering(StandardLowering):
    """Declare what names stand for."""

    def function_body(self, body: syntax.Compound, result: Type) -> None:
        """Lower the body of a function; the statement lowering provides it."""
        raise NotImplementedError

    def declaration(self, node: Declaration) -> None:
        """Lower a declaration; each of its names on its own."""
        for item in node.names:
            try:
                self.declare_one(node, item)
            except LowerError as error:
                self.unit.report(error)
                self.declare(item.name, UNKNOWN, "plain", item)

    def declare_one(self, node: Declaration, item: Declarator) -> None:
        """Declare one name with its initial value."""
        base = self.program.type_of(node.type, self.bindings, stars=item.stars)
        if item.size is not None:
            base = Type("vector", (base,))
        if base.name == "function" and item.args and isinstance(item.args[0], syntax.Lambda):
            self.declare_function(base, item)
            return
        value = self.initial(base, item)
        if item.ref:
            self.declare_reference(node, item, base, value)
            return
        kind = base
        if base.name == "auto" or (base.name == "ptr" and base.element.name == "auto"):
            if value is None:
                raise LowerError("SPEC023", f"'auto {item.name}' needs an initial value", item)
            kind = self.deduced(value, item)
        how = (
            "cell"
            if self.program.is_addressed(item.name) and self.is_celled(kind) and kind.name != "function"
            else "plain"
        )
        if value is not None:
            value = convert(value, kind, item.args[0] if item.args else item)
        else:
            value = self.without_value(node, item, kind)
        variable = self.declare(item.name, kind, how, item)
        self.set_initial(variable, kind, value, item)
        variable.is_read_only = node.type.is_const and not item.stars and not kind.is_object
        self.remember_constant(variable, value)

    def without_value(self, node: Declaration, item: Declarator, kind: Type) -> Lowered | None:
        """Return the value of a variable that is declared without one, where its type alone does not determine it."""
        part = node.type.name.parts[-1]
        if kind.name == "ptr" and part.text in ("shared_ptr", "unique_ptr"):
            return Lowered("None", kind)
        size = item.size
        if kind.name == "struct":
            return self.construct(kind, [], item, False)
        if part.text == "array" and part.args is not None and len(part.args) == 2:
            bound = self.program.template_binding(part.args[1], self.bindings)
            if isinstance(bound, Lowered):
                return Lowered(f"filled({bound.code}, {zero_code(kind.element)})", kind)
        if size is None:
            return None
        return Lowered(f"filled({convert(self.lower(size), INT64, size).code}, {zero_code(kind.element)})", kind)

    def declare_function(self, kind: Type, item: Declarator) -> None:
        """Declare a std::function of a lambda; the lambda may use its name."""
        variable = self.declare(item.name, kind, "plain", item)
        value = convert(self.lower(item.args[0]), kind, item)
        self.emit(f"{variable.python} = {value.code}", item)

    def remember_constant(self, variable: Variable, value: Lowered | None) -> None:
        """Let a const variable with a known value be folded."""
        if (
            variable.is_read_only
            and value is not None
            and value.is_const
            and value.type.is_number
            and variable.kind == "plain"
        ):
            variable.value = replace(value, is_read_only=True, target="")

    def set_initial(self, variable: Variable, kind: Type, value: Lowered | None, item: Declarator) -> None:
        """Write the initial value of a variable."""
        python = variable.python
        if value is None:
            code = default_code(kind)
            if variable.kind == "cell":
                self.emit(f"{python} = Cell({code})", item)
            elif code:
                self.emit(f"{python} = {code}", item)
            else:
                variable.is_set = False
            return
        code = "None" if value.is_unknown else copied(value)
        self.emit(f"{python} = Cell({code})" if variable.kind == "cell" else f"{python} = {code}", item)

    def deduced(self, value: Lowered, item: Node) -> Type:
        """Return the type that ``auto`` stands for."""
        if value.items is not None:
            raise LowerError("SPEC023", "'auto' cannot be a braced list", item, "write the type")
        if value.functions:
            return self.program.function_value(value.functions[0], {}, item).type
        return value.type

    def initial(self, kind: Type, item: Declarator) -> Lowered | None:
        """Lower the initial value of a declarator; None where it has none."""
        if not item.style:
            return None
        args = [self.lower(arg) for arg in item.args]
        if any_unknown(args):
            return unknown_value()
        if item.style == "=" and kind.name == "struct" and args[0].items is not None:
            return self.construct(kind, args, item, True)
        if item.style == "=" or (kind.name == "auto" and len(args) == 1):
            value = args[0]
            if value.functions and kind.name != "function":
                value = self.program.function_value(value.functions[0], {}, item)
            elif value.functions:
                value = self.program.function_value(self.program.fitting(value.functions, kind), {}, item)
            return value
        if kind.name == "ptr" and len(args) == 1:
            return args[0]
        if kind.name == "function" and len(args) == 1:
            return args[0]
        return self.construct(kind, args, item, item.style == "{")

    def declare_reference(self, node: Declaration, item: Declarator, base: Type, value: Lowered | None) -> None:
        """Declare a reference: another name for what is stored, or a variable for what is not."""
        if value is None:
            raise LowerError("SPEC023", f"the reference {item.name!r} needs an initial value", item)
        kind = self.deduced(value, item) if base.name in ("auto",) or base.element.name == "auto" else base
        value = convert(value, kind, item)
        is_const = node.type.is_const
        if value.code.endswith(".dims"):
            owner = self.temporary(value.code[:-5], item)
            alias = Lowered(f"{owner}.dims", kind, ATOM, True, is_read_only=True)
            self.declare(item.name, kind, "alias", item, alias)
            return
        if is_const or kind.is_object or not self.is_celled(kind) or kind.name == "function" or not value.target:
            variable = self.declare(item.name, kind, "plain", item)
            self.emit(f"{variable.python} = {value.code if not value.is_unknown else 'None'}", item)
            variable.is_read_only = is_const and not kind.is_object
            self.remember_constant(variable, value)
            return
        self.declare(item.name, kind, "alias", item, self.alias_of(value, item))

    def alias_of(self, value: Lowered, node: Node) -> Lowered:
        """Return a value that refers to the same place, its parts evaluated now."""
        place = value.place
        if place and place[0] == "item":
            owner, index = self.temporary(place[1], node), self.temporary(place[2], node)
            return Lowered(
                f"at({owner}, {index})",
                value.type,
                ATOM,
                True,
                f"{owner}[idx({owner}, {index})]",
                ("item", owner, index),
            )
        if place and place[0] == "field":
            owner = self.temporary(place[1], node)
            code = f"{owner}.{place[2]}"
            return Lowered(code, value.type, ATOM, True, code, ("field", owner, place[2]))
        if place and place[0] == "map":
            owner, key = self.temporary(place[1], node), self.temporary(place[2], node)
            self.emit(f"{owner}.get({key}, lambda: {zero_code(value.type)})", node)
            return Lowered(f"{owner}.data[{key}]", value.type, ATOM, True, f"{owner}.data[{key}]")
        if place and place[0] == "cell":
            cell = self.temporary(place[1], node)
            return Lowered(f"{cell}.v", value.type, ATOM, True, f"{cell}.v", ("cell", cell))
        return value

    def parameters(self, params: tuple[syntax.Param, ...]) -> tuple[str, list[Type]]:
        """Declare parameters; return their Python and their types."""
        names: list[str] = []
        kinds: list[Type] = []
        for param in params:
            kind = self.program.type_of(param.type, self.bindings)
            shown = param.name or "unused"
            is_cell = is_cell_parameter(param.type, kind)
            addressed = self.program.is_addressed(shown) and self.is_celled(kind) and kind.name != "function"
            variable = self.declare(shown, kind, "cell" if is_cell or addressed else "plain", param)
            variable.is_read_only = param.type.is_const and not param.type.stars and not kind.is_object
            names.append(variable.python)
            kinds.append(Type("ref", (kind,)) if is_cell else kind)
            if addressed and not is_cell:
                self.emit(f"{variable.python} = Cell({variable.python})", param)
        return ", ".join(names), kinds

    def lambda_value(self, node: syntax.Lambda) -> Lowered:
        """Lower a lambda to a nested function; captures by value are defaults of its parameters."""
        by_value = frozenset(
            item.name for item in node.captures if item.name and not item.by_ref and item.value is None
        )
        takes_all = any(not item.name and not item.by_ref for item in node.captures)
        name = self.fresh("function")
        saved = (self.frame, self.result, self.loops, self.indent)
        header = len(self.lines)
        with self.scope():
            for item in node.captures:
                if item.value is not None:
                    value = self.lower(item.value)
                    variable = self.declare(item.name, value.type, "plain", item)
                    self.emit(f"{variable.python} = {copied(value)}", item)
            header = len(self.lines)
            self.emit("", node)
            self.frame = Frame(self.frame, by_value=by_value, captures_all=takes_all, is_mutable=node.is_mutable)
            self.loops = []
            self.indent += 1
            with self.scope():
                params, kinds = self.parameters(node.params)
                wanted = AUTO if node.result is None else self.program.type_of(node.result, self.bindings)
                start = len(self.lines)
                self.emit("METER.enter()", node)
                self.function_body(node.body, wanted)
                result = self.result if self.result != AUTO else VOID
                frame = self.frame
                if frame.nonlocals:
                    names = ", ".join(sorted(frame.nonlocals))
                    self.lines.insert(start, ("    " * self.indent + f"nonlocal {names}", node.first))
            self.frame, self.result, self.loops, self.indent = saved
        defaults = "".join(f", {inner}={code}" for inner, code in frame.captured.values())
        shown = f"{params}{', *' if defaults else ''}{defaults}".removeprefix(", ")
        self.lines[header] = ("    " * self.indent + f"def {name}({shown}):", node.first)
        return Lowered(name, Type("function", (result, *kinds)))

    def read(self, variable: Variable, node: Node) -> Lowered:
        """Return a variable's value; constants and small counters keep what is known of them."""
        if variable.value is not None and variable.kind == "plain" and variable.value.is_const:
            variable.is_used = True
            return variable.value
        made = super().read(variable, node)
        if variable.python in self.small:
            made.is_small = True
        return made
