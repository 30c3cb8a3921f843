"""Taking values from a command line: what has its type already is taken as it is.

typer loads pydantic to look at the first value of any parameter, defaults among them, which takes longer than to parse
all else. What is not yet what it should be is still typer's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class _AsItIs:
    """In the place of what turns a parameter's values into its type."""

    def __init__(self, parameter: Any) -> None:
        self._usual = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the parameter's function gets it; for a completion nothing is looked at."""
        kind, takes_several = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if takes_several else None
        if ctx.resilient_parsing or type(value) is kind:
            return value
        if kind == list[str] and isinstance(value, (list, tuple)) and all(type(item) is str for item in value):
            return list(value)
        is_number = kind in (int, float) and type(value) is str and value.isascii() and value.isdecimal()
        bounds = param.type_descriptor.parameter_info
        if is_number and bounds.min is None and bounds.max is None:
            return kind(value)
        return self._usual().coerce(value, param=param, ctx=ctx)


def take_as_they_are(parameters: Iterable[Any]) -> None:
    """Let parameters take values that have their type as they are; older releases of typer load nothing for them."""
    for item in parameters:
        if hasattr(item, "get_runtime_param") and "get_runtime_param" not in vars(item):
            runtime = _AsItIs(item)
            item.get_runtime_param = lambda runtime=runtime: runtime
