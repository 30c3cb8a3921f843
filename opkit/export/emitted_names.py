"""Emitted names: what stands for what in one function of an exported file, while a definition is rewritten.

Data only; which names are safe is decided in ``signature``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field

from opkit.export.model import ExportKernel
from opkit.record import mutable


@mutable
class Names:
    """What stands for what in one function.

    Args:
        kernel: the op.
        safe: {declared name: name in the file}.
        framework: how dtypes are written: "torch" or "jnp".
    """

    kernel: ExportKernel
    safe: Mapping[str, str]
    framework: str
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    asks_given: bool = False

    @property
    def result(self) -> str:
        """What the function returns."""
        return result_of(self.kernel, self.safe)


def result_of(kernel: ExportKernel, safe: Mapping[str, str]) -> str:
    """Return the text of what an inference function returns: one (shape, dtype) per output."""
    pairs = ", ".join(f"(tuple({safe[arg.name]}_shape), {safe[arg.name]}_dtype)" for arg in kernel.outputs)
    return f"[{pairs}]"
