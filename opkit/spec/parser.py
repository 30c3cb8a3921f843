"""Parser: tokens become the typed tree, by recursive descent with bounded depth.

Names mean nothing here yet; a mistake is reported once and the parser goes on after it.
"""

from __future__ import annotations

from dataclasses import replace

from opkit.spec.expressions import ExpressionParser
from opkit.spec.findings import Findings
from opkit.spec.lexer import END, IDENT, STRING, Token
from opkit.spec.reader import ParseError
from opkit.spec.syntax import (
    Alias,
    Block,
    Constructor,
    Declaration,
    Declarator,
    Empty,
    Enum,
    Expr,
    ExprStatement,
    For,
    ForRange,
    Function,
    If,
    InitList,
    Jump,
    Name,
    Node,
    Part,
    RangeFor,
    Return,
    Statement,
    Struct,
    Switch,
    TemplateParam,
    Tree,
    TypeName,
    While,
)

__all__ = ["parse"]

_UNSUPPORTED = frozenset({"try", "goto", "asm", "co_await", "co_return", "case", "catch"})
_AFTER_DECLARED = frozenset({"=", ";", "(", "{", ",", ":", "["})


def parse(tokens: list[Token], findings: Findings) -> Tree:
    """Return the tree of a preprocessed file; what does not parse is reported and left out."""
    parser = _Parser(tokens, findings)
    parser.file_items(parser.tree.items, top=True)
    tree = parser.tree
    places = parser.reference_places
    tree.addressed = frozenset(parser.addressed) | {
        name for function, place, name in parser.passed if (function, place) in places or ("", place) in places
    }
    return tree


class _Parser(ExpressionParser):
    """Statements and what stands at file scope."""

    # -- file scope ---------------------------------------------------------------------------

    def file_items(self, items: list[Node], top: bool) -> None:
        """Parse up to the end of the file or of a namespace; recover from mistakes at file scope."""
        while self.kinds[self.at] != END:
            if self.here == "}":
                if not top:
                    return
                self.report("SPEC010", "this '}' closes nothing", self.at)
                self.at += 1
                continue
            start = self.at
            try:
                self.file_item(items)
            except ParseError as error:
                self.report(error.code, error.message, error.at, help=error.help)
                self.depth = 0
                self.recover(start)

    def recover(self, start: int) -> None:
        """Skip to after the next ``;`` or block that ends at the depth where the item started."""
        stop = max(self.at, start + 1)
        self.at = start
        depth = 0
        while self.kinds[self.at] != END:
            text = self.here
            if text in ("(", "[", "{"):
                depth += 1
            elif text in (")", "]", "}"):
                if depth == 0 and text == "}":
                    return
                depth = max(depth - 1, 0)
                if (
                    depth == 0
                    and text == "}"
                    and self.at + 1 >= stop
                    and self.texts[self.at + 1] not in (")", ",", ";", ".")
                ):
                    self.at += 1
                    return
            elif text == ";" and depth == 0 and self.at >= stop - 1:
                self.at += 1
                return
            elif self.at >= stop and text.startswith("REGISTER_") and self.tokens[self.at].first:
                return
            self.at += 1

    def file_item(self, items: list[Node]) -> None:
        """Parse one thing at file scope."""
        text = self.here
        if text == ";":
            self.at += 1
        elif text == "namespace" or (text == "inline" and self.texts[self.at + 1] == "namespace"):
            self.namespace(items)
        elif text == "extern" and self.kinds[self.at + 1] == STRING:
            self.at += 2
            if self.here == "{":
                self.braced_items(items)
        elif text == "template":
            items.append(self.template())
        elif text in ("using", "typedef"):
            items.append(self.alias())
        elif text == "enum":
            items.append(self.enum())
        elif text in ("struct", "class", "union"):
            struct = self.struct(None)
            if struct is not None:
                items.append(struct)
        elif text == "static_assert":
            self.skip_to_semicolon()
        elif self.is_declaration():
            items.append(self.function_or_variable(None))
        else:
            items.append(self.file_expression())

    def namespace(self, items: list[Node]) -> None:
        opened = self.at
        while self.here not in ("{", ";", "="):
            if self.kinds[self.at] == END:
                raise self.wrong("a namespace needs '{'", opened)
            self.at += 1
        if self.here != "{":
            self.skip_to_semicolon()
            return
        self.braced_items(items)

    def braced_items(self, items: list[Node]) -> None:
        opened = self.at
        self.at += 1
        self.depth += 1
        self.check_depth()
        self.file_items(items, top=False)
        self.depth = max(self.depth - 1, 0)
        if self.here == "}":
            self.at += 1
        else:
            self.report("SPEC010", "this '{' is never closed", opened, help="add '}' at the end of the namespace")

    def file_expression(self) -> ExprStatement:
        """Parse an expression at file scope: a registration. Macro calls may do without a semicolon."""
        start = self.at
        value = self.expression()
        if self.here == ";":
            self.at += 1
        elif (
            not (self.tokens[self.at].first or self.tokens[self.at].origin or self.kinds[self.at] == END)
            or not self.texts[start].isupper()
        ):
            raise self.expected("';'")
        return ExprStatement(start, self.at - 1, value)

    def template(self) -> Node:
        start = self.at
        self.at += 1
        params = self.template_params()
        if self.here in ("struct", "class"):
            struct = self.struct(params)
            return struct if struct is not None else Empty(start, self.at - 1)
        if self.here in ("using",):
            raise ParseError("SPEC012", "alias templates are not supported in specs", start)
        return self.function_or_variable(params)

    def template_params(self) -> tuple[TemplateParam, ...]:
        self.expect("<")
        params: list[TemplateParam] = []
        while self.here != ">":
            start = self.at
            kind = self.template_kind()
            name = ""
            if self.here == "(" and self.texts[self.at + 1] == "*":
                # a function: Result (*name)(parameters)
                self.at += 2
                kind, name = "function", self.take_name()
                self.expect(")")
                self.parameter_list()
            elif self.kinds[self.at] == IDENT:
                name = self.take_name()
            default: TypeName | Expr | None = None
            if self.here == "=":
                self.at += 1
                default = self.template_argument()
            if self.here == "...":
                raise ParseError("SPEC012", "variadic templates are not supported in specs", self.at)
            params.append(TemplateParam(start, self.at - 1, kind, name, default))
            if self.here != ",":
                break
            self.at += 1
        self.expect(">")
        return tuple(params)

    def template_kind(self) -> str:
        if self.here in ("typename", "class"):
            self.at += 1
            return "type"
        if self.here == "template":
            self.at += 1
            self.template_params()
            self.at += 1
            return "template"
        return self.type_name().name.text

    def alias(self) -> Node:
        start = self.at
        if self.here == "using":
            self.at += 1
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

    def enum(self) -> Enum:
        """Parse an enumeration."""
        start = self.at
        self.at += 1
        if self.here in ("class", "struct"):
            self.at += 1
        name = self.take_name() if self.kinds[self.at] == IDENT else ""
        if self.here == ":":
            self.at += 1
            self.type_name()
        self.expect("{")
        items: list[tuple[str, Expr | None]] = []
        while self.here != "}":
            item, value = self.take_name(), None
            if self.here == "=":
                self.at += 1
                value = self.expression()
            items.append((item, value))
            if self.here != ",":
                break
            self.at += 1
        self.expect("}")
        self.expect(";")
        return Enum(start, self.at - 1, name, tuple(items))

    def struct(self, template: tuple[TemplateParam, ...] | None) -> Struct | None:
        """Parse a struct with its functions and fields; None for a declaration."""
        start = self.at
        word = self.here
        self.at += 1
        if word == "union":
            raise ParseError("SPEC012", "a spec cannot define a union", start)
        name = self.take_name()
        if self.here == "final":
            self.at += 1
        has_base = self.here in (":", "<")
        while self.here not in ("{", ";"):
            if self.kinds[self.at] == END:
                raise self.expected("'{'")
            self.at += 1
        if self.here == ";":
            self.at += 1
            return None
        self.at += 1
        functions: list[Function] = []
        fields: list[Declaration] = []
        constructors: list[Constructor] = []
        while self.here != "}":
            if self.kinds[self.at] == END:
                raise self.wrong("this struct is never closed", start)
            self.struct_item(name, functions, fields, constructors)
        self.at += 1
        self.expect(";")
        return Struct(
            start, self.at - 1, name, tuple(functions), tuple(fields), tuple(constructors), has_base, template
        )

    def struct_item(
        self, name: str, functions: list[Function], fields: list[Declaration], constructors: list[Constructor]
    ) -> None:
        """Parse one member of a struct."""
        if self.here in ("public", "private", "protected") and self.texts[self.at + 1] == ":":
            self.at += 2
        elif self.here == ";":
            self.at += 1
        elif self.here in ("using", "typedef", "static_assert", "friend"):
            self.skip_to_semicolon()
        elif self.here in ("virtual", "~"):
            self.skip_member()
        elif self.here == "explicit" or (self.here == name and self.texts[self.at + 1] == "("):
            constructor = self.constructor(name)
            if constructor is not None:
                constructors.append(constructor)
        else:
            template = None
            if self.here == "template":
                self.at += 1
                template = self.template_params()
            is_static = self.here == "static"
            member = self.function_or_variable(template)
            if isinstance(member, Declaration):
                fields.append(member)
            else:
                functions.append(replace(member, is_static=is_static))

    def constructor(self, name: str) -> Constructor | None:
        """Parse a constructor; None for one that is defaulted or deleted."""
        start = self.at
        if self.here == "explicit":
            self.at += 1
        if self.take_name() != name:
            raise self.wrong("'explicit' stands before a constructor", start)
        params = self.parameter_list()
        self.note_references(name, params)
        inits: list[tuple[str, tuple[Expr, ...]]] = []
        if self.here == ":":
            while self.here in (":", ","):
                self.at += 1
                field = self.take_name()
                args = self.arguments("{", "}") if self.here == "{" else self.arguments("(", ")")
                inits.append((field, args))
        if self.here in ("=", ";"):
            self.skip_to_semicolon()
            return None
        return Constructor(start, self.at, params, tuple(inits), self.block())

    def skip_member(self) -> None:
        """Step over a member that means nothing here."""
        while self.here not in (";", "{"):
            if self.kinds[self.at] == END:
                raise self.expected("';'")
            self.at += 1
        if self.here == "{":
            self.skip_braces()
        if self.here == ";":
            self.at += 1

    def function_or_variable(self, template: tuple[TemplateParam, ...] | None) -> Function | Declaration:
        start = self.at
        self.skip_specifiers()
        made = self.type_name()
        name = self.qualified_name()
        if self.here == "(" and (self.is_parameter_list() or template is not None):
            return self.function(start, made, name, template)
        if template is not None:
            raise ParseError("SPEC012", "variable templates are not supported in specs", start)
        if len(name.parts) > 1:
            raise self.expected("'('")
        return self.declaration_rest(start, made, name.parts[0].text, name.first)

    def function(self, start: int, made: TypeName, name: Name, template: tuple[TemplateParam, ...] | None) -> Function:
        params = self.parameter_list()
        self.note_references(name.parts[-1].text, params)
        while self.here in ("const", "override", "final", "noexcept"):
            self.at += 1
        if self.here == "->":
            self.at += 1
            made = self.type_name()
        body: Block | None = None
        if self.here == "{":
            body = self.block()
        elif self.here == "=":
            self.skip_to_semicolon()
        else:
            self.expect(";")
        last = name.parts[-1]
        specialised = last.args
        if specialised is not None:
            plain = Part(last.first, last.last, last.text)
            name = Name(name.first, name.last, (*name.parts[:-1], plain))
        return Function(start, self.at - 1, name, made, params, body, template, specialised)

    def is_parameter_list(self) -> bool:
        """Say whether ``(`` at file scope opens parameters and not the arguments of a variable."""
        if self.texts[self.at + 1] == ")":
            return True
        saved = self.at
        self.at += 1
        try:
            self.skip_specifiers()
            if self.kinds[self.at] != IDENT or self.here in ("true", "false", "nullptr"):
                return False
            self.type_name()
            return self.kinds[self.at] == IDENT or self.here in (",", ")", "=")
        except ParseError:
            return False
        finally:
            self.at = saved

    # -- statements ---------------------------------------------------------------------------

    def block(self) -> Block:
        start = self.at
        self.expect("{")
        self.depth += 1
        self.check_depth()
        items: list[Statement] = []
        while self.here != "}":
            if self.kinds[self.at] == END:
                raise self.wrong("this '{' is never closed", start, help="add '}'")
            items.append(self.statement())
        self.at += 1
        self.depth -= 1
        return Block(start, self.at - 1, tuple(items))

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
            self.depth += 1
            self.check_depth()
            made = handler(self)
            self.depth -= 1
            return made
        if text == "throw":
            return self.return_statement()
        if text in _UNSUPPORTED:
            raise ParseError("SPEC012", f"'{text}' is not supported in specs", start)
        if text in ("struct", "class", "enum", "union", "template"):
            raise ParseError("SPEC012", f"a function of a spec cannot define a {text}", start)
        if self.is_declaration():
            return self.declaration()
        value = self.expression()
        self.expect(";")
        return ExprStatement(start, self.at - 1, value)

    def is_declaration(self) -> bool:
        """Say whether a declaration starts here: a type, then a name that is declared."""
        if self.kinds[self.at] != IDENT:
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
            if self.kinds[self.at] != IDENT:
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
        start = self.at
        self.skip_specifiers()
        made = self.type_name()
        at = self.at
        return self.declaration_rest(start, made, self.take_name(), at)

    def declaration_rest(self, start: int, made: TypeName, name: str, at: int) -> Declaration:
        names = [self.declarator(name, made.stars, made.ref, at)]
        while self.here == ",":
            self.at += 1
            stars, ref = self.pointer_marks()
            at = self.at
            names.append(self.declarator(self.take_name(), stars, ref, at))
        self.expect(";")
        return Declaration(start, self.at - 1, made, tuple(names))

    def declarator(self, name: str, stars: int, ref: str, at: int) -> Declarator:
        style = ""
        args: tuple[Expr, ...] = ()
        size: Expr | None = None
        if self.here == "[":
            self.at += 1
            size = InitList(self.at, self.at, ()) if self.here == "]" else self.expression()
            self.expect("]")
        if self.here == "=":
            self.at += 1
            style, args = "=", (self.initializer(),)
        elif self.here == "(":
            style, args = "(", self.arguments("(", ")")
        elif self.here == "{":
            style, args = "{", self.arguments("{", "}")
        return Declarator(at, self.at - 1, name, stars, ref, style, args, size)

    def if_statement(self) -> Statement:
        start = self.at
        self.at += 1
        if self.here == "constexpr":
            self.at += 1
        self.expect("(")
        declared = self.condition_declaration() if self.is_declaration() else None
        condition = declared[1] if declared else self.expression()
        self.expect(")")
        then = self.statement()
        otherwise = None
        if self.here == "else":
            self.at += 1
            otherwise = self.statement()
        made = If(start, self.at - 1, condition, then, otherwise)
        return Block(start, self.at - 1, (declared[0], made)) if declared else made

    def condition_declaration(self) -> tuple[Declaration, Name]:
        """Parse ``if (Type name = value``: the declaration, and the name as the condition."""
        start = self.at
        made = self.type_name()
        at = self.at
        item = self.declarator(self.take_name(), made.stars, made.ref, at)
        name = Name(at, at, (Part(at, at, item.name),))
        return Declaration(start, self.at - 1, made, (item,)), name

    def switch_statement(self) -> Switch:
        start = self.at
        self.at += 1
        self.expect("(")
        value = self.expression()
        self.expect(")")
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
                if self.kinds[self.at] == END:
                    raise self.wrong("this switch is never closed", start)
                items.append(self.statement())
            groups.append((tuple(labels), tuple(items)))
        self.at += 1
        return Switch(start, self.at - 1, value, tuple(groups))

    def for_statement(self) -> Statement:
        start = self.at
        self.at += 1
        self.expect("(")
        ranged = self.range_for(start)
        if ranged is not None:
            return ranged
        init_at = self.at
        init: Statement
        if self.here == ";":
            self.at += 1
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
        start = self.at
        self.at += 1
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
        start = self.at
        self.at += 1
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return While(start, self.at, condition, self.statement())

    def do_statement(self) -> While:
        start = self.at
        self.at += 1
        body = self.statement()
        self.expect("while")
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        self.expect(";")
        return While(start, self.at - 1, condition, body, True)

    def return_statement(self) -> Return:
        start = self.at
        self.at += 1
        value = None if self.here == ";" else self.initializer()
        self.expect(";")
        return Return(start, self.at - 1, value)

    def jump_statement(self) -> Jump:
        start, word = self.at, self.here
        self.at += 1
        self.expect(";")
        return Jump(start, self.at - 1, word)

    def local_alias(self) -> Statement:
        made = self.alias()
        return made if isinstance(made, Statement) else Empty(made.first, made.last)

    def empty_until_semicolon(self) -> Empty:
        start = self.at
        self.skip_to_semicolon()
        return Empty(start, self.at - 1)


_STATEMENTS = {
    "if": _Parser.if_statement,
    "switch": _Parser.switch_statement,
    "for": _Parser.for_statement,
    "FOR_RANGE": _Parser.for_range_macro,
    "while": _Parser.while_statement,
    "do": _Parser.do_statement,
    "return": _Parser.return_statement,
    "break": _Parser.jump_statement,
    "continue": _Parser.jump_statement,
    "using": _Parser.local_alias,
    "typedef": _Parser.local_alias,
    "static_assert": _Parser.empty_until_semicolon,
}
