"""Records: the decorator of the house's data, dataclasses that are frozen and have slots.

No class is defined here; a record that needs another setting uses ``dataclasses`` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform as dataclass_transform
else:

    def dataclass_transform(**settings: Any) -> Callable[[Any], Any]:
        """Stand in for the marker that type checkers and editors read; it does nothing when code runs."""
        return lambda function: function


_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a dataclass whose fields do not change and whose objects hold nothing else."""
    return dataclass(frozen=True, slots=True)(kind)
