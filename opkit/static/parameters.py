"""Parameters and other variables that outlive a run: made in the main program, initialised by the startup program.

Layers decide which parameters they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import GraphError, UsageError
from opkit.ir import Program, TensorDesc, Variable, canonical_dtype, to_numpy
from opkit.ops.basis import random
from opkit.ops.core.opdef import ArgDef, AttrDef, OpDef
from opkit.ops.core.types import Attrs
from opkit.ops.kernels.initializer import Initializer, constant
from opkit.static.builder import append, build_in, building


def _initialize(initializer: Initializer, shape: Sequence[int], dtype: str, program_seed: int) -> ndarray:
    rng = np.random.default_rng(program_seed) if program_seed else random.generator()
    return initializer(rng, shape, to_numpy(dtype))


def _infer_initialize(descs: Sequence[TensorDesc], attrs: Attrs) -> Sequence[TensorDesc]:
    return [TensorDesc(tuple(attrs["shape"]), attrs["dtype"])]


#: Draws the first value of a variable.
INITIALIZE = OpDef(
    "initialize",
    (),
    (ArgDef("out"),),
    _initialize,
    infer=_infer_initialize,
    attrs=(
        AttrDef("initializer", "object"),
        AttrDef("shape", "shape"),
        AttrDef("dtype", "data_type"),
        AttrDef("program_seed", "int64"),
    ),
    is_random=True,
)


def create_parameter(
    name: str, desc: TensorDesc, initializer: Initializer, *, trainable: bool = True, **fields: Any
) -> Variable:
    """Return a parameter of the current main program; the same one for the same name.

    Args:
        name: unique in the program, or the name of a parameter to share.
        desc: shape (every size known) and dtype.
        initializer: draws its first value, in the startup program.
        trainable: whether optimizers change it.
        fields: further fields of the Variable (``regularizer``, ``need_clip``, ``optimize_attr``).

    Raises:
        UsageError: the name is taken with another shape or dtype, or a size is unknown.
    """
    variable = create_state(name, desc, initializer, stop_gradient=not trainable)
    if not variable.is_parameter:
        variable.is_parameter = True
        variable.trainable = trainable
        for key, value in fields.items():
            setattr(variable, key, value)
    return variable


def create_state(
    name: str, desc: TensorDesc, initializer: Initializer | float, *, stop_gradient: bool = True
) -> Variable:
    """Return a persistable Variable of the current main program, initialised by the startup program.

    Raises:
        UsageError: the name is taken with another shape or dtype, or a size is unknown.
    """
    if not desc.is_static:
        raise UsageError(f"variable {name!r} lives across runs, so every size must be known, got {desc}")
    if not isinstance(initializer, Initializer):
        initializer = constant(initializer)
    # What a branch makes lives in the program around it.
    block = building.main.root.blocks[0]
    held = block.vars.get(name)
    variable = block.declare(name, desc, persistable=True, stop_gradient=stop_gradient)
    if held is not None and not held.persistable:
        raise UsageError(f"variable {name!r} exists in the program and is not a parameter", help="choose another name")
    _append_initializer(building.startup, name, desc, initializer)
    return variable


def _append_initializer(startup: Program, name: str, desc: TensorDesc, initializer: Initializer) -> None:
    block = startup.blocks[0]
    if name not in block.vars:
        initialize(block.declare(name, desc, persistable=True, stop_gradient=True), initializer)


def initialize(variable: Variable, initializer: Initializer) -> None:
    """Append to a Variable's own program the op that draws its first value."""
    block, desc = variable.block, variable.desc
    attrs = {
        "initializer": initializer,
        "shape": desc.shape,
        "dtype": desc.dtype,
        "program_seed": _seed_of(block.program, len(block.ops)),
    }
    with build_in(block.program, "init"):
        append(block, INITIALIZE, (), attrs, into=[variable], descs=[desc])


def _seed_of(startup: Program, position: int) -> int:
    seed = startup.random_seed or building.main.random_seed
    return seed + position if seed else 0


def data(name: str, shape: Sequence[int | None], dtype: Any = "float32") -> Variable:
    """Return a Variable that is fed; the same one for the same name.

    Args:
        name: the key in ``feed``.
        shape: sizes; None and -1 may be any.
        dtype: dtype of what is fed.

    Raises:
        UsageError: the name is taken with another shape or dtype.
    """
    if not isinstance(name, str):
        raise DataNameError(f"static.data takes a name (a str), got {type(name).__name__}")
    sizes = tuple([-1 if size is None else int(size) for size in shape])
    if any(size < -1 for size in sizes):
        raise UsageError(f"static.data {name!r}: a size is None, -1 or not negative, got {tuple(shape)}")
    desc = TensorDesc(sizes, canonical_dtype(dtype))
    block = building.main.blocks[0]
    held = block.vars.get(name)
    if held is not None:
        return block.declare(name, desc)
    variable = Variable(block, name, desc, stop_gradient=True, is_data=True)
    return block.add_variable(variable)


class DataNameError(GraphError, TypeError):
    """The name of a feed is not a string."""
