"""The model of an op that leaves: its kernels as functions of named values, its wiring, its cases.

Data only: nothing is loaded, traced or written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opkit.errors import Location, OpkitError
from opkit.project.user_op import UserOp
from opkit.spec import ArgSpec, AttrSpec, CompiledOp

__all__ = ["Example", "ExportError", "ExportKernel", "ExportOp", "Step", "Wiring"]


class ExportError(OpkitError):
    """An op cannot be exported as it was asked for; the message says why and at which line."""


@dataclass(frozen=True, slots=True)
class ExportKernel:
    """A user kernel with its definition.

    Args:
        op: the op type of the directory.
        compiled: its definition.
    """

    op: UserOp
    compiled: CompiledOp

    @property
    def name(self) -> str:
        """The op type."""
        return self.compiled.name

    @property
    def inputs(self) -> tuple[ArgSpec, ...]:
        """The declared inputs."""
        return tuple(self.compiled.inputs)

    @property
    def outputs(self) -> tuple[ArgSpec, ...]:
        """The declared outputs that are always there."""
        return tuple(arg for arg in self.compiled.outputs if not arg.is_optional)

    @property
    def attrs(self) -> tuple[AttrSpec, ...]:
        """The declared attributes, without the one that says where an op runs."""
        return tuple(spec for spec in self.compiled.attrs.values() if spec.name != "device_sub_tag")

    @property
    def where(self) -> Location | None:
        """File and line of the kernel."""
        return self.op.kernel.where if self.op.kernel is not None else self.op.where


@dataclass(frozen=True, slots=True)
class Step:
    """One backward op of a gradient.

    Args:
        type: its op type.
        kernel: the user's kernel of that type; None for a built-in op.
        inputs: (argument, blobs) in the order of the definition.
        outputs: (argument, blobs) likewise.
        attrs: {attribute: Python expression over the forward op's attributes}.
    """

    type: str
    kernel: ExportKernel | None
    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    outputs: tuple[tuple[str, tuple[str, ...]], ...]
    attrs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The gradient of an op: backward ops in order, and which blob is whose gradient.

    Args:
        steps: the backward ops that the bound gradients need.
        bindings: {input: blob}.
        reads: the blobs of forward's inputs, outputs and incoming gradients that are read.
    """

    steps: tuple[Step, ...]
    bindings: Mapping[str, str]
    reads: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One case with the results that the numpy kernels give for it.

    Args:
        inputs: {input: array, None where an optional one is left out}.
        attrs: complete attributes.
        outputs: forward's results.
        douts: incoming gradients, one per output.
        grads: {input: gradient}.
        label: shapes, dtypes and what is special, for messages.
        slack: {"output 0" or "gradient x": how far the kernels' own result moves where inputs move by their last bit}.
        calls: {op type: (arguments, attributes)} of each user kernel that ran.
    """

    inputs: Mapping[str, Any]
    attrs: Mapping[str, Any]
    outputs: tuple[np.ndarray, ...]
    douts: tuple[np.ndarray, ...] = ()
    grads: Mapping[str, np.ndarray] = field(default_factory=dict)
    label: str = ""
    slack: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, tuple[tuple[Any, ...], Mapping[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ExportOp:
    """A forward op on its way out.

    Args:
        name: of the function that is written: the op type without ``_forward``.
        directory: the op directory's name.
        forward: the forward kernel.
        wiring: its gradient, None where it has none.
        examples: the cases of the proof.
        exceptions: deliberate deviations that the cases file declares, as a line each.
        source: the text of the kernel file.
    """

    name: str
    directory: str
    forward: ExportKernel
    wiring: Wiring | None
    examples: tuple[Example, ...]
    exceptions: tuple[str, ...] = ()
    source: str = ""

    @property
    def kernels(self) -> tuple[ExportKernel, ...]:
        """The forward kernel and the user kernels of its gradient, each once."""
        found = {self.forward.name: self.forward}
        for step in self.wiring.steps if self.wiring is not None else ():
            if step.kernel is not None:
                found.setdefault(step.type, step.kernel)
        return tuple(found.values())
