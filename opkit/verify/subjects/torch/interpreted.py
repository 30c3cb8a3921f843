"""Interpreted: Triton's interpreter, made to refuse what its documentation leaves out: operations on bfloat16.

It holds such numbers as whole numbers of 16 bits, and would calculate with these.
"""

from __future__ import annotations

import sys
from typing import Any


def refuse_bfloat16() -> None:
    """Make the interpreter raise for numbers that it cannot calculate with, where something has loaded it."""
    builder = getattr(sys.modules.get("triton.runtime.interpreter"), "InterpreterBuilder", None)
    if builder is None or builder.binary_op.__module__ == __name__:
        return
    for name in ("binary_op", "unary_op"):
        run = getattr(builder, name)

        def refused(self: Any, first: Any, *others: Any, plain: Any = run) -> Any:
            if str(first.dtype.scalar) == "bf16":
                raise NotImplementedError(
                    "Triton's interpreter has no operations on bfloat16: cast to float32, or check on a GPU"
                )
            return plain(self, first, *others)

        setattr(builder, name, refused)
