"""The gradient of an op directory's op, run on plain arrays: user kernels raw, built-in ops by their kernels.

Nothing is cast, protected or compared here: the checker wants to see what the kernels themselves do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.checker import Arrays, Attrs, KernelCall, Registration, Results
from opkit.errors import AutogradError, KernelError, OpkitError
from opkit.ir import TensorDesc
from opkit.listed import listed, present
from opkit.project.gradient import GradientPlan, plan_of, run_builtin
from opkit.project.user_op import UserOp, is_list
from opkit.record import record
from opkit.spec import BackwardOp, Blob, CompiledGrad, CompiledOp, forward_blob
from opkit.verify.subjects.raw_kernel import TAG, RawKernel, describe
from opkit.verify.subjects.remembered import remembered

#: Called with what each user kernel received and returned.
Tell = Callable[[KernelCall], None]


@record
class _Ready:
    """A gradient plan, and what runs each of its steps on the values of blobs and adds its results to them."""

    plan: GradientPlan
    steps: tuple[Callable[[dict[Blob, Any], Tell | None], None], ...]


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
        return self._run(arrays, outputs, douts, attrs, needs)

    def trace(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> tuple[dict[str, Any], list[KernelCall]]:
        """Run the gradient and report what each user kernel received and returned."""
        calls: list[KernelCall] = []
        return self._run(arrays, outputs, douts, attrs, needs, calls.append), calls

    def registration(self, descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> Registration:
        """Return the facts of the wiring for one signature."""
        key = tuple([(name, *items) for name, items in descs.items()]), repr(sorted(attrs.items()))

        def make() -> _Ready:
            given = {name: list(items) for name, items in descs.items() if items}
            return self._plan(given, self._by_output(self._forward.infer(descs, attrs)), attrs, None)

        plan = remembered(self._plans, key, make).plan
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
        tell: Tell | None = None,
    ) -> dict[str, Any]:
        ready = self._ready(arrays, outputs, attrs, needs)
        values = _Values(self._op.name, self._where())
        for name, value in arrays.items():
            for index, item in enumerate(listed(value)):
                values[forward_blob("in", name, index)] = item
        for (name, index), item, dout in zip(self._output_names(len(outputs)), outputs, douts):
            values[forward_blob("out", name, index)] = item
            values[forward_blob("dout", name, index)] = dout
        for step in ready.steps:
            step(values, tell)
        found: dict[str, Any] = {}
        for name in needs:
            value, bindings = arrays.get(name), ready.plan.bindings
            blobs = [bindings.get((name, index)) for index in range(len(present(value)))]
            given = [None if blob is None else values[blob] for blob in blobs]
            if value is not None:
                found[name] = given if isinstance(value, (list, tuple)) else given[0]
        return found

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

        return remembered(self._plans, form, make)

    def _where(self) -> Any:
        return self._grad.span.location if self._grad.span is not None else self._op.where

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

    def _prepared(self, step: BackwardOp) -> Callable[[dict[Blob, Any], Tell | None], None]:
        """Return what runs a step: a user kernel as it is, or an op of the registry by its kernel."""
        op = self._op.registry.get(step.type)
        if not isinstance(op, UserOp):
            return lambda values, tell: values.update(run_builtin(self._op.registry, step, values))
        raw = RawKernel(op, compiled_of(op))
        attrs = raw.compiled.check_attrs(dict(step.attrs))
        inputs = [(arg.name, list(step.inputs.get(arg.name, ())), is_list(arg)) for arg in raw.compiled.inputs]
        targets = [blob for name in raw.outputs for blob in step.outputs.get(name, ())]

        def run(values: dict[Blob, Any], tell: Tell | None) -> None:
            named = {
                name: [values[blob] for blob in blobs] if is_variadic else values[blobs[0]] if blobs else None
                for name, blobs, is_variadic in inputs
            }
            results = raw.call(named, attrs, step.outputs)
            values.update(zip(targets, results))
            if tell is not None:
                shown = {name: value for name, value in attrs.items() if name != TAG}
                descs = {arg: describe([values[blob] for blob in blobs]) for arg, blobs in step.inputs.items()}
                try:
                    promise: Sequence[TensorDesc] | None = raw.infer(descs, attrs, step.outputs)
                except OpkitError:
                    promise = None
                tell(KernelCall(raw.as_kernel(step.outputs), named, results, shown, promise))

        return run

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


def compiled_of(op: UserOp) -> CompiledOp:
    """Return the definition of an op.

    Raises:
        KernelError: it cannot be used.
    """
    if op.compiled is None:
        raise KernelError(f"op {op.name!r} cannot be used: {op.trouble}", where=op.where)
    return op.compiled


def _form(value: Any) -> Any:
    """Return what plans depend on of an input: shapes and dtypes."""
    if isinstance(value, (list, tuple)):
        return tuple([_form(item) for item in value])
    return None if value is None else (value.shape, value.dtype)
