"""The model of an op that leaves: its kernels as functions of named values, its wiring, its cases.

Data only: nothing is loaded, traced or written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from opkit.errors import Location, OpkitError
from opkit.project.user_op import UserOp, is_list
from opkit.record import entity, record
from opkit.spec import ArgSpec, AttrSpec, CompiledOp


class ExportError(OpkitError):
    """An op cannot be exported as it was asked for; the message says why and at which line."""


@record
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
    def gives_list(self) -> bool:
        """Whether its only output is a list of values."""
        return len(self.outputs) == 1 and self.is_list(self.outputs[0].name)

    def is_list(self, name: str) -> bool:
        """Return whether an argument is a list of values."""
        return any(is_list(arg) for arg in (*self.compiled.inputs, *self.compiled.outputs) if arg.name == name)

    @property
    def attrs(self) -> tuple[AttrSpec, ...]:
        """The declared attributes, without the one that says where an op runs."""
        return tuple(spec for spec in self.compiled.attrs.values() if spec.name != "device_sub_tag")

    @property
    def where(self) -> Location | None:
        """File and line of the kernel."""
        return self.op.kernel.where if self.op.kernel is not None else self.op.where


@record
class BackwardStep:
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


@record
class Wiring:
    """The gradient of an op: backward ops in order, and which blob is whose gradient.

    Args:
        steps: the backward ops that the bound gradients need.
        bindings: {(input, index): blob}.
        reads: the blobs of forward's inputs, outputs and incoming gradients that are read.
        cases: what is known of each case in which it is wired so: {"w": is it there, "xs": how many, "mode": value}.
    """

    steps: tuple[BackwardStep, ...]
    bindings: Mapping[tuple[str, int], str]
    reads: frozenset[str]
    cases: tuple[Mapping[str, Any], ...] = ()


@entity
class Example:
    """One case with the results that the numpy kernels give for it.

    Args:
        inputs: {input: array, list of arrays, or None where an optional one is left out}.
        attrs: complete attributes.
        outputs: forward's results.
        douts: incoming gradients, one per output.
        grads: {input: gradient, list of gradients of a list}.
        label: shapes, dtypes and what is special, for messages.
        slack: {"output 0" or "gradient x": how far the kernels' own result moves where inputs move by their last bit}.
        calls: {op type: (arguments, attributes) of each call} of each user kernel that ran.
    """

    inputs: Mapping[str, Any]
    attrs: Mapping[str, Any]
    outputs: tuple[np.ndarray, ...]
    douts: tuple[np.ndarray, ...] = ()
    grads: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    slack: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, list[tuple[tuple[Any, ...], Mapping[str, Any]]]] = field(default_factory=dict)


@entity
class ExportOp:
    """A forward op on its way out.

    Args:
        name: of the function that is written: the op type without ``_forward``.
        directory: the op directory's name.
        forward: the forward kernel.
        wirings: the ways in which its gradient is wired, one unless optional or variadic inputs or attributes decide;
            none where it has no gradient.
        examples: the cases of the proof.
        exceptions: deliberate deviations that the cases file declares, as a line each.
        source: the text of the kernel file.
        refused: inputs and attributes that the definition refuses, with a label.
    """

    name: str
    directory: str
    forward: ExportKernel
    wirings: tuple[Wiring, ...]
    examples: tuple[Example, ...]
    exceptions: tuple[str, ...] = ()
    source: str = ""
    refused: tuple[tuple[Mapping[str, Any], Mapping[str, Any], str], ...] = ()

    @property
    def kernels(self) -> tuple[ExportKernel, ...]:
        """The forward kernel and the user kernels of its gradient, each once."""
        found = {self.forward.name: self.forward}
        for step in (step for wiring in self.wirings for step in wiring.steps):
            if step.kernel is not None:
                found.setdefault(step.type, step.kernel)
        return tuple(found.values())

    def model_of(self, kernel: ExportKernel) -> str:
        """Return the list argument of a backward kernel whose shapes the list that it gives has, "" for none."""
        for wiring in self.wirings:
            own = {blob: name for (name, _), blob in wiring.bindings.items()}
            for step in wiring.steps:
                if step.kernel is None or step.type != kernel.name:
                    continue
                bound = {own.get(blob, "") for _, blobs in step.outputs for blob in blobs}
                for name, blobs in step.inputs:
                    if kernel.is_list(name) and bound == {blob.partition(":")[2].rpartition("_")[0] for blob in blobs}:
                        return name
        return ""

    @property
    def reads(self) -> frozenset[str]:
        """The blobs of forward that some wiring of the gradient reads."""
        return frozenset(blob for wiring in self.wirings for blob in wiring.reads)
