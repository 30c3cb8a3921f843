"""The frame: an exported file's parts in their order, for every framework alike.

What a framework writes for a kernel that is called, for a gradient and for a public function is a module per framework.

The head of an exported file: from which ops, which opkit, and what was proved with which framework.

It is the file's docstring; nothing is proved here.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from opkit.export.inference import inference_code, list_inference
from opkit.export.layout import call, document
from opkit.export.model import ExportKernel, ExportOp
from opkit.export.proof import LEAST_VERSIONS, ProofResult
from opkit.export.signature import kernel_source, literal, names_of, parameters_of
from opkit.version import __version__

__all__ = [
    "Frame",
]


class Frame(ABC):
    """How a framework's file is written around the kernels."""

    #: The framework's package, as it is imported and installed.
    package: str
    #: What the framework's module is called in the file, also where inference names dtypes.
    module: str
    #: Lines before the imports under the native form.
    first: tuple[str, ...] = ()
    #: Imports of the framework.
    imports: tuple[str, ...]
    #: The function that calls a numpy kernel.
    run: str

    def write(self, ops: Sequence[ExportOp], form: str, bodies: Mapping[str, str], head: str) -> str:
        """Return the text of a file.

        Args:
            ops: the forward ops of one directory.
            form: "native" or "callback".
            bodies: {op type: text of the function ``_TYPE``} for the native form.
            head: the docstring's text.

        Raises:
            ExportError: a definition or a gradient uses what has no form in the file.
        """
        kernels = {kernel.name: kernel for op in ops for kernel in op.kernels}
        parts = self._inferences(ops, form)
        if form == "callback":
            parts = ["# The numpy kernels.\n" + kernel_source(ops[0]), self.run, *parts]
        parts = [*self.helpers(ops), *parts]
        if form == "callback":
            parts += [self.called_kernel(kernel) for kernel in kernels.values()]
        else:
            parts += list(bodies.values())
        for op in ops:
            parts += [*self.gradient(op, form), self.public(op, form)]
        names = ", ".join(f'"{op.name}"' for op in ops)
        start = f'"""{head}"""\n\n{self._imports(form, "".join(parts))}\n\n__all__ = [{names}]'
        return document([f"{start}\n\n{self._refusal()}", *parts])

    def _refusal(self) -> str:
        """Return the statement that refuses a framework that is too old for the file."""
        least = LEAST_VERSIONS[self.package]
        number = ", ".join(least.split("."))
        return (
            f'if tuple(map(int, {self.package}.__version__.split(".")[:{least.count(".") + 1}])) < ({number}):\n'
            f'    raise ImportError(f"{self.package} {{{self.package}.__version__}} is too old: {least} is needed")'
        )

    def _inferences(self, ops: Sequence[ExportOp], form: str) -> list[str]:
        helpers: dict[str, str] = {}
        found: dict[str, str] = {}
        for op in ops:
            for kernel in op.kernels if form == "callback" else (op.forward,):
                if kernel.gives_list:
                    found[kernel.name] = list_inference(kernel, op.model_of(kernel))
                    continue
                found[kernel.name], more = inference_code(kernel, names_of(kernel), self.module)
                helpers.update(more)
        return [*helpers.values(), *found.values()]

    def _imports(self, form: str, body: str) -> str:
        bare = body.replace("jnp.", "")
        standard = [f"import {name}" for name in ("functools", "inspect", "json", "math") if f"{name}." in body]
        numpy = ["import numpy as np"] if form == "callback" or "np." in bare else []
        third = sorted([*self.imports, *numpy], key=lambda line: line.split()[1])
        first = self.first if form == "native" else ()
        return "\n\n".join("\n".join(group) for group in (first, standard, third) if group)

    def helpers(self, ops: Sequence[ExportOp]) -> list[str]:
        """Return further functions that the file needs."""
        return []

    @abstractmethod
    def called_kernel(self, kernel: ExportKernel) -> str:
        """Return the function ``_TYPE`` that calls a numpy kernel."""

    @abstractmethod
    def gradient(self, op: ExportOp, form: str) -> list[str]:
        """Return what binds forward and gradient together."""

    @abstractmethod
    def public(self, op: ExportOp, form: str) -> str:
        """Return the function that users call."""

    def public_head(self, op: ExportOp) -> list[str]:
        """Return the line that defines the function that users call, and its docstring."""
        kernel, safe = op.forward, names_of(op.forward)
        given = [safe[arg.name] + ("=None" if arg.is_optional else "") for arg in kernel.inputs]
        keywords = [f"{safe[spec.name]}={literal(spec.default)}" for spec in kernel.attrs]
        outputs = ", ".join(arg.name for arg in kernel.outputs)
        inputs = ", ".join(arg.name for arg in kernel.inputs)
        return [
            call(f"def {op.name}", [*given, *(["*", *keywords] if keywords else [])], ":"),
            f'    """Return {outputs} of the op {op.name}, computed from {inputs}."""',
        ]

    def checked(self, op: ExportOp) -> str:
        """Return the statement that refuses what the definition refuses."""
        return f"    _infer_{op.forward.name}({', '.join(parameters_of(op.forward))})"


def incoming(op: ExportOp) -> list[str]:
    """Return the variables of the incoming gradients."""
    safe = names_of(op.forward)
    return [f"grad_{safe[arg.name]}" for arg in op.forward.outputs]


__all__ += ["incoming"]


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
