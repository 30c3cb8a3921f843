"""Building: static mode's ``apply``, which infers and appends to the current Block, and the current Programs.

Nothing is executed here. Programs and Blocks themselves are ``opkit.ir``'s.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opkit.errors import GraphError, OpkitError, UnsupportedError, UsageError
from opkit.ir import Block, Operation, Program, TensorDesc, Value, Variable, to_numpy
from opkit.ops.core.mode import Mode, install_default, local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs
from opkit.static.names import output_name, unique_name
from opkit.static.site import Site, user_site


class Building(threading.local):
    """The state of building in one thread.

    Attributes:
        main: the Program that ops are appended to.
        startup: the Program that initialises its parameters.
        role: of the Operations that are appended.
        site: the user's line that adds them, None to look for it.
        prefix: what names of outputs begin with, "" for the op's own.
        placement: the devices on which the Operations that are appended are to run, None where that was not said.
        scope: the scopes in which they are appended, joined by "/", "" for none.
    """

    def __init__(self) -> None:
        self.main: Program = _defaults[0]
        self.startup: Program = _defaults[1]
        self.role = "forward"
        self.site: Site | None = None
        self.prefix = ""
        self.placement: Any = None
        self.scope = ""


_defaults = [Program(), Program()]
building = Building()
_eager_default: list[Any] = []


# ---- modes -----------------------------------------------------------------------------------------------------------
def enable_static() -> None:
    """Build graphs from now on, in this thread and in new ones."""
    if Mode.default is not apply:
        _eager_default[:] = [Mode.default]
        install_default(apply)
    local.mode.apply = apply
    local.mode.is_static = True


def disable_static(place: Any = None) -> None:
    """Run ops at once again; ``place`` is accepted, without effect."""
    if _eager_default:
        install_default(_eager_default.pop())
    elif local.mode.apply is apply:
        local.mode.apply = Mode.default
    local.mode.is_static = False


def in_static_mode() -> bool:
    """Return whether ops are appended to a Program in this thread."""
    return local.mode.apply is apply


# ---- programs --------------------------------------------------------------------------------------------------------
def default_main_program() -> Program:
    """Return the Program that ops are appended to."""
    return building.main


def default_startup_program() -> Program:
    """Return the Program to which initialisers of parameters are appended."""
    return building.startup


def switch_default_programs(main: Program | None = None, startup: Program | None = None) -> tuple[Program, Program]:
    """Make programs this thread's and every new thread's default ones; return those that were."""
    held = building.main, building.startup
    if main is not None:
        building.main = _defaults[0] = main
    if startup is not None:
        building.startup = _defaults[1] = startup
    return held


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Append to these Programs within a ``with`` block, even if static mode was not on before.

    Raises:
        TypeError: an argument is not a Program.
    """
    for name, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and not (program is None and name == "startup_program"):
            raise TypeError(f"program_guard takes Programs, got {type(program).__name__} for {name}")
    mode = local.mode
    held = building.main, building.startup, mode.apply, mode.is_static
    building.main = main_program
    if startup_program is not None:
        building.startup = startup_program
    mode.apply, mode.is_static = apply, True
    try:
        yield
    finally:
        building.main, building.startup, mode.apply, mode.is_static = held


@contextmanager
def build_in(program: Program, role: str = "forward", site: Site | None = None) -> Iterator[None]:
    """Append what is applied within the ``with`` block to one Program, with a role, whatever the mode was."""
    mode = local.mode
    held = building.main, building.role, building.site, mode.apply, mode.is_static
    building.main, building.role, building.site = program, role, site or building.site
    mode.apply, mode.is_static = apply, True
    try:
        yield
    finally:
        building.main, building.role, building.site, mode.apply, mode.is_static = held


def placed(devices: Any) -> AbstractContextManager[None]:
    """Append Operations that are to run on some devices within a ``with`` block; on which is not known here."""
    return _set("placement", devices)


def name_outputs(prefix: str) -> AbstractContextManager[None]:
    """Name outputs ``prefix.tmp_N`` within a ``with`` block (what a layer makes is named after the layer)."""
    return _set("prefix", prefix)


def scoped(name: str) -> AbstractContextManager[None]:
    """Append Operations that belong to a named part of the graph within a ``with`` block: pictures are folded by it."""
    return _set("scope", f"{building.scope}/{name}" if building.scope else name)


@contextmanager
def _set(field: str, value: Any) -> Iterator[None]:
    held = getattr(building, field)
    setattr(building, field, value)
    try:
        yield
    finally:
        setattr(building, field, held)


# ---- appending -------------------------------------------------------------------------------------------------------
def apply(opdef: OpDef, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """Append an op to the current Block.

    Args:
        opdef: the op.
        inputs: Variables; None for an optional input left out.
        attrs: every declared attribute.

    Returns:
        One Variable, or a tuple where the op declares several outputs or a variadic one.

    Raises:
        ShapeError, DtypeError, InferError: inference refuses the inputs; ``where`` is the user's line.
        GraphError: an input belongs to another Program.
        UsageError: an input is a Tensor of dynamic mode, or no Variable at all.
    """
    outputs = append(building.main.blocks[0], opdef, inputs, attrs)
    declared = opdef.outputs
    return outputs[0] if len(declared) == 1 and not declared[0].is_variadic else tuple(outputs)


def append(
    block: Block,
    opdef: OpDef,
    inputs: Sequence[Any],
    attrs: Attrs,
    *,
    into: Sequence[Variable | None] | None = None,
    descs: Sequence[TensorDesc] | None = None,
    label: str = "",
) -> list[Variable]:
    """Append an op and return its output Variables.

    Args:
        block: where.
        opdef: the op.
        inputs: Variables or None.
        attrs: every declared attribute.
        into: existing Variables that the outputs become new versions of; None makes a new one.
        descs: shapes and dtypes of the outputs, inferred where left out.
        label: see ``Operation``.
    """
    site = building.site or user_site()
    values = _values(block, opdef, inputs, site)
    if descs is None:
        descs = _infer(opdef, values, attrs, site)
    scope, layer = building.scope, building.prefix
    scope = f"{scope}/{layer}" if scope and layer else scope or layer
    op = Operation(block, opdef, values, attrs, building.role, site, label, building.placement, scope)
    block.append(op)
    stops = not any(value is not None and not value.variable.stop_gradient for value in values)
    variables = []
    for index, desc in enumerate(descs):
        variable = into[index] if into is not None else None
        if variable is None:
            variable = new_variable(block, _output_name(opdef.name), desc, stop_gradient=stops)
        elif variable.block is not block:
            raise ForeignVariableError(
                f"op {opdef.name!r} writes into variable {variable.name!r} of another program",
                help="a branch or a loop's body returns what it computes",
            )
        elif stops and values and not variable.persistable:
            variable.stop_gradient = True
        variable.write(desc.shape, to_numpy(desc.dtype), op, index)
        variables.append(variable)
    op.outputs = tuple([variable.value for variable in variables])
    written = opdef.written(attrs)
    if written:
        _write_inputs(op, written)
    return variables


def _write_inputs(op: Operation, written: Sequence[int]) -> None:
    """Add the new versions of the persistable inputs that an op changes in place; others end with the run."""
    for index in written:
        value = op.inputs[index]
        if value is not None and value.variable.persistable:
            op.writes += (index,)
            op.outputs += (value.variable.write(value.shape, value.dtype, op, len(op.outputs)),)


def new_variable(block: Block, name: str, desc: TensorDesc, *, stop_gradient: bool = False) -> Variable:
    """Add a new Variable under a fresh unique name; another name is generated if a script has taken it."""
    taken = block.vars
    while name in taken:
        name = unique_name(name)
    variable = Variable(block, name, desc, stop_gradient=stop_gradient)
    taken[name] = variable
    return variable


def _output_name(op_name: str) -> str:
    prefix = building.prefix
    if prefix:
        return unique_name(prefix + ".tmp")
    return output_name(op_name)


def _values(block: Block, opdef: OpDef, inputs: Sequence[Any], site: Site | None) -> tuple[Value | None, ...]:
    values: list[Value | None] = []
    for item in inputs:
        if item is None:
            values.append(None)
        elif isinstance(item, Variable):
            if item.block is not block:
                item = _adopted(block, opdef, item)
            values.append(item.value)
        else:
            raise UsageError(
                f"op {opdef.name!r}: a static graph takes Variables, got {type(item).__module__}."
                f"{type(item).__qualname__}"
                + (
                    " (a tensor of dynamic mode holds data and cannot be part of a graph)"
                    if hasattr(item, "_data")
                    else ""
                ),
                help="feed the data through static.data, or leave static mode with disable_static()",
            )
    return tuple(values)


def _adopted(block: Block, opdef: OpDef, variable: Variable) -> Variable:
    """Return what stands in the program of a branch for a Variable of an outer one."""
    twin = block.program.adopt(variable)
    if twin is not None:
        return twin
    raise ForeignVariableError(
        f"op {opdef.name!r}: variable {variable.name!r} does not belong to the program that is being built",
        help="build the op under program_guard() of the variable's program",
    )


class ForeignVariableError(GraphError, ValueError):
    """A Variable of one Program was used in another."""


def _infer(opdef: OpDef, values: Sequence[Value | None], attrs: Attrs, site: Site | None) -> Sequence[TensorDesc]:
    if opdef.infer is None:
        raise UnsupportedError(
            f"op {opdef.name!r} exists in dynamic mode only: the shape of its result is not known in advance",
            help="in a static graph a Python function is added with static.py_func",
        )
    try:
        return opdef.infer([None if value is None else value.desc for value in values], attrs)  # type: ignore[misc]
    except OpkitError as error:
        note_site(error, opdef.name, site)
        raise


def note_site(error: BaseException, op_name: str, site: Site | None) -> None:
    """Add a note to an error: which op it concerns and where the user added it."""
    if site is None:
        return
    add_note(error, f"in op {op_name!r}, added at {site[0]}:{site[1]} in {site[2]}")


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error, once; tracebacks show it from Python 3.11 on."""
    notes = getattr(error, "__notes__", None)
    if notes is None:
        notes = error.__notes__ = []  # type: ignore[attr-defined]  # Python 3.10 has no add_note
    if note not in notes:
        notes.append(note)
