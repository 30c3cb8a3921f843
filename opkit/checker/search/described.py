"""Described: the shapes of inputs that docstrings and comments name, such as ``x: [batch, seq, dim]``.

Reads source only; whether forward takes such shapes, and backward keeps up with them, is found out in natural.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opkit.checker.model.thresholds import DESCRIBED_SIZES, MOST_SYMBOLS
from opkit.checker.model.written import comments_in, text_of
from opkit.checker.search.said import name_pattern
from opkit.checker.search.shapes import Assignment, Shape

#: What may stand between the name of an input and its shape.
_LINK = (
    r"(?:[\s:`]|\((?:\w+\.)?Tensor\)|\b(?:\w+\.)?Tensors?\b|\b(?:is|are|an?|the|of|has|have|with|and|shapes?|arrays?|"
    r"matrix|matrices|vectors?|logits|float\d*|int\d*|bool)\b|shape\s*=)*"
)
#: Several names may share a shape: "cos, sin: [seq, dim]".
_NAMES = r"(?P<names>[A-Za-z_]\w*(?:\s*(?:,|&|/|\band\b)\s*`*[A-Za-z_]\w*)*)"
_SQUARE = re.compile(rf"(?<![\w.]){_NAMES}(?P<link>{_LINK})\[(?P<sizes>[^\[\]()]*)\]")
_ROUND = re.compile(rf"(?<![\w.]){_NAMES}(?P<link>{_LINK})\((?P<sizes>[^\[\]()]*,[^\[\]()]*)\)")
_SIZE = re.compile(r"[A-Za-z_][\w ]*|\d+|[A-Za-z\d_][\w ]*[-+*/ ]+[\w ]*[\w]")
#: What a sentence says of inputs that take no gradient, and how it says so of an input whose name stands before.
_NO_GRADIENT = r"\b(?:[Nn]o|without an?|without) gradients?\b"
_CONSTANT = (
    rf"(?:\b[Cc]onstants?\b|{_NO_GRADIENT}|\b(?:detached|frozen)\b"
    r"|\bnot (?:be )?(?:trained|learned|learnt|learnable|differentiated|differentiable)\b)"
)
_IS = r"(?:\b(?:is|are|be|as|stays?)\b|[:,]) (?:(?:an?|the|all|both|held|kept|treated|taken|as|plain|given) ){0,3}"
_TAKES = r"\b(?:takes?|gets?|has|have|needs?|receives?) "
#: Words that brackets hold where they tell types and not shapes.
_NO_SIZES = frozenset(
    (
        "int",
        "float",
        "bool",
        "str",
        "optional",
        "required",
        "default",
        "Tensor",
        "tensor",
        "None",
        "list",
        "tuple",
        "ndarray",
    )
)
_FACTOR = re.compile(r"(?<=\d)\s*(?=[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Described:
    """Shapes by the names of inputs.

    Args:
        shapes: {input: a text for each axis}; inputs of which nothing is said are left out.
    """

    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(f"{name} [{', '.join(shape)}]" for name, shape in self.shapes.items())

    def assignments(self, names: Sequence[str]) -> Iterator[Assignment]:
        """Yield shapes for inputs that are all described; two symbols differ in size, and each takes several."""
        if not names or any(name not in self.shapes for name in names):
            return
        texts = [self.shapes[name] for name in names]
        symbols = sorted(set().union(*(_symbols(size) for shape in texts for size in shape)))
        if len(symbols) > MOST_SYMBOLS:
            return
        for sizes in _choices(len(symbols)):
            known = dict(zip(symbols, sizes))
            made = [tuple(_valued(size, known) for size in shape) for shape in texts]
            if all(size is not None and size > 0 for shape in made for size in shape):
                yield tuple(made)  # type: ignore[arg-type]

    def allows(self, names: Sequence[str], assignment: Assignment) -> bool:
        """Say whether shapes have the ranks, and the sizes given as numbers, that are described."""
        for name, shape in zip(names, assignment):
            said = self.shapes.get(name)
            if said is None or shape is None:
                continue
            if len(shape) != len(said) or any(isinstance(size, tuple) for size in shape):
                return False
            if any(text.isdigit() and int(text) != size for text, size in zip(said, shape)):
                return False
        return self._is_consistent(names, assignment)

    def _is_consistent(self, names: Sequence[str], assignment: Assignment) -> bool:
        """Say whether axes of one symbol have one size, and those of an expression its value."""
        known: dict[str, Any] = {}
        pairs = [pair for name, shape in zip(names, assignment) for pair in zip(self.shapes.get(name, ()), shape or ())]
        if any(text.isidentifier() and known.setdefault(text, size) != size for text, size in pairs):
            return False
        return all(_valued(text, known) in (size, None) for text, size in pairs if _symbols(text) <= known.keys())


def described_in(sources: Sequence[Any], names: Sequence[str]) -> Described:
    """Return the shapes that forward's docstring and comments, and its class's docstring, name for some inputs.

    Args:
        sources: forward, backward, then their class and its other functions.
        names: of the inputs.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(sources):
        for name, shape in _said(text):
            if name in names:
                found.setdefault(name, shape)
    return Described(found)


def said_constant(sources: Sequence[Any], name: str) -> bool:
    """Say whether a sentence of forward's or its class's docstring, or a comment of forward, calls an input a constant.

    It has to say so of the input itself: "u is a constant", "u and v are detached", "no gradient for u".
    """
    classes = [item for item in sources if isinstance(item, type)]
    texts = [
        *map(_doc, (*sources[:1], *classes)),
        *(text for item in sources[:1] for text in comments_in(text_of(item))),
    ]
    clauses = (clause for text in texts for clause in re.split(r"[.;]\s|[.;]$|\n\n|\bbut\b", text))
    own = name_pattern(name)
    said = rf"{own}.*?(?:{_IS}{_CONSTANT}|{_TAKES}{_NO_GRADIENT})|{_CONSTANT} (?:for |to )?{own}"
    return any(re.search(said, " ".join(clause.split())) for clause in clauses)


def _texts(sources: Sequence[Any]) -> list[str]:
    """Return what the docstrings and the comments of forward and of its class say."""
    classes = [item for item in sources if isinstance(item, type)]
    texts = [_doc(sources[0]), *map(_doc, classes)] if sources else []
    return texts + [text for item in (*sources[:1], *classes) for text in comments_in(text_of(item))]


def _said(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for match in (*_SQUARE.finditer(text), *_ROUND.finditer(text)):
        if match.re is _ROUND and not re.search("shape|:", match["link"]):
            continue  # parentheses hold anything
        if not match["link"] and re.search(r"\b[a-z]", match["sizes"]):
            continue  # x[i] is an element
        sizes = tuple(_joined(part) for part in match["sizes"].split(",") if part.strip())
        symbols: set[str] = set().union(*map(_symbols, sizes))
        if symbols and not symbols & _NO_SIZES and all(map(_SIZE.fullmatch, sizes)):
            for name in re.findall(r"\w+", match["names"]):
                yield name, sizes


def _joined(text: str) -> str:
    """Return a size as an expression, or as one symbol where it is several words."""
    text = _FACTOR.sub(" * ", text.strip())
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return re.sub(r"\W+", "_", text)
    return text


def _symbols(size: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", size))


def _choices(count: int) -> Iterator[Shape]:
    """Yield sizes for some symbols: in every order of rotation, then all even, then one of them 1."""
    base = DESCRIBED_SIZES[:count]
    for turn in range(max(count, 1)):
        yield (*base[turn:], *base[:turn])
    yield tuple(2 * size for size in base)
    yield tuple(12 * size for size in base[:3]) + tuple(2 * size for size in base[3:])
    for place in range(count):
        yield (*base[:place], 1, *base[place + 1 :])


def _valued(text: str, known: Mapping[str, int]) -> int | None:
    """Return the value of a size, None where it is not a whole number."""
    if text in known:  # a keyword may be one
        return known[text]
    try:
        return _value(ast.parse(text, mode="eval").body, known)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if not isinstance(node, ast.BinOp):
        raise ValueError(ast.dump(node))
    left, right = _value(node.left, known), _value(node.right, known)
    if isinstance(node.op, (ast.Div, ast.FloorDiv)):
        if left % right:
            raise ValueError("no whole number")
        return left // right
    signs = {ast.Add: 1, ast.Sub: -1}
    if type(node.op) in signs:
        return left + signs[type(node.op)] * right
    if isinstance(node.op, ast.Mult):
        return left * right
    raise ValueError(ast.dump(node))


def _doc(item: Any) -> str:
    return inspect.cleandoc(getattr(item, "__func__", item).__doc__ or "")  # getdoc would take a base's
