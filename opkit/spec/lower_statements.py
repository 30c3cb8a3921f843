"""Lowering of statements, declarations and lambdas; with it the lowering of one unit is complete.

A mistake in one statement is reported, and the next statement goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opkit.spec import syntax
from opkit.spec.conversions import condition, convert, copied, default_code, zero_code
from opkit.spec.lower_calls import CallLowering
from opkit.spec.lower_expressions import unknown
from opkit.spec.types import BOOL, DIM_VECTOR, ERROR, INT64, STRING, UNKNOWN, VOID, Type, pointer, spelled
from opkit.spec.value import ATOM, CMP, Frame, LowerError, Value, Variable

__all__ = ["StatementLowering"]

_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "STREQ": "==", "STRNE": "!="}
_ALWAYS_FAIL = frozenset({"UNIMPLEMENTED", "UNIMPLEMENTED_THEN_RETURN", "OF_UNIMPLEMENTED"})
AUTO = Type("auto")


class StatementLowering(CallLowering):
    """Lower the body of a function or lambda."""

    def statements(self, items: tuple[syntax.Statement, ...]) -> None:
        """Lower statements one after the other."""
        for item in items:
            self.statement(item)

    def statement(self, node: syntax.Statement) -> None:
        """Lower one statement; its mistakes are reported here."""
        start = len(self.lines)
        try:
            _STATEMENTS[type(node)](self, node)
        except LowerError as error:
            self.unit.report(error)
            del self.lines[start:]
            self.emit("pass", node)

    # -- declarations -------------------------------------------------------------------------

    def declaration(self, node: syntax.Declaration) -> None:
        for item in node.names:
            try:
                self.declare_one(node, item)
            except LowerError as error:
                self.unit.report(error)
                self.declare(item.name, UNKNOWN, "plain", item)

    def declare_one(self, node: syntax.Declaration, item: syntax.Declarator) -> None:
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

    def without_value(self, node: syntax.Declaration, item: syntax.Declarator, kind: Type) -> Value | None:
        """Return the value of a variable that is declared without one, where its type alone does not tell."""
        part = node.type.name.parts[-1]
        if kind.name == "ptr" and part.text in ("shared_ptr", "unique_ptr"):
            return Value("None", kind)
        size = item.size
        if kind.name == "struct":
            return self.construct(kind, [], item, False)
        if part.text == "array" and part.args is not None and len(part.args) == 2:
            bound = self.program.template_binding(part.args[1], self.bindings)
            if isinstance(bound, Value):
                return Value(f"filled({bound.code}, {zero_code(kind.element)})", kind)
        if size is None:
            return None
        return Value(f"filled({convert(self.lower(size), INT64, size).code}, {zero_code(kind.element)})", kind)

    def declare_function(self, kind: Type, item: syntax.Declarator) -> None:
        """Declare a std::function of a lambda; the lambda may use its name."""
        variable = self.declare(item.name, kind, "plain", item)
        value = convert(self.lower(item.args[0]), kind, item)
        self.emit(f"{variable.python} = {value.code}", item)

    def remember_constant(self, variable: Variable, value: Value | None) -> None:
        """Let a const variable with a known value be folded."""
        if (
            variable.is_read_only
            and value is not None
            and value.is_const
            and value.type.is_number
            and variable.kind == "plain"
        ):
            variable.value = replace(value, is_read_only=True, target="")

    def set_initial(self, variable: Variable, kind: Type, value: Value | None, item: syntax.Declarator) -> None:
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

    def deduced(self, value: Value, item: syntax.Node) -> Type:
        """Return the type that ``auto`` stands for."""
        if value.items is not None:
            raise LowerError("SPEC023", "'auto' cannot be a braced list", item, "write the type")
        if value.functions:
            return self.program.function_value(value.functions[0], {}, item).type
        return value.type

    def initial(self, kind: Type, item: syntax.Declarator) -> Value | None:
        """Lower the initial value of a declarator; None where it has none."""
        if not item.style:
            return None
        args = [self.lower(arg) for arg in item.args]
        if any(arg.is_unknown for arg in args):
            return unknown()
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

    def declare_reference(
        self, node: syntax.Declaration, item: syntax.Declarator, base: Type, value: Value | None
    ) -> None:
        """Declare a reference: another name for what is stored, or a variable for what is not."""
        if value is None:
            raise LowerError("SPEC023", f"the reference {item.name!r} needs an initial value", item)
        kind = self.deduced(value, item) if base.name in ("auto",) or base.element.name == "auto" else base
        value = convert(value, kind, item)
        is_const = node.type.is_const
        if value.code.endswith(".dims"):
            owner = self.temporary(value.code[:-5], item)
            alias = Value(f"{owner}.dims", kind, ATOM, True, is_read_only=True)
            self.declare(item.name, kind, "alias", item, alias)
            return
        if is_const or kind.is_object or not self.is_celled(kind) or kind.name == "function" or not value.target:
            variable = self.declare(item.name, kind, "plain", item)
            self.emit(f"{variable.python} = {value.code if not value.is_unknown else 'None'}", item)
            variable.is_read_only = is_const and not kind.is_object
            self.remember_constant(variable, value)
            return
        self.declare(item.name, kind, "alias", item, self.alias_of(value, item))

    def alias_of(self, value: Value, node: syntax.Node) -> Value:
        """Return a value that refers to the same place, its parts evaluated now."""
        place = value.place
        if place and place[0] == "item":
            owner, index = self.temporary(place[1], node), self.temporary(place[2], node)
            return Value(
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
            return Value(code, value.type, ATOM, True, code, ("field", owner, place[2]))
        if place and place[0] == "map":
            owner, key = self.temporary(place[1], node), self.temporary(place[2], node)
            self.emit(f"{owner}.get({key}, lambda: {zero_code(value.type)})", node)
            return Value(f"{owner}.data[{key}]", value.type, ATOM, True, f"{owner}.data[{key}]")
        if place and place[0] == "cell":
            cell = self.temporary(place[1], node)
            return Value(f"{cell}.v", value.type, ATOM, True, f"{cell}.v", ("cell", cell))
        return value

    # -- simple statements --------------------------------------------------------------------

    def expression_statement(self, node: syntax.ExprStatement) -> None:
        value = node.value
        if isinstance(value, syntax.Assign):
            self.assign_statement(value)
            return
        if isinstance(value, (syntax.Unary, syntax.Postfix)) and value.op in ("++", "--"):
            self.step_statement(value)
            return
        head, operands = _streamed_head(value)
        if isinstance(head, syntax.Call) and isinstance(head.function, syntax.Name):
            text = self.program.plain_name(head.function)
            if self.macro_statement(text, head, operands, node):
                return
        lowered = self.lower(value)
        if lowered.is_unknown:
            return
        if lowered.type.name.startswith("log_"):
            return
        if lowered.functions or (not _has_effect(lowered.code) and lowered.type != VOID):
            return
        if lowered.code == "None":
            return
        if lowered.type.name == "maybe":
            # C++ drops an error that nobody looks at
            self.emit("try:", node)
            self.emit(f"    {lowered.code}", node)
            self.emit("except Refusal:", node)
            self.emit("    pass", node)
            return
        self.emit(lowered.code, node)

    def step_statement(self, node: syntax.Unary | syntax.Postfix) -> None:
        value = self.lower_target(node.operand)
        if value.is_unknown:
            return
        if not (value.type.is_number or value.type.name == "iter"):
            raise LowerError("SPEC023", f"'{node.op}' does not apply to a {spelled(value.type)}", node)
        self.store_check(value, node)
        self.note_assignment(node.operand)
        new = self.stepped(value, node.op[0], node)
        self.emit(f"{value.target} = {new}", node)

    def macro_statement(
        self, text: str, head: syntax.Call, operands: list[syntax.Expr], node: syntax.Statement
    ) -> bool:
        """Lower a CHECK, LOG or UNIMPLEMENTED statement; say whether it was one."""
        if text in _ALWAYS_FAIL:
            how = "failed" if text == "UNIMPLEMENTED" else "refused"
            self.emit(f"raise {how}({self.program.site(head)}, []{self.message(operands)})", node)
            return True
        if text in ("LOG", "VLOG", "PLOG"):
            level = head.args[0] if head.args else None
            if isinstance(level, syntax.Name) and level.parts[-1].text == "FATAL":
                self.emit(f"raise failed({self.program.site(head)}, []{self.message(operands)})", node)
            return True
        if not text.startswith(("CHECK", "DCHECK")) or text in ("CHECK_JUST",):
            return False
        if self.program.functions_named(text, self.bindings):
            return False
        self.check(text.removeprefix("D"), head, operands, node)
        return True

    def message(self, operands: list[syntax.Expr]) -> str:
        parts = [self.streamed(item).code for item in operands]
        return "".join(f", {part}" for part in parts)

    def check(self, text: str, head: syntax.Call, operands: list[syntax.Expr], node: syntax.Statement) -> None:
        """Lower a CHECK statement to an ``if`` that raises."""
        how, name = "failed", text
        for suffix in ("_OR_RETURN", "_OR_THROW"):
            if text.endswith(suffix):
                how, name = "refused", text[: -len(suffix)]
        args = [self.lower(arg) for arg in head.args]
        if any(arg.is_unknown for arg in args):
            return
        word = name.removeprefix("CHECK").removeprefix("_")
        if word in _COMPARISONS:
            if len(args) != 2:
                raise LowerError("SPEC022", f"{text} takes two values, {len(args)} given", head)
            held = self.operate(_COMPARISONS[word], args[0], args[1], head)
            values = f"{args[0].code}, {args[1].code}"
        elif word in ("", "NOTNULL", "ISNULL"):
            if len(args) != 1:
                raise LowerError("SPEC022", f"{text} takes one condition, {len(args)} given", head)
            held, values = self.held(word, args[0], head), ""
        else:
            raise LowerError(
                "SPEC020", f"no check is named {text!r}", head.function, "use CHECK_OR_RETURN or CHECK_EQ_OR_RETURN"
            )
        if held.is_const and held.const is False and not isinstance(head.args[0], syntax.Literal):
            self.unit.warn("SPEC047", "this check can never hold", head)
        self.emit(f"if {held.negation}:", node)
        self.emit(f"    raise {how}({self.program.site(head)}, [{values}]{self.message(operands)})", node)

    def held(self, word: str, value: Value, head: syntax.Call) -> Value:
        """Return the condition of a CHECK with one argument."""
        if word in ("NOTNULL", "ISNULL"):
            if value.type.name not in ("ptr", "function", "null"):
                return Value("True", BOOL, const=True, is_const=True)
            made = condition(value, head)
            return made if word == "NOTNULL" else Value(made.negation, BOOL, CMP, negated=made.code)
        if value.type.name == "maybe":
            raise LowerError("SPEC023", "a Maybe is no condition", head, "write JUST(...)")
        return condition(value, head)

    def return_statement(self, node: syntax.Return) -> None:
        wanted = self.result
        if node.value is None:
            self.emit("return None", node)
            return
        if isinstance(node.value, (syntax.Binary, syntax.Call)):
            head, operands = _streamed_head(node.value)
            if isinstance(head, syntax.Call) and isinstance(head.function, syntax.Name):
                text = self.program.plain_name(head.function)
                if text in _ALWAYS_FAIL:
                    self.emit(f"raise refused({self.program.site(head)}, []{self.message(operands)})", node)
                    return
        value = self.lower(node.value)
        if value.is_unknown:
            self.emit("return None", node)
            return
        if value.functions:
            value = self.program.function_value(self.program.fitting(value.functions, wanted), {}, node)
        if value.type == pointer(ERROR):
            value = self.dereference(value, node.value)
        if value.type == ERROR:
            parts = value.error_parts if value.error_parts is not None else (f"{value.at(ATOM)}.str()",)
            tail = "".join(f", {part}" for part in parts)
            self.emit(f"raise refused({self.program.site(node.value)}, []{tail})", node)
            return
        if wanted == AUTO:
            self.result = wanted = Type("Error_") if value.items is not None else value.type
        self.emit_return(value, wanted, node)

    def emit_return(self, value: Value, wanted: Type, node: syntax.Return) -> None:
        if wanted == VOID:
            if value.type != VOID and value.type.name != "maybe":
                raise LowerError("SPEC023", "a function without a result returns a value", node)
            if value.code != "None":
                self.emit(value.code, node)
            self.emit("return None", node)
            return
        if wanted.name == "maybe":
            value = self.maybe(value, wanted.element, node)
        else:
            if value.type.name == "maybe" and wanted.name != "maybe":
                raise LowerError("SPEC023", f"a Maybe is returned as a {spelled(wanted)}", node, "write JUST(...)")
            value = convert(value, wanted, node)
        self.emit(f"return {copied(value)}", node)

    def maybe(self, value: Value, held: Type, node: syntax.Node) -> Value:
        """Convert what a function of type ``Maybe<held>`` returns."""
        if value.type.name == "maybe":
            if held != VOID and value.type.element == VOID and value.const == "ok":
                raise LowerError("SPEC023", f"Maybe<void>::Ok() is returned as a Maybe<{spelled(held)}>", node)
            return Value(value.code, value.type, value.prec)
        if held == VOID:
            raise LowerError(
                "SPEC023", f"a {spelled(value.type)} is returned as a Maybe<void>", node, "return Maybe<void>::Ok()"
            )
        if value.type == pointer(held):
            return Value(value.deref or (f"{value.at(ATOM)}.v" if self.is_celled(held) else value.code), held)
        return convert(value, held, node)

    def jump(self, node: syntax.Jump) -> None:
        if not self.loops:
            raise LowerError("SPEC010", f"'{node.word}' outside of a loop", node)
        if node.word == "continue":
            self.loops[-1]()
        self.emit(node.word, node)

    # -- control ------------------------------------------------------------------------------

    def block_statement(self, node: syntax.Block) -> None:
        with self.scope():
            self.statements(node.items)

    def if_statement(self, node: syntax.If) -> None:
        held = self.test(node.condition)
        self.emit(f"if {held.code}:", node)
        with self.block():
            self.statement(node.then)
        otherwise = node.otherwise
        if otherwise is None:
            return
        self.emit("else:", otherwise)
        with self.block():
            self.statement(otherwise)

    def test(self, node: syntax.Expr) -> Value:
        """Lower a condition; one that is not understood counts as false."""
        value = self.lower(node)
        return Value("False", VOID) if value.is_unknown else condition(value, node)

    def while_statement(self, node: syntax.While) -> None:
        self.emit("while METER.tick():", node)
        self.loops.append(lambda: self.loop_test(node) if node.is_do else None)
        with self.block():
            if not node.is_do:
                self.loop_test(node)
            self.statement(node.body)
            if node.is_do:
                self.loop_test(node)
        self.loops.pop()

    def loop_test(self, node: syntax.While | syntax.For) -> None:
        if node.condition is None:
            return
        held = self.test(node.condition)
        if held.code == "True":
            return
        self.emit(f"if {held.negation}:", node)
        self.emit("    break", node)

    def switch_statement(self, node: syntax.Switch) -> None:
        """Lower a switch: the group of the matching label runs, and those after it until a break."""
        value = self.lower(node.value)
        if value.is_unknown:
            return
        subject = self.temporary(value.code, node)
        start = self.fresh("_start")
        self.emit(f"{start} = {self.first_group(node, subject, value.type)}", node)
        self.emit("while True:", node)
        outer = self.loops[-1] if self.loops else None
        flag = self.fresh("_continued")
        continued: list[bool] = []

        def step() -> None:
            continued.append(True)
            self.emit(f"{flag} = True", node)
            self.emit("break", node)

        if outer is not None and any(isinstance(item, syntax.Jump) and item.word == "continue" for item in _walk(node)):
            self.lines.insert(len(self.lines) - 1, ("    " * self.indent + f"{flag} = False", node.first))
        self.loops.append(step)
        with self.block():
            for number, (_, items) in enumerate(node.groups):
                self.emit(f"if {start} <= {number}:", node)
                with self.block():
                    self.statements(items)
            self.emit("break", node)
        self.loops.pop()
        if continued and outer is not None:
            self.emit(f"if {flag}:", node)
            self.indent += 1
            outer()
            self.emit("continue", node)
            self.indent -= 1

    def first_group(self, node: syntax.Switch, subject: str, kind: Type) -> str:
        """Return code for the number of the group at which a switch starts."""
        code = str(len(node.groups))
        tests: list[str] = []
        for number, (labels, _) in enumerate(node.groups):
            for label in labels:
                if label is None:
                    code = str(number)
                    continue
                held = self.operate("==", Value(subject, kind), self.lower(label), label)
                tests.append(f"{number} if {held.code} else ")
        return "".join(tests) + code

    def for_statement(self, node: syntax.For) -> None:
        with self.scope():
            if self.counting_loop(node):
                return
            self.statement(node.init)
            self.emit("while METER.tick():", node)

            def step() -> None:
                if node.step is not None:
                    for part in _comma_parts(node.step):
                        self.expression_statement(syntax.ExprStatement(part.first, part.last, part))

            self.loops.append(step)
            with self.block():
                self.loop_test(node)
                self.statement(node.body)
                step()
            self.loops.pop()

    def counting_loop(self, node: syntax.For) -> bool:
        """Lower ``for (T i = a; i < b; ++i)`` to a range where neither i nor b changes inside."""
        init, held, step = node.init, node.condition, node.step
        if not (
            isinstance(init, syntax.Declaration)
            and len(init.names) == 1
            and init.names[0].style
            and isinstance(held, syntax.Binary)
            and held.op in ("<", "<=")
            and isinstance(held.left, syntax.Name)
            and held.left.text == init.names[0].name
            and isinstance(step, (syntax.Unary, syntax.Postfix))
            and step.op == "++"
            and isinstance(step.operand, syntax.Name)
            and step.operand.text == init.names[0].name
        ):
            return False
        name = init.names[0]
        if not _is_fixed(held.right, node.body, name.name) or self.program.is_addressed(name.name):
            return False
        kind = self.program.type_of(init.type, self.bindings, stars=name.stars)
        begin = self.initial(kind, name)
        if begin is None or begin.is_unknown:
            return False
        if kind.name == "auto":
            kind = begin.type
        if not kind.is_integer:
            return False
        begin = convert(begin, kind, name)
        end = self.lower(held.right)
        if not end.type.is_integer:
            return False
        self.range_loop(name.name, kind, begin, end, held.op == "<=", node.body, node)
        return True

    def for_range(self, node: syntax.ForRange) -> None:
        kind = self.program.type_of(node.type, self.bindings)
        if not kind.is_integer:
            raise LowerError("SPEC023", f"FOR_RANGE counts integers, not a {spelled(kind)}", node.type)
        begin, end = self.lower(node.begin), self.lower(node.end)
        if begin.is_unknown or end.is_unknown:
            begin = end = Value("0", INT64)
        begin, end = convert(begin, kind, node.begin), convert(end, kind, node.end)
        with self.scope():
            if not _changes(node.body, node.name) and not self.program.is_addressed(node.name):
                self.range_loop(node.name, kind, begin, end, False, node.body, node)
                return
            self.changing_range(node, kind, begin, end)

    def changing_range(self, node: syntax.ForRange, kind: Type, begin: Value, end: Value) -> None:
        """Lower a FOR_RANGE whose body changes the counter."""
        last = self.temporary(end.code, node)
        how = "cell" if self.program.is_addressed(node.name) else "plain"
        variable = self.declare(node.name, kind, how, node)
        code = variable.python if how == "plain" else f"{variable.python}.v"
        self.emit(f"{variable.python} = {begin.code if how == 'plain' else f'Cell({begin.code})'}", node)
        self.emit(f"while METER.tick() and {code} < {last}:", node)

        def step() -> None:
            self.emit(f"{code} = {code} + 1", node)

        self.loops.append(step)
        with self.block():
            self.statement(node.body)
            step()
        self.loops.pop()

    def range_loop(
        self,
        name: str,
        kind: Type,
        begin: Value,
        end: Value,
        is_closed: bool,
        body: syntax.Statement,
        node: syntax.Node,
    ) -> None:
        stop = f"{end.at(13)} + 1" if is_closed else end.code
        variable = self.declare(name, kind, "plain", node)
        self.emit(f"for {variable.python} in METER.span({begin.code}, {stop}):", node)
        if begin.is_small:
            self.small.add(variable.python)
        self.loops.append(lambda: None)
        with self.block():
            self.statement(body)
        self.loops.pop()

    def range_for(self, node: syntax.RangeFor) -> None:
        values = self.lower(node.range)
        base = self.program.type_of(node.type, self.bindings)
        items, element = self.iterated(values, base, node)
        kind = element if base.name == "auto" or (base.name == "ptr" and base.element.name == "auto") else base
        is_const = node.type.is_const
        with self.scope():
            needs_alias = node.type.ref == "&" and not is_const and self.is_celled(kind) and kind.name != "pair"
            if needs_alias and values.type.is_vector and _changes(node.body, node.name):
                self.aliased_for(node, values, kind)
                return
            variable = self.declare(node.name, kind, "plain", node)
            self.emit(f"for {variable.python} in {items}:", node)
            self.loops.append(lambda: None)
            with self.block():
                source = Value(variable.python, element, is_stored=True)
                if element != kind:
                    self.emit(f"{variable.python} = {copied(convert(source, kind, node))}", node)
                elif not node.type.ref and kind.is_object:
                    self.emit(f"{variable.python} = {copied(source)}", node)
                self.statement(node.body)
            self.loops.pop()

    def iterated(self, values: Value, base: Type, node: syntax.RangeFor) -> tuple[str, Type]:
        """Return the Python to iterate over and the type of what it gives."""
        kind = values.type
        if values.is_unknown:
            return "()", UNKNOWN
        if values.items is not None:
            items = values.items
            element = base if base.name != "auto" else items[0].type if items else INT64
            codes = ", ".join(convert(item, element, node).code for item in items)
            return f"[{codes}]", element
        if kind.is_vector:
            return values.code, kind.element
        if kind.name in ("map", "ordered_map"):
            return f"{values.at(ATOM)}.items()", Type("pair", kind.args)
        if kind.name in ("set", "ordered_set"):
            return values.code, kind.element
        if kind == STRING:
            return f"map(ord, {values.code})", Type("char")
        raise LowerError("SPEC023", f"a {spelled(kind)} cannot be iterated over", node.range)

    def aliased_for(self, node: syntax.RangeFor, values: Value, kind: Type) -> None:
        """Lower a loop that assigns to the elements it visits."""
        owner = self.temporary(values.code, node)
        index = self.fresh(f"{node.name}_at")
        self.emit(f"for {index} in range(len({owner})):", node)
        alias = Value(f"at({owner}, {index})", kind, ATOM, True, f"{owner}[{index}]", ("item", owner, index))
        self.declare(node.name, kind, "alias", node, alias)
        self.loops.append(lambda: None)
        with self.block():
            self.statement(node.body)
        self.loops.pop()

    def alias_statement(self, node: syntax.Alias) -> None:
        self.bindings = {**self.bindings, node.name: self.program.type_of(node.type, self.bindings)}

    def nothing(self, node: syntax.Statement) -> None:
        """Lower a statement that does nothing."""

    # -- functions ----------------------------------------------------------------------------

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

    def function_body(self, body: syntax.Block, result: Type) -> None:
        """Lower the body of a function, and what follows its end."""
        self.result = result
        self.statements(body.items)
        if result not in (VOID, AUTO) and not _ends(body, self.program):
            self.unit.warn("SPEC026", "this function may end without returning a value", body, at_end=True)
            self.emit(
                f"raise failed({self.program.site(body, 'the end of the function')}, [], 'no value is returned')", body
            )

    def lambda_value(self, node: syntax.Lambda) -> Value:
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
                self.function_body(node.body, wanted)
                result = self.result if self.result != AUTO else VOID
                frame = self.frame
                if frame.nonlocals:
                    names = ", ".join(sorted(frame.nonlocals))
                    self.lines.insert(start, ("    " * self.indent + f"nonlocal {names}", node.first))
                if len(self.lines) == header + 1:
                    self.emit("pass", node)
            self.frame, self.result, self.loops, self.indent = saved
        defaults = "".join(f", {inner}={code}" for inner, code in frame.captured.values())
        shown = f"{params}{', *' if defaults else ''}{defaults}".removeprefix(", ")
        self.lines[header] = ("    " * self.indent + f"def {name}({shown}):", node.first)
        return Value(name, Type("function", (result, *kinds)))

    def read(self, variable: Variable, node: syntax.Node) -> Value:
        """Return a variable's value; constants and small counters keep what is known of them."""
        if variable.value is not None and variable.kind == "plain" and variable.value.is_const:
            variable.is_used = True
            return variable.value
        made = super().read(variable, node)
        if variable.python in self.small:
            made.is_small = True
        return made


def is_cell_parameter(kind: syntax.TypeName, resolved: Type) -> bool:
    """Say whether a parameter is a reference through which a scalar is assigned."""
    return (
        kind.ref == "&"
        and not kind.is_const
        and (resolved.is_number or resolved.name in ("string", "DataType", "pair", "ptr"))
    )


def _streamed_head(node: syntax.Expr) -> tuple[syntax.Expr, list[syntax.Expr]]:
    """Split ``head << a << b`` into the head and its operands."""
    operands: list[syntax.Expr] = []
    while isinstance(node, syntax.Binary) and node.op == "<<":
        operands.append(node.right)
        node = node.left
    operands.reverse()
    return node, operands


def _comma_parts(node: syntax.Expr) -> list[syntax.Expr]:
    parts: list[syntax.Expr] = []
    while isinstance(node, syntax.Binary) and node.op == ",":
        parts.append(node.right)
        node = node.left
    parts.append(node)
    return parts[::-1]


def _has_effect(code: str) -> bool:
    return "(" in code or ":=" in code


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    for name in type(node).__dataclass_fields__:
        item = getattr(node, name)
        if isinstance(item, syntax.Node):
            found.append(item)
        elif isinstance(item, tuple):
            found += _nested(item)
    return found


def _nested(items: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if isinstance(item, syntax.Node):
            found.append(item)
        elif isinstance(item, tuple):
            found += _nested(item)
    return found


def _walk(node: syntax.Node) -> list[syntax.Node]:
    found, stack = [], [node]
    while stack:
        item = stack.pop()
        found.append(item)
        stack += _children(item)
    return found


def _is_named(node: syntax.Expr, name: str) -> bool:
    return isinstance(node, syntax.Name) and len(node.parts) == 1 and node.parts[0].text == name


def _changes(body: syntax.Node, name: str) -> bool:
    """Say whether a piece of syntax may change a variable."""
    for node in _walk(body):
        if isinstance(node, syntax.Assign) and _is_named(node.left, name):
            return True
        if (
            isinstance(node, (syntax.Unary, syntax.Postfix))
            and node.op in ("++", "--", "&")
            and _is_named(node.operand, name)
        ):
            return True
    return False


def _is_fixed(bound: syntax.Expr, body: syntax.Node, counter: str) -> bool:
    """Say whether a loop's bound cannot change while the loop runs."""
    if _changes(body, counter):
        return False
    names = {node.parts[0].text for node in _walk(bound) if isinstance(node, syntax.Name)}
    if counter in names:
        return False
    if any(_changes(body, name) for name in names):
        return False
    if any(isinstance(node, syntax.Call) for node in _walk(bound)):
        # a size may change through calls on the same object
        for node in _walk(body):
            if isinstance(node, syntax.Member) and node.name.text in _GROWING:
                return False
            if isinstance(node, syntax.Assign):
                return False
    return True


_GROWING = frozenset(
    {"push_back", "emplace_back", "insert", "erase", "resize", "clear", "pop_back", "emplace", "assign"}
)


def _ends(node: syntax.Statement, program: Any) -> bool:
    """Say whether control never leaves a statement at its end."""
    if isinstance(node, syntax.Return):
        return True
    if isinstance(node, syntax.Block):
        return any(_ends(item, program) for item in node.items)
    if isinstance(node, syntax.If):
        return node.otherwise is not None and _ends(node.then, program) and _ends(node.otherwise, program)
    if isinstance(node, syntax.While):
        return isinstance(node.condition, syntax.Literal) and node.condition.text == "true"
    if isinstance(node, syntax.ExprStatement):
        head, _ = _streamed_head(node.value)
        if isinstance(head, syntax.Call) and isinstance(head.function, syntax.Name):
            text = head.function.parts[-1].text
            if text in _ALWAYS_FAIL:
                return True
            first = head.args[0] if head.args else None
            if text in ("CHECK", "CHECK_OR_RETURN", "CHECK_OR_THROW"):
                return isinstance(first, syntax.Literal) and first.text == "false"
            return text == "LOG" and isinstance(first, syntax.Name) and first.text == "FATAL"
    return False


_STATEMENTS: dict[type, Callable[[StatementLowering, Any], None]] = {
    syntax.Declaration: StatementLowering.declaration,
    syntax.ExprStatement: StatementLowering.expression_statement,
    syntax.Return: StatementLowering.return_statement,
    syntax.Jump: StatementLowering.jump,
    syntax.Block: StatementLowering.block_statement,
    syntax.If: StatementLowering.if_statement,
    syntax.While: StatementLowering.while_statement,
    syntax.Switch: StatementLowering.switch_statement,
    syntax.For: StatementLowering.for_statement,
    syntax.ForRange: StatementLowering.for_range,
    syntax.RangeFor: StatementLowering.range_for,
    syntax.Alias: StatementLowering.alias_statement,
    syntax.Empty: StatementLowering.nothing,
}
__all__ += ["DIM_VECTOR", "is_cell_parameter"]
