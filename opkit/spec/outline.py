"""Outline: the registrations of a definition file as they are written, with the places of their setters.

What they mean is the compiler's business; what comes from macros or included files is left out, since no text of the
file is theirs alone.
"""

from __future__ import annotations

from opkit.diagnostics import SourceText
from opkit.record import record
from opkit.spec.findings import Findings
from opkit.spec.library.registration_names import GRAD_MACROS, OP_MACROS
from opkit.spec.parse import syntax
from opkit.spec.parse.parser import parse
from opkit.spec.parse.syntax import Call, Member, Name
from opkit.spec.text.preprocessor import preprocess


@record
class Setter:
    """One ``.Setter(arguments)`` of a registration.

    Args:
        name: such as ``Attr``.
        argument: its first argument where that is a text, else "".
        end: offset after its closing parenthesis.
    """

    name: str
    argument: str
    end: int


@record
class Registration:
    """A registration of an op, or of a gradient.

    Args:
        name: the op type.
        is_gradient: whether it registers the gradient.
        start: offset of its first character.
        head: offset after ``REGISTER_...("name")``.
        end: offset after its last setter.
        setters: in order.
    """

    name: str
    is_gradient: bool
    start: int
    head: int
    end: int
    setters: tuple[Setter, ...]


def outline(source: SourceText) -> tuple[Registration, ...] | None:
    """Return the registrations of a definition file in order; None where it does not parse.

    Args:
        source: the file's text.

    Example:
        >>> (found,) = outline(SourceText('REGISTER_USER_OP("f").Input("x").Output("y");', "f_cpp_def.cpp"))
        >>> found.name, [(item.name, item.argument) for item in found.setters]
        ('f', [('Input', 'x'), ('Output', 'y')])
    """
    findings = Findings()
    tree = parse(preprocess(source, (), findings), findings)
    if any(item.is_error for item in findings.items):
        return None
    found = (_registration(tree, source, item) for item in tree.items if isinstance(item, syntax.ExprStatement))
    return tuple(item for item in found if item is not None)


def _registration(tree: syntax.Tree, source: SourceText, item: syntax.ExprStatement) -> Registration | None:
    setters: list[Setter] = []
    current = item.value
    span = tree.span(current)
    if span.source is not source or tree.expansion(current) is not None:
        return None
    end = span.end
    while isinstance(current, Call) and isinstance(current.function, Member):
        setters.insert(0, Setter(current.function.name.text, _text(current), tree.span(current).end))
        current = current.function.object
    if not (isinstance(current, Call) and isinstance(current.function, Name) and _text(current)):
        return None
    macro = current.function.parts[-1].text
    if macro not in OP_MACROS and macro not in GRAD_MACROS:
        return None
    return Registration(_text(current), macro in GRAD_MACROS, span.start, tree.span(current).end, end, tuple(setters))


def _text(call: Call) -> str:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, syntax.Literal) and isinstance(first.value, str) else ""
