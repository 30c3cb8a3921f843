"""Gradients in graphs: the one reverse walk over Operations, appending backward ops through the same rules.

Which Variables take a gradient is decided here; each op's rule computes the gradient.

Where gradients stop: ops without a gradient that stand between what is differentiated and what it depends on.

What a barrier means for a job is its framework's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opkit.autograd import reverse_walk
from opkit.errors import ShapeError, UsageError
from opkit.ir import Block, Operation, Value, Variable
from opkit.ops.basis.arithmetic import add
from opkit.ops.basis.creation import ones_like
from opkit.ops.core.opdef import OpDef
from opkit.static.builder import ForeignVariableError, build_in, building, note_site
from opkit.static.site import user_site

GRAD_SUFFIX = "@GRAD"


class GradStep:
    """An Operation as the reverse walk and its gradient rule see it (``opkit.ops.Applied``)."""

    __slots__ = ("_walk", "op", "opdef", "walk_edges", "walk_indices", "walk_width")

    def __init__(self, walk: _Walk, op: Operation, edges: tuple[Any, ...]) -> None:
        self._walk = walk
        self.op = op
        self.opdef: OpDef = op.opdef  # type: ignore[assignment]
        self.walk_edges = edges
        self.walk_indices = tuple(
            [0 if value is None or value.producer is None else value.index for value in op.inputs]
        )
        self.walk_width = len(op.outputs)

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The Operation's attributes."""
        return self.op.attrs

    @property
    def inputs(self) -> list[Variable | None]:
        """Input Variables, pinned to the versions that the Operation read."""
        return [None if value is None else value.variable.at(value) for value in self.op.inputs]

    @property
    def outputs(self) -> list[Variable]:
        """Output Variables, pinned to the versions that the Operation wrote."""
        return [value.variable.at(value) for value in self.op.results]

    @property
    def needs(self) -> list[bool]:
        """Per input: whether its cotangent will be used."""
        return [edge is not None for edge in self.walk_edges]

    def walk_rule(self, step: GradStep, douts: Sequence[Any], release: bool) -> Sequence[Any]:
        """Append the backward ops of the Operation."""
        op = self.op
        names = self._walk.name_gradient
        for value, dout in zip(op.outputs, douts):
            if dout is not None:
                names(value, dout)
        # A gradient is computed where its op runs, and belongs to the same part of the graph.
        building.site, building.placement, building.scope = op.site, op.placement, op.scope
        assert self.opdef.grad is not None
        try:
            return self.opdef.grad(self, douts)
        except Exception as error:
            note_site(error, op.label or op.type, op.site)
            raise


class LeafStep:
    """A Value that no differentiated Operation computes; its cotangent is a requested gradient."""

    __slots__ = ("_walk", "value")
    walk_edges: tuple[()] = ()
    walk_indices: tuple[()] = ()
    walk_width = 1

    def __init__(self, walk: _Walk, value: Value) -> None:
        self._walk = walk
        self.value = value

    def walk_rule(self, step: LeafStep, douts: Sequence[Any], release: bool) -> tuple[()]:
        """Keep the cotangent."""
        self._walk.name_gradient(self.value, douts[0])
        return ()


class _Walk:
    """One call of append_backward or gradients: the Values that it reached and the gradients that it found.

    Args:
        block: the Block to walk.
        targets: the Values to differentiate.
        sources: the Values whose gradients are wanted; None for every Value that takes one.
        stopped: Values through which nothing flows.
    """

    def __init__(
        self, block: Block, targets: Sequence[Value], sources: Collection[Value] | None, stopped: Collection[Value]
    ) -> None:
        self.block = block
        self.targets = targets
        self.found: dict[Value, Variable] = {}
        self._sources = sources
        self._stopped = stopped
        self._steps: dict[Operation, GradStep] = {}
        self._leaves: dict[Value, LeafStep] = {}

    def run(self, seeds: Sequence[Variable]) -> None:
        """Walk back from the targets."""
        order = self._order()
        cotangents: dict[Any, list[Any]] = {}
        for target, seed in zip(self.targets, seeds):
            step = self._step_of(target)
            if step is None or (target.variable.stop_gradient and isinstance(step, GradStep)):
                continue
            slots = cotangents.setdefault(step, [None] * step.walk_width)
            index = target.index if isinstance(step, GradStep) else 0
            slots[index] = seed if slots[index] is None else add(slots[index], seed)
        held = building.site, building.placement, building.scope
        reverse_walk([*order, *self._leaves.values()], cotangents, add)
        building.site, building.placement, building.scope = held

    def _order(self) -> list[GradStep]:
        """Return the steps between sources and targets, the last Operation first."""
        reached = self._reached()
        steps: list[GradStep] = []
        for op in self.block.ops:
            if op not in reached or op.opdef.grad is None:  # type: ignore[attr-defined]
                continue
            edges = tuple([self._edge(value) for value in op.inputs])
            if any(edge is not None for edge in edges):
                step = self._steps[op] = GradStep(self, op, edges)
                steps.append(step)
        steps.reverse()
        return steps

    def _reached(self) -> set[Operation]:
        reached: set[Operation] = set()
        stack = [value.producer for value in self.targets if value.producer is not None]
        while stack:
            op = stack.pop()
            if op in reached:
                continue
            reached.add(op)
            stack.extend([v.producer for v in op.inputs if v is not None and v.producer is not None])
        return reached

    def _edge(self, value: Value | None) -> Any:
        if value is None or value in self._stopped:
            return None
        sources = self._sources
        if sources is not None and value in sources:
            return self._source_step(value)
        if value.variable.stop_gradient:
            return None
        if value.producer is not None:
            return self._steps.get(value.producer)
        return self._leaf(value) if sources is None else None

    def _source_step(self, value: Value) -> Any:
        # A requested Value inside the graph: its producer's step continues, if there is one.
        step = None
        if value.producer is not None and not value.variable.stop_gradient:
            step = self._steps.get(value.producer)
        return step or self._leaf(value)

    def _leaf(self, value: Value) -> LeafStep:
        leaf = self._leaves.get(value)
        if leaf is None:
            leaf = self._leaves[value] = LeafStep(self, value)
        return leaf

    def _step_of(self, target: Value) -> Any:
        if target.producer is not None and target.producer in self._steps:
            return self._steps[target.producer]
        return self._leaf(target) if self._sources is not None and target in self._sources else None

    def name_gradient(self, value: Value, cotangent: Variable) -> None:
        """Add a Value's gradient under ``NAME@GRAD``."""
        name = value.variable.name + GRAD_SUFFIX
        self.found[value] = name_variable(self.block, cotangent, name)


def name_variable(block: Block, variable: Variable, name: str) -> Variable:
    """Name a Variable; one that already has a meaningful name gets a second handle."""
    held = block.vars.get(name)
    if held is variable:
        return variable
    if held is None and _is_anonymous(block, variable):
        del block.vars[variable.name]
        variable.name = name
        block.vars[name] = variable
        return variable
    alias = Variable(block, name, variable.desc, stop_gradient=variable.stop_gradient)
    alias.value = variable.value
    block.vars[name] = alias
    return alias


def _is_anonymous(block: Block, variable: Variable) -> bool:
    """Return whether a Variable is a backward op's result that still has its generated name."""
    if variable.name.endswith(GRAD_SUFFIX) or block.vars.get(variable.name) is not variable:
        return False
    if variable.persistable or variable.is_data or variable.op is None:
        return False
    return variable.op.role == "backward"


def append_backward(
    loss: Variable,
    parameter_list: Sequence[Variable | str] | None = None,
    no_grad_set: Collection[Variable | str] | None = None,
) -> list[tuple[Variable, Variable]]:
    """Append the gradient of a loss with respect to everything that takes one.

    Args:
        loss: a floating-point Variable; one with several elements is seeded with ones.
        parameter_list: the parameters (or their names) wanted; left out: all trainable ones.
        no_grad_set: Variables (or names) through which no gradient flows.

    Returns:
        (parameter, gradient) pairs. Every Variable that got a gradient has it as ``NAME@GRAD``.

    Raises:
        TypeError: ``loss`` is not a Variable.
    """
    if not isinstance(loss, Variable):
        raise TypeError(f"append_backward takes a Variable as loss, got {type(loss).__name__}")
    block = loss.block
    program = block.program
    walk = _Walk(block, [loss.value], None, _values_of(block, no_grad_set))
    with build_in(program, "backward", building.site or user_site()):
        walk.run([ones_like(loss)])
    wanted = _parameters(block, parameter_list)
    pairs = []
    for parameter in wanted:
        gradient = _gradient_of(walk, parameter)
        if gradient is not None:
            pairs.append((parameter, gradient))
    return pairs


def gradients(
    targets: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    target_gradients: Variable | Sequence[Variable | None] | None = None,
    no_grad_set: Collection[Variable | str] | None = None,
) -> list[Variable | None]:
    """Append the gradients of targets with respect to inputs.

    Returns:
        one gradient per input, None for an input that no target depends on or that takes none (stop_gradient).

    Raises:
        UsageError: the counts of targets and target gradients differ.
        ShapeError: a target gradient has another shape than its target.
    """
    goals = _as_list(targets, "targets")
    wrt = _as_list(inputs, "inputs")
    seeds = [None] * len(goals) if target_gradients is None else _seed_list(target_gradients)
    if len(seeds) != len(goals):
        raise UsageError(f"gradients got {len(goals)} targets and {len(seeds)} target gradients")
    block = goals[0].block
    for variable in (*goals, *wrt):
        if variable.block is not block:
            raise ForeignVariableError(f"gradients: variable {variable.name!r} belongs to another program")
    sources = {variable.value for variable in wrt if not variable.stop_gradient}
    walk = _Walk(block, [goal.value for goal in goals], sources, _values_of(block, no_grad_set))
    with build_in(block.program, "backward", building.site or user_site()):
        walk.run([_seed(goal, seed) for goal, seed in zip(goals, seeds)])
    return [walk.found.get(variable.value) for variable in wrt]


def _seed(goal: Variable, seed: Variable | None) -> Variable:
    if seed is None:
        return ones_like(goal)  # type: ignore[no-any-return]
    if len(seed.shape) != len(goal.shape) or any(-1 not in (a, b) and a != b for a, b in zip(seed.shape, goal.shape)):
        raise ShapeError(
            f"gradients: the target gradient of {goal.name!r} has shape {seed.shape}, the target has {goal.shape}"
        )
    return seed


def _seed_list(given: Variable | Sequence[Variable | None]) -> list[Variable | None]:
    return [given] if isinstance(given, Variable) else list(given)


def _as_list(given: Any, what: str) -> list[Variable]:
    items = [given] if isinstance(given, Variable) else list(given) if isinstance(given, (list, tuple)) else None
    if not items or not all(isinstance(item, Variable) for item in items):
        raise TypeError(f"gradients takes a Variable or a list of Variables as {what}, got {type(given).__name__}")
    return items


def _values_of(block: Block, given: Collection[Variable | str] | None) -> set[Value]:
    items = [given] if isinstance(given, (str, Variable)) else list(given or ())
    return {(block.var(item) if isinstance(item, str) else item).value for item in items}


def _parameters(block: Block, given: Sequence[Variable | str] | None) -> list[Variable]:
    if given is None:
        return [parameter for parameter in block.all_parameters() if parameter.trainable]
    found = [block.var(item) if isinstance(item, str) else item for item in given]
    for item in found:
        if not isinstance(item, Variable):
            raise TypeError(f"parameter_list holds Variables or names, got {type(item).__name__}")
    return found


def _gradient_of(walk: _Walk, parameter: Variable) -> Variable | None:
    found = walk.found.get(parameter.value)
    if found is None and parameter.value.version:
        # Written since it was read (by an optimizer's update in between): the version that the loss read counts.
        for value, gradient in walk.found.items():
            if value.variable is parameter:
                found = gradient
    return found


def barriers(goals: Sequence[Variable], sources: Collection[Variable]) -> list[Operation]:
    """Return the operations without a gradient through which a goal depends on a source, in the program's order.

    Only those with a floating-point result count: through integers nothing flows in any framework.

    Args:
        goals: what is differentiated.
        sources: with respect to what.
    """
    values = {source.value for source in sources}
    depends: set[Operation] = set()
    block = goals[0].block
    for op in block.ops:
        if any(value in values or value.producer in depends for value in op.inputs if value is not None):
            depends.add(op)
    reached: set[Operation] = set()
    stack = [goal.value for goal in goals]
    while stack:
        producer = stack.pop().producer
        if producer is not None and producer in depends and producer not in reached:
            reached.add(producer)
            stack.extend(value for value in producer.inputs if value is not None)
    return [op for op in block.ops if op in reached and _stops(op)]


def _stops(op: Operation) -> bool:
    opdef: OpDef = op.opdef  # type: ignore[assignment]
    return opdef.grad is None and any(value.dtype.kind == "f" for value in op.results)
