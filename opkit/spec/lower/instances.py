"""Instances: which function a name, a call or template arguments choose, and the unit that it becomes.

Units are written by ``program``.
"""

from __future__ import annotations

from types import MappingProxyType

from opkit.spec.library.types import Type, plain_type, spelled
from opkit.spec.lower.conversions import convert, fit
from opkit.spec.lower.lowered import ATOM, Binding, Bindings, Lowered, LowerError, binding_key, binding_text
from opkit.spec.lower.names import Names
from opkit.spec.lower.units import Unit, UnitLowering
from opkit.spec.parse.syntax import Call, Expr, Function, Name, Node, Struct, TypeName

_DEEPEST_INSTANCES = 2_000


class Instances(Names):
    """Choose among overloads and templates as C++ does."""

    def lower_function(self, unit: Unit, function: Function, bindings: Bindings) -> None:
        """Write the unit of a function; the program provides it."""
        raise NotImplementedError

    def function_name(self, overloads: list[Function], node: Name, bindings: Bindings) -> Lowered:
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
        return Lowered(overloads[0].name.text, Type("function"), functions=tuple(overloads))

    def is_method(self, function: Function) -> bool:
        """Return whether a function is called on an object."""
        return id(function) in self.owners and not function.is_static

    def constructor_unit(self, struct: Struct, number: int) -> Unit:
        """Return the unit that makes an object with one of a struct's constructors; the program provides it."""
        raise NotImplementedError

    def struct_bindings(self, node: Name, function: Function, bindings: Bindings) -> dict[str, Binding]:
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

    def fitting(self, functions: tuple[Function, ...], wanted: Type) -> Function:
        """Return the overload whose parameters a function type asks for."""
        count = len(wanted.args) - 1 if wanted.name == "function" and wanted.args else -1
        for item in functions:
            if len(item.params) == count and item.body is not None:
                return item
        return functions[0]

    def function_value(self, function: Function, bindings: Bindings, node: Node) -> Lowered:
        """Return a function of the file as a value, and have its unit made."""
        unit = self.unit_of(function, bindings, node)
        unit.is_value = True
        return Lowered(unit.name, unit.type)

    def unit_of(self, function: Function, bindings: Bindings, node: Node) -> Unit:
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
                raise LowerError("SPEC007", "templates are instantiated without bound", node)
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

    def unit_name(self, function: Function, bindings: Bindings) -> str:
        """Return a Python name for a unit: the function's, with its template arguments."""
        base = "_".join(part.text for part in function.name.parts)
        for binding in bindings.values():
            text = binding_text(binding).strip("=:")
            base += "_" + "".join(char if char.isalnum() else "_" for char in text)[:40]
        name, number = base, 1
        while name in self.units:
            number += 1
            name = f"{base}_{number}"
        return name

    def instance(
        self, overloads: list[Function], node: Node, given: tuple[TypeName | Expr, ...], bindings: Bindings
    ) -> tuple[Function, dict[str, Binding]]:
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

    def checked(self, function: Function, bound: dict[str, Binding]) -> dict[str, Binding]:
        """Convert constants to the types of their template parameters."""
        for param in function.template or ():
            value = bound.get(param.name)
            kind = plain_type(param.kind)
            if isinstance(value, Lowered) and kind is not None and kind.is_integer and value.type.is_number:
                bound[param.name] = convert(value, kind, param)
        return bound

    def template_binding(self, arg: TypeName | Expr, bindings: Bindings) -> Binding:
        """Return what a template argument stands for: a type, a constant, a function or a template's name."""
        if isinstance(arg, TypeName):
            text = arg.name.text
            bound = bindings.get(text) if not arg.stars else None
            if bound is not None:
                return bound
            kind = self.find_type(arg.name, bindings)
            if kind is not None:
                return self.type_of(arg, bindings)
            if text in ("true", "false"):
                return Lowered(text.title(), Type("bool"), const=text == "true", is_const=True)
            value = self.named_value(self.plain_name(arg.name), arg.name, bindings)
            return value if value is not None else arg.name.parts[-1].text
        return self.lowering(self.scratch(arg), bindings).lower(arg)

    def call_local(self, lowering: UnitLowering, text: str, name: Name, args: list[Lowered], node: Call) -> Lowered:
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
        overloads: list[Function],
        name: Name,
        given: tuple[TypeName | Expr, ...],
        args: list[Lowered],
        bindings: Bindings,
    ) -> tuple[Function, Bindings]:
        """Return a template whose arguments are given in part and deduced for the rest."""
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
        lowering: UnitLowering,
        overloads: tuple[Function, ...],
        args: list[Lowered],
        node: Call,
        outer: Bindings = MappingProxyType({}),
        receiver: str = "",
    ) -> Lowered:
        """Choose among overloads by the arguments and lower the call."""
        best: tuple[int, Function, Bindings] | None = None
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
        self, overloads: tuple[Function, ...], function: Function, bindings: Bindings
    ) -> tuple[Function, Bindings]:
        """Return the specialisation that deduced template arguments choose, or the template itself."""
        texts = [binding_text(bindings[param.name]) for param in function.template or () if param.name in bindings]
        for item in overloads:
            if item.specialised is None or item.body is None:
                continue
            if [binding_text(self.template_binding(arg, {})) for arg in item.specialised] == texts:
                return item, {}
        return function, bindings

    def score(self, function: Function, bindings: Bindings, args: list[Lowered], node: Call) -> int | None:
        """Return how well arguments fit a function's parameters, smaller is better; None where they do not."""
        total = 0
        for value, param in zip(args, function.params, strict=False):
            found = fit(value, self.parameter_type(param.type, bindings), node)
            if found is None:
                return None
            total += found
        return total

    def no_overload(self, overloads: tuple[Function, ...], args: list[Lowered], node: Call) -> LowerError:
        """Return the error for a call that no overload fits."""
        name = overloads[0].name.text
        counts = sorted({len(item.params) for item in overloads})
        if len(args) not in counts:
            wanted = " or ".join(map(str, counts))
            return LowerError(
                "SPEC022", f"{name!r} takes {wanted} argument{'s' * (counts != [1])}, {len(args)} given", node
            )
        given = ", ".join(spelled(arg.type) for arg in args)
        return LowerError("SPEC022", f"no {name!r} takes ({given})", node)

    def deduce(self, function: Function, args: list[Lowered], start: dict[str, Binding]) -> Bindings | None:
        """Deduce template arguments from call arguments; None where that fails."""
        bound = dict(start)
        names = {param.name for param in function.template or ()}
        for value, param in zip(args, function.params, strict=False):
            self.match(param.type, value.type, names, bound)
        for item in function.template or ():
            if item.name not in bound:
                if item.default is None:
                    return None
                bound[item.name] = self.template_binding(item.default, bound)
        return self.checked(function, bound)

    def match(self, pattern: TypeName, kind: Type, names: set[str], bound: dict[str, Binding]) -> None:
        """Bind the template parameters that a parameter's type names to the parts of an argument's type."""
        if pattern.stars:
            if kind.name != "ptr":
                return
            kind = kind.element
        part = pattern.name.parts[-1]
        if part.text in names and part.args is None:
            bound.setdefault(part.text, kind)
        elif part.args:
            for arg, inner in zip(part.args, kind.args, strict=False):
                if isinstance(arg, TypeName):
                    self.match(arg, inner, names, bound)

    def finish_call(
        self,
        lowering: UnitLowering,
        function: Function,
        bindings: Bindings,
        args: list[Lowered],
        node: Call,
        receiver: str = "",
    ) -> Lowered:
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
                value: Lowered = lowering.lower(param.default)
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
        return Lowered(f"{unit.name}({', '.join(codes)})", result, ATOM, bool(function.result.ref))
