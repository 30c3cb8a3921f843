"""Travel: a local program as plain data that another process makes the same program of.

Built-in ops go by name, those of op directories by what makes them again (``Maker``), all others by value.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from opkit.distribute.local import Held, Key, Local
from opkit.distribute.physical import LocalStep
from opkit.ir import Operation, Program, TensorDesc, Value, Variable
from opkit.ops import BUILTIN, OpDef
from opkit.ops.core.types import Attrs
from opkit.record import record

#: Makes an op again in another process.
Maker: TypeAlias = Callable[[], OpDef]


@record
class _FlatOp:
    opdef: OpDef
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    writes: tuple[int, ...]
    attrs: Attrs
    role: str
    site: tuple[str, int, str] | None
    label: str


@record
class Flat:
    """A local program as plain data; numbers stand for its variables.

    Args:
        variables: name, description, whether it is fed, whether it is held.
        ops: in order.
        feeds: variables that are fed, by the numbers of what they are.
        fetches: variables that are fetched, by the numbers of what they are.
        held: what each variable of the scope is.
    """

    variables: tuple[tuple[str, TensorDesc, bool, bool], ...]
    ops: tuple[_FlatOp, ...]
    feeds: tuple[tuple[int, int], ...]
    fetches: tuple[tuple[int, int], ...]
    held: Mapping[str, Held]


def flattened(step: LocalStep, keys: Mapping[Key, int]) -> Flat:
    """Return a local program as plain data.

    Args:
        step: the program with what it is fed and gives.
        keys: the number of each value that lies in some way.
    """
    local = step.local
    numbers: dict[Variable, int] = {}
    variables: list[tuple[str, TensorDesc, bool, bool]] = []

    def number(value: Value) -> int:
        variable = value.variable
        if variable not in numbers:
            numbers[variable] = len(numbers)
            desc = local.sizes.get(value, value.desc)
            variables.append((variable.name, desc, variable.is_data, variable.persistable))
        return numbers[variable]

    ops = []
    for op in local.program.blocks[0].ops:
        inputs = tuple(None if value is None else number(value) for value in op.inputs)
        outputs = tuple(number(value) for value in op.results)
        ops.append(
            _FlatOp(op.opdef, inputs, outputs, op.writes, dict(op.attrs), op.role, op.site, op.label)  # type: ignore[arg-type]
        )
    feeds = tuple((keys[key], number(local.feeds[key])) for key in step.feeds)
    fetches = tuple((keys[key], number(local.made[key])) for key in step.fetches)
    return Flat(tuple(variables), tuple(ops), feeds, fetches, dict(local.held))


def rebuilt(flat: Flat) -> tuple[Local, list[Value], list[Value]]:
    """Return the program of plain data, and the Values that it is fed and that are fetched."""
    local = Local(Program())
    block = local.program.blocks[0]
    variables = []
    for name, desc, is_data, is_held in flat.variables:
        variable = Variable(block, name, desc, stop_gradient=True, persistable=is_held, is_data=is_data)
        block.add_variable(variable)
        variables.append(variable)
        if is_data or is_held:
            local.sizes[variable.value] = desc
    for item in flat.ops:
        inputs = tuple(None if number is None else variables[number].value for number in item.inputs)
        op = Operation(block, item.opdef, inputs, item.attrs, item.role, item.site, item.label)
        block.append(op)
        outputs = []
        for index, number in enumerate(item.outputs):
            variable = variables[number]
            outputs.append(variable.write(variable.value.shape, variable.value.dtype, op, index))
        for index in item.writes:
            held = inputs[index]
            assert held is not None
            op.writes += (index,)
            outputs.append(held.variable.write(held.shape, held.dtype, op, len(outputs)))
        op.outputs = tuple(outputs)
    local.held.update(flat.held)
    feeds = [variables[number].value for _, number in flat.feeds]
    fetches = [variables[number].value for _, number in flat.fetches]
    return local, feeds, fetches


# ---- as bytes --------------------------------------------------------------------------------------------------------
def _named(name: str) -> OpDef:
    found = BUILTIN.get(name)
    assert isinstance(found, OpDef)
    return found


def _made(maker: Maker) -> OpDef:
    return maker()


def packed(item: Any, maker_of: Callable[[OpDef], Maker | None]) -> bytes:
    """Return anything with ops in it as bytes.

    Args:
        item: what is packed.
        maker_of: returns what makes an op of a directory again, None for others.
    """
    import cloudpickle

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, OpDef):
                if BUILTIN.find(item.name) is item:
                    return _named, (item.name,)
                maker = maker_of(item)
                if maker is not None:
                    return _made, (maker,)
            return super().reducer_override(item)

    stream = io.BytesIO()
    Pickler(stream, protocol=5).dump(item)
    return stream.getvalue()


def unpacked(data: bytes) -> Any:
    """Return what ``packed`` made bytes of."""
    return pickle.loads(data)
