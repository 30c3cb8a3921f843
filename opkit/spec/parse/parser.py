"""Parser: tokens become the typed tree, by recursive descent with bounded depth.

Names are not resolved here; a mistake is reported once and the parser continues after it.
"""

from __future__ import annotations

from dataclasses import replace

from opkit.spec.findings import Findings
from opkit.spec.library.registration_names import GRAD_MACROS, OP_MACROS
from opkit.spec.parse.statements import StatementParser
from opkit.spec.parse.syntax import (
    Compound,
    Constructor,
    Declaration,
    Empty,
    Enum,
    Expr,
    ExprStatement,
    Function,
    Name,
    Node,
    Part,
    Struct,
    TemplateParam,
    Tree,
    TypeName,
)
from opkit.spec.parse.token_reader import ParseError
from opkit.spec.text.lexer import STRING, Token

_REGISTERING = frozenset(OP_MACROS) | GRAD_MACROS


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


class _Parser(StatementParser):
    """What stands at file scope."""

    # -- file scope ---------------------------------------------------------------------------

    def file_items(self, items: list[Node], top: bool) -> None:
        """Parse up to the end of the file or of a namespace; recover from mistakes at file scope."""
        while not self.is_end:
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
                self.report(error.code, error.message, error.at, start, help=error.help)
                self.depth = 0
                self.recover(start)

    def recover(self, start: int) -> None:
        """Skip to after the next ``;`` or block that ends at the depth where the item started."""
        stop = max(self.at, start + 1)
        self.at = start
        depth = 0
        while not self.is_end:
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
            if self.is_end:
                raise self.wrong("a namespace needs '{'", opened)
            self.at += 1
        if self.here != "{":
            self.skip_to_semicolon()
            return
        self.braced_items(items)

    def braced_items(self, items: list[Node]) -> None:
        opened = self.step()
        self.deepen()
        self.file_items(items, top=False)
        self.depth = max(self.depth - 1, 0)
        if self.here == "}":
            self.at += 1
        else:
            self.report("SPEC010", "this '{' is never closed", opened, opened, "add '}' at the end of the namespace")

    def file_expression(self) -> ExprStatement:
        """Parse an expression at file scope: a registration. Calls of other macros may do without a semicolon."""
        start = self.at
        value = self.expression()
        if self.here == ";":
            self.at += 1
        elif self.texts[start] in _REGISTERING and self.tokens[self.at].first:
            error = self.expected("';'")  # C++ refuses it; what stands here is known all the same
            self.report(error.code, error.message, error.at, start, error.help)
        elif (
            not (self.tokens[self.at].first or self.tokens[self.at].origin or self.is_end)
            or not self.texts[start].isupper()
        ):
            raise self.expected("';'")
        return ExprStatement(start, self.at - 1, value)

    def template(self) -> Node:
        start = self.step()
        params = self.template_params()
        if self.here in ("struct", "class"):
            struct = self.struct(params)
            return struct if struct is not None else Empty(start, self.at - 1)
        if self.here in ("using",):
            raise ParseError("SPEC012", "alias templates are not supported in definitions", start)
        return self.function_or_variable(params)

    def template_params(self) -> tuple[TemplateParam, ...]:
        self.expect("<")
        return self.several(self.template_param, ">")

    def template_param(self) -> TemplateParam:
        start = self.at
        kind = self.template_kind()
        name = ""
        if self.here == "(" and self.texts[self.at + 1] == "*":
            # a function: Result (*name)(parameters)
            self.at += 2
            kind, name = "function", self.take_name()
            self.expect(")")
            self.parameter_list()
        elif self.is_name:
            name = self.take_name()
        default = self.template_argument() if self.accept("=") else None
        if self.here == "...":
            raise ParseError("SPEC012", "variadic templates are not supported in definitions", self.at)
        return TemplateParam(start, self.at - 1, kind, name, default)

    def template_kind(self) -> str:
        if self.accept("typename", "class"):
            return "type"
        if self.accept("template"):
            self.template_params()
            self.at += 1
            return "template"
        return self.type_name().name.text

    def enum(self) -> Enum:
        """Parse an enumeration."""
        start = self.step()
        self.accept("class", "struct")
        name = self.take_name() if self.is_name else ""
        if self.accept(":"):
            self.type_name()
        self.expect("{")
        items = self.several(self.enum_item, "}")
        self.expect(";")
        return Enum(start, self.at - 1, name, items)

    def enum_item(self) -> tuple[str, Expr | None]:
        return self.take_name(), self.expression() if self.accept("=") else None

    def struct(self, template: tuple[TemplateParam, ...] | None) -> Struct | None:
        """Parse a struct with its functions and fields; None for a declaration."""
        start = self.at
        word = self.here
        self.at += 1
        if word == "union":
            raise ParseError("SPEC012", "a definition file cannot define a union", start)
        name = self.take_name()
        self.accept("final")
        has_base = self.here in (":", "<")
        while self.here not in ("{", ";"):
            if self.is_end:
                raise self.expected("'{'")
            self.at += 1
        if self.accept(";"):
            return None
        self.at += 1
        functions: list[Function] = []
        fields: list[Declaration] = []
        constructors: list[Constructor] = []
        while self.here != "}":
            if self.is_end:
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
            if self.accept("template"):
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
        self.accept("explicit")
        if self.take_name() != name:
            raise self.wrong("'explicit' is only for constructors", start)
        params = self.parameter_list()
        self.note_references(name, params)
        inits: list[tuple[str, tuple[Expr, ...]]] = []
        if self.here == ":":
            while self.accept(":", ","):
                field = self.take_name()
                inits.append((field, self.arguments()))
        if self.here in ("=", ";"):
            self.skip_to_semicolon()
            return None
        return Constructor(start, self.at, params, tuple(inits), self.block())

    def skip_member(self) -> None:
        """Step over a member that has no effect here."""
        while self.here not in (";", "{"):
            if self.is_end:
                raise self.expected("';'")
            self.at += 1
        if self.here == "{":
            self.skip_braces()
        self.accept(";")

    def function_or_variable(self, template: tuple[TemplateParam, ...] | None) -> Function | Declaration:
        start = self.at
        self.skip_specifiers()
        made = self.type_name()
        name = self.qualified_name()
        if self.here == "(" and (self.is_parameter_list() or template is not None):
            return self.function(start, made, name, template)
        if template is not None:
            raise ParseError("SPEC012", "variable templates are not supported in definitions", start)
        if len(name.parts) > 1:
            raise self.expected("'('")
        return self.declaration_rest(start, made, name.parts[0].text, name.first)

    def function(self, start: int, made: TypeName, name: Name, template: tuple[TemplateParam, ...] | None) -> Function:
        params = self.parameter_list()
        self.note_references(name.parts[-1].text, params)
        while self.accept("const", "override", "final", "noexcept"):
            pass
        if self.accept("->"):
            made = self.type_name()
        body: Compound | None = None
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
        """Return whether ``(`` at file scope opens parameters and not the arguments of a variable."""
        if self.texts[self.at + 1] == ")":
            return True
        saved = self.at
        self.at += 1
        try:
            self.skip_specifiers()
            if not self.is_name or self.here in ("true", "false", "nullptr"):
                return False
            self.type_name()
            return self.is_name or self.here in (",", ")", "=")
        except ParseError:
            return False
        finally:
            self.at = saved
