"""RawKernel: a user kernel of an op directory run on plain arrays, and what its op type claims of devices.

Nothing is cast, protected or compared here: the checker wants to see what the kernels themselves do, and what the
signatures of the compiled definition are worth is its business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Kernel
from opkit.checker.model.checkable import describe as desc_of
from opkit.checker.model.claim import Claim, Claims, Descs
from opkit.errors import InferError, KernelError
from opkit.ir import TensorDesc
from opkit.listed import listed, present
from opkit.project.kernel import UserKernel
from opkit.project.user_op import UserOp, is_list
from opkit.sharding import parse_sbp
from opkit.spec import CompiledOp
from opkit.verify.subjects.remembered import remembered
from opkit.verify.subjects.source_location import shown


def claims_of(compiled: CompiledOp, outputs: Mapping[str, Sequence[str]] | None = None) -> Claims:
    """Return what a definition says about devices.

    Args:
        compiled: the op type.
        outputs: the values asked for by output name; by default one of each that is not optional.
    """
    counts = None if outputs is None else {name: len(blobs) for name, blobs in outputs.items()}

    def listed(descs: Descs, attrs: Attrs, devices: int) -> list[Claim]:
        given = {name: list(items) for name, items in descs.items() if items}
        return [
            Claim(
                {arg: parse_sbp(part) for arg, part in item.parts.items()},
                {arg: shown(place) for arg, place in item.places.items()},
                shown(item.where),
            )
            for item in compiled.sbp_claims(given, dict(attrs), devices, counts)
        ]

    answers: dict[object, str] = {}

    def refuse(descs: Descs, attrs: Attrs) -> str:
        key = tuple((name, *items) for name, items in descs.items())
        return remembered(answers, (key, repr(attrs)), partial(_refused, compiled, descs, attrs, counts))

    # The shape function looks at shards only where the definition sets it for them too.
    unit = compiled.units.get("physical")
    looks = unit is not None and unit is compiled.units.get("tensor_desc")
    return Claims(
        compiled.name,
        listed,
        tuple(arg.name for arg in compiled.inputs),
        tuple(arg.name for arg in compiled.outputs),
        refuse if looks else None,
        compiled.makes_claims,
        shown(compiled.span.location),
    )


def _refused(compiled: CompiledOp, descs: Descs, attrs: Attrs, counts: Mapping[str, int] | None) -> str:
    """Say why a shape function refuses inputs, "" where it takes them."""
    try:
        compiled.infer({name: list(items) for name, items in descs.items() if items}, dict(attrs), outputs=counts)
    except InferError as error:
        return error.message
    return ""


#: The attribute that says on which device an op runs; kernels do not get it.
TAG = "device_sub_tag"


def describe(value: Any) -> list[TensorDesc]:
    """Return the descriptions of an input's value: one per array, none where it is left out."""
    return [desc_of(item.shape, item.dtype) for item in present(value)]


class RawKernel:
    """A user kernel as a function of named values: exactly the arrays given, exactly the arrays returned.

    Args:
        op: the op type; it has a definition and a kernel.
    """

    def __init__(self, op: UserOp, compiled: CompiledOp) -> None:
        self.op = op
        self.compiled = compiled
        self.inputs = tuple(arg.name for arg in compiled.inputs)
        self.outputs = tuple(arg.name for arg in compiled.outputs)
        self._is_single = len(compiled.outputs) == 1 and not compiled.outputs[0].is_optional

    def requested(self, outputs: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Return the outputs that are asked for: an optional one only where ``outputs`` names it."""
        wanted = outputs or {}
        return tuple(arg.name for arg in self.compiled.outputs if not arg.is_optional or arg.name in wanted)

    def call(self, arrays: Arrays, attrs: Attrs, outputs: Mapping[str, Any] | None = None) -> list[np.ndarray]:
        """Run the kernel; the result has one array per output value that is asked for.

        Args:
            arrays: the inputs by name.
            attrs: complete attributes.
            outputs: names the optional outputs that are asked for.

        Raises:
            KernelError: the result is not an array, or the number of results is wrong.
            Exception: what the kernel raised.
        """
        kernel = self.op.kernel
        if kernel is None:
            raise KernelError(f"op {self.op.name!r} has no Python kernel: {self.op.trouble}", where=self.op.where)
        args = tuple([arrays.get(name) for name in self.inputs])
        result = _called(kernel, args, attrs) if attrs else kernel.call(args, attrs)
        if self._is_single and type(result) is np.ndarray:
            return [result]
        return self.results(result, self.requested(outputs))

    def results(self, result: Any, names: Sequence[str]) -> list[np.ndarray]:
        """Return what a kernel returned for these outputs as a list of arrays.

        For an optional output that is not asked for it may return nothing at all, None, or an array (unused).
        """
        if len(self.outputs) == 1 and is_list(self.compiled.outputs[0]) and isinstance(result, (list, tuple)):
            return [self._array(item, self.outputs[0]) for item in result]
        items = listed(result)
        if len(items) == len(self.outputs):
            items = [item for name, item in zip(self.outputs, items) if name in names]
        if len(items) != len(names):
            raise self._broken(
                f"returned {len(items)} value{'s' if len(items) != 1 else ''}, "
                f"the op declares {len(self.outputs)} output{'s' if len(self.outputs) != 1 else ''} "
                f"({', '.join(self.outputs)})"
            )
        flat: list[np.ndarray] = []
        for name, item in zip(names, items):
            flat.extend(self._array(part, name) for part in listed(item))
        return flat

    def _array(self, value: Any, output: str) -> np.ndarray:
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, np.generic):
            return np.asarray(value)
        kind = "None" if value is None else f"a Python {type(value).__name__}"
        raise self._broken(f"returned {kind} for output {output!r}, expected a numpy array")

    def _broken(self, what: str) -> KernelError:
        where = self.op.kernel.where if self.op.kernel is not None else self.op.where
        name = where.function if where is not None else self.op.name
        return KernelError(f"kernel {name!r} of op {self.op.name!r} {what}", where=where)

    def infer(
        self,
        descs: Mapping[str, Sequence[TensorDesc]],
        attrs: Attrs,
        outputs: Mapping[str, Sequence[str]] | None = None,
    ) -> list[TensorDesc]:
        """Return the descriptions of the outputs, in order.

        Args:
            descs: descriptions of the inputs by name.
            attrs: complete attributes.
            outputs: the values asked for by output name; by default one of each that is not optional.

        Raises:
            InferError: the definition refuses the inputs.
        """
        given = {name: list(items) for name, items in descs.items() if items}
        counts = None if outputs is None else {name: len(blobs) for name, blobs in outputs.items()}
        inferred = self.compiled.infer(given, dict(attrs), outputs=counts)
        return [desc for name in self.outputs for desc in inferred.get(name, [])]

    def as_kernel(self, outputs: Mapping[str, Any] | None = None) -> Kernel:
        """Return the kernel in the checker's form, for the outputs that are asked for."""
        where = self.op.kernel.where if self.op.kernel is not None else None
        call, claims = partial(self.call, outputs=outputs), claims_of(self.compiled, outputs)
        return Kernel(self.op.name, self.inputs, self.requested(outputs), call, where, claims)


def _called(kernel: UserKernel, args: tuple[Any, ...], attrs: Attrs) -> Any:
    """Call a kernel with attributes; a list among them is a copy, and is looked at again."""
    shown = {name: value for name, value in attrs.items() if name != TAG}
    lists = {name: list(value) for name, value in shown.items() if type(value) is list}
    result = kernel.call(args, {**shown, **lists} if lists else shown)
    for name, value in lists.items():
        if value != shown[name]:
            raise ValueError(f"attribute {name!r} is read-only: the kernel changed it to {value}")
    return result
