"""Expansion: macros become their replacement, within bounds; every token keeps both its places.

Directives are in ``preprocessor``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from opkit.diagnostics import Note, SourceText
from opkit.record import mutable
from opkit.spec.findings import Findings
from opkit.spec.text.lexer import IDENT, PUNCT, Token
from opkit.spec.text.macros import (
    MOST_TOKENS,
    SEQUENCE_MACROS,
    TYPE_SEQUENCES,
    Macro,
    TooManyError,
    comma_join,
    paste,
    split_arguments,
    stringize,
    within,
)

#: Macros expanded within each other, as arguments or as what a replacement is rescanned for.
_DEEPEST = 100
_LONGEST_CHAIN = 500
#: Characters that # and ## may make in a whole file.
MOST_MADE = 4_000_000

Tokens = list[Token]


class TooLargeError(Exception):
    """Expansion ran past its bounds; the finding has been made."""


@mutable
class State:
    """What preprocessing knows: macros, files read once, and the tokens so far; ``run`` processes a text."""

    findings: Findings
    folders: tuple[str, ...]
    run: Callable[[SourceText], None]
    macros: dict[str, Macro] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
    out: Tokens = field(default_factory=list)
    work: int = 0
    made: int = 0
    has_sequences: bool = False
    has_open_call: bool = False


def _lookup(state: State, name: str) -> Macro | None:
    macro = state.macros.get(name)
    if macro is None and name.endswith(("_SEQ", "OF_COMMA", "_HALF")) and not state.has_sequences:
        state.has_sequences = True
        own, state.macros = state.macros, {}
        state.run(TYPE_SEQUENCES)
        state.macros.update(own)
        macro = state.macros.get(name)
    return macro


def expand(state: State, tokens: Tokens, depth: int) -> Tokens:
    """Expand every macro in the tokens; arguments must end within them."""
    macros = state.macros
    out: Tokens = []
    stack = tokens[::-1]
    while stack:
        token = stack.pop()
        if token.kind != IDENT:
            out.append(token)
            continue
        name = token.text
        sequence = SEQUENCE_MACROS.get(name) if name.startswith("OF_PP_") and name not in macros else None
        macro = None
        if sequence is None:
            macro = macros.get(name) or (_lookup(state, name) if name.isupper() else None)
        if (macro is None and sequence is None) or (token.hidden and name in token.hidden):
            out.append(token)
            continue
        if macro is not None and macro.params is None:
            _push(state, token, macro.body, macro, stack)
            continue
        arguments = _take_arguments(state, token, stack)
        if arguments is None:
            out.append(token)
        elif sequence is not None:
            _push_sequence(state, token, sequence[0], split_arguments(arguments), stack, depth)
        elif macro is not None:
            _push_call(state, token, macro, arguments, stack, depth)
    return out


def too_large(state: State, token: Token, what: str, help: str = "") -> TooLargeError:
    """Report a bound that expansion exceeded, at the position in the definition file of a token; return the error."""
    place = token.origin or token
    state.findings.add("SPEC007", what.format(repr(place.text)), place.span, help=help)
    return TooLargeError()


def spend(state: State, count: int, token: Token) -> None:
    """Count tokens that were made or read."""
    state.work += count + 1
    if state.work > MOST_TOKENS:
        raise too_large(
            state,
            token,
            f"expanding {{}} makes more than {MOST_TOKENS:,} tokens",
            "a macro here multiplies itself; write it out or make it smaller",
        )


def _spend_text(state: State, made: Token, token: Token) -> None:
    """Count the characters of a token that # or ## made."""
    state.made += len(made.text)
    if state.made > MOST_MADE:
        raise too_large(
            state,
            token,
            f"expanding {{}} makes more than {MOST_MADE:,} characters with # and ##",
            "a macro here multiplies a name; write it out or make it smaller",
        )


def _push(state: State, token: Token, body: tuple[Token, ...] | Tokens, macro: Macro | None, stack: Tokens) -> None:
    """Put a macro's replacement back on the stack for rescanning, with its origin and hide set."""
    spend(state, len(body), token)
    hidden = (token.hidden or frozenset()) | {token.text}
    if len(hidden) > _LONGEST_CHAIN:
        raise too_large(state, token, f"macros in {{}} expand to each other more than {_LONGEST_CHAIN} times in a row")
    origin = token.origin or token
    unions: dict[int, frozenset[str]] = {}
    for item in reversed(body):
        made = Token(item.kind, item.text, item.source, item.start, item.end, False, item.spaced)
        made.origin = origin
        if item.hidden and not item.hidden <= hidden:
            key = id(item.hidden)
            if key not in unions:
                unions[key] = hidden | item.hidden
                # A set of names for each token would take more memory than the tokens.
                spend(state, len(unions[key]) >> 3, token)
            made.hidden = unions[key]
        else:
            made.hidden = hidden
        stack.append(made)


def _take_arguments(state: State, token: Token, stack: Tokens) -> Tokens | None:
    """Take ``( ... )`` off the stack and return its inside; None where no parenthesis follows."""
    if not stack or stack[-1].text != "(" or stack[-1].kind != PUNCT or state.has_open_call:
        return None
    depth = 0
    inside: Tokens = []
    for number in range(len(stack) - 1, -1, -1):
        item = stack[number]
        text = item.text if item.kind == PUNCT else ""
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth == 0:
                del stack[number:]
                return inside[1:]
        inside.append(item)
    state.has_open_call = True
    state.findings.add("SPEC006", f"the arguments of {token.text!r} do not end", token.span, help="add ')'")
    return None


def _deeper(state: State, token: Token, depth: int) -> int:
    if depth >= _DEEPEST:
        raise too_large(state, token, f"macros in {{}} are nested more than {_DEEPEST} deep")
    return depth + 1


def _push_sequence(state: State, token: Token, least: int, args: list[Tokens], stack: Tokens, depth: int) -> None:
    name = token.text
    if len(args) < least:
        state.findings.add("SPEC006", f"{name} needs {least} arguments, {len(args)} given", token.span)
        return
    deeper = _deeper(state, token, depth)
    ready = [expand(state, arg, deeper) for arg in args]
    if name == "OF_PP_STRINGIZE":
        ready = [expand(state, comma_join(args, token), deeper)]
    try:
        result = SEQUENCE_MACROS[name][1](ready, token)
    except TooManyError as error:
        raise too_large(state, token, f"{name} in {{}} makes {error}", "make the sequences shorter") from None
    spend(state, len(result), token)
    origin = token.origin or token
    for item in reversed(result):
        if item.origin is None:
            item = derived_copy(item)
            item.origin = origin
        stack.append(item)


def derived_copy(token: Token) -> Token:
    """Copy a token, so that its origin can be set."""
    made = Token(token.kind, token.text, token.source, token.start, token.end, False, token.spaced)
    made.hidden = token.hidden
    made.origin = token.origin
    return made


def _push_call(state: State, token: Token, macro: Macro, inside: Tokens, stack: Tokens, depth: int) -> None:
    params = macro.params or ()
    args = split_arguments(inside)
    if macro.variadic:
        fixed = len(params) - 1
        args = [*args[:fixed], comma_join(args[fixed:], token)]
    if not params and args == [[]]:
        args = []
    if len(args) != len(params) and not (macro.variadic and len(args) == len(params) - 1):
        wanted, given = len(params), len(args)
        state.findings.add(
            "SPEC006",
            f"macro {token.text!r} takes {wanted} argument{'s' * (wanted != 1)}, {given} given",
            token.span,
            Note("defined here", macro.name.span),
        )
        return
    args += [[] for _ in range(len(params) - len(args))]
    deeper = _deeper(state, token, depth)
    try:
        body = _substitute(state, macro, dict(zip(params, args, strict=True)), deeper, token)
    except TooManyError as error:
        raise too_large(state, token, f"expanding {{}} makes {error}", "a macro here multiplies a name") from None
    _push(state, token, body, macro, stack)


def _substitute(state: State, macro: Macro, args: dict[str, Tokens], depth: int, call: Token) -> Tokens:
    """Put the arguments into a macro's body, obeying # and ##."""
    out: Tokens = []
    expanded: dict[str, Tokens] = {}
    body = macro.body
    at, glue = 0, False
    while at < len(body):
        token = body[at]
        following = body[at + 1].text if at + 1 < len(body) else ""
        if token.text == "#" and following in args:
            piece = [stringize(args[following], body[at + 1])]
            _spend_text(state, piece[0], call)
            at += 1
        elif token.text == "##" and out:
            glue = True
            at += 1
            continue
        elif token.kind == IDENT and token.text in args:
            follows_glue = at + 1 < len(body) and body[at + 1].text == "##"
            if glue or follows_glue:
                piece = args[token.text]
            else:
                if token.text not in expanded:
                    expanded[token.text] = expand(state, args[token.text], depth)
                piece = expanded[token.text]
        else:
            piece = [token]
        if glue and out and piece:
            out += _glued(state, macro, out.pop(), piece, call)
        else:
            out += piece
        glue = False
        spend(state, 0, call)
        within(len(out))
        at += 1
    return out


def _glued(state: State, macro: Macro, left: Token, piece: Tokens, call: Token) -> Tokens:
    if left.text == "," and left.kind == PUNCT:
        return [left, *piece]
    joined = paste(left, piece[0])
    if joined is None:
        state.findings.add(
            "SPEC006",
            f"{left.text!r} ## {piece[0].text!r} is not a token",
            piece[0].span,
            Note(f"in the body of {macro.name.text!r}", macro.name.span),
        )
        return [left, *piece]
    _spend_text(state, joined, call)
    return [joined, *piece[1:]]
