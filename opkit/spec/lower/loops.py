"""Lowering of loops and switches: all of them are counted, so that none can hang.

The other statements are in ``lower.statements``.
"""

from __future__ import annotations

from opkit.spec.library.types import INT64, STRING, UNKNOWN, VOID, Type, spelled
from opkit.spec.lower.conversions import condition, convert, copied
from opkit.spec.lower.declarations import DeclarationLowering
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Declaration, Expr, Name, Node, Statement
from opkit.spec.parse.walk import changes, comma_parts, is_fixed, walk


class LoopLowering(DeclarationLowering):
    """Lower loops and switches."""

    def statement(self, node: Statement) -> None:
        """Lower one statement; the statement lowering provides it."""
        raise NotImplementedError

    def statements(self, items: tuple[Statement, ...]) -> None:
        """Lower statements; the statement lowering provides it."""
        raise NotImplementedError

    def expression_statement(self, node: syntax.ExprStatement) -> None:
        """Lower an expression statement; the statement lowering provides it."""
        raise NotImplementedError

    def test(self, node: Expr) -> Lowered:
        """Lower a condition; one that is not understood counts as false."""
        value = self.lower(node)
        return Lowered("False", VOID) if value.is_unknown else condition(value, node)

    def while_statement(self, node: syntax.While) -> None:
        """Lower while and do."""
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
        """Write the test that ends a loop."""
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

        if outer is not None and any(isinstance(item, syntax.Jump) and item.word == "continue" for item in walk(node)):
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
                held = self.operate("==", Lowered(subject, kind), self.lower(label), label)
                tests.append(f"{number} if {held.code} else ")
        return "".join(tests) + code

    def for_statement(self, node: syntax.For) -> None:
        """Lower a for loop, as a range where it only counts."""
        with self.scope():
            if self.counting_loop(node):
                return
            self.statement(node.init)
            self.emit("while METER.tick():", node)

            def step() -> None:
                if node.step is not None:
                    for part in comma_parts(node.step):
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
            isinstance(init, Declaration)
            and len(init.names) == 1
            and init.names[0].style
            and isinstance(held, syntax.Binary)
            and held.op in ("<", "<=")
            and isinstance(held.left, Name)
            and held.left.text == init.names[0].name
            and isinstance(step, (syntax.Unary, syntax.Postfix))
            and step.op == "++"
            and isinstance(step.operand, Name)
            and step.operand.text == init.names[0].name
        ):
            return False
        name = init.names[0]
        if not is_fixed(held.right, node.body, name.name) or self.program.is_addressed(name.name):
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
        """Lower FOR_RANGE."""
        kind = self.program.type_of(node.type, self.bindings)
        if not kind.is_integer:
            raise LowerError("SPEC023", f"FOR_RANGE counts integers, not a {spelled(kind)}", node.type)
        begin, end = self.lower(node.begin), self.lower(node.end)
        if begin.is_unknown or end.is_unknown:
            begin = end = Lowered("0", INT64)
        begin, end = convert(begin, kind, node.begin), convert(end, kind, node.end)
        with self.scope():
            if not changes(node.body, node.name) and not self.program.is_addressed(node.name):
                self.range_loop(node.name, kind, begin, end, False, node.body, node)
                return
            self.changing_range(node, kind, begin, end)

    def changing_range(self, node: syntax.ForRange, kind: Type, begin: Lowered, end: Lowered) -> None:
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
        self, name: str, kind: Type, begin: Lowered, end: Lowered, is_closed: bool, body: Statement, node: Node
    ) -> None:
        """Write a loop over a range of integers."""
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
        """Lower ``for (type name : values)``."""
        values = self.lower(node.range)
        base = self.program.type_of(node.type, self.bindings)
        items, element = self.iterated(values, base, node)
        kind = element if base.name == "auto" or (base.name == "ptr" and base.element.name == "auto") else base
        is_const = node.type.is_const
        with self.scope():
            needs_alias = node.type.ref == "&" and not is_const and self.is_celled(kind) and kind.name != "pair"
            if needs_alias and values.type.is_vector and changes(node.body, node.name):
                self.aliased_for(node, values, kind)
                return
            variable = self.declare(node.name, kind, "plain", node)
            self.emit(f"for {variable.python} in {items}:", node)
            self.loops.append(lambda: None)
            with self.block():
                source = Lowered(variable.python, element, is_stored=True)
                if element != kind:
                    self.emit(f"{variable.python} = {copied(convert(source, kind, node))}", node)
                elif not node.type.ref and kind.is_object:
                    self.emit(f"{variable.python} = {copied(source)}", node)
                self.statement(node.body)
            self.loops.pop()

    def iterated(self, values: Lowered, base: Type, node: syntax.RangeFor) -> tuple[str, Type]:
        """Return the Python to iterate over and the type of what it gives."""
        kind = values.type
        if values.is_unknown:
            return "()", UNKNOWN
        if values.items is not None:  # as many as stand in the definition file, so that they need not be counted
            items = values.items
            element = base if base.name != "auto" else items[0].type if items else INT64
            codes = ", ".join(convert(item, element, node).code for item in items)
            return f"[{codes}]", element
        if kind.is_vector:
            return f"METER.each({values.code})", kind.element
        if kind.is_map:
            return f"METER.each({values.at(ATOM)}.items())", Type("pair", kind.args)
        if kind.is_set:
            return f"METER.each({values.code})", kind.element
        if kind == STRING:
            return f"map(ord, METER.each({values.code}))", Type("char")
        raise LowerError("SPEC023", f"a {spelled(kind)} cannot be iterated over", node.range)

    def aliased_for(self, node: syntax.RangeFor, values: Lowered, kind: Type) -> None:
        """Lower a loop that assigns to the elements it visits."""
        owner = self.temporary(values.code, node)
        index = self.fresh(f"{node.name}_at")
        self.emit(f"for {index} in METER.span(0, len({owner})):", node)
        alias = Lowered(f"at({owner}, {index})", kind, ATOM, True, f"{owner}[{index}]", ("item", owner, index))
        self.declare(node.name, kind, "alias", node, alias)
        self.loops.append(lambda: None)
        with self.block():
            self.statement(node.body)
        self.loops.pop()
