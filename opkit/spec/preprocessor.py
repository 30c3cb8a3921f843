"""Preprocessor: directives are obeyed and macros expanded; every token keeps both its places.

CHECK macros, JUST, REGISTER_USER_OP and FOR_RANGE stay as they are: they are words of the language.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opkit.diagnostics import Note, SourceText, Span
from opkit.errors import nearest
from opkit.spec.conditions import evaluate_condition
from opkit.spec.findings import Findings
from opkit.spec.includes import find_include, is_built_in
from opkit.spec.lexer import END, IDENT, PUNCT, STRING, Token, lex
from opkit.spec.macros import (
    SEQUENCE_MACROS,
    TYPE_SEQUENCES,
    Macro,
    comma_join,
    derived,
    paste,
    split_arguments,
    stringize,
)
from opkit.spec.reading import read_source

__all__ = ["MOST_TOKENS", "preprocess"]

#: Bounds: tokens of a whole expanded file, and macros expanded within each other.
MOST_TOKENS = 400_000
_DEEPEST = 100
_DEEPEST_INCLUDE = 20
_DEEPEST_CONDITION = 200

Tokens = list[Token]


class _TooLargeError(Exception):
    """Expansion ran past its bounds; the finding has been made."""


@dataclass(slots=True)
class _Branch:
    """One open ``#if``: its directive, whether a branch was taken, and whether this one is."""

    token: Token
    taken: bool
    active: bool
    has_else: bool = False


@dataclass(slots=True)
class _State:
    findings: Findings
    folders: tuple[str, ...]
    macros: dict[str, Macro] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
    out: Tokens = field(default_factory=list)
    work: int = 0
    has_sequences: bool = False
    has_open_call: bool = False


def preprocess(source: SourceText, folders: tuple[str, ...], findings: Findings) -> Tokens:
    """Return the tokens of a text after preprocessing, ending in one of kind END.

    Args:
        source: the spec.
        folders: where quoted includes are looked for, besides the spec's own folder.
        findings: takes what is wrong; nothing raises.
    """
    state = _State(findings, folders)
    end = derived(END, "", Token(END, "", source, len(source.text), len(source.text), True, True))
    try:
        _run(state, source, 0)
    except _TooLargeError:
        return [end]
    state.out.append(end)
    return state.out


def _run(state: _State, source: SourceText, depth: int) -> None:
    """Process one file: directives change the state, other lines are expanded into ``state.out``."""
    tokens = lex(source, state.findings)
    branches: list[_Branch] = []
    at, count = 0, len(tokens) - 1
    pending: Tokens = []
    while at < count:
        token = tokens[at]
        if token.first and token.text == "#":
            if pending:
                state.out += _expand(state, pending, 0)
                pending = []
            end = at + 1
            while end < count and not tokens[end].first:
                end += 1
            _directive(state, tokens[at:end], branches, source, depth)
            at = end
            continue
        end = at + 1
        while end < count and not (tokens[end].first and tokens[end].text == "#"):
            end += 1
        if all(branch.active for branch in branches):
            pending += tokens[at:end]
        at = end
    if pending:
        state.out += _expand(state, pending, 0)
    for branch in branches:
        state.findings.add(
            "SPEC005", f"this '#{_word(branch)}' has no '#endif'", branch.token.span, help="add '#endif'"
        )


def _word(branch: _Branch) -> str:
    return branch.token.text


def _directive(state: _State, line: Tokens, branches: list[_Branch], source: SourceText, depth: int) -> None:
    active = all(branch.active for branch in branches)
    if len(line) < 2:
        return
    word, rest = line[1], line[2:]
    name = word.text
    if name in ("if", "ifdef", "ifndef"):
        if len(branches) >= _DEEPEST_CONDITION:
            message = f"'#{name}' is nested more than {_DEEPEST_CONDITION} deep"
            state.findings.add("SPEC011", message, word.span, help="add the missing '#endif'")
            raise _TooLargeError
        value = active and _condition(state, word, rest)
        branches.append(_Branch(word, value, value))
    elif name in ("elif", "else", "endif"):
        _close(state, word, rest, branches)
    elif not active:
        return
    elif name == "define":
        _define(state, word, rest)
    elif name == "undef":
        if rest:
            state.macros.pop(rest[0].text, None)
    elif name == "include":
        _include(state, word, rest, source, depth)
    elif name == "pragma":
        if rest and rest[0].text == "once":
            state.once.add(source.path)
    elif name in ("error", "warning"):
        text = source.text[rest[0].start : rest[-1].end] if rest else ""
        state.findings.add("SPEC005", f"#{name} {text}".rstrip(), word.span)
    elif name not in ("line", "ident"):
        near = nearest(name, ("define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma"))
        state.findings.add(
            "SPEC005", f"unknown directive '#{name}'", word.span, help=f"did you mean '#{near[0]}'?" if near else ""
        )


def _close(state: _State, word: Token, rest: Tokens, branches: list[_Branch]) -> None:
    if not branches:
        state.findings.add("SPEC005", f"'#{word.text}' without '#if'", word.span, help="remove it, or add the '#if'")
        return
    branch = branches[-1]
    if word.text == "endif":
        branches.pop()
        return
    outer = all(item.active for item in branches[:-1])
    if branch.has_else:
        state.findings.add(
            "SPEC005", f"'#{word.text}' after '#else'", word.span, Note("the '#if' is here", branch.token.span)
        )
    if word.text == "else":
        branch.has_else = True
        branch.active = not branch.taken
    else:
        branch.active = not branch.taken and outer and _condition(state, word, rest)
    branch.taken = branch.taken or branch.active


def _condition(state: _State, word: Token, rest: Tokens) -> bool:
    if not rest:
        state.findings.add("SPEC005", f"'#{word.text}' without a condition", word.span)
        return False
    if word.text in ("ifdef", "ifndef"):
        return (rest[0].text in state.macros) == (word.text == "ifdef")
    plain: Tokens = []
    at = 0
    while at < len(rest):
        token = rest[at]
        if token.text == "defined":
            bracket = at + 1 < len(rest) and rest[at + 1].text == "("
            name_at = at + 2 if bracket else at + 1
            name = rest[name_at].text if name_at < len(rest) else ""
            plain.append(derived("number", "1" if name in state.macros else "0", token))
            at = name_at + (2 if bracket else 1)
            continue
        plain.append(token)
        at += 1
    value = evaluate_condition(_expand(state, plain, 0))
    if value is None:
        span = Span(rest[0].source, rest[0].start, rest[-1].end)
        state.findings.add("SPEC005", f"'#{word.text}' needs an integer expression", span)
        return False
    return value != 0


def _define(state: _State, word: Token, rest: Tokens) -> None:
    if not rest or rest[0].kind != IDENT:
        state.findings.add("SPEC005", "'#define' needs a name", (rest[0] if rest else word).span)
        return
    name = rest[0]
    if len(rest) < 2 or rest[1].text != "(" or rest[1].spaced:
        state.macros[name.text] = Macro(name, None, False, tuple(rest[1:]))
        return
    params: list[str] = []
    variadic = False
    at = 2
    while at < len(rest) and rest[at].text != ")":
        if rest[at].text == "...":
            variadic = True
            if not params or rest[at - 1].text == ",":
                params.append("__VA_ARGS__")
        elif rest[at].kind == IDENT:
            params.append(rest[at].text)
        elif rest[at].text != ",":
            state.findings.add("SPEC005", f"{rest[at].text!r} is no macro parameter", rest[at].span)
        at += 1
    if at >= len(rest):
        state.findings.add("SPEC005", "the parameters of this macro do not end", name.span, help="add ')'")
        return
    state.macros[name.text] = Macro(name, tuple(params), variadic, tuple(rest[at + 1 :]))


def _include(state: _State, word: Token, rest: Tokens, source: SourceText, depth: int) -> None:
    if not rest:
        state.findings.add("SPEC005", "'#include' names no file", word.span)
        return
    if rest[0].text == "<":
        return
    if rest[0].kind != STRING:
        rest = _expand(state, rest, 0)
        if not rest or rest[0].kind != STRING:
            state.findings.add("SPEC005", "'#include' needs a file in quotes", word.span)
            return
    name = rest[0].text.strip('"')
    if is_built_in(name):
        return
    found = find_include(name, source.path, state.folders)
    if found is None:
        state.findings.add(
            "SPEC008",
            f"the included file {name!r} was not found",
            rest[0].span,
            help="give its folder with include_dirs",
        )
        return
    path = str(found)
    if path in state.once:
        return
    if depth >= _DEEPEST_INCLUDE:
        state.findings.add("SPEC007", f"includes are nested more than {_DEEPEST_INCLUDE} deep", rest[0].span)
        raise _TooLargeError
    state.once.add(path)
    _run(state, read_source(path, state.findings), depth + 1)


def _lookup(state: _State, name: str) -> Macro | None:
    macro = state.macros.get(name)
    if macro is None and name.endswith(("_SEQ", "OF_COMMA", "_HALF")) and not state.has_sequences:
        state.has_sequences = True
        own, state.macros = state.macros, {}
        _run(state, TYPE_SEQUENCES, _DEEPEST_INCLUDE)
        state.macros.update(own)
        macro = state.macros.get(name)
    return macro


def _expand(state: _State, tokens: Tokens, depth: int) -> Tokens:
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


def _spend(state: _State, count: int, token: Token) -> None:
    state.work += count + 1
    if state.work > MOST_TOKENS:
        place = token.origin or token
        state.findings.add(
            "SPEC007",
            f"expanding {place.text!r} makes more than {MOST_TOKENS:,} tokens",
            place.span,
            help="a macro here multiplies itself; write it out or make it smaller",
        )
        raise _TooLargeError


def _push(state: _State, token: Token, body: tuple[Token, ...] | Tokens, macro: Macro | None, stack: Tokens) -> None:
    """Put a macro's replacement back on the stack for rescanning, with its origin and hide set."""
    _spend(state, len(body), token)
    hidden = (token.hidden or frozenset()) | {token.text}
    origin = token.origin or token
    for item in reversed(body):
        made = Token(item.kind, item.text, item.source, item.start, item.end, False, item.spaced)
        made.origin = origin
        made.hidden = hidden | item.hidden if item.hidden else hidden
        stack.append(made)


def _take_arguments(state: _State, token: Token, stack: Tokens) -> Tokens | None:
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


def _deeper(state: _State, token: Token, depth: int) -> int:
    if depth >= _DEEPEST:
        place = token.origin or token
        state.findings.add("SPEC007", f"macros in {place.text!r} are nested more than {_DEEPEST} deep", place.span)
        raise _TooLargeError
    return depth + 1


def _push_sequence(state: _State, token: Token, least: int, args: list[Tokens], stack: Tokens, depth: int) -> None:
    name = token.text
    if len(args) < least:
        state.findings.add("SPEC006", f"{name} needs {least} arguments, {len(args)} given", token.span)
        return
    deeper = _deeper(state, token, depth)
    ready = [_expand(state, arg, deeper) for arg in args]
    if name == "OF_PP_STRINGIZE":
        ready = [_expand(state, comma_join(args, token), deeper)]
    try:
        result = SEQUENCE_MACROS[name][1](ready, token)
    except OverflowError as error:
        place = token.origin or token
        state.findings.add("SPEC007", f"{name} has {error} results", place.span, help="make the sequences shorter")
        raise _TooLargeError from None
    _spend(state, len(result), token)
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


def _push_call(state: _State, token: Token, macro: Macro, inside: Tokens, stack: Tokens, depth: int) -> None:
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
    body = _substitute(state, macro, dict(zip(params, args, strict=True)), deeper)
    _push(state, token, body, macro, stack)


def _substitute(state: _State, macro: Macro, args: dict[str, Tokens], depth: int) -> Tokens:
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
                    expanded[token.text] = _expand(state, args[token.text], depth)
                piece = expanded[token.text]
        else:
            piece = [token]
        if glue and out and piece:
            out += _glued(state, macro, out.pop(), piece)
        else:
            out += piece
        glue = False
        _spend(state, 0, macro.name)
        at += 1
    return out


def _glued(state: _State, macro: Macro, left: Token, piece: Tokens) -> Tokens:
    if left.text == "," and left.kind == PUNCT:
        return [left, *piece]
    joined = paste(left, piece[0])
    if joined is None:
        state.findings.add(
            "SPEC006",
            f"{left.text!r} ## {piece[0].text!r} is no token",
            piece[0].span,
            Note(f"in the body of {macro.name.text!r}", macro.name.span),
        )
        return [left, *piece]
    return [joined, *piece[1:]]
