"""The head of an exported file: from which ops, which opkit, and what was proved with which framework.

It is the file's docstring; nothing is proved here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from opkit.export.model import ExportOp
from opkit.export.proof import LEAST_VERSIONS, ProofResult
from opkit.version import __version__

_TITLES = {"torch": "PyTorch", "jax": "JAX"}
_FORMS = {
    "native": "Array operations of the framework, traced from the numpy kernels.",
    "callback": "The numpy kernels are carried along and called from the framework.",
}
_WIDTH = 116


def head_of(ops: Sequence[ExportOp], to: str, form: str, proof: ProofResult | None) -> str:
    """Return the docstring of a file; ``proof`` is None where none was asked for."""
    names = ", ".join(op.name for op in ops)
    types = ", ".join(op.forward.name for op in ops)
    lines = [f"{names} for {_TITLES[to]}.", ""]
    lines.append(f"Exported by opkit {__version__} from {'the op' if len(ops) == 1 else 'the ops'} {types}.")
    lines += [_FORMS[form], f"Needs {to} {LEAST_VERSIONS[to]} or newer.", ""]
    if proof is None:
        lines.append("Not checked: nothing was proved.")
    elif not proof.version:
        lines.append(f"Not verified: {proof.rows[0][3]}")
    else:
        lines.append(f"Proved with {to} {proof.version}:")
        for name, check, outcome, note in proof.rows:
            lines.append(
                f"  {name + ', ' if len(ops) > 1 else ''}{check}: {outcome}, {' '.join(note.split())}".rstrip(", ")
            )
    lines += [f"  declared: {item}" for op in ops for item in op.exceptions]
    wrapped = [textwrap.fill(line, _WIDTH, subsequent_indent="    ") if line else "" for line in lines]
    return "\n".join(line.replace("\\", "\\\\").replace('"""', "'''") for line in wrapped) + "\n"
