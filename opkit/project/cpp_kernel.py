"""CppKernel: the C++ kernel of an op type, as a function of arrays and as what the runtime calls.

Which op types have one is decided by ``cpp_kernels``; compilers are known to ``opkit.native`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opkit.errors import InferError
from opkit.ir import TensorDesc, canonical_dtype, to_numpy
from opkit.listed import listed
from opkit.native import CppLibrary, Plan, SanitizedLibrary, Signature, Tensor
from opkit.native.guarded import run_guarded
from opkit.native.library import contiguous
from opkit.native.sanitized import SanitizedPlan
from opkit.ops.core.types import Arrays, Attrs, Function
from opkit.spec import ArgSpec, CompiledOp

if TYPE_CHECKING:
    from opkit.project.kernel import ArgGroup

_TAG = "device_sub_tag"
_MOST_PLANS = 256

#: A plan, and the shape and dtype of each output.
_Ready = tuple[Plan | SanitizedPlan, list[tuple[tuple[int, ...], np.dtype]]]


class CppKernel:
    """A C++ kernel of an op type.

    Args:
        library: that holds it.
        compiled: the op's definition, which says what its results are.
    """

    def __init__(self, library: CppLibrary | SanitizedLibrary, compiled: CompiledOp) -> None:
        self.library = library
        self.compiled = compiled
        self.is_guarded = False  # whether the runtime's calls go through guard zones too, which checks ask for
        #: Sees arguments, attributes and results of each call that is no run of a job; checks set it.
        self.witness: Callable[[tuple[Any, ...], Mapping[str, Any], Arrays], None] | None = None
        self._plans: dict[Any, _Ready] = {}

    def __call__(self, args: tuple[Any, ...], attrs: Attrs) -> Any:
        """Compute as a Python kernel does: the inputs in declared order, the results as one array or a list.

        Optional outputs are computed where the definition says what they are. Guard zones around all arrays keep a
        faulty kernel from damaging anything else.

        Raises:
            KernelError: no registration fits, or a check of the kernel failed.
        """
        ready, arrays = self.prepared(args, attrs)
        results, _ = run_guarded(ready[0], arrays, ready[1])
        if self.witness is not None:
            self.witness(args, attrs, results)
        grouped = self._grouped(results, ready[0])
        return grouped[0] if len(grouped) == 1 else grouped

    def prepared(self, args: tuple[Any, ...], attrs: Attrs) -> tuple[_Ready, list[np.ndarray]]:
        """Return the plan for these arguments, what it computes, and its inputs one after another.

        Raises:
            KernelError: no registration fits.
        """
        given = {
            spec.name: [contiguous(item) for item in listed(value)]
            for spec, value in zip(self.compiled.inputs, args)
            if value is not None
        }
        arrays = [item for items in given.values() for item in items]
        key = (
            tuple([(name, len(items)) for name, items in given.items()]),
            tuple([(item.shape, item.dtype) for item in arrays]),
            repr(attrs),
        )
        ready = self._plans.get(key)
        if ready is None:
            descs = {
                name: [TensorDesc(item.shape, canonical_dtype(item.dtype)) for item in items]
                for name, items in given.items()
            }
            inferred = self._inferred(descs, attrs)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            ready = self._plans[key] = self._ready(descs, inferred, attrs)
        return ready, arrays

    def bound(
        self,
        inputs: Sequence[ArgGroup],
        outputs: Sequence[ArgGroup],
        attrs: Attrs,
        promise: Callable[[tuple[Any, ...]], Sequence[TensorDesc]],
    ) -> Function:
        """Return the kernel as the runtime calls it, as ``project.kernel.guarded`` does for a Python kernel."""
        plans: dict[tuple[Any, ...], _Ready] = {}
        names = [(slot.name, index) for slot in inputs for index in range(max(slot.count, 1))]
        out_names = [(slot.name, index) for slot in outputs for index in range(slot.count)]
        is_single = len(outputs) == 1 and not outputs[0].is_variadic
        empty = np.empty

        def make(key: tuple[Any, ...]) -> _Ready:
            descs: dict[str, list[TensorDesc]] = {}
            for (name, _), item in zip(names, key):
                if item is not None:
                    descs.setdefault(name, []).append(TensorDesc(item[0], canonical_dtype(item[1])))
            inferred: dict[str, list[TensorDesc]] = {}
            for (name, _), desc in zip(out_names, promise(key)):
                inferred.setdefault(name, []).append(desc)
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            plans[key] = self._ready(descs, inferred, attrs)
            return plans[key]

        def run(*arrays: Any, **_: Any) -> Any:
            key = tuple([None if array is None else (array.shape, array.dtype) for array in arrays])
            plan, expected = plans.get(key) or make(key)
            given = [_ready_array(array) for array in arrays if array is not None]
            if self.is_guarded:
                results = tuple(run_guarded(plan, given, expected)[0])
            else:
                results = tuple([empty(shape, dtype) for shape, dtype in expected])
                plan.run((*given, *results))
            return results[0] if is_single else results

        return run

    def signature(
        self,
        descs: Mapping[str, Sequence[TensorDesc]],
        inferred: Mapping[str, Sequence[TensorDesc]],
        attrs: Attrs,
    ) -> Signature:
        """Return the op as the kernel sees it."""
        compiled = self.compiled
        whole = compiled.check_attrs({name: value for name, value in attrs.items() if name != _TAG})
        return Signature(
            compiled.name,
            _tensors(descs, compiled.inputs),
            _tensors(inferred, compiled.outputs),
            tuple(spec.name for spec in (*compiled.inputs, *compiled.outputs)),
            {name: (spec.type, whole[name]) for name, spec in compiled.attrs.items()},
            sub_tag=str(whole.get(_TAG, "")),
        )

    def _ready(
        self,
        descs: Mapping[str, Sequence[TensorDesc]],
        inferred: Mapping[str, Sequence[TensorDesc]],
        attrs: Attrs,
    ) -> _Ready:
        flat = [desc for spec in self.compiled.outputs for desc in inferred.get(spec.name, ())]
        plan = self.library.prepare(self.signature(descs, inferred, attrs))
        return plan, [(desc.shape, to_numpy(desc.dtype)) for desc in flat]

    def _inferred(self, descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> Mapping[str, Sequence[TensorDesc]]:
        optional = {spec.name: max(spec.count, 1) for spec in self.compiled.outputs if spec.is_optional}
        if optional:
            required = {spec.name: spec.count for spec in self.compiled.outputs if not spec.is_optional}
            try:
                return self.compiled.infer(descs, attrs, outputs=required | optional)
            except InferError:
                pass
        return self.compiled.infer(descs, attrs)

    def _grouped(self, results: Arrays, plan: Plan | SanitizedPlan) -> list[Any]:
        grouped: list[Any] = []
        counts: dict[str, int] = {}
        for tensor in plan.signature.outputs:
            counts[tensor.name] = counts.get(tensor.name, 0) + 1
        at = 0
        for spec in self.compiled.outputs:
            count = counts.get(spec.name, 0)
            is_list = spec.is_variadic or spec.count != 1
            grouped.append(list(results[at : at + count]) if is_list else results[at] if count else None)
            at += count
        return grouped


def _ready_array(array: Any) -> np.ndarray:
    if type(array) is np.ndarray:
        flags = array.flags
        if flags.c_contiguous and flags.aligned and array.dtype.isnative:
            return array
    return contiguous(array)


def _tensors(descs: Mapping[str, Sequence[TensorDesc]], declared: Sequence[ArgSpec]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(spec.name, index, desc.shape, desc.dtype)
        for spec in declared
        for index, desc in enumerate(descs.get(spec.name, ()))
    )
