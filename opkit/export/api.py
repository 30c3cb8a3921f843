"""``opkit.export``: from an op directory to the text of a file and its proof.

Nothing is printed and no file of the user is written here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from opkit.errors import ProjectError, UsageError, unknown
from opkit.export.companion import write_test
from opkit.export.frame import Frame, head_of
from opkit.export.jax_file import JaxFrame
from opkit.export.listing import listed
from opkit.export.model import ExportError, ExportOp
from opkit.export.native import NotNativeError, native_bodies
from opkit.export.proof import ProofResult, gradient_trouble, is_installed, prove
from opkit.export.subject import subject_of
from opkit.export.text.jax_text import JaxDialect
from opkit.export.text.torch_text import TorchDialect
from opkit.export.text.writer import Dialect
from opkit.export.torch_file import TorchFrame
from opkit.paths import StrPath
from opkit.project.directory import op_directory_of
from opkit.project.loading import LoadedOps, load
from opkit.record import record
from opkit.settings import settings

TARGETS = ("torch", "jax", "graph")
FORMS = ("auto", "native", "callback")
DIALECTS: dict[str, Dialect] = {"torch": TorchDialect(), "jax": JaxDialect()}
FRAMES: dict[str, Frame] = {"torch": TorchFrame(), "jax": JaxFrame()}


@record
class Exported:
    """The forward ops of a directory as a file of a framework.

    Args:
        name: of the file: the public function's, or the directory's where there are several.
        text: the file.
        form: "native" or "callback"; "graph" for a listing.
        proof: what was proved; None where it was not requested.
        test: a test file for it.
        note: why the form is not the native one, and which C++ kernels stay; "" where neither is to be said.
        functions: the public functions.
    """

    name: str
    text: str
    form: str
    proof: ProofResult | None = None
    test: str = field(default="", repr=False)
    note: str = ""
    functions: tuple[str, ...] = ()


def export(
    target: StrPath,
    to: str = "torch",
    form: str = "auto",
    *,
    check: bool = True,
    is_checked: bool | None = None,
    inductor: bool = True,
    told: Callable[[str], object] = str,
) -> Exported:
    """Export an op directory.

    Args:
        target: the directory, or ``DIR::op_type`` for one of its forward ops.
        to: "torch", "jax" or "graph" (what was traced, as text).
        form: "native" (array operations of the framework), "callback" (the numpy kernel carried along), or "auto":
            native where every kernel can be traced and is proved, else callback.
        check: prove the file beside the framework, in a process of its own.
        is_checked: whether the gradient is known to have passed ``opkit.gradcheck``; None checks it here. Where it has
            not, that is a row of the proof, which then is not proved.
        inductor: part of the proof for torch is to compile with inductor, where a C++ compiler is (some 10 s).
        told: is called with what begins now, in words, wherever that takes its time.

    Returns:
        the file with all forward ops that were asked for.

    Raises:
        UsageError: no such target or form.
        ProjectError: the directory does not build.
        ExportError: an op has a form that cannot leave, or no native one where that was asked for.
    """
    for value, known, what in ((to, TARGETS, "target"), (form, FORMS, "form")):
        if value not in known:
            raise unknown(f"export has no {what}", value, list(known), has="it has").error(UsageError)
    path, _, name = os.fspath(target).partition("::")
    stays = _staying(path)
    with settings(kernel="python"):
        loaded = load(path)
    ops = tuple(subject_of(loaded, item) for item in _names(loaded, name))
    if to == "graph":
        return Exported(_file_name(ops), "\n".join(listed(op) for op in ops), "graph")
    trouble = ""
    if check and is_checked is None and any(op.wirings for op in ops):
        told("its gradient is checked by opkit gradcheck")
        trouble = gradient_trouble(path, [op.forward.name for op in ops])
    elif is_checked is False:
        trouble = "opkit gradcheck did not pass"
    made = _Export(ops, to, check, trouble, inductor, told).made(form)
    return replace(made, note="; ".join(filter(None, (made.note, stays))))


def _staying(path: str) -> str:
    """Return in words which C++ kernels do not go along, "" without any.

    Raises:
        ExportError: there are no others.
    """
    directory = op_directory_of(path)
    files = ", ".join(item.name for item in directory.cpp_kernels)
    if files and not directory.kernel.is_file():
        raise ExportError(
            f"{directory.path} has kernels in C++ alone ({files}); a file for another framework carries numpy kernels",
            help=f"write {directory.kernel.name}; opkit gradcheck then holds both together",
        )
    return f"the numpy kernels go along, and those in C++ stay ({files})" if files else ""


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


def _file_name(ops: Sequence[ExportOp]) -> str:
    return ops[0].name if len(ops) == 1 else ops[0].directory


@record
class _Export:
    """One export.

    Args:
        ops: the forward ops.
        to: the framework.
        check: prove the file.
        trouble: why the gradient is not known to be right, "" where it is.
        inductor: compile with torch's inductor too.
        told: is called with what begins now.
    """

    ops: tuple[ExportOp, ...]
    to: str
    check: bool
    trouble: str
    inductor: bool
    told: Callable[[str], object]

    def made(self, form: str) -> Exported:
        """Return the file in a form; "auto" takes the callback form where the native one is refused or not proved.

        A gradient that is wrong is wrong in both.
        """
        bodies: dict[str, str] = {}
        note = ""
        chosen = "callback"
        if form != "callback":
            try:
                bodies = native_bodies(self.ops, DIALECTS[self.to])
                chosen = "native"
            except NotNativeError as error:
                if form == "native":
                    raise
                note = str(error)
        made = self.written(chosen, bodies, note)
        if made.proof is None or form != "auto" or chosen != "native" or self.trouble or not is_installed(self.to):
            return made
        fault = next((row for row in made.proof.rows if row[2] == "FAIL"), None)
        if fault is None:
            return made
        why = f"the native form of {fault[0]!r} is not the same op under {fault[1]}: {fault[3]}"
        return self.written("callback", {}, why)

    def written(self, form: str, bodies: Mapping[str, str], note: str) -> Exported:
        """Return the file, and the same with its proof in its head."""
        frame, name, functions = FRAMES[self.to], _file_name(self.ops), tuple(op.name for op in self.ops)
        draft = frame.write(self.ops, form, bodies, head_of(self.ops, self.to, form, None))
        test = write_test(self.ops, self.to, name)
        if not self.check:
            return Exported(name, draft, form, None, test, note, functions)
        self.told(f"the {form} form is proved in {self.to}, in a process of its own")
        proof = prove(self.ops, self.to, draft, trouble=self.trouble, inductor=self.inductor)
        text = frame.write(self.ops, form, bodies, head_of(self.ops, self.to, form, proof))
        return Exported(name, text, form, proof, test, note, functions)
