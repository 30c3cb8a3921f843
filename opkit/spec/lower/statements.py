"""Lowering of statements, declarations and lambdas; with it the lowering of one unit is complete.

A mistake in one statement is reported, and lowering continues with the next statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.spec.library.types import BOOL, ERROR, UNKNOWN, VOID, Type, TypeTooLargeError, pointer, spelled
from opkit.spec.lower.conversions import condition, convert, copied, unbuilt
from opkit.spec.lower.declarations import AUTO
from opkit.spec.lower.expressions import any_unknown
from opkit.spec.lower.loops import LoopLowering
from opkit.spec.lower.lowered import ATOM, CMP, Lowered, LowerError
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Declaration, Expr, Member, Name, Node, Statement
from opkit.spec.parse.walk import streamed_head, walk

_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "STREQ": "==", "STRNE": "!="}
_ALWAYS_FAIL = frozenset({"UNIMPLEMENTED", "UNIMPLEMENTED_THEN_RETURN", "OF_UNIMPLEMENTED"})


class StatementLowering(LoopLowering):
    """Lower the body of a function or lambda."""

    def statements(self, items: tuple[Statement, ...]) -> None:
        """Lower statements one after the other."""
        for item in items:
            self.statement(item)

    def statement(self, node: Statement) -> None:
        """Lower one statement; its mistakes are reported here."""
        start = len(self.lines)
        try:
            _STATEMENTS[type(node)](self, node)
        except TypeTooLargeError as too_large:
            self.unit.report(LowerError("SPEC007", f"this makes {too_large}", node))
            del self.lines[start:]
            self.emit("pass", node)
        except LowerError as error:
            self.unit.report(error)
            del self.lines[start:]
            self.emit("pass", node)

    # -- simple statements --------------------------------------------------------------------

    def expression_statement(self, node: syntax.ExprStatement) -> None:
        """Lower an expression that stands as a statement."""
        value = node.value
        if isinstance(value, syntax.Assign):
            self.assign_statement(value)
            return
        if isinstance(value, (syntax.Unary, syntax.Postfix)) and value.op in ("++", "--"):
            self.step_statement(value)
            return
        head, operands = streamed_head(value)
        if isinstance(head, Call) and isinstance(head.function, Name):
            text = self.program.plain_name(head.function)
            if self.macro_statement(text, head, operands, node):
                return
        lowered = self.lower(value)
        if lowered.is_unknown:
            return
        if lowered.type.name.startswith("log_"):
            return
        if lowered.type.name == "OpBuilder":
            self.note_chain(node)
        if lowered.functions or (not _has_effect(lowered.code) and lowered.type != VOID):
            return
        if lowered.code == "None":
            return
        if lowered.type.name == "maybe":
            # C++ drops an error that is not used
            self.emit("try:", node)
            self.emit(f"    {lowered.code}", node)
            self.emit("except RefusalError:", node)
            self.emit("    pass", node)
            return
        self.emit(lowered.code, node)

    def note_chain(self, node: syntax.ExprStatement) -> None:
        """Note a statement that calls a builder; a builder without a name can never be built later."""
        root = node.value
        while isinstance(root, Call) and isinstance(root.function, Member):
            root = root.function.object
        if not isinstance(root, Name):
            raise unbuilt(node.value)
        self.chains.setdefault(root.text, []).append(node)

    def check_chains(self, body: syntax.Compound) -> None:
        """Report builders that a function fills in without ever calling Build()."""
        for name, chains in self.chains.items():
            mentions = sum(1 for item in walk(body) if isinstance(item, Name) and item.text == name)
            if mentions <= len(chains):
                self.unit.report(unbuilt(chains[-1].value))

    def step_statement(self, node: syntax.Unary | syntax.Postfix) -> None:
        """Lower ``++x;`` and similar ones."""
        value = self.lower_target(node.operand)
        if value.is_unknown:
            return
        if not (value.type.is_number or value.type.name == "iter"):
            raise LowerError("SPEC023", f"'{node.op}' does not apply to a {spelled(value.type)}", node)
        self.store_check(value, node)
        self.note_assignment(node.operand)
        new = self.stepped(value, node.op[0], node)
        self.emit(f"{value.target} = {new}", node)

    def macro_statement(self, text: str, head: Call, operands: list[Expr], node: Statement) -> bool:
        """Lower a CHECK, LOG or UNIMPLEMENTED statement; say whether it was one."""
        if text in _ALWAYS_FAIL:
            how = "failed" if text == "UNIMPLEMENTED" else "refused"
            self.emit(f"raise {how}({self.program.site(head)}, []{self.message(operands)})", node)
            return True
        if text in ("LOG", "VLOG", "PLOG"):
            level = head.args[0] if head.args else None
            if isinstance(level, Name) and level.parts[-1].text == "FATAL":
                self.emit(f"raise failed({self.program.site(head)}, []{self.message(operands)})", node)
            return True
        if not text.startswith(("CHECK", "DCHECK")) or text in ("CHECK_JUST",):
            return False
        if self.program.functions_named(text, self.bindings):
            return False
        self.check(text.removeprefix("D"), head, operands, node)
        return True

    def message(self, operands: list[Expr]) -> str:
        """Return the code of what is written after a check."""
        parts = [self.streamed(item).code for item in operands]
        return "".join(f", {part}" for part in parts)

    def check(self, text: str, head: Call, operands: list[Expr], node: Statement) -> None:
        """Lower a CHECK statement to an ``if`` that raises."""
        how, name = "failed", text
        for suffix in ("_OR_RETURN", "_OR_THROW"):
            if text.endswith(suffix):
                how, name = "refused", text[: -len(suffix)]
        args = [self.lower(arg) for arg in head.args]
        if any_unknown(args):
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

    def held(self, word: str, value: Lowered, head: Call) -> Lowered:
        """Return the condition of a CHECK with one argument."""
        if word in ("NOTNULL", "ISNULL"):
            if value.type.name not in ("ptr", "function", "null"):
                return Lowered("True", BOOL, const=True, is_const=True)
            made = condition(value, head)
            return made if word == "NOTNULL" else Lowered(made.negation, BOOL, CMP, negated=made.code)
        if value.type.name == "maybe":
            raise LowerError("SPEC023", "a Maybe is not a condition", head, "write JUST(...)")
        return condition(value, head)

    def return_statement(self, node: syntax.Return) -> None:
        """Lower return."""
        wanted = self.result
        if node.value is None:
            self.emit("return None", node)
            return
        if isinstance(node.value, (syntax.Binary, Call)):
            head, operands = streamed_head(node.value)
            if isinstance(head, Call) and isinstance(head.function, Name):
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
        if wanted == AUTO and value.type.name == "OpBuilder":
            self.result = UNKNOWN
            raise unbuilt(node.value)
        if wanted == AUTO:
            self.result = wanted = Type("Error_") if value.items is not None else value.type
        self.emit_return(value, wanted, node)

    def emit_return(self, value: Lowered, wanted: Type, node: syntax.Return) -> None:
        """Write a return of a value as the function's type."""
        if wanted == VOID:
            if value.type != VOID and value.type.name != "maybe":
                raise LowerError("SPEC023", "a function that returns void returns a value", node)
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

    def maybe(self, value: Lowered, held: Type, node: Node) -> Lowered:
        """Convert what a function of type ``Maybe<held>`` returns."""
        if value.type.name == "maybe":
            if held != VOID and value.type.element == VOID and value.const == "ok":
                raise LowerError("SPEC023", f"Maybe<void>::Ok() is returned as a Maybe<{spelled(held)}>", node)
            return Lowered(value.code, value.type, value.prec)
        if held == VOID:
            raise LowerError(
                "SPEC023", f"a {spelled(value.type)} is returned as a Maybe<void>", node, "return Maybe<void>::Ok()"
            )
        if value.type == pointer(held):
            return Lowered(value.deref or (f"{value.at(ATOM)}.v" if self.is_celled(held) else value.code), held)
        return convert(value, held, node)

    def jump(self, node: syntax.Jump) -> None:
        """Lower break and continue."""
        if not self.loops:
            raise LowerError("SPEC010", f"'{node.word}' outside of a loop", node)
        if node.word == "continue":
            self.loops[-1]()
        self.emit(node.word, node)

    def compound_statement(self, node: syntax.Compound) -> None:
        """Lower a block, with names of its own."""
        with self.scope():
            self.statements(node.items)

    def if_statement(self, node: syntax.If) -> None:
        """Lower if."""
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

    def alias_statement(self, node: syntax.Alias) -> None:
        """Let a name stand for a type."""
        self.bindings = {**self.bindings, node.name: self.program.type_of(node.type, self.bindings)}

    def nothing(self, node: Statement) -> None:
        """Lower a statement that does nothing."""

    def function_body(self, body: syntax.Compound, result: Type) -> None:
        """Lower the body of a function, and what follows its end."""
        self.result = result
        outer, self.chains = self.chains, {}
        self.statements(body.items)
        self.check_chains(body)
        self.chains = outer
        if result not in (VOID, AUTO) and not _ends(body, self.program):
            self.unit.warn("SPEC026", "this function may end without returning a value", body, at_end=True)
            self.emit(
                f"raise failed({self.program.site(body, 'the end of the function')}, [], 'no value is returned')", body
            )


def _has_effect(code: str) -> bool:
    return "(" in code or ":=" in code


def _ends(node: Statement, program: Any) -> bool:
    """Return whether control never leaves a statement at its end."""
    if isinstance(node, syntax.Return):
        return True
    if isinstance(node, syntax.Compound):
        return any(_ends(item, program) for item in node.items)
    if isinstance(node, syntax.If):
        return node.otherwise is not None and _ends(node.then, program) and _ends(node.otherwise, program)
    if isinstance(node, syntax.While):
        return isinstance(node.condition, syntax.Literal) and node.condition.text == "true"
    if isinstance(node, syntax.ExprStatement):
        head, _ = streamed_head(node.value)
        if isinstance(head, Call) and isinstance(head.function, Name):
            text = head.function.parts[-1].text
            if text in _ALWAYS_FAIL:
                return True
            first = head.args[0] if head.args else None
            if text in ("CHECK", "CHECK_OR_RETURN", "CHECK_OR_THROW"):
                return isinstance(first, syntax.Literal) and first.text == "false"
            return text == "LOG" and isinstance(first, Name) and first.text == "FATAL"
    return False


_STATEMENTS: dict[type, Callable[[StatementLowering, Any], None]] = {
    Declaration: StatementLowering.declaration,
    syntax.ExprStatement: StatementLowering.expression_statement,
    syntax.Return: StatementLowering.return_statement,
    syntax.Jump: StatementLowering.jump,
    syntax.Compound: StatementLowering.compound_statement,
    syntax.If: StatementLowering.if_statement,
    syntax.While: StatementLowering.while_statement,
    syntax.Switch: StatementLowering.switch_statement,
    syntax.For: StatementLowering.for_statement,
    syntax.ForRange: StatementLowering.for_range,
    syntax.RangeFor: StatementLowering.range_for,
    syntax.Alias: StatementLowering.alias_statement,
    syntax.Empty: StatementLowering.nothing,
}
