"""Preprocessor: directives are obeyed and macros expanded; every token keeps both its places.

CHECK macros, JUST, REGISTER_USER_OP and FOR_RANGE stay as they are: they are words of the language.
"""

from __future__ import annotations

import os

from opkit.diagnostics import Note, SourceText, Span
from opkit.errors import unknown
from opkit.record import mutable
from opkit.spec.findings import Findings
from opkit.spec.text.conditions import evaluate_condition, find_include, is_built_in
from opkit.spec.text.decoding import read_source
from opkit.spec.text.expansion import State, Tokens, TooLargeError, expand, spend, too_large
from opkit.spec.text.lexer import END, IDENT, STRING, Token, lex
from opkit.spec.text.macros import Macro, derived

_DEEPEST_INCLUDE = 20
_DEEPEST_CONDITION = 200


@mutable
class _Branch:
    """One open ``#if``: its directive, whether a branch was taken, and whether this one is."""

    token: Token
    taken: bool
    active: bool
    has_else: bool = False


def preprocess(source: SourceText, folders: tuple[str, ...], findings: Findings) -> Tokens:
    """Return the tokens of a text after preprocessing, ending in one of kind END.

    Args:
        source: the definition file.
        folders: where quoted includes are looked for, besides the definition's own folder.
        findings: takes what is wrong; nothing raises.
    """
    state = State(findings, folders, lambda text: _run(state, text, _DEEPEST_INCLUDE))
    end = derived(END, "", Token(END, "", source, len(source.text), len(source.text), True, True))
    try:
        _run(state, source, 0)
    except TooLargeError:
        return [end]
    state.out.append(end)
    return state.out


def _run(state: State, source: SourceText, depth: int, includer: Token | None = None) -> None:
    """Process one file: directives change the state, other lines are expanded into ``state.out``."""
    tokens = lex(source, state.findings)
    if includer is not None:
        spend(state, len(tokens), includer)
    branches: list[_Branch] = []
    at, count = 0, len(tokens) - 1
    pending: Tokens = []
    while at < count:
        token = tokens[at]
        if token.first and token.text == "#":
            if pending:
                state.out += expand(state, pending, 0)
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
        state.out += expand(state, pending, 0)
    for branch in branches:
        state.findings.add(
            "SPEC005", f"this '#{_word(branch)}' has no '#endif'", branch.token.span, help="add '#endif'"
        )


def _word(branch: _Branch) -> str:
    return branch.token.text


def _directive(state: State, line: Tokens, branches: list[_Branch], source: SourceText, depth: int) -> None:
    active = all(branch.active for branch in branches)
    if len(line) < 2:
        return
    word, rest = line[1], line[2:]
    name = word.text
    if name in ("if", "ifdef", "ifndef"):
        if len(branches) >= _DEEPEST_CONDITION:
            message = f"'#{name}' is nested more than {_DEEPEST_CONDITION} deep"
            state.findings.add("SPEC011", message, word.span, help="add the missing '#endif'")
            raise TooLargeError
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
            state.once.add(os.path.realpath(source.path))
    elif name in ("error", "warning"):
        text = source.text[rest[0].start : rest[-1].end] if rest else ""
        state.findings.add("SPEC005", f"#{name} {text}".rstrip(), word.span)
    elif name not in ("line", "ident"):
        known = ("#define", "#undef", "#include", "#if", "#ifdef", "#ifndef", "#elif", "#else", "#endif", "#pragma")
        said = unknown("unknown directive", f"#{name}", known)
        state.findings.add("SPEC005", said.message, word.span, help=said.help)


def _close(state: State, word: Token, rest: Tokens, branches: list[_Branch]) -> None:
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


def _condition(state: State, word: Token, rest: Tokens) -> bool:
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
    value = evaluate_condition(expand(state, plain, 0))
    if value is None:
        span = Span(rest[0].source, rest[0].start, rest[-1].end)
        state.findings.add("SPEC005", f"'#{word.text}' needs an integer expression", span)
        return False
    return value != 0


def _define(state: State, word: Token, rest: Tokens) -> None:
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
            state.findings.add("SPEC005", f"{rest[at].text!r} is not a macro parameter", rest[at].span)
        at += 1
    if at >= len(rest):
        state.findings.add("SPEC005", "the parameters of this macro do not end", name.span, help="add ')'")
        return
    state.macros[name.text] = Macro(name, tuple(params), variadic, tuple(rest[at + 1 :]))


def _include(state: State, word: Token, rest: Tokens, source: SourceText, depth: int) -> None:
    if not rest:
        state.findings.add("SPEC005", "'#include' names no file", word.span)
        return
    if rest[0].text == "<":
        return
    if rest[0].kind != STRING:
        rest = expand(state, rest, 0)
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
    # The file itself: through a link to a folder one file can have endlessly many names.
    path = os.path.realpath(found)
    if path in state.once:
        return
    if depth >= _DEEPEST_INCLUDE:
        raise too_large(state, rest[0], f"includes are nested more than {_DEEPEST_INCLUDE} deep")
    state.once.add(path)
    _run(state, read_source(str(found), state.findings), depth + 1, rest[0])
