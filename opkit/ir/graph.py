"""A graph: a Program of Blocks, their Operations and Variables, and the Values that flow; its text and its copies.

A Value is assigned once (one version of one Variable); a Variable is the handle, and means its latest version.
Operators and methods of a Variable are attached in ``opkit.static.methods``; ``opkit.static.builder`` appends inferred
Operations. Nothing is executed, inferred or differentiated here. The module is long because the parts of a graph refer
to each other: a Value to its Operation, an Operation to its Block, a Block to its Program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from opkit.errors import GraphError, Location, UsageError, unknown
from opkit.ir.desc import TensorDesc
from opkit.ir.dialect import Dialect, default_dialect
from opkit.ir.dtype import to_numpy
from opkit.record import record

_serials = itertools.count()


# ---- values ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False, repr=False)
class Value:
    """One version of a Variable: assigned once, by its producer or from outside.

    Args:
        variable: the Variable that this is a version of.
        shape: sizes, -1 where a size is known only at run time.
        dtype: numpy dtype.
        producer: the Operation that computes it; None for what is fed, held in a scope, or never written.
        index: which output of the producer it is.
    """

    variable: Variable
    shape: tuple[int, ...]
    dtype: np.dtype
    producer: Operation | None = None
    index: int = 0
    version: int = 0

    @property
    def desc(self) -> TensorDesc:
        """Shape and dtype, as infer functions take them."""
        return TensorDesc(self.shape, self.dtype.name)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The Variable's name, with the version where it is not the first."""
        return f"{self.variable.name}:{self.version}" if self.version else self.variable.name

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.desc})"


class Variable:
    """A named handle in a Block; using it means its latest Value.

    Args:
        block: where it lives.
        name: unique in the block.
        desc: declared shape and dtype.
        stop_gradient: no gradient flows to it.
        persistable: its data lives in a Scope, across runs.
        is_data: it is fed.
    """

    __slots__ = ("__dict__", "__weakref__", "block", "name", "stop_gradient", "value")

    #: Set on an instance only where it differs.
    persistable: bool = False
    is_data: bool = False
    is_parameter: bool = False
    trainable: bool = False
    need_clip: bool = True
    regularizer: Any = None
    has_shape: bool = True

    def __init__(
        self,
        block: Block,
        name: str,
        desc: TensorDesc,
        *,
        stop_gradient: bool = False,
        persistable: bool = False,
        is_data: bool = False,
    ) -> None:
        self.block = block
        self.name = name
        self.stop_gradient = stop_gradient
        self.value = Value(self, desc.shape, to_numpy(desc.dtype))
        if persistable:
            self.persistable = True
        if is_data:
            self.is_data = True

    @property
    def _data(self) -> Value:
        # What op builders read shape and dtype from (a Tensor's is its array).
        return self.value

    @property
    def desc(self) -> TensorDesc:
        """Shape and dtype of the latest version."""
        return self.value.desc

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, -1 where unknown until run time."""
        return self.value.shape

    @property
    def dialect(self) -> Dialect:
        """The rules and words of its program's framework."""
        return self.block.program.dialect

    @property
    def dtype(self) -> Any:
        """The dtype as the program's framework shows it; numpy's where there is none."""
        return self.block.program.dialect.show_dtype(self.value.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.value.shape)

    @property
    def op(self) -> Operation | None:
        """The Operation that wrote the latest version, or None."""
        return self.value.producer

    def at(self, value: Value) -> Variable:
        """Return a handle that always means one version; the same object where that is the latest one."""
        if value is self.value:
            return self
        pinned = Variable.__new__(type(self))
        pinned.__dict__.update(self.__dict__)
        pinned.block, pinned.name, pinned.stop_gradient = self.block, self.name, self.stop_gradient
        pinned.value = value
        return pinned

    def write(self, shape: tuple[int, ...], dtype: np.dtype, producer: Operation, index: int) -> Value:
        """Make a new version, computed by an Operation, and return it."""
        held = self.value
        if held.producer is None and not held.version and not self.persistable and not self.is_data:
            held.shape, held.dtype, held.producer, held.index = shape, dtype, producer, index
            return held
        self.value = Value(self, shape, dtype, producer, index, held.version + 1)
        return self.value

    def __str__(self) -> str:
        return self.block.program.dialect.show_variable(self)

    def __repr__(self) -> str:
        kind = "param" if self.is_parameter else "persist" if self.persistable else "data" if self.is_data else "var"
        return f"{kind} {self.name}: {self.desc}"


# ---- operations ------------------------------------------------------------------------------------------------------
@record
class Rewrite:
    """What takes an Operation's place.

    Args:
        same_as: index of the input that its first output is; the Operation is removed. -1: it is removed altogether.
        opdef: what takes its place, with one output, or None.
        inputs: Values that the new op reads.
        attrs: of the new op.
    """

    same_as: int = -1
    opdef: Any = None
    inputs: tuple[Value | None, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)


#: ``rule(operation)`` -> what takes its place, or None to keep it as it is.
ForInference = Callable[["Operation"], "Rewrite | None"]


class OpLike(Protocol):
    """What a graph knows about an op: its name, and what becomes of it in a copy for inference (None: it is kept)."""

    name: str
    for_inference: ForInference | None


@dataclass(slots=True, eq=False, repr=False)
class Operation:
    """An op applied to Values.

    Args:
        block: the block that it is in.
        opdef: the op.
        inputs: one Value per input, None for an optional one left out.
        attrs: every declared attribute.
        role: "forward", "backward", "optimize" or "init".
        site: file, line and function of the user's call.
        label: what messages and profiles call it, where that differs from the op's name.
        placement: the devices on which the user asked it to run; None where that was not said.
        scope: the names of the scopes and layers that it was added in, outermost first, joined by "/"; "" for none.

    ``writes`` holds the indices of the inputs that it changes in place (persistable ones); ``outputs`` ends with one
    new version for each of them.
    """

    block: Block
    opdef: OpLike
    inputs: tuple[Value | None, ...]
    attrs: Mapping[str, Any]
    role: str = "forward"
    site: tuple[str, int, str] | None = None
    label: str = ""
    placement: Any = None
    scope: str = ""
    outputs: tuple[Value, ...] = field(default=(), init=False)
    writes: tuple[int, ...] = field(default=(), init=False)
    is_warned: bool = field(default=False, init=False)

    @property
    def type(self) -> str:
        """The op type's name."""
        return self.opdef.name

    @property
    def results(self) -> tuple[Value, ...]:
        """The outputs that its kernel returns: those that are not written in place."""
        return self.outputs[: len(self.outputs) - len(self.writes)] if self.writes else self.outputs

    @property
    def where(self) -> Location | None:
        """Where the user added it."""
        if self.site is None:
            return None
        file, line, function = self.site
        return Location(file, line, function=function)

    @property
    def input_arg_names(self) -> list[str]:
        """Names of the Variables that it reads."""
        return [value.variable.name for value in self.inputs if value is not None]

    @property
    def output_arg_names(self) -> list[str]:
        """Names of the Variables that it writes."""
        return [value.variable.name for value in self.outputs]

    def attr(self, name: str) -> Any:
        """Return an attribute's value."""
        return self.attrs[name]

    def attr_names(self) -> list[str]:
        """Return the names of the attributes."""
        return list(self.attrs)

    def __repr__(self) -> str:
        return describe_operation(self)


def describe_operation(op: Operation) -> str:
    """Return one line: outputs, op, inputs, attributes."""
    outputs = ", ".join(value.name for value in op.outputs)
    inputs = ["None" if value is None else value.name for value in op.inputs]
    attrs = [f"{name}={_short(value)}" for name, value in op.attrs.items()]
    call = f"{op.label or op.type}({', '.join(inputs + attrs)})"
    return f"{outputs} = {call}" if outputs else call


def _short(value: Any) -> str:
    if isinstance(value, (bool, int, float, str, tuple, list, type(None))):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, Sequence) and dtype is not None:
        return f"<{dtype}{list(shape)}>"
    return f"<{type(value).__name__}>"


# ---- blocks and programs ---------------------------------------------------------------------------------------------
class VariableNotFoundError(GraphError, ValueError):
    """No Variable of the block has this name.

    Source: Paddle 2.6 raises ValueError.
    """


class Block:
    """A straight line of Operations.

    Args:
        program: the program that it belongs to.
        idx: its number in the program.
    """

    __slots__ = ("__weakref__", "idx", "ops", "program", "vars")

    def __init__(self, program: Program, idx: int = 0) -> None:
        self.program = program
        self.idx = idx
        self.ops: list[Operation] = []
        self.vars: dict[str, Variable] = {}

    @property
    def parent_idx(self) -> int:
        """The enclosing block's number; -1, since programs are straight lines."""
        return -1

    def has_var(self, name: str) -> bool:
        """Return whether a Variable of that name is here."""
        return name in self.vars

    def var(self, name: str) -> Variable:
        """Return the Variable of that name.

        Raises:
            VariableNotFoundError: there is none; the message suggests the nearest names.
            TypeError: the name is not a string.
        """
        if not isinstance(name, str):
            raise TypeError(f"block.var takes a name (a str), got {type(name).__name__}")
        found = self.vars.get(name)
        if found is None:
            said = unknown("no variable", name, self.vars, tail=" is in this block", limit=3)
            raise said.error(VariableNotFoundError)
        return found

    def add_variable(self, variable: Variable) -> Variable:
        """Add a Variable under its name.

        Raises:
            UsageError: the name is taken.
        """
        if variable.name in self.vars:
            raise UsageError(f"the block has a variable {variable.name!r} already")
        self.vars[variable.name] = variable
        self.program.version += 1
        return variable

    def declare(
        self, name: str, desc: TensorDesc, *, persistable: bool = False, stop_gradient: bool = False
    ) -> Variable:
        """Return the Variable of that name; it is created if there is none.

        Raises:
            UsageError: there is one with another shape or dtype.
        """
        held = self.vars.get(name)
        if held is None:
            return self.add_variable(Variable(self, name, desc, persistable=persistable, stop_gradient=stop_gradient))
        if held.shape != desc.shape or held.desc.dtype != desc.dtype:
            raise UsageError(
                f"variable {name!r} exists as {held.desc} and cannot be created again as {desc}",
                help="give it another name, or the same shape and dtype",
            )
        return held

    def append(self, op: Operation) -> None:
        """Add an Operation at the end.

        Raises:
            GraphError: an Executor is running the program (in another thread).
        """
        program = self.program
        if program.running:
            raise GraphError(
                f"op {op.type!r} was added to a program while an Executor runs it",
                where=op.where,
                help="finish building a program before it is run, or build another program (clone())",
            )
        self.ops.append(op)
        program.version += 1

    def all_parameters(self) -> list[Variable]:
        """Return the parameters, in the order in which they were created."""
        return [variable for variable in self.vars.values() if variable.is_parameter]

    def __repr__(self) -> str:
        return f"Block {self.idx} ({len(self.vars)} variables, {len(self.ops)} ops)"


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
        """Return whether this is a program, or a branch or a loop's body in it."""
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


# ---- text ------------------------------------------------------------------------------------------------------------
def program_text(blocks: Sequence[Block], *, with_sites: bool = False) -> str:
    """Return a program as text.

    Args:
        blocks: the program's blocks.
        with_sites: also give the user's line that added each op.
    """
    lines: list[str] = []
    for block in blocks:
        lines.append(f"{{ // block {block.idx}")
        for variable in block.vars.values():
            flag = "  // stop_gradient" if variable.stop_gradient else ""
            lines.append(f"    {variable!r}{flag}")
        lines.append("")
        for op in block.ops:
            site = f"  // {op.where}" if with_sites and op.where is not None else ""
            lines.append(f"    {describe_operation(op)}{site}")
        lines.append("}")
    return "\n".join(lines)


# ---- copies ----------------------------------------------------------------------------------------------------------
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
