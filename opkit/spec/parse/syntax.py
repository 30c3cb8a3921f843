"""Syntax: the typed tree of a definition file. Data only; ``parser`` makes it, ``lower`` reads it.

The module is long because the nodes are one table, whose expressions and statements hold each other. Every node holds
the indices of its first and last token; ``Tree.span`` turns them into a place.
"""

from __future__ import annotations

from dataclasses import field

from opkit.diagnostics import Note, Span
from opkit.record import mutable, record
from opkit.spec.text.lexer import Token


@record
class Node:
    """Any piece of syntax: token indices ``first`` to ``last``, both included."""

    first: int
    last: int


@record
class Expr(Node):
    """Any expression."""


@record
class Statement(Node):
    """Any statement."""


@record
class Part(Node):
    """One component of a qualified name, with its template arguments (None: none written)."""

    text: str
    args: tuple[TypeName | Expr, ...] | None = None


@record
class Name(Expr):
    """A possibly qualified name: ``std::numeric_limits<int64_t>::max``."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The components joined by ``::``, without template arguments."""
        return "::".join(part.text for part in self.parts)


@record
class TypeName(Node):
    """A type as written.

    Args:
        name: its name; ``auto`` and the built-in types are names of one part.
        is_const: whether ``const`` stands before or after the name.
        stars: number of ``*``.
        ref: "", "&" or "&&".
        params: parameter types where this is a function type ``R(A, B)``, else None.
    """

    name: Name
    is_const: bool = False
    stars: int = 0
    ref: str = ""
    params: tuple[TypeName, ...] | None = None


@record
class Literal(Expr):
    """A number, string (adjacent ones joined, ``value`` decoded), character, bool or nullptr."""

    kind: str
    text: str
    value: object = None


@record
class Unary(Expr):
    """``op operand``; op is one of ``+ - ! ~ * & ++ --``."""

    op: str
    operand: Expr


@record
class Postfix(Expr):
    """``operand++`` or ``operand--``."""

    op: str
    operand: Expr


@record
class Binary(Expr):
    """``left op right``."""

    op: str
    left: Expr
    right: Expr


@record
class Assign(Expr):
    """``left op right`` where op is ``=`` or ``+=`` and similar ones."""

    op: str
    left: Expr
    right: Expr


@record
class Ternary(Expr):
    """``condition ? then : otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@record
class Call(Expr):
    """``function(args)``; a construction ``Type(args)`` looks the same and is distinguished later."""

    function: Expr
    args: tuple[Expr, ...]


@record
class Construct(Expr):
    """``Type{args}``, or ``Type(args)`` where the type is not a plain name."""

    type: TypeName
    args: tuple[Expr, ...]
    braced: bool


@record
class Index(Expr):
    """``object[index]``."""

    object: Expr
    index: Expr


@record
class Member(Expr):
    """``object.name`` or ``object->name``."""

    object: Expr
    name: Part
    arrow: bool


@record
class Cast(Expr):
    """``static_cast<Type>(operand)``, ``(Type)operand`` and similar ones."""

    kind: str
    type: TypeName
    operand: Expr


@record
class InitList(Expr):
    """``{a, b, c}``."""

    items: tuple[Expr, ...]


@record
class Capture(Node):
    """One entry of a lambda's capture list; ``name`` is "" for the defaults ``[=]`` and ``[&]``."""

    name: str
    by_ref: bool
    value: Expr | None = None


@record
class Param(Node):
    """A parameter; ``name`` is "" where it has none."""

    type: TypeName
    name: str
    default: Expr | None = None


@record
class Lambda(Expr):
    """``[captures](params) -> result { body }``."""

    captures: tuple[Capture, ...]
    params: tuple[Param, ...]
    result: TypeName | None
    body: Compound
    is_mutable: bool = False


@record
class Declarator(Node):
    """One declared name: its own stars and reference, how it is initialised ("", "=", "(", "{") and with what.

    ``size`` is that of an array; an empty list stands for ``[]``.
    """

    name: str
    stars: int
    ref: str
    style: str
    args: tuple[Expr, ...]
    size: Expr | None = None


@record
class Declaration(Statement):
    """``Type a = x, b(y);`` locally or at file scope."""

    type: TypeName
    names: tuple[Declarator, ...]


@record
class ExprStatement(Statement):
    """``expression;``."""

    value: Expr


@record
class Compound(Statement):
    """``{ statements }``."""

    items: tuple[Statement, ...]


@record
class Empty(Statement):
    """A lone ``;`` and what has no effect here (``static_assert``, ``using namespace``)."""


@record
class If(Statement):
    """``if (condition) then else otherwise``."""

    condition: Expr
    then: Statement
    otherwise: Statement | None


@record
class For(Statement):
    """``for (init; condition; step) body``."""

    init: Statement
    condition: Expr | None
    step: Expr | None
    body: Statement


@record
class ForRange(Statement):
    """OneFlow's ``FOR_RANGE(type, name, begin, end) body``."""

    type: TypeName
    name: str
    begin: Expr
    end: Expr
    body: Statement


@record
class RangeFor(Statement):
    """``for (type name : range) body``."""

    type: TypeName
    name: str
    range: Expr
    body: Statement


@record
class While(Statement):
    """``while (condition) body``, or ``do body while (condition);``."""

    condition: Expr
    body: Statement
    is_do: bool = False


@record
class Return(Statement):
    """``return value;``."""

    value: Expr | None


@record
class Jump(Statement):
    """``break;`` or ``continue;``."""

    word: str


@record
class TemplateParam(Node):
    """A template parameter: kind is "type", "template", "function", or the type of a constant; default as written."""

    kind: str
    name: str
    default: TypeName | Expr | None = None


@record
class Function(Node):
    """A function definition or declaration (``body`` None).

    Args:
        name: qualified where it is defined outside its struct.
        template: its template parameters, None where it is not a template, () for a specialisation.
        specialised: the template arguments after the name of a specialisation.
    """

    name: Name
    result: TypeName
    params: tuple[Param, ...]
    body: Compound | None
    template: tuple[TemplateParam, ...] | None = None
    specialised: tuple[TypeName | Expr, ...] | None = None
    is_static: bool = False


@record
class Constructor(Node):
    """A constructor: what it initialises (field, arguments), and its body."""

    params: tuple[Param, ...]
    inits: tuple[tuple[str, tuple[Expr, ...]], ...]
    body: Compound


@record
class Alias(Statement):
    """``using name = type;`` or ``typedef type name;``."""

    name: str
    type: TypeName


@record
class Struct(Node):
    """A struct or class: functions, fields and constructors; ``has_base`` where it is derived from another."""

    name: str
    functions: tuple[Function, ...]
    fields: tuple[Declaration, ...]
    constructors: tuple[Constructor, ...]
    has_base: bool
    template: tuple[TemplateParam, ...] | None = None


@record
class Enum(Node):
    """An enumeration: its enumerators with their values, None where they count on."""

    name: str
    items: tuple[tuple[str, Expr | None], ...]


@record
class Switch(Statement):
    """``switch (value) { groups }``: each group has its labels (None: default) and statements."""

    value: Expr
    groups: tuple[tuple[tuple[Expr | None, ...], tuple[Statement, ...]], ...]


@mutable
class Tree:
    """A parsed file: its tokens, what stands at file scope in order, and the names that may be assigned through."""

    tokens: list[Token]
    items: list[Node] = field(default_factory=list)
    addressed: frozenset[str] = frozenset()

    def span(self, node: Node) -> Span:
        """Return where a node is spelled, all of it where it is spelled in one piece."""
        return self.between(node.first, node.last)

    def between(self, first: int, last: int) -> Span:
        """Return the span from one token to another, or of the first where they lie apart."""
        begin, end = self.tokens[first], self.tokens[last]
        if begin.source is end.source and begin.start <= end.start and begin.origin is end.origin:
            return Span(begin.source, begin.start, max(begin.end, end.end))
        return begin.span

    def expansion(self, node: Node) -> Note | None:
        """Return the note that says which macro invocation a node comes from, None outside macros."""
        token = self.tokens[node.first]
        origin = token.origin
        if origin is None or not origin.text:
            return None
        if origin.source is token.source and origin.start == token.start:
            return None
        return Note(f"in the expansion of {origin.text!r}", origin.span)
