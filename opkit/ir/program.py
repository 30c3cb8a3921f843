"""Program: a graph that can be printed, cloned and run; its version shows when it changed.

Nothing is executed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ir.block import Block
from opkit.ir.dialect import Dialect, default_dialect
from opkit.ir.operation import Operation
from opkit.ir.printer import program_text
from opkit.ir.rewrite import Rewrite
from opkit.ir.value import Value, Variable

_serials = itertools.count()


class Program:
    """A graph of one block.

    Attributes:
        version: grows with every change.
        running: one entry per run that is under way; while there is one, nothing may be appended.
        random_seed: seeds the program's random ops where it is not 0.
        before_run: called with the scope before every run (they set learning rates).
        outer: the program in which this one is a branch or a loop's body, None where it stands alone.

    Args:
        dialect: the rules and texts of the framework whose program it is; left out: those of the facade in use.
    """

    def __init__(self, dialect: Dialect | None = None) -> None:
        self._dialect = dialect
        self.serial = next(_serials)
        self.version = 0
        self.running: list[int] = []
        self._random_seed = 0
        self.is_test = False
        self.outer: Program | None = None
        self.before_run: list[Callable[[Any], None]] = []
        self.blocks = [Block(self)]

    @property
    def dialect(self) -> Dialect:
        """The rules and words of its framework."""
        return default_dialect() if self._dialect is None else self._dialect

    @property
    def random_seed(self) -> int:
        """The seed of its random ops."""
        return self._random_seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, (int, np.integer)):
            raise UsageError(f"a program's random_seed is an int, got {type(seed).__name__} {seed!r}")
        self._random_seed = int(seed)

    @property
    def num_blocks(self) -> int:
        """Number of blocks: 1."""
        return len(self.blocks)

    def global_block(self) -> Block:
        """Return the block."""
        return self.blocks[0]

    def current_block(self) -> Block:
        """Return the block to which ops are appended."""
        return self.blocks[0]

    def block(self, index: int) -> Block:
        """Return a block by number.

        Raises:
            UsageError: there is no such block.
        """
        if index != 0:
            raise UsageError(f"a program has one block, number 0; block {index!r} was asked for")
        return self.blocks[0]

    @property
    def root(self) -> Program:
        """The outermost program around this one; itself where it stands alone."""
        return self if self.outer is None else self.outer.root

    def is_within(self, program: Program) -> bool:
        """Say whether this is a program, or a branch or a loop's body in it."""
        return self is program or (self.outer is not None and self.outer.is_within(program))

    def adopt(self, variable: Variable) -> Variable | None:
        """Return what stands here for a Variable of an outer program; None, since only branches read of one."""
        return None

    def list_vars(self) -> Iterator[Variable]:
        """Yield every Variable."""
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Variable]:
        """Return the parameters, in the order in which they were created."""
        return self.blocks[0].all_parameters()

    def clone(self, for_test: bool = False) -> Program:
        """Return a copy; ``for_test`` leaves out backward and optimizer ops, and switches off dropout and the like."""
        return clone_program(self, for_test)

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Return the program as text; with details, each op is followed by the line that added it."""
        return program_text(self.blocks, with_sites=with_details)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"Program ({len(self.blocks[0].ops)} ops, version {self.version})"


def clone_program(program: Program, for_test: bool) -> Program:
    """Return a copy of a program; see ``Program.clone``."""
    copy = Program(program._dialect)
    copy.random_seed = program.random_seed
    copy.is_test = program.is_test or for_test
    copy.before_run = [] if for_test else list(program.before_run)
    source, block = program.blocks[0], copy.blocks[0]
    for name, variable in source.vars.items():
        block.vars[name] = _copy_variable(variable, block)
    values: dict[Value, Value] = {}
    dropped: set[str] = set()
    for op in source.ops:
        if for_test and op.role in ("backward", "optimize"):
            dropped.update(value.variable.name for value in op.outputs)
            continue
        rule = op.opdef.for_inference if for_test else None
        rewrite = rule(op) if rule is not None else None
        if rewrite is None:
            _copy_operation(op, block, values)
        elif rewrite.opdef is not None:
            _copy_as(op, rewrite, block, values)
        elif rewrite.same_as >= 0:
            source_value = op.inputs[rewrite.same_as]
            assert source_value is not None
            values[op.outputs[0]] = _twin(source_value, block, values)
        if rewrite is not None:
            _leave_unwritten(op, block, values)
    for name, variable in source.vars.items():
        twin = values.get(variable.value)
        if twin is not None:
            block.vars[name].value = twin
    if for_test:
        _drop_variables(block, dropped)
    copy.version = len(block.ops) + len(block.vars)
    return copy


def _copy_variable(variable: Variable, block: Block) -> Variable:
    twin = Variable.__new__(type(variable))
    twin.__dict__.update(variable.__dict__)
    twin.block, twin.name, twin.stop_gradient = block, variable.name, variable.stop_gradient
    twin.value = Value(twin, variable.value.shape, variable.value.dtype)
    return twin


def _copy_operation(op: Operation, block: Block, values: dict[Value, Value]) -> None:
    inputs = tuple(None if value is None else _twin(value, block, values) for value in op.inputs)
    twin = Operation(block, op.opdef, inputs, op.attrs, op.role, op.site, op.label, op.placement, op.scope)
    twin.writes = op.writes
    twin.outputs = _outputs_of(twin, op.outputs, block, values)
    block.ops.append(twin)


def _copy_as(op: Operation, rewrite: Rewrite, block: Block, values: dict[Value, Value]) -> None:
    inputs = tuple(None if value is None else _twin(value, block, values) for value in rewrite.inputs)
    twin = Operation(block, rewrite.opdef, inputs, rewrite.attrs, op.role, op.site, scope=op.scope)
    twin.outputs = _outputs_of(twin, op.outputs[:1], block, values)
    block.ops.append(twin)


def _leave_unwritten(op: Operation, block: Block, values: dict[Value, Value]) -> None:
    """Give the outputs of an Operation the values that they had before it."""
    for index, written in zip(op.writes, op.outputs[len(op.results) :]):
        before = op.inputs[index]
        assert before is not None
        values[written] = _twin(before, block, values)


def _outputs_of(
    twin: Operation, outputs: tuple[Value, ...], block: Block, values: dict[Value, Value]
) -> tuple[Value, ...]:
    made = []
    for value in outputs:
        held = _twin(value, block, values)
        held.producer, held.index = twin, value.index
        made.append(held)
    return tuple(made)


def _twin(value: Value, block: Block, values: dict[Value, Value]) -> Value:
    found = values.get(value)
    if found is None:
        owner = block.vars[value.variable.name]
        if value.version:
            found = Value(owner, value.shape, value.dtype, version=value.version)
        else:  # the version that the twin was made with
            found = owner.value
            found.shape, found.dtype = value.shape, value.dtype
        values[value] = found
    return found


def _drop_variables(block: Block, dropped: set[str]) -> None:
    used = {value.variable.name for op in block.ops for value in (*op.inputs, *op.outputs) if value is not None}
    for name in dropped - used:
        variable = block.vars.get(name)
        if variable is not None and not variable.persistable:
            del block.vars[name]
