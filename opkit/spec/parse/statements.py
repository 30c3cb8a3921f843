"""Statements: the part of the parser for bodies of functions.

File scope is in ``parser``.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.spec.parse.expressions import ExpressionParser
from opkit.spec.parse.syntax import (
    Alias,
    Compound,
    Declaration,
    Declarator,
    Empty,
    Expr,
    ExprStatement,
    For,
    ForRange,
    If,
    InitList,
    Jump,
    Name,
    Node,
    Part,
    RangeFor,
    Return,
    Statement,
    Switch,
    TypeName,
    While,
)
from opkit.spec.parse.token_reader import ParseError
from opkit.spec.text.lexer import IDENT

_UNSUPPORTED = frozenset({"try", "goto", "asm", "co_await", "co_return", "case", "catch"})
_AFTER_DECLARED = frozenset({"=", ";", "(", "{", ",", ":", "["})


class StatementParser(ExpressionParser):
    """Parse statements and declarations."""

    def alias(self) -> Node:
        """Parse ``using name = type;`` and ``typedef type name;``."""
        start = self.at
        if self.accept("using"):
            if self.texts[self.at + 1] != "=":
                self.skip_to_semicolon()
                return Empty(start, self.at - 1)
            name = self.take_name()
            self.at += 1
            made = self.type_name()
        else:
            self.at += 1
            made = self.type_name()
            name = self.take_name()
        self.expect(";")
        return Alias(start, self.at - 1, name, made)

    def block(self) -> Compound:
        """Parse ``{ statements }``."""
        start = self.at
        self.expect("{")
        self.deepen()
        items: list[Statement] = []
        while self.here != "}":
            if self.is_end:
                raise self.wrong("this '{' is never closed", start, help="add '}'")
            items.append(self.statement())
        self.at += 1
        self.depth -= 1
        return Compound(start, self.at - 1, tuple(items))

    def statement(self) -> Statement:
        """Parse one statement."""
        start, text = self.at, self.here
        if text == "{":
            return self.block()
        if text == ";":
            self.at += 1
            return Empty(start, start)
        handler = _STATEMENTS.get(text)
        if handler is not None:
            self.deepen()
            made = handler(self)
            self.depth -= 1
            return made
        if text == "throw":
            return self.return_statement()
        if text in _UNSUPPORTED:
            raise ParseError("SPEC012", f"'{text}' is not supported in definitions", start)
        if text in ("struct", "class", "enum", "union", "template"):
            raise ParseError("SPEC012", f"a function in a definition file cannot define a {text}", start)
        if self.is_declaration():
            return self.declaration()
        value = self.expression()
        self.expect(";")
        return ExprStatement(start, self.at - 1, value)

    def is_declaration(self) -> bool:
        """Return whether a declaration starts here: a type, then a name that is declared."""
        if not self.is_name:
            return False
        text = self.here
        if text in ("const", "static", "constexpr", "inline", "auto", "unsigned", "signed", "typename", "extern"):
            return True
        if text in ("return", "new", "delete", "sizeof", "this", "true", "false", "nullptr", "operator", "throw"):
            return False
        following = self.texts[self.at + 1]
        if following not in ("::", "<", "*", "&", "&&", "const") and self.kinds[self.at + 1] != IDENT:
            return False
        saved = self.at
        try:
            self.type_name()
            if not self.is_name:
                return False
            self.at += 1
            while self.here == "::":
                self.at += 2
            if self.here == "<":
                self.template_arguments()
            return self.here in _AFTER_DECLARED
        except ParseError:
            return False
        finally:
            self.at = saved

    def declaration(self) -> Declaration:
        """Parse a declaration."""
        start = self.at
        self.skip_specifiers()
        made = self.type_name()
        at = self.at
        return self.declaration_rest(start, made, self.take_name(), at)

    def declaration_rest(self, start: int, made: TypeName, name: str, at: int) -> Declaration:
        """Parse a declaration after its type and first name."""
        names = [self.declarator(name, made.stars, made.ref, at)]
        while self.accept(","):
            stars, ref = self.pointer_marks()
            at = self.at
            names.append(self.declarator(self.take_name(), stars, ref, at))
        self.expect(";")
        return Declaration(start, self.at - 1, made, tuple(names))

    def declarator(self, name: str, stars: int, ref: str, at: int) -> Declarator:
        """Parse how a declared name is initialised."""
        style = ""
        args: tuple[Expr, ...] = ()
        size: Expr | None = None
        if self.accept("["):
            size = InitList(self.at, self.at, ()) if self.here == "]" else self.expression()
            self.expect("]")
        if self.accept("="):
            style, args = "=", (self.initializer(),)
        elif self.here in ("(", "{"):
            style, args = self.here, self.arguments()
        return Declarator(at, self.at - 1, name, stars, ref, style, args, size)

    def if_statement(self) -> Statement:
        """Parse if, with a declaration as its condition where there is one."""
        start = self.step()
        self.accept("constexpr")
        self.expect("(")
        declared = self.condition_declaration() if self.is_declaration() else None
        condition = declared[1] if declared else self.expression()
        self.expect(")")
        then = self.statement()
        otherwise = self.statement() if self.accept("else") else None
        made = If(start, self.at - 1, condition, then, otherwise)
        return Compound(start, self.at - 1, (declared[0], made)) if declared else made

    def condition_declaration(self) -> tuple[Declaration, Name]:
        """Parse ``if (Type name = value``: the declaration, and the name as the condition."""
        start = self.at
        made = self.type_name()
        at = self.at
        item = self.declarator(self.take_name(), made.stars, made.ref, at)
        name = Name(at, at, (Part(at, at, item.name),))
        return Declaration(start, self.at - 1, made, (item,)), name

    def switch_statement(self) -> Switch:
        """Parse switch."""
        start = self.step()
        value = self.between("(", self.expression, ")")
        self.expect("{")
        groups: list[tuple[tuple[Expr | None, ...], tuple[Statement, ...]]] = []
        while self.here != "}":
            labels: list[Expr | None] = []
            while self.here in ("case", "default"):
                is_case = self.here == "case"
                self.at += 1
                labels.append(self.expression() if is_case else None)
                self.expect(":")
            if not labels:
                raise self.expected("'case'")
            items: list[Statement] = []
            while self.here not in ("case", "default", "}"):
                if self.is_end:
                    raise self.wrong("this switch is never closed", start)
                items.append(self.statement())
            groups.append((tuple(labels), tuple(items)))
        self.at += 1
        return Switch(start, self.at - 1, value, tuple(groups))

    def for_statement(self) -> Statement:
        """Parse the three kinds of for."""
        start = self.step()
        self.expect("(")
        ranged = self.range_for(start)
        if ranged is not None:
            return ranged
        init_at = self.at
        init: Statement
        if self.accept(";"):
            init = Empty(init_at, init_at)
        elif self.is_declaration():
            init = self.declaration()
        else:
            value = self.expression()
            self.expect(";")
            init = ExprStatement(init_at, self.at - 1, value)
        condition = None if self.here == ";" else self.expression()
        self.expect(";")
        step = None if self.here == ")" else self.comma_expression()
        self.expect(")")
        return For(start, self.at, init, condition, step, self.statement())

    def range_for(self, start: int) -> RangeFor | None:
        """Parse ``type name : values)``; None where this is another kind of for."""
        saved = self.at
        try:
            made = self.type_name()
            name = self.take_name()
        except ParseError:
            self.at = saved
            return None
        if self.here != ":":
            self.at = saved
            return None
        self.at += 1
        values = self.initializer()
        self.expect(")")
        return RangeFor(start, self.at, made, name, values, self.statement())

    def for_range_macro(self) -> ForRange:
        """Parse FOR_RANGE(type, name, begin, end)."""
        start = self.step()
        self.expect("(")
        made = self.type_name()
        self.expect(",")
        name = self.take_name()
        self.expect(",")
        begin = self.expression()
        self.expect(",")
        end = self.expression()
        self.expect(")")
        return ForRange(start, self.at, made, name, begin, end, self.statement())

    def while_statement(self) -> While:
        """Parse while."""
        start = self.step()
        condition = self.between("(", self.expression, ")")
        return While(start, self.at, condition, self.statement())

    def do_statement(self) -> While:
        """Parse do."""
        start = self.step()
        body = self.statement()
        self.expect("while")
        condition = self.between("(", self.expression, ")")
        self.expect(";")
        return While(start, self.at - 1, condition, body, True)

    def return_statement(self) -> Return:
        """Parse return, and throw, which has the same meaning for an Error."""
        start = self.step()
        value = None if self.here == ";" else self.initializer()
        self.expect(";")
        return Return(start, self.at - 1, value)

    def jump_statement(self) -> Jump:
        """Parse break and continue."""
        start, word = self.at, self.here
        self.at += 1
        self.expect(";")
        return Jump(start, self.at - 1, word)

    def local_alias(self) -> Statement:
        """Parse an alias inside a function."""
        made = self.alias()
        return made if isinstance(made, Statement) else Empty(made.first, made.last)

    def empty_until_semicolon(self) -> Empty:
        """Parse what has no effect here, up to its semicolon."""
        start = self.at
        self.skip_to_semicolon()
        return Empty(start, self.at - 1)


_STATEMENTS: dict[str, Callable[[StatementParser], Statement]] = {
    "if": StatementParser.if_statement,
    "switch": StatementParser.switch_statement,
    "for": StatementParser.for_statement,
    "FOR_RANGE": StatementParser.for_range_macro,
    "while": StatementParser.while_statement,
    "do": StatementParser.do_statement,
    "return": StatementParser.return_statement,
    "break": StatementParser.jump_statement,
    "continue": StatementParser.jump_statement,
    "using": StatementParser.local_alias,
    "typedef": StatementParser.local_alias,
    "static_assert": StatementParser.empty_until_semicolon,
}
