"""Overwriting: a value becomes the new version of a Variable that is there already."""

from __future__ import annotations

from typing import Any

from opkit.ir import Variable
from opkit.ops.basis.creation import IDENTITY
from opkit.ops.core.define import NO_ATTRS
from opkit.static.builder import append, building


def overwrite(target: Any, value: Any) -> Any:
    """Let a Variable mean another value from here on, and return it; a Tensor of dynamic mode gets the contents.

    Args:
        target: a Variable of the program that is built, persistable or not, or a Tensor.
        value: a Variable or a Tensor, as the target.

    Raises:
        ForeignVariableError: the Variable is one of another program, such as that around a branch or a loop's body.
    """
    if not isinstance(target, Variable):
        target.set_value(value)
    else:
        append(building.main.blocks[0], IDENTITY, (value,), NO_ATTRS, into=[target])
    return target
