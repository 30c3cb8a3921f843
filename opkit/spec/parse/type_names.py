"""Type names: the part of the parser for types, qualified names, template arguments and parameters.

Whether ``<`` opens template arguments is found out by trying, never looked up.
"""

from __future__ import annotations

from opkit.spec.parse.syntax import Expr, Name, Param, Part, TypeName
from opkit.spec.parse.token_reader import ParseError, TokenReader
from opkit.spec.text.lexer import CHAR, NUMBER, STRING

WORDS = frozenset({"unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "void"})
#: Level of + and - among the binary operators; template arguments may be sums.
ADDITIVE = 9
_SPECIFIERS = frozenset({"inline", "extern", "thread_local", "explicit", "mutable"})


#: What may follow template arguments in an expression; anything else makes ``<`` a comparison.
_AFTER_TEMPLATE = frozenset({"(", "::", "{", ")", ",", ";", "}", "]"})


class TypeParser(TokenReader):
    """Parse types; expressions come in by ``unary``, ``binary``, ``arguments`` and ``initializer``."""

    def unary(self) -> Expr:
        """Parse a unary expression; the expression parser provides it."""
        raise NotImplementedError

    def binary(self, least: int) -> Expr:
        """Parse operators; the expression parser provides it."""
        raise NotImplementedError

    def arguments(self, opening: str = "") -> tuple[Expr, ...]:
        """Parse arguments; the expression parser provides it."""
        raise NotImplementedError

    def initializer(self) -> Expr:
        """Parse an initial value; the expression parser provides it."""
        raise NotImplementedError

    def skip_specifiers(self) -> None:
        """Step over ``static``, ``inline`` and similar ones."""
        while self.here in _SPECIFIERS:
            self.at += 1

    def type_name(self) -> TypeName:
        """Parse a type with its const, stars and reference."""
        start = self.at
        is_const = False
        while self.here in ("const", "typename", "struct", "class", "volatile", "constexpr", "static"):
            is_const |= self.here in ("const", "constexpr")
            self.at += 1
        if self.here == "decltype":
            name = self.decltype()
        else:
            name = self.built_in_type() if self.here in WORDS else self.qualified_name()
        if self.here == "const":
            is_const = True
            self.at += 1
        stars, ref = self.pointer_marks()
        return TypeName(start, self.at - 1, name, is_const, stars, ref)

    def decltype(self) -> Name:
        """Parse ``decltype(expression)``, which counts as auto."""
        start = self.step()
        self.arguments("(")
        return Name(start, self.at - 1, (Part(start, self.at - 1, "auto"),))

    def built_in_type(self) -> Name:
        """Parse ``unsigned long long`` and similar ones into one name."""
        start = self.at
        words = []
        while self.here in WORDS:
            words.append(self.here)
            self.at += 1
        text = " ".join(words)
        return Name(start, self.at - 1, (Part(start, self.at - 1, text),))

    def pointer_marks(self) -> tuple[int, str]:
        """Parse ``*``, ``const`` and ``&`` after a type."""
        stars, ref = 0, ""
        while True:
            if self.here == "*":
                stars += 1
            elif self.here in ("&", "&&"):
                ref = self.here
            elif self.here != "const":
                return stars, ref
            self.at += 1

    def qualified_name(self) -> Name:
        """Parse ``a::b<c>::d`` where a type or a declared name stands."""
        start = self.at
        self.accept("::")
        parts = [self.name_part(True)]
        while self.accept("::"):
            self.accept("template")
            parts.append(self.name_part(True))
        return Name(start, self.at - 1, tuple(parts))

    def name_part(self, certain: bool) -> Part:
        """Parse one component of a name; ``certain`` where ``<`` can only open template arguments."""
        start = self.at
        text = self.take_name()
        args = None
        if self.here == "<" and (certain or self.is_template()):
            args = self.template_arguments()
        return Part(start, self.at - 1, text, args)

    def is_template(self) -> bool:
        """Try whether template arguments stand here, by parsing them and looking at what follows."""
        saved, depth = self.at, self.depth
        try:
            self.template_arguments()
            return self.here in _AFTER_TEMPLATE
        except ParseError:
            return False
        finally:
            self.at, self.depth = saved, depth

    def template_arguments(self) -> tuple[TypeName | Expr, ...]:
        """Parse ``<a, b>``."""
        self.expect("<")
        self.deepen()
        args = self.several(self.template_argument, ">")
        self.depth -= 1
        return args

    def template_argument(self) -> TypeName | Expr:
        """Parse a type, a function type or a constant."""
        if self.kinds[self.at] in (NUMBER, CHAR, STRING) or self.here in ("-", "true", "false", "(", "!", "&"):
            return self.unary()
        start = self.at
        made = self.type_name()
        if self.here not in (",", ">", "("):
            # a constant expression such as N + 1
            self.at = start
            return self.binary(ADDITIVE)
        if not self.accept("("):
            return made
        params = self.several(self.function_param, ")")
        return TypeName(made.first, self.at - 1, made.name, made.is_const, made.stars, made.ref, params)

    def function_param(self) -> TypeName:
        """Parse a parameter of a function type, whose name says nothing."""
        made = self.type_name()
        if self.is_name:
            self.at += 1
        return made

    def parameter_list(self) -> tuple[Param, ...]:
        """Parse ``(type name = default, ...)``."""
        self.expect("(")
        return self.several(self.parameter, ")")

    def parameter(self) -> Param:
        """Parse ``type name = default``."""
        start = self.at
        made = self.type_name()
        if self.here == "...":
            raise ParseError("SPEC012", "parameter packs are not supported in definitions", self.at)
        name = self.take_name() if self.is_name else ""
        default = self.initializer() if self.accept("=") else None
        return Param(start, self.at - 1, made, name, default)

    def note_references(self, name: str, params: tuple[Param, ...]) -> None:
        """Note the parameters through which a function may assign; a lambda has no name."""
        for place, param in enumerate(params):
            if param.type.ref == "&" and not param.type.is_const:
                self.reference_places.add((name, place))
