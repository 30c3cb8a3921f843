"""The gradient of an op directory's op, run on plain arrays: user kernels raw, built-in ops by their kernels.

Nothing is cast, protected or compared here: the checker wants to see what the kernels themselves do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.checker import Arrays, Attrs, KernelCall, Registration, Results
from opkit.errors import AutogradError, KernelError, OpkitError
from opkit.ir import TensorDesc
from opkit.project.gradient import GradientPlan, plan_of, run_builtin
from opkit.project.user_op import UserOp, is_list
from opkit.record import record
from opkit.spec import BackwardOp, Blob, CompiledGrad, CompiledOp, forward_blob
from opkit.verify.subjects.raw_kernel import TAG, RawKernel, describe

#: Plans for other shapes and attributes that are kept.
_MOST_PLANS = 512


@record
class _UserStep:
    """A backward op with a user kernel, ready to run.

    Args:
        step: the op in the gradient graph.
        raw: its kernel.
        attrs: its complete attributes.
        inputs: (argument, blobs, whether the kernel gets a list).
        targets: the blob of each result.
    """

    step: BackwardOp
    raw: RawKernel
    attrs: dict[str, Any]
    inputs: tuple[tuple[str, list[Blob], bool], ...]
    targets: tuple[Blob, ...]


@record
class _Ready:
    """A gradient plan with its steps prepared: user kernels, or ops of the registry as they are."""

    plan: GradientPlan
    steps: tuple[_UserStep | BackwardOp, ...]


class _Values(dict[Blob, Any]):
    """The values of a gradient's blobs.

    Args:
        op: the op's name.
        where: its gradient's registration.
    """

    def __init__(self, op: str, where: Any) -> None:
        self._op, self._where = op, where

    def __missing__(self, blob: Blob) -> Any:
        message = f"the gradient of {self._op!r} reads {blob!r}, which is not computed anywhere"
        raise AutogradError(message, where=self._where)


class RawGradient:
    """The compiled gradient of an op, run step by step on arrays.

    Args:
        op: the forward op.
        compiled: its definition.
        grad: its gradient registration.
    """

    def __init__(self, op: UserOp, compiled: CompiledOp, grad: CompiledGrad) -> None:
        self._op = op
        self._grad = grad
        self._forward = RawKernel(op, compiled)
        self._plans: dict[Any, _Ready] = {}
        self._attrs: tuple[Any, str] = (None, "")

    # --- what the checker calls
    def backward(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> dict[str, Any]:
        """Run the gradient; see ``opkit.checker.Backward``."""
        return self._run(arrays, outputs, douts, attrs, needs, None)

    def trace(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> tuple[dict[str, Any], list[KernelCall]]:
        """Run the gradient and report what each user kernel received and returned."""
        calls: list[KernelCall] = []
        return self._run(arrays, outputs, douts, attrs, needs, calls.append), calls

    def registration(self, descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> Registration:
        """Return the facts of the wiring for one signature."""
        promised = self._by_output(self._forward.infer(descs, attrs))
        key = tuple([(name, *items) for name, items in descs.items()]), repr(sorted(attrs.items()))
        given = {name: list(items) for name, items in descs.items() if items}
        plan = self._kept(key, lambda: self._plan(given, promised, attrs, None)).plan
        bound = frozenset(name for name, _ in plan.bindings)
        reads = frozenset(blob.arg for blob in plan.reads if blob.kind == "dout")
        return Registration(bound, reads, plan.unused)

    # --- how
    def _run(
        self,
        arrays: Arrays,
        outputs: Results,
        douts: Results,
        attrs: Attrs,
        needs: frozenset[str],
        tell: Callable[[KernelCall], None] | None,
    ) -> dict[str, Any]:
        ready = self._ready(arrays, outputs, attrs, needs)
        values = _Values(self._op.name, self._where())
        for name, value in arrays.items():
            if isinstance(value, (list, tuple)):
                for index, item in enumerate(value):
                    values[forward_blob("in", name, index)] = item
            else:
                values[forward_blob("in", name, 0)] = value
        for (name, index), item, dout in zip(self._output_names(len(outputs)), outputs, douts):
            values[forward_blob("out", name, index)] = item
            values[forward_blob("dout", name, index)] = dout
        for step in ready.steps:
            if isinstance(step, _UserStep):
                self._user_step(step, values, tell)
            else:
                values.update(run_builtin(self._op.registry, step, values))
        plan = ready.plan
        return {
            name: self._gradient(name, arrays[name], values, plan) for name in needs if arrays.get(name) is not None
        }

    def _ready(self, arrays: Arrays, outputs: Results, attrs: Attrs, needs: frozenset[str]) -> _Ready:
        if attrs and self._attrs[0] is not attrs:
            self._attrs = attrs, repr(sorted(attrs.items()))
        form = (
            tuple([(name, _form(value)) for name, value in arrays.items()]),
            tuple([(item.shape, item.dtype) for item in outputs]),
            self._attrs[1] if attrs else "",
            needs,
        )

        def make() -> _Ready:
            descs = {name: items for name, value in arrays.items() if (items := describe(value))}
            described = self._by_output([item for value in outputs for item in describe(value)])
            return self._plan(descs, described, attrs, needs)

        return self._kept(form, make)

    def _kept(self, key: Any, make: Callable[[], _Ready]) -> _Ready:
        ready = self._plans.get(key)
        if ready is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            ready = self._plans[key] = make()
        return ready

    def _gradient(self, name: str, value: Any, values: Mapping[Blob, Any], plan: GradientPlan) -> Any:
        if isinstance(value, (list, tuple)):
            blobs = [plan.bindings.get((name, index)) for index in range(len(value))]
            return [None if blob is None else values[blob] for blob in blobs]
        blob = plan.bindings.get((name, 0))
        return None if blob is None else values[blob]

    def _where(self) -> Any:
        return self._grad.span.location if self._grad.span is not None else self._op.where

    def _user_step(self, ready: _UserStep, values: dict[Blob, Any], tell: Callable[[KernelCall], None] | None) -> None:
        named: dict[str, Any] = {}
        for name, blobs, is_variadic in ready.inputs:
            if is_variadic:
                named[name] = [values[blob] for blob in blobs]
            else:
                named[name] = values[blobs[0]] if blobs else None
        step, raw = ready.step, ready.raw
        results = raw.call(named, ready.attrs, step.outputs)
        values.update(zip(ready.targets, results))
        if tell is not None:
            shown = {name: value for name, value in ready.attrs.items() if name != TAG}
            inputs = {arg: [values[blob] for blob in blobs] for arg, blobs in step.inputs.items()}
            descs = {arg: describe(items) for arg, items in inputs.items()}
            try:
                promise: Sequence[TensorDesc] | None = raw.infer(descs, ready.attrs, step.outputs)
            except OpkitError:
                promise = None
            tell(KernelCall(raw.as_kernel(step.outputs), named, results, shown, promise))

    def _plan(
        self,
        descs: Mapping[str, list[TensorDesc]],
        outputs: Mapping[str, list[TensorDesc]],
        attrs: Attrs,
        needs: frozenset[str] | None,
    ) -> _Ready:
        slots = [(name, index) for name, items in descs.items() for index in range(len(items))]
        wanted = None if needs is None else {slot for slot in slots if slot[0] in needs}
        graph = self._grad.build(
            dict(descs), dict(attrs), outputs=dict(outputs), needs_grad=wanted, op_name=self._op.name
        )
        plan = plan_of(graph, wanted)
        return _Ready(plan, tuple(self._prepared(step) for step in plan.steps))

    def _prepared(self, step: BackwardOp) -> _UserStep | BackwardOp:
        op = self._op.registry.get(step.type)
        if not isinstance(op, UserOp):
            return step
        compiled = _compiled(op)
        inputs = tuple((arg.name, list(step.inputs.get(arg.name, ())), is_list(arg)) for arg in compiled.inputs)
        targets = tuple(blob for arg in compiled.outputs for blob in step.outputs.get(arg.name, ()))
        attrs = compiled.check_attrs(dict(step.attrs))
        return _UserStep(step, RawKernel(op, compiled), attrs, inputs, targets)

    def _output_names(self, count: int) -> list[tuple[str, int]]:
        names = self._forward.outputs
        if len(names) == 1:
            return [(names[0], index) for index in range(count)]
        return [(name, 0) for name in names[:count]]

    def _by_output(self, promised: Sequence[TensorDesc]) -> dict[str, list[TensorDesc]]:
        described: dict[str, list[TensorDesc]] = {}
        for (name, _), desc in zip(self._output_names(len(promised)), promised):
            described.setdefault(name, []).append(desc)
        return described


def _compiled(op: UserOp) -> CompiledOp:
    if op.compiled is None:
        raise KernelError(f"op {op.name!r} cannot be used: {op.trouble}", where=op.where)
    return op.compiled


def _form(value: Any) -> Any:
    """Return what plans depend on of an input: shapes and dtypes."""
    if isinstance(value, (list, tuple)):
        return tuple([_form(item) for item in value])
    return None if value is None else (value.shape, value.dtype)
