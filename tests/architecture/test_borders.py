"""The rows below the facades know no framework: none of its words stands in an identifier or a string there."""

from __future__ import annotations

import ast
import io
import re
import token
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import opkit
from opkit import ops  # noqa: F401 - registers every built-in op
from opkit.ops.core.registry import BUILTIN

ROOT = Path(opkit.__file__).resolve().parent
#: A framework's name anywhere, and LoD as a part of a word (``lod_level``, ``LoDTensor``, not ``reload``).
WORDS = re.compile(r"paddle|oneflow|(?<![a-z])lod(?![a-z])|(?<![a-z])lodtensor", re.IGNORECASE)
#: The pieces of a string token: prefix, quotes, and the text between them.
STRING = re.compile(r"^[A-Za-z]*('''|\"\"\"|'|\")(.*)\1$", re.DOTALL)
#: A paragraph of a docstring that says where something comes from.
SOURCE = re.compile(r"^[ \t]*Sources?:.*?(?=^[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

PACKAGES = ["ir", "ops", "autograd", "sharding", "eager", "static", "checker"]


def documented() -> set[str]:
    """Return the names of built-in op types and of their arguments and attributes."""
    found = set(BUILTIN)
    for name in BUILTIN:
        op = BUILTIN.get(name)
        for part in ("inputs", "outputs", "attrs"):
            found |= {item.name for item in getattr(op, part, ())}
    return found


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name that a module defines, imports or uses, with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield line, value
        for value in getattr(node, "names", ()) if isinstance(node, (ast.Global, ast.Nonlocal)) else ():
            yield line, value


def strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text of every string, docstrings without what they say under ``Source:``."""
    middle = getattr(token, "FSTRING_MIDDLE", -1)
    for item in tokenize.generate_tokens(io.StringIO(text).readline):
        if item.type == token.STRING:
            found = STRING.match(item.string)
            assert found, item.string
            yield item.start[0], SOURCE.sub("", found[2])
        elif item.type == middle:
            yield item.start[0], item.string


def offences(text: str) -> list[str]:
    """Return "line: text" for each identifier and string that holds a framework's word."""
    known = documented()
    found = [*identifiers(ast.parse(text)), *strings(text)]
    hits = []
    for line, held in found:
        if held not in known:
            hits += [f"{line}: {part.strip()}" for part in held.splitlines() if WORDS.search(part)]
    return hits


@pytest.mark.parametrize("package", PACKAGES)
def test_no_word_of_a_framework_below_the_facades(package: str) -> None:
    """No identifier and no string holds one; what a docstring's ``Source:`` says may."""
    found = {
        str(path.relative_to(ROOT)): hits
        for path in sorted((ROOT / package).rglob("*.py"))
        if (hits := offences(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "paddle_sgd = 1",
        "def f(x, lod_level=0): ...",
        "class LoDTensor: ...",
        "x.oneflow",
        "import opkit.paddle",
        "from opkit import oneflow as flow",
        "f(paddle=1)",
        "s = 'use paddle.to_tensor'",
        "s = f'a {1} OneFlow {2}'",
        '"""As in Paddle 2.6."""',
        '"""One line.\n\nAs in Paddle.\n\nSource: OneFlow v0.4.\n"""',
        "s = 'LOD_TENSOR'",
    ],
)
def test_a_word_is_found(text: str) -> None:
    """Names, arguments, imports, strings and docstrings are looked at."""
    assert len(offences(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "reload = load = 'upload, explode: a lodestar'",
        '"""One line.\n\nSource: Paddle 2.6, paddle.autograd;\nOneFlow v0.4.\n"""',
        "x = 1  # Source: Paddle 2.6",
    ],
)
def test_other_words_and_sources_pass(text: str) -> None:
    """Words that merely contain the letters are left alone, and sources are said."""
    assert offences(text) == []
