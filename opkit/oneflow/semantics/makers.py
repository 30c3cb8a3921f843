"""Makers: ops of directories that travel: their files go along, and the op is made of them again elsewhere."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opkit.ir import Operation, TensorDesc
from opkit.ops import OpDef
from opkit.ops.core.types import Attrs
from opkit.project import Library, UserOp, to_op_def
from opkit.record import record

#: Folders that this process has written and loaded, by content.
_loaded: dict[str, Library] = {}
_SOURCES = (".py", ".cpp", ".h", ".hpp")


@record
class DirectoryMaker:
    """Makes an op of a directory again.

    Args:
        name: of the directory.
        files: its sources by their path in it.
        op: the op type.
        inputs: descriptions by input name.
        attrs: its attributes.
        outputs: how many values each output has.
    """

    name: str
    files: Mapping[str, bytes]
    op: str
    inputs: Mapping[str, tuple[TensorDesc, ...]]
    attrs: Attrs
    outputs: Mapping[str, int]

    def __call__(self) -> OpDef:
        """Return the op; the directory is written to a folder of this process and loaded, once."""
        digest = hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()
        library = _loaded.get(digest)
        if library is None:
            folder = Path(tempfile.mkdtemp(prefix="opkit-op-")) / self.name
            for path, data in self.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
            library = _loaded[digest] = Library()
            library.load(folder)
        found = library.registry.get(self.op)
        assert isinstance(found, UserOp)
        return to_op_def(found, {name: list(items) for name, items in self.inputs.items()}, self.attrs, self.outputs)


def maker_for(op: Operation, user_op: UserOp) -> DirectoryMaker:
    """Return what makes the op of an Operation again elsewhere."""
    assert user_op.compiled is not None
    root = Path(os.path.realpath(user_op.compiled.span.location.file)).parent
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.suffix in _SOURCES and path.is_file()
    }
    opdef: Any = op.opdef
    inputs: dict[str, list[TensorDesc]] = {}
    for arg, value in zip(opdef.inputs, op.inputs):
        if value is not None:
            inputs.setdefault(arg.name.rpartition("_")[0], []).append(value.desc)
    outputs: dict[str, int] = {}
    for arg in opdef.outputs:
        name = arg.name.rpartition("_")[0]
        outputs[name] = outputs.get(name, 0) + 1
    given = {name: tuple(items) for name, items in inputs.items()}
    return DirectoryMaker(root.name, files, op.type, given, dict(op.attrs), outputs)
