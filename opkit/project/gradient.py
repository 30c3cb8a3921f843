"""The compiled gradient of an op directory's op as a gradient rule: its backward ops, applied through ``ops.apply``.

Which graph a gradient has is the spec compiler's answer; here it is pruned, remembered and run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from opkit import ops
from opkit.errors import AutogradError, Location
from opkit.listed import listed
from opkit.ops import BoundOp, Registry
from opkit.ops.core.value import shape_of
from opkit.record import record
from opkit.spec import BackwardOp, Blob, GradGraph, forward_blob


@record
class GradientPlan:
    """A gradient graph, pruned to what the wanted gradients need.

    Args:
        steps: the backward ops in order.
        bindings: (argument, index) of each input that gets a gradient, and the blob with it.
        reads: the blobs of forward's inputs, outputs and incoming gradients that are read.
        unused: outputs of backward ops that are neither read nor bound to an input, in the order of their texts.
    """

    steps: tuple[BackwardOp, ...]
    bindings: Mapping[tuple[str, int], Blob]
    reads: frozenset[Blob]
    unused: tuple[Blob, ...] = ()


def plan_of(graph: GradGraph, wanted: Collection[tuple[str, int]] | None = None) -> GradientPlan:
    """Prune a gradient graph to the steps that the wanted gradients need.

    Args:
        graph: what the gradient registration built.
        wanted: (argument, index) of inputs; None means all that are bound.
    """
    bindings = {arg: blob for arg, blob in graph.gradients.items() if wanted is None or arg in wanted}
    needed = set(bindings.values())
    steps: list[BackwardOp] = []
    for step in reversed(graph.ops):
        if any(blob in needed for blobs in step.outputs.values() for blob in blobs):
            steps.append(step)
            needed.update(blob for blobs in step.inputs.values() for blob in blobs)
    produced = {blob for step in graph.ops for blobs in step.outputs.values() for blob in blobs}
    used = {blob for step in graph.ops for blobs in step.inputs.values() for blob in blobs}
    used.update(graph.gradients.values())
    return GradientPlan(tuple(reversed(steps)), bindings, frozenset(needed - produced), tuple(sorted(produced - used)))


def run_builtin(registry: Registry, step: BackwardOp, values: Mapping[Any, Any]) -> dict[Blob, Any]:
    """Run a built-in op of a gradient by its kernel, on arrays; return its outputs by blob."""
    bound = _bound(registry, step, values)
    return _by_blob(step, bound, bound.opdef.kernel(*bound.inputs, **bound.attrs))


def _bound(registry: Registry, step: BackwardOp, values: Mapping[Any, Any]) -> BoundOp:
    inputs = {arg: [values[blob] for blob in blobs] for arg, blobs in step.inputs.items()}
    counts = {arg: len(blobs) for arg, blobs in step.outputs.items()}
    return registry.get(step.type).bind(inputs, step.attrs, counts)


def _by_blob(step: BackwardOp, bound: BoundOp, result: Any) -> dict[Blob, Any]:
    results = zip(bound.output_names, listed(result))
    return {step.outputs[arg][index]: value for (arg, index), value in results if arg in step.outputs}


def gradient_rule(
    op: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
    build: Callable[[Collection[tuple[str, int]]], GradientPlan],
    registry: Registry,
    where: Location | None,
) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
    """Return the gradient rule of an op for one signature.

    Args:
        op: the op type, for messages.
        inputs: (argument, index) of each flat input.
        outputs: (argument, index) of each flat output.
        build: makes the plan for a set of wanted inputs, (argument, index) each; asked once per set.
        registry: where the backward ops are found.
        where: the gradient's registration, for messages.
    """
    in_blobs = [forward_blob("in", *arg) for arg in inputs]
    out_blobs = [forward_blob("out", *arg) for arg in outputs]
    dout_blobs = [forward_blob("dout", *arg) for arg in outputs]
    plans: dict[tuple[bool, ...], GradientPlan] = {}

    def rule(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
        needs = tuple(applied.needs)
        plan = plans.get(needs)
        if plan is None:
            wanted = {arg for arg, is_needed in zip(inputs, needs) if is_needed}
            plan = plans[needs] = build(wanted)
        values: dict[Blob, Any] = dict(zip(in_blobs, applied.inputs))
        values.update(zip(out_blobs, applied.outputs))
        for index, blob in enumerate(dout_blobs):
            if blob in plan.reads:
                dout = douts[index]
                values[blob] = _zeros(applied.outputs[index], registry) if dout is None else dout
        for step in plan.steps:
            _run(step, values, registry, op, where)
        return [
            _checked(values[plan.bindings[arg]], applied.inputs[index], arg, op, where)
            if arg in plan.bindings and needs[index]
            else None
            for index, arg in enumerate(inputs)
        ]

    return rule


def _run(step: BackwardOp, values: dict[Blob, Any], registry: Registry, op: str, where: Location | None) -> None:
    missing = [blob for blobs in step.inputs.values() for blob in blobs if blob not in values]
    if missing:
        said = f"the gradient of {op!r} reads {missing[0]!r} in its op {step.name!r}, which is not computed anywhere"
        raise AutogradError(said, where=where)
    bound = _bound(registry, step, values)
    values.update(_by_blob(step, bound, ops.apply(bound.opdef, bound.inputs, bound.attrs)))


def _zeros(like: Any, registry: Registry) -> Any:
    bound = registry.get("zero_like").bind({"like": [like]}, {})
    return ops.apply(bound.opdef, bound.inputs, bound.attrs)


def _checked(gradient: Any, value: Any, arg: tuple[str, int], op: str, where: Location | None) -> Any:
    if shape_of(gradient) != shape_of(value):
        raise AutogradError(
            f"the gradient of {op!r} binds a value of shape {shape_of(gradient)} to input '{arg[0]}_{arg[1]}', "
            f"whose shape is {shape_of(value)}",
            where=where,
        )
    return gradient
