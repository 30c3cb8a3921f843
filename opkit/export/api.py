"""``opkit.export``: from an op directory to the text of a file and its proof.

Nothing is printed and no file of the user is written here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import opkit
from opkit.errors import ProjectError, UsageError, unknown
from opkit.export.companion import write_test
from opkit.export.jax_file import write_jax
from opkit.export.listing import listed
from opkit.export.model import ExportOp
from opkit.export.native import NotNativeError, native_bodies
from opkit.export.proof import LEAST_VERSIONS, ProofResult, is_installed, prove
from opkit.export.subject import subject_of
from opkit.export.text.jax_text import JaxDialect
from opkit.export.text.torch_text import TorchDialect
from opkit.export.text.writer import Dialect
from opkit.export.torch_file import write_torch
from opkit.project.loading import LoadedOps, load

__all__ = ["FORMS", "TARGETS", "Exported", "export"]

TARGETS = ("torch", "jax", "graph")
FORMS = ("auto", "native", "callback")
_DIALECTS: dict[str, Dialect] = {"torch": TorchDialect(), "jax": JaxDialect()}


@dataclass(frozen=True, slots=True)
class Exported:
    """An op as a file of a framework.

    Args:
        name: of the public function.
        text: the file.
        form: "native" or "callback"; "graph" for a listing.
        proof: what was proved; None where it was not requested.
        test: a test file for it.
        note: why the form is not the native one, "" where it is.
    """

    name: str
    text: str
    form: str
    proof: ProofResult | None = None
    test: str = field(default="", repr=False)
    note: str = ""


def export(
    target: str | os.PathLike[str],
    to: str = "torch",
    form: str = "auto",
    *,
    check: bool = True,
    is_checked: bool = False,
) -> Exported | tuple[Exported, ...]:
    """Export an op directory.

    Args:
        target: the directory, or ``DIR::op_type`` for one of its forward ops.
        to: "torch", "jax" or "graph" (what was traced, as text).
        form: "native" (array operations of the framework), "callback" (the numpy kernel carried along), or "auto":
            native where every kernel can be traced, else callback.
        check: prove the file beside the framework, in a process of its own.
        is_checked: the gradient is known to have passed ``opkit.gradcheck``; a framework's own, coarser check of it
            then only makes a note.

    Returns:
        the file of the op; a tuple of them where the directory has several forward ops.

    Raises:
        UsageError: no such target or form.
        ProjectError: the directory does not build.
        ExportError: the op has a form that cannot leave, or no native one where that was asked for.
    """
    for value, known, what in ((to, TARGETS, "target"), (form, FORMS, "form")):
        if value not in known:
            raise unknown(f"export has no {what}", value, list(known), has="it has").error(UsageError)
    path, _, name = os.fspath(target).partition("::")
    loaded = load(path)
    names = _names(loaded, name)
    made = tuple(_exported(subject_of(loaded, item), to, form, check, is_checked) for item in names)
    return made[0] if len(made) == 1 else made


def _names(loaded: LoadedOps, name: str) -> Sequence[str]:
    known = loaded.forward_ops
    if name and name not in known:
        raise unknown(f"{loaded.directory.path} has no forward op", name, list(known), has="it has").error(UsageError)
    errors = [item for item in loaded.diagnostics if item.is_error and item.subject in (known if not name else (name,))]
    if errors:
        raise ProjectError(
            f"op {errors[0].subject!r} does not build: {errors[0].message}", help="opkit build shows why"
        )
    if not known:
        raise ProjectError(f"{loaded.directory.path} has no forward op")
    return (name,) if name else known


def _exported(op: ExportOp, to: str, form: str, check: bool, is_checked: bool) -> Exported:
    if to == "graph":
        return Exported(op.name, listed(op), "graph")
    bodies: dict[str, str] = {}
    note = ""
    chosen = "callback"
    if form != "callback":
        try:
            bodies = native_bodies(op, _DIALECTS[to])
            chosen = "native"
        except NotNativeError as error:
            if form == "native":
                raise
            note = str(error)
    made = _written(op, to, chosen, bodies, check, is_checked, note)
    is_wrong = check and is_installed(to) and made.proof is not None and not made.proof.is_proved
    if is_wrong and chosen == "native" and form == "auto" and made.proof is not None:
        fault = next(row for row in made.proof.rows if row[2] == "FAIL")
        why = f"the native form of {op.name!r} is not the same op under {fault[1]}: {fault[3]}"
        return _written(op, to, "callback", {}, check, is_checked, why)
    return made


def _written(
    op: ExportOp, to: str, form: str, bodies: dict[str, str], check: bool, is_checked: bool, note: str
) -> Exported:
    write = write_torch if to == "torch" else write_jax
    draft = write(op, form, bodies, _head(op, to, form, None))
    if not check:
        return Exported(op.name, draft, form, None, write_test(op, to), note)
    proof = prove(op, to, draft, is_checked=is_checked)
    return Exported(op.name, write(op, form, bodies, _head(op, to, form, proof)), form, proof, write_test(op, to), note)


def _head(op: ExportOp, to: str, form: str, proof: ProofResult | None) -> str:
    """Return the docstring of a file: from which op, which opkit, and what was proved."""
    title = {"torch": "PyTorch", "jax": "JAX"}[to]
    how = (
        "Array operations of the framework, traced from the numpy kernels."
        if form == "native"
        else "The numpy kernels are carried along and called from the framework."
    )
    lines = [
        f"{op.name} for {title}.",
        "",
        f"Exported by opkit {opkit.__version__} from the op {op.forward.name}. {how}",
    ]
    lines.append(f"Needs {to} {LEAST_VERSIONS[to]} or newer.")
    if proof is None:
        lines += ["", "Not checked: nothing was proved."]
    elif not proof.version:
        lines += ["", f"Not verified: {proof.rows[0][3]}"]
    else:
        lines += ["", f"Proved with {to} {proof.version}:"]
        lines += [f"  {check}: {outcome}, {note}" for _, check, outcome, note in proof.rows]
    lines += [f"  declared: {item}" for item in op.exceptions]
    text = "\n".join(line.replace("\\", "\\\\").replace('"""', "'''") for line in lines)
    return text + "\n"
