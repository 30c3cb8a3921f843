"""Expressions: the part of the parser that statements build on.

Types and template arguments are in ``type_names``.
"""

from __future__ import annotations

from opkit.spec.parse.literals import character, number, string
from opkit.spec.parse.syntax import (
    Assign,
    Binary,
    Call,
    Capture,
    Cast,
    Compound,
    Construct,
    Expr,
    Index,
    InitList,
    Lambda,
    Literal,
    Member,
    Name,
    Param,
    Part,
    Postfix,
    Ternary,
    TypeName,
    Unary,
)
from opkit.spec.parse.token_reader import ParseError
from opkit.spec.parse.type_names import WORDS, TypeParser
from opkit.spec.text.lexer import CHAR, IDENT, NUMBER, STRING

_BINARY = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}
_ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="})
_CASTS = frozenset({"static_cast", "const_cast", "dynamic_cast", "reinterpret_cast"})
_LONGEST_CHAIN = 400


class ExpressionParser(TypeParser):
    """Parse expressions; statements come in by ``block``."""

    def block(self) -> Compound:
        """Parse the body of a lambda; the statement parser provides it."""
        raise NotImplementedError

    def comma_expression(self) -> Expr:
        """Parse ``a, b``: only the step of a for loop needs it."""
        start = self.at
        left = self.expression()
        while self.accept(","):
            left = Binary(start, self.at - 1, ",", left, self.expression())
        return left

    def initializer(self) -> Expr:
        """Parse an expression or a braced list."""
        return self.init_list() if self.here == "{" else self.expression()

    def init_list(self) -> InitList:
        """Parse ``{a, b}``."""
        start = self.at
        items = self.arguments("{")
        return InitList(start, self.at - 1, items)

    def arguments(self, opening: str = "") -> tuple[Expr, ...]:
        """Parse ``(a, {b, c})`` or ``{a, b}``, whichever stands here or has to."""
        opened = self.at
        opening = opening or ("{" if self.here == "{" else "(")
        closing = ")" if opening == "(" else "}"
        self.expect(opening)
        self.deepen()
        args: list[Expr] = []
        while self.here != closing:
            args.append(self.initializer())
            if not self.accept(","):
                break
        if not self.accept(closing):
            if self.is_end:
                raise self.wrong(f"this '{opening}' is never closed", opened, help=f"add '{closing}'")
            raise self.expected(f"',' or '{closing}'")
        self.depth -= 1
        return tuple(args)

    def expression(self) -> Expr:
        """Parse an expression, assignments included."""
        start = self.at
        self.deepen()
        left = self.binary(1)
        if self.accept("?"):
            then = self.expression()
            self.expect(":")
            otherwise = self.expression()
            left = Ternary(start, self.at - 1, left, then, otherwise)
        elif self.here in _ASSIGN:
            op = self.here
            self.at += 1
            right = self.initializer()
            left = Assign(start, self.at - 1, op, left, right)
        self.depth -= 1
        return left

    def binary(self, least: int) -> Expr:
        """Parse operators that bind at least as tightly as ``least``."""
        start = self.at
        left = self.unary()
        length = 0
        while True:
            op = self.here
            if op == ">" and self.texts[self.at + 1] == ">" and not self.tokens[self.at + 1].spaced:
                op = ">>"
            level = _BINARY.get(op, 0)
            if level < least or level == 0:
                return left
            self.at += 2 if op == ">>" else 1
            length += 1
            if length > _LONGEST_CHAIN:
                raise ParseError("SPEC011", f"more than {_LONGEST_CHAIN} operators in one expression", self.at)
            right = self.binary(level + 1)
            left = Binary(start, self.at - 1, op, left, right)

    def unary(self) -> Expr:
        """Parse a prefix operator, a cast or what follows them."""
        start, text = self.at, self.here
        if text in ("*", "&", "-", "+", "!", "~", "++", "--") and self.kinds[self.at] == "punct":
            self.deepen()
            self.at += 1
            operand = self.unary()
            self.depth -= 1
            if text == "&" and isinstance(operand, Name) and len(operand.parts) == 1:
                self.addressed.add(operand.parts[0].text)
            return Unary(start, self.at - 1, text, operand)
        if text == "(":
            cast = self.c_cast()
            if cast is not None:
                return cast
        return self.postfix()

    def c_cast(self) -> Expr | None:
        """Parse ``(type)operand``; None where the parentheses hold an expression."""
        start, following = self.at, self.texts[self.at + 1]
        if following not in WORDS and not following.endswith("_t"):
            return None
        self.at += 1
        try:
            made = self.type_name()
            self.expect(")")
        except ParseError:
            self.at = start
            return None
        operand = self.unary()
        return Cast(start, self.at - 1, "c", made, operand)

    def postfix(self) -> Expr:
        """Parse calls, members and indices after a primary expression."""
        start = self.at
        value = self.primary()
        length = 0
        while True:
            text = self.here
            if text == "(":
                args = self.arguments("(")
                if isinstance(value, Name):
                    self.note_passed(value, args)
                value = Call(start, self.at - 1, value, args)
            elif text in (".", "->"):
                self.at += 1
                self.accept("template")
                if self.here == "~" or self.here == "operator":
                    raise ParseError("SPEC012", f"'{self.here}' is not supported in definitions", self.at)
                part = self.name_part(False)
                value = Member(start, self.at - 1, value, part, text == "->")
            elif text == "[" and self.kinds[self.at] == "punct":
                self.at += 1
                index = self.initializer()
                self.expect("]")
                value = Index(start, self.at - 1, value, index)
            elif text in ("++", "--"):
                self.at += 1
                value = Postfix(start, self.at - 1, text, value)
            elif text == "{" and isinstance(value, Name) and self.is_braced_construction(value):
                made = TypeName(value.first, value.last, value)
                args = self.arguments("{")
                value = Construct(start, self.at - 1, made, args, True)
            elif self.kinds[self.at] == STRING and isinstance(value, Call) and self.texts[start].startswith("CHECK"):
                # OneFlow's CHECK macros end in a string literal, so that a message may follow without <<
                message = self.string_literal()
                return Binary(start, self.at - 1, "<<", value, message)
            else:
                return value
            length += 1
            if length > 2 * _LONGEST_CHAIN:
                raise ParseError("SPEC011", f"more than {_LONGEST_CHAIN} calls in one chain", self.at)

    def note_passed(self, function: Name, args: tuple[Expr, ...]) -> None:
        """Note plain names among call arguments: a reference may be bound to them."""
        for place, arg in enumerate(args):
            if isinstance(arg, Name) and len(arg.parts) == 1:
                self.passed.append((function.parts[-1].text, place, arg.parts[0].text))

    def is_braced_construction(self, name: Name) -> bool:
        """Return whether ``name {`` constructs: after a condition's name it opens a block instead."""
        return not self.tokens[self.at].spaced or name.parts[-1].args is not None

    def primary(self) -> Expr:
        """Parse a literal, a name, a lambda, a list, or an expression in parentheses."""
        start, kind, text = self.at, self.kinds[self.at], self.here
        if kind == STRING:
            return self.string_literal()
        if kind == NUMBER:
            self.at += 1
            value = number(text)
            if value is None:
                raise self.wrong(f"'{text}' is not a number", start)
            return Literal(start, start, value[0], text, value[1])
        if kind == CHAR:
            self.at += 1
            return Literal(start, start, "char", text, character(text))
        if text == "(":
            return self.between("(", self.expression, ")")
        if text == "[":
            return self.lambda_expression()
        if text == "{":
            return self.init_list()
        if kind == IDENT or text == "::":
            return self.name_or_word()
        raise self.expected("an expression")

    def name_or_word(self) -> Expr:
        """Parse a name, or one of the words that look like one."""
        start, text = self.at, self.here
        if text in ("true", "false", "nullptr", "NULL"):
            self.at += 1
            kind = "bool" if text in ("true", "false") else "null"
            return Literal(start, start, kind, text, text == "true")
        if text in _CASTS:
            return self.named_cast()
        if text in WORDS:
            made = TypeName(start, start, self.built_in_type())
            braced = self.here == "{"
            args = self.arguments()
            return Construct(start, self.at - 1, made, args, braced)
        if text == "new":
            return self.new_expression()
        if text == "sizeof":
            return self.sizeof_expression()
        if text in ("delete", "throw", "typeid", "operator", "decltype", "alignof"):
            raise ParseError("SPEC012", f"'{text}' is not supported in definitions", start)
        if text == "::":
            self.at += 1
        parts = [self.name_part(False)]
        while self.accept("::"):
            parts.append(self.name_part(False))
        return Name(start, self.at - 1, tuple(parts))

    def new_expression(self) -> Expr:
        """Parse ``new Type(args)``, which means the same as ``std::make_shared<Type>(args)`` here."""
        start = self.step()
        made = self.type_name()
        args: tuple[Expr, ...] = ()
        if self.here in ("(", "{"):
            is_braced = self.here == "{"
            args = self.arguments()
            if is_braced:
                args = (InitList(start, self.at - 1, args),) if args else ()
        maker = Name(start, start, (Part(start, start, "std"), Part(start, start, "make_shared", (made,))))
        return Call(start, self.at - 1, maker, args)

    def sizeof_expression(self) -> Expr:
        """Parse ``sizeof(type)`` of an arithmetic type."""
        start = self.step()
        made = self.between("(", self.type_name, ")")
        maker = Name(start, start, (Part(start, start, "sizeof", (made,)),))
        return Call(start, self.at - 1, maker, ())

    def named_cast(self) -> Cast:
        """Parse ``static_cast<T>(value)`` and similar ones."""
        start, kind = self.at, self.here
        self.at += 1
        made = self.between("<", self.type_name, ">")
        operand = self.between("(", self.expression, ")")
        return Cast(start, self.at - 1, kind, made, operand)

    def string_literal(self) -> Literal:
        """Parse adjacent string literals into one."""
        start = self.at
        pieces: list[str] = []
        while self.kinds[self.at] == STRING:
            pieces.append(string(self.tokens[self.at].text))
            self.at += 1
        return Literal(start, self.at - 1, "string", self.tokens[start].text, "".join(pieces))

    def lambda_expression(self) -> Lambda:
        """Parse ``[captures](params) -> result { body }``."""
        start = self.at
        captures = self.captures()
        params: tuple[Param, ...] = ()
        if self.here == "(":
            params = self.parameter_list()
            self.note_references("", params)
        is_mutable = False
        while self.here in ("mutable", "noexcept", "constexpr"):
            is_mutable |= self.here == "mutable"
            self.at += 1
        result = self.type_name() if self.accept("->") else None
        body = self.block()
        return Lambda(start, self.at - 1, captures, params, result, body, is_mutable)

    def captures(self) -> tuple[Capture, ...]:
        """Parse the capture list of a lambda."""
        self.expect("[")
        return self.several(self.capture, "]")

    def capture(self) -> Capture:
        """Parse one item of a capture list."""
        start, by_ref = self.at, self.here == "&"
        self.accept("&", "=")
        name = self.take_name() if self.is_name else ""
        value = self.expression() if name and self.accept("=") else None
        return Capture(start, self.at - 1, name, by_ref, value)
