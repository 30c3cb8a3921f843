"""``paddle.common_ops_import``: checks of arguments that layers written for Paddle call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.ir import canonical_dtype
from opkit.ops.core.mode import local
from opkit.paddle.framework.kinds import Variable
from opkit.shim.missing import guard

__all__ = ["check_dtype", "check_type", "check_variable_and_dtype", "convert_dtype"]


def convert_dtype(dtype: Any) -> str:
    """Return the name of a dtype given in any form.

    Raises:
        TypeError: there is no such dtype.
    """
    return canonical_dtype(dtype)


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Check that an argument is of a type; in dynamic mode nothing is checked, as in Paddle.

    Raises:
        TypeError: it is of another.
    """
    if local.mode.is_static and not isinstance(input, expected_type):
        kinds = expected_type if isinstance(expected_type, tuple) else (expected_type,)
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"{op_name}: {input_name!r} must be {names}, got {type(input).__name__}. {extra_message}".rstrip()
        )


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Sequence[Any] | str, op_name: str, extra_message: str = ""
) -> None:
    """Check that a dtype is one of some; in dynamic mode nothing is checked, as in Paddle.

    Raises:
        TypeError: it is another.
    """
    if not local.mode.is_static:
        return
    allowed = [expected_dtype] if isinstance(expected_dtype, str) else list(expected_dtype)
    names = [item for item in map(str, allowed) if item != "uint16"]
    if canonical_dtype(input_dtype) not in names:
        found = canonical_dtype(input_dtype)
        raise TypeError(f"{op_name}: {input_name!r} must be one of {names}, got {found}. {extra_message}".rstrip())


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Sequence[Any] | str, op_name: str, extra_message: str = ""
) -> None:
    """Check that an argument is a Variable of one of some dtypes; in dynamic mode nothing is checked, as in Paddle.

    Raises:
        TypeError: it is something else.
    """
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


__getattr__ = guard(globals())
