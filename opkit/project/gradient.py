"""The compiled gradient of an op directory's op as a gradient rule: its backward ops, applied through ``ops.apply``.

Which graph a gradient has is the spec compiler's answer; here it is pruned, remembered and run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opkit import ops
from opkit.errors import AutogradError, Location
from opkit.ops import Registry
from opkit.ops.core.value import shape_of
from opkit.spec import BackwardOp, GradGraph

__all__ = ["GradientPlan", "blob_names", "gradient_rule", "plan_of"]


@dataclass(frozen=True, slots=True)
class GradientPlan:
    """A gradient graph, pruned to what the wanted gradients need.

    Args:
        steps: the backward ops in order.
        bindings: {"x_0": blob} for the inputs that get a gradient.
        reads: the blobs of forward's inputs, outputs and incoming gradients that are read.
        unused: outputs of backward ops, as "op/output", that nothing reads and no input is bound to.
    """

    steps: tuple[BackwardOp, ...]
    bindings: Mapping[str, str]
    reads: frozenset[str]
    unused: tuple[str, ...] = ()


def blob_names(prefix: str, names: Sequence[tuple[str, int]]) -> list[str]:
    """Return the blob names of arguments: prefix "in", "out" or "dout", and (argument, index) each."""
    return [f"{prefix}:{name}_{index}" for name, index in names]


def plan_of(graph: GradGraph, wanted: Collection[str] | None = None) -> GradientPlan:
    """Prune a gradient graph to the steps that the wanted gradients need.

    Args:
        graph: what the gradient registration built.
        wanted: input blobs without their prefix ("x_0"); None means all that are bound.
    """
    bindings = {name: blob for name, blob in graph.bindings.items() if wanted is None or name in wanted}
    needed = set(bindings.values())
    steps: list[BackwardOp] = []
    for step in reversed(graph.ops):
        if any(blob in needed for blobs in step.outputs.values() for blob in blobs):
            steps.append(step)
            needed.update(blob for blobs in step.inputs.values() for blob in blobs)
    produced = {blob for step in graph.ops for blobs in step.outputs.values() for blob in blobs}
    used = {blob for step in graph.ops for blobs in step.inputs.values() for blob in blobs}
    used.update(graph.bindings.values())
    return GradientPlan(tuple(reversed(steps)), bindings, frozenset(needed - produced), tuple(sorted(produced - used)))


def gradient_rule(
    op: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
    build: Callable[[Collection[str]], GradientPlan],
    registry: Registry,
    where: Location | None,
) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
    """Return the gradient rule of an op for one signature.

    Args:
        op: the op type, for messages.
        inputs: (argument, index) of each flat input.
        outputs: (argument, index) of each flat output.
        build: makes the plan for a set of wanted inputs ("x_0"); asked once per set.
        registry: where the backward ops are found.
        where: the gradient's registration, for messages.
    """
    in_blobs, out_blobs, dout_blobs = blob_names("in", inputs), blob_names("out", outputs), blob_names("dout", outputs)
    slots = [f"{name}_{index}" for name, index in inputs]
    plans: dict[tuple[bool, ...], GradientPlan] = {}

    def rule(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
        needs = tuple(applied.needs)
        plan = plans.get(needs)
        if plan is None:
            wanted = {slot for slot, is_needed in zip(slots, needs) if is_needed}
            plan = plans[needs] = build(wanted)
        values: dict[str, Any] = dict(zip(in_blobs, applied.inputs))
        values.update(zip(out_blobs, applied.outputs))
        for index, blob in enumerate(dout_blobs):
            if blob in plan.reads:
                dout = douts[index]
                values[blob] = _zeros(applied.outputs[index], registry) if dout is None else dout
        for step in plan.steps:
            _run(step, values, registry, op, where)
        return [
            _checked(values[plan.bindings[slot]], applied.inputs[index], slot, op, where)
            if slot in plan.bindings and needs[index]
            else None
            for index, slot in enumerate(slots)
        ]

    return rule


def _run(step: BackwardOp, values: dict[str, Any], registry: Registry, op: str, where: Location | None) -> None:
    try:
        inputs = {arg: [values[blob] for blob in blobs] for arg, blobs in step.inputs.items()}
    except KeyError as error:
        raise AutogradError(
            f"the gradient of {op!r} reads {error.args[0]!r} in its op {step.name!r}, which nothing computes",
            where=where,
        ) from error
    counts = {arg: len(blobs) for arg, blobs in step.outputs.items()}
    bound = registry.get(step.type).bind(inputs, step.attrs, counts)
    result = ops.apply(bound.opdef, bound.inputs, bound.attrs)
    results = result if isinstance(result, tuple) else (result,)
    for (arg, index), value in zip(bound.output_names, results):
        if arg in step.outputs:
            values[step.outputs[arg][index]] = value


def _zeros(like: Any, registry: Registry) -> Any:
    bound = registry.get("zero_like").bind({"like": [like]}, {})
    return ops.apply(bound.opdef, bound.inputs, bound.attrs)


def _checked(gradient: Any, value: Any, slot: str, op: str, where: Location | None) -> Any:
    if shape_of(gradient) != shape_of(value):
        raise AutogradError(
            f"the gradient of {op!r} binds a value of shape {shape_of(gradient)} to input {slot!r}, "
            f"whose shape is {shape_of(value)}",
            where=where,
        )
    return gradient
