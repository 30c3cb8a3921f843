"""BuiltTypes: which op types a compiled gradient can build, and with which attributes, known from its code alone.

What one run of it builds is a GradGraph, which is in ``compiled_grad``.

Siblings: a forward op that another definition file of the same folder registers, found when a gradient is built.

OneFlow links all definition files of a folder together; here each is compiled alone, so that this is looked up late.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from opkit.foreign import FormatError, read_file
from opkit.record import record
from opkit.spec.lower.units import Unit
from opkit.spec.lower.uses import FORWARD_TYPE, HOLE
from opkit.spec.registry.compiled_op import CompiledOp
from opkit.spec.text.decoding import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class BuiltTypes:
    """The op types that a gradient can build.

    Args:
        names: op types that its code gives as constants.
        patterns: op types that its code computes, as text with ``*`` for each part that is not a constant.
        literals: every string constant in its code, where a name is computed without any constant part; else empty.

    Example:
        >>> types = BuiltTypes(frozenset({"my_grad"}), ("my_*_backward",))
        >>> [name for name in ("my_grad", "my_left_backward", "my_grad_scale") if name in types]
        ['my_grad', 'my_left_backward']
        >>> types.is_computed
        True
    """

    names: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    literals: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_computed(self) -> bool:
        """Whether some of the op types are computed, so that ``names`` are not all."""
        return bool(self.patterns)

    def __contains__(self, op_type: object) -> bool:
        """Return whether the gradient can build an op type, as far as its code shows."""
        if not isinstance(op_type, str):
            return False
        return op_type in self.names or any(self._matches(pattern, op_type) for pattern in self.patterns)

    def _matches(self, pattern: str, op_type: str) -> bool:
        if not pattern.strip(HOLE):
            return op_type in self.literals
        parts = (re.escape(part) for part in pattern.split(HOLE))
        return re.fullmatch(".*".join(parts), op_type, re.DOTALL) is not None


def built_types_of(op_type: str, units: Iterable[Unit]) -> BuiltTypes:
    """Return the op types that a gradient's code can build.

    Args:
        op_type: the forward op type, which may be part of the names of backward ops.
        units: the units of the gradient's function and of all that it calls.
    """
    kept = list(units)
    uses = [use for unit in kept for use in unit.uses]
    names = {use.name for use in uses if use.kind == "bwtype"}
    patterns: dict[str, None] = {}
    for use in uses:
        if use.kind == "bwcomputed":
            for parts in use.detail:
                text = "".join(op_type if part == FORWARD_TYPE else part for part in parts)
                if HOLE in text:
                    patterns[text] = None
                else:
                    names.add(text)
    is_open = any(not pattern.strip(HOLE) for pattern in patterns)
    literals = frozenset(text for unit in kept for text in unit.string_literals()) if is_open else frozenset()
    return BuiltTypes(frozenset(names), tuple(patterns), literals)


def given_attrs_of(units: Iterable[Unit]) -> frozenset[str] | None:
    """Return the names of the attributes that a gradient's code sets on backward ops; None where one is computed.

    Args:
        units: the units of the gradient's function and of all that it calls.
    """
    names: set[str] = set()
    for unit in units:
        for node in ast.walk(ast.parse(unit.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "attr":
                if not (node.args and isinstance(node.args[0], ast.Constant)):
                    return None
                names.add(str(node.args[0].value))
    return frozenset(names)


_MOST_FILES = 400

Compile = Callable[[Path], "Mapping[str, CompiledOp]"]


class Siblings:
    """The other definition files of a folder, compiled one after the other until an op is found.

    Args:
        path: the definition file whose siblings they are.
        compile_ops: compiles one file to its ops.
    """

    def __init__(self, path: str, compile_ops: Compile) -> None:
        self.path = Path(path)
        self.compile_ops = compile_ops
        self.found: dict[str, CompiledOp | None] = {}
        self.compiled: dict[Path, Mapping[str, CompiledOp]] = {}

    def find(self, name: str) -> CompiledOp | None:
        """Return the op that a sibling registers under a name, None where none does."""
        if name not in self.found:
            self.found[name] = self._search(name)
        return self.found[name]

    def _search(self, name: str) -> CompiledOp | None:
        for file in self._files(name):
            if file not in self.compiled:
                self.compiled[file] = self.compile_ops(file)
            op = self.compiled[file].get(name)
            if op is not None:
                return op
        return None

    def _files(self, name: str) -> list[Path]:
        """Return the siblings, those first that spell the op's name."""
        try:
            if not self.path.is_file():
                return []
            beside = (file for file in self.path.parent.glob("*.cpp") if file.name != self.path.name and file.is_file())
            return sorted(sorted(beside)[:_MOST_FILES], key=lambda file: f'"{name}"'.encode() not in _text_of(file))
        except OSError:
            return []


def _text_of(file: Path) -> bytes:
    """Return what a file holds; b"" where it cannot be read, or is too long to be compiled."""
    try:
        return read_file(file, 4 * LARGEST)
    except (OSError, FormatError):
        return b""
