"""UserOp: a compiled op definition and its Python kernel, as an op type that both modes can apply.

It is bound to arguments by name; each signature (counts, shapes, dtypes, attributes) becomes one OpDef, whose results
are known in advance and whose gradient rule declares exactly what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any

from opkit.errors import AutogradError, Location, ProjectError, UsageError, unknown
from opkit.ir import TensorDesc
from opkit.ops import ArgDef, AttrDef, BoundOp, OpDef, Registry
from opkit.ops.core.types import Attrs, Function
from opkit.ops.core.value import desc_of, dtype_of, shape_of
from opkit.project.gradient import GradientPlan, gradient_rule, plan_of
from opkit.project.kernel import ArgGroup, UserKernel, guarded
from opkit.record import entity, mutable_entity
from opkit.spec import ArgSpec, CompiledGrad, CompiledOp, forward_blob

_MOST_SIGNATURES = 256
_TAG = "device_sub_tag"

Names = tuple[tuple[str, int], ...]


@entity
class _Layout:
    """How many values each argument has: the inputs laid out in a flat sequence, and {output: count}."""

    inputs: tuple[ArgGroup, ...]
    outputs: Mapping[str, int]


@mutable_entity
class UserOp:
    """An op type of an op directory.

    Args:
        name: the op type.
        compiled: its definition, None where that has errors.
        kernel: its Python kernel, None where there is none.
        grad: its gradient, None where it has none or that has errors.
        registry: where the ops of its gradient are found.
        trouble: why it cannot be used, "" where it can.
        trouble_help: the next step there, one line.
        grad_trouble: why its gradient cannot be used, "" where it can or none was registered.
        where: its definition.
    """

    name: str
    compiled: CompiledOp | None
    kernel: UserKernel | None
    grad: CompiledGrad | None
    registry: Registry
    trouble: str = ""
    trouble_help: str = ""
    grad_trouble: str = ""
    where: Location | None = None
    _layouts: dict[Any, _Layout] = field(default_factory=dict, init=False, repr=False)
    _signatures: dict[Any, BoundOp] = field(default_factory=dict, init=False, repr=False)

    @property
    def has_gradient(self) -> bool:
        """Whether it has a gradient that can be used."""
        return self.grad is not None and not self.grad_trouble

    def bind(
        self,
        inputs: Mapping[str, Sequence[Any]],
        attrs: Attrs,
        outputs: Mapping[str, int] | None = None,
    ) -> BoundOp:
        """Bind named arguments and attributes.

        Args:
            inputs: values with ``shape`` and ``dtype`` by argument name.
            attrs: attributes by name; those left out take their defaults.
            outputs: how many values each output has; by default one of each that is not optional.

        Raises:
            ProjectError: the op's definition has errors, or it has no kernel.
            UsageError: an argument or attribute is unknown, missing, or has a wrong number of values or type.
            InferError: the definition refuses these shapes, dtypes or attributes.
        """
        layout_key = (
            tuple([(name, len(given)) for name, given in inputs.items()]),
            None if outputs is None else tuple(outputs.items()),
        )
        layout = self._layouts.get(layout_key)
        if layout is None:
            layout = self._layouts[layout_key] = self._lay_out(inputs, outputs)
        flat = tuple([value for slot in layout.inputs for value in (inputs.get(slot.name) or (None,))])
        key = (
            layout,
            tuple([None if value is None else (shape_of(value), dtype_of(value)) for value in flat]),
            _frozen(attrs) if attrs else None,
        )
        known = self._signatures.get(key)
        if known is None:
            if len(self._signatures) >= _MOST_SIGNATURES:
                self._signatures.clear()
            compiled = self._usable()
            complete = compiled.check_attrs(dict(attrs))
            descs = {
                slot.name: [desc_of(value) for value in inputs.get(slot.name, ())]
                for slot in layout.inputs
                if slot.count
            }
            known = self._signatures[key] = _specialised(self, compiled, layout.inputs, descs, complete, layout.outputs)
        return BoundOp(known.opdef, flat, known.attrs, known.output_names)

    def _lay_out(self, inputs: Mapping[str, Sequence[Any]], outputs: Mapping[str, int] | None) -> _Layout:
        compiled = self._usable()
        counts = {name: len(given) for name, given in inputs.items()}
        return _Layout(
            tuple(_groups("input", self.name, compiled.inputs, counts)),
            _output_counts(self.name, compiled.outputs, outputs),
        )

    def _usable(self) -> CompiledOp:
        if self.compiled is None or self.compiled.has_errors:
            raise ProjectError(
                f"op {self.name!r} cannot be used: {self.trouble}", where=self.where, help=self.trouble_help
            )
        return self.compiled


def to_op_def(
    op: UserOp,
    descs: Mapping[str, Sequence[TensorDesc]],
    attrs: Attrs | None = None,
    outputs: Mapping[str, int] | None = None,
) -> OpDef:
    """Return the OpDef that an op type has for inputs of these descriptions.

    Args:
        op: the op type.
        descs: {input name: descriptions}.
        attrs: attributes by name.
        outputs: see ``UserOp.bind``.
    """
    return op.bind(descs, attrs or {}, outputs).opdef


def is_list(arg: ArgSpec) -> bool:
    """Whether a kernel receives (or returns) a list for an argument: any number of values, or a fixed one but 1."""
    return arg.is_variadic or arg.count != 1


def _groups(kind: str, op: str, declared: Sequence[ArgSpec], counts: Mapping[str, int]) -> list[ArgGroup]:
    """Lay out declared arguments in a flat sequence; an omitted optional one takes one place (None)."""
    known = [arg.name for arg in declared]
    for name in counts:
        if name not in known:
            raise unknown(f"op {op!r} has no {kind}", name, known, has="it has").error(UsageError)
    slots: list[ArgGroup] = []
    start = 0
    for arg in declared:
        count = counts.get(arg.name, 0)
        if count < arg.count and not (count == 0 and arg.is_optional):
            given = "is missing" if not count else f"has {count} values, at least {arg.count} are expected"
            raise UsageError(f"op {op!r}: {kind} {arg.name!r} {given}")
        if count > arg.count and not arg.is_variadic:
            due = "one value" if arg.count == 1 else f"{arg.count} values"
            raise UsageError(f"op {op!r}: {kind} {arg.name!r} takes {due}, got {count}")
        slots.append(ArgGroup(arg.name, start, count, is_list(arg)))
        start += max(count, 1)
    return slots


def _output_counts(op: str, declared: Sequence[ArgSpec], given: Mapping[str, int] | None) -> dict[str, int]:
    wanted = {arg.name: 0 if arg.is_optional else arg.count for arg in declared}
    if given is not None:
        wanted = dict.fromkeys(wanted, 0) | dict(given)
    return {slot.name: slot.count for slot in _groups("output", op, declared, wanted) if slot.count}


def _frozen(value: Any) -> Any:
    """Return a hashable form of attribute values that distinguishes 1, 1.0 and True."""
    if isinstance(value, Mapping):
        return tuple((name, _frozen(item)) for name, item in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value), *(_frozen(item) for item in value))
    try:
        hash(value)
    except TypeError:
        return (type(value), repr(value))
    return (type(value), value)


def _specialised(
    op: UserOp,
    compiled: CompiledOp,
    groups: Sequence[ArgGroup],
    descs: Mapping[str, list[TensorDesc]],
    attrs: Attrs,
    counts: Mapping[str, int],
) -> BoundOp:
    """Make the OpDef of one signature.

    It declares no writes, since its kernel gets read-only views, and no rule for inference, so it stays unchanged
    there.
    """
    input_names: Names = tuple((slot.name, index) for slot in groups for index in range(max(slot.count, 1)))
    output_names: Names = tuple((name, index) for name, count in counts.items() for index in range(count))

    def infer_names(given: Mapping[str, list[TensorDesc]]) -> list[TensorDesc]:
        inferred = compiled.infer(given, attrs, outputs=dict(counts))
        return [inferred[name][index] for name, index in output_names]

    def infer(flat: Sequence[TensorDesc | None], _: Mapping[str, Any]) -> list[TensorDesc]:
        given: dict[str, list[TensorDesc]] = {}
        for (name, _index), desc in zip(input_names, flat):
            if desc is not None:
                given.setdefault(name, []).append(desc)
        return infer_names(given)

    def promise(key: tuple[Any, ...]) -> list[TensorDesc]:
        return infer([None if item is None else TensorDesc(item[0], item[1]) for item in key], attrs)

    promised = infer_names(descs)
    variadic = {arg.name for arg in compiled.outputs if is_list(arg)}
    starts = accumulate(counts.values(), initial=0)
    out_slots = [ArgGroup(name, start, counts[name], name in variadic) for name, start in zip(counts, starts)]
    rule, reads = _rule(op, descs, attrs, input_names, output_names, promised)
    opdef = OpDef(
        name=op.name,
        inputs=tuple(ArgDef(_flat(name, index), is_optional=True) for name, index in input_names),
        outputs=tuple(ArgDef(_flat(name, index)) for name, index in output_names),
        kernel=_kernel(op, groups, out_slots, attrs, promise),
        infer=infer,
        grad=rule,
        attrs=tuple(AttrDef(spec.name, spec.type, spec.default) for spec in compiled.attrs.values()),
        reads=reads,
        is_user=True,
        where=op.kernel.where if op.kernel is not None else op.where,
    )
    return BoundOp(opdef, (), attrs, output_names)


def _flat(name: str, index: int) -> str:
    return f"{name}_{index}"


def _kernel(
    op: UserOp,
    inputs: Sequence[ArgGroup],
    outputs: Sequence[ArgGroup],
    attrs: Attrs,
    promise: Callable[[tuple[Any, ...]], Sequence[TensorDesc]],
) -> Function:
    if op.kernel is not None:
        shown = {name: value for name, value in attrs.items() if name != _TAG}
        declared = [arg.name for arg in op.compiled.outputs] if op.compiled is not None else []
        return guarded(op.kernel, inputs, outputs, shown, promise, declared)

    def missing(*_: Any, **__: Any) -> Any:
        raise ProjectError(op.trouble or f"op {op.name!r} has no Python kernel", where=op.where, help=op.trouble_help)

    return missing


def _rule(
    op: UserOp,
    descs: Mapping[str, list[TensorDesc]],
    attrs: Attrs,
    inputs: Names,
    outputs: Names,
    promised: Sequence[TensorDesc],
) -> tuple[Function | None, tuple[str, ...]]:
    """Return the gradient rule, None where no gradient was registered, and the names of the values it reads."""
    if op.grad is None or op.grad_trouble:
        return (_refusing(op), ()) if op.grad_trouble else (None, ())
    grad = op.grad
    where = grad.span.location if grad.span is not None else None
    described: dict[str, list[TensorDesc]] = {}
    for (name, _), desc in zip(outputs, promised):
        described.setdefault(name, []).append(desc)

    def build(wanted: Collection[tuple[str, int]] | None) -> GradientPlan:
        graph = grad.build(descs, attrs, outputs=described, needs_grad=wanted, op_name=op.name)
        return plan_of(graph, wanted)

    rule = gradient_rule(op.name, inputs, outputs, build, op.registry, where)
    try:
        reads = build(None).reads
    except Exception:
        # The registration refuses this signature; asking for a gradient raises the same error again.
        return rule, tuple(dict.fromkeys(_flat(*item) for item in (*inputs, *outputs)))
    read = [arg for arg in inputs if forward_blob("in", *arg) in reads]
    read += [arg for arg in outputs if forward_blob("out", *arg) in reads]
    return rule, tuple(dict.fromkeys(_flat(*arg) for arg in read))


def _refusing(op: UserOp) -> Function:
    def rule(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
        raise AutogradError(f"the gradient of op {op.name!r} cannot be used: {op.grad_trouble}", where=op.where)

    return rule
