"""Jobs: a Python function traced once into a Program, then called like a function.

    tracer = JobTracer("train_job", scope)
    with tracer.tracing():                                # static mode; ops applied in here build the job's graph
        x = tracer.placeholder("x", TensorDesc((4, 3), "float32"))
        w = tracer.variable("w", TensorDesc((3, 2), "float32"))     # its data is scope.var("w").array
        y = ops.matmul(x, w)
    job = tracer.compile([y])                             # a CompiledJob
    (result,) = job([array])                              # arrays in the placeholders' order

Jobs that get one Scope share its variables. ``apply`` of a model update (an op without outputs) inside ``tracing``
changes its variables in place whenever the job runs; ``differentiate`` appends gradients; ``observer_op`` makes an op
that passes data to a Python function. Frameworks' decorators, annotations and sessions are their facades'.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import GraphError, ShapeError
from opkit.ir import Block, Dialect, Program, TensorDesc, Value, Variable
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import ArgDef, OpDef
from opkit.ops.core.types import Arrays
from opkit.static.backward import gradients
from opkit.static.builder import build_in
from opkit.static.executor import PlanCache
from opkit.static.names import Names, own_names
from opkit.static.plan import Plan, compile_plan
from opkit.static.plan.failures import check_initialized
from opkit.static.scope import Holder, Scope


class JobTracer:
    """Builds the graph of one job.

    Args:
        name: the job's name, for messages.
        scope: holds the variables' data.
        dialect: the rules and texts of the framework whose job it is; left out: those of the facade in use.
    """

    def __init__(self, name: str, scope: Scope, dialect: Dialect | None = None) -> None:
        self.name = name
        self.scope = scope
        self.program = Program(dialect)
        self.inputs: list[Variable] = []
        self._numbers = itertools.count()
        self._names = Names(prefixes={})

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Append ops to the job's graph within a ``with`` block."""
        mode = local.mode
        was_enabled, mode.is_grad_enabled = mode.is_grad_enabled, True
        try:
            with build_in(self.program), own_names(self._names):
                yield
        finally:
            mode.is_grad_enabled = was_enabled

    def placeholder(self, name: str, desc: TensorDesc, *, open_axes: Collection[int] = ()) -> Variable:
        """Return an input of the job; inputs are fed in the order in which they are made.

        Args:
            name: for messages.
            desc: declared shape and dtype; a size of -1 may be any.
            open_axes: axes whose sizes may be any too.
        """
        block = self.program.blocks[0]
        free = name if name not in block.vars else self._free(block, name)
        variable = Variable(block, free, _opened(desc, open_axes), stop_gradient=True, is_data=True)
        block.add_variable(variable)
        self.inputs.append(variable)
        return variable

    def variable(self, name: str, desc: TensorDesc, *, is_trainable: bool = False) -> Variable:
        """Return the Variable for a variable of the scope; the same one for the same name.

        An input or a result that has the name already gets another one: inputs are fed by position.
        """
        block = self.program.blocks[0]
        held = block.vars.get(name)
        if held is not None and held.persistable:
            return held
        if held is not None:
            held.name = self._free(block, name)
            block.vars[held.name] = block.vars.pop(name)
        made = block.declare(name, desc, persistable=True, stop_gradient=not is_trainable)
        made.is_parameter = made.trainable = is_trainable
        return made

    def _free(self, block: Block, name: str) -> str:
        """Return a name like this one that nothing in the block has."""
        return next(free for number in self._numbers if (free := f"{name}_{number}") not in block.vars)

    def compile(self, outputs: Sequence[Variable]) -> CompiledJob:
        """Return the job as something that can be called."""
        return CompiledJob(self, [output.value for output in outputs])


class CompiledJob:
    """A traced job: called with one array per placeholder, it returns one array per output, the caller's own.

    Attributes:
        name: the job's.
        program: its graph.
        inputs: the placeholders' Values, in order.
        outputs: the Values that it returns.
    """

    def __init__(self, tracer: JobTracer, outputs: Sequence[Value]) -> None:
        self.name = tracer.name
        self.program = tracer.program
        self._scope = tracer.scope
        self.inputs = [variable.value for variable in tracer.inputs]
        self.outputs = list(outputs)
        self._cache = PlanCache()
        self._last: Plan | None = None
        self._holders: list[Holder] = []
        self._checks: list[tuple[tuple[int, ...], np.dtype]] = []
        self._layout = -1

    def __call__(self, arrays: Arrays) -> list[ndarray]:
        """Run the job.

        Args:
            arrays: one per placeholder, of its dtype and a shape that fits it.

        Raises:
            ShapeError: an array does not fit its placeholder.
            UninitializedError: a variable has no data.
        """
        plan = self._last
        checks = self._checks
        is_same = plan is not None and self._scope.layout == self._layout and len(arrays) == len(checks)
        if plan is not None and is_same and not plan.is_outdated:
            for array, (shape, dtype) in zip(arrays, checks):
                if array.shape != shape or array.dtype is not dtype:
                    break
            else:
                return plan.run(arrays, self._holders)
        return self._run_anew(arrays)

    def _run_anew(self, arrays: Arrays) -> list[ndarray]:
        self._check(arrays)
        checks = [(array.shape, array.dtype) for array in arrays]
        layout = self._scope.layout
        key = (tuple([shape for shape, _ in checks]), layout)
        plan = self._cache.find(key)
        if plan is None or plan.is_outdated:
            is_exact = plan is None and self._cache.may_be_exact(layout)
            plan = self._compile(arrays, is_exact)
            self._cache.add(key, plan)
        holders = [self._scope.find_var(name) or self._scope.var(name) for name in plan.holders]
        check_initialized(plan.read_names, holders)
        self._last, self._holders, self._checks, self._layout = plan, holders, checks, layout
        return plan.run(arrays, holders)

    def _check(self, arrays: Arrays) -> None:
        if len(arrays) != len(self.inputs):
            raise GraphError(f"job {self.name!r} takes {len(self.inputs)} arrays, got {len(arrays)}")
        for array, value in zip(arrays, self.inputs):
            fits = len(array.shape) == len(value.shape) and all(
                want in (-1, size) for size, want in zip(array.shape, value.shape)
            )
            if not fits or array.dtype != value.dtype:
                raise ShapeError(
                    f"job {self.name!r}: input {value.variable.name!r} is {value.desc}, got "
                    f"{TensorDesc(array.shape, array.dtype.name)}"
                )

    def _compile(self, arrays: Arrays, is_exact: bool) -> Plan:
        sizes = {value: TensorDesc(array.shape, array.dtype.name) for value, array in zip(self.inputs, arrays)}
        return compile_plan(self.program, self.inputs, self.outputs, sizes, is_exact=is_exact)


def differentiate(
    goals: Sequence[Variable], seeds: Sequence[Variable | None], values: Sequence[Variable]
) -> list[Variable | None]:
    """Append the gradients of goals, weighted by seeds, with respect to values; None for a value they do not reach."""
    return gradients(list(goals), list(values), list(seeds))


def observer_op(label: str, handler: Callable[[ndarray], Any]) -> OpDef:
    """Return an op that passes its input's data, as a read-only array, to a Python function in every run.

    Args:
        label: what messages and profiles call it.
        handler: takes the array; its result is ignored.
    """

    def observe(array: ndarray) -> tuple[()]:
        handler(array)
        return ()

    return OpDef(label, (ArgDef("in"),), (), observe, infer=lambda descs, attrs: [], has_side_effect=True, is_user=True)


def _opened(desc: TensorDesc, axes: Collection[int]) -> TensorDesc:
    return TensorDesc(tuple([-1 if axis in axes else size for axis, size in enumerate(desc.shape)]), desc.dtype)
