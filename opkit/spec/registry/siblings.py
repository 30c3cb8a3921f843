"""Siblings: a forward op that another definition file of the same folder registers, found when a gradient is built.

OneFlow links all definition files of a folder together; here each is compiled alone, so that this is looked up late.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from opkit.foreign import FormatError, read_file
from opkit.spec.registry.compiled_op import CompiledOp
from opkit.spec.text.decoding import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping

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
