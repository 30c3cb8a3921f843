"""Operations: which of torch's own gives another result for tensors that lie otherwise, whatever its caller does.

The median of torch 2.13 along an axis reads memory that nobody filled where a tensor is expanded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from opkit.checker.model.agreement import agree
from opkit.verify.subjects.torch.tensors import array_of, tensors_in

_ATEN = torch.ops.aten
#: What hands out memory that nobody filled.
_UNFILLED = frozenset({_ATEN.empty, _ATEN.empty_like, _ATEN.empty_strided, _ATEN.new_empty, _ATEN.new_empty_strided})


class Operations(TorchDispatchMode):  # type: ignore[misc]  # without torch its base is unknown
    """Runs each operation on dense copies of its tensors, too; the first whose result differs is named.

    Not one that looks at memory itself, or changes it, nor one that draws numbers.

    Attributes:
        named: that operation, "" where there is none.
    """

    named = ""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        found = function(*args, **named)
        if not self.named and _computes(function):
            dense = function(*tree_map(_dense, args), **tree_map(_dense, named))
            pairs = zip(tensors_in(found), tensors_in(dense))
            if not all(agree(array_of(one), array_of(other)) for one, other in pairs):
                self.named = str(function)
        return found


def _computes(function: Any) -> bool:
    """Return whether an operation of torch's own makes new numbers of those that it gets."""
    is_own = function.namespace == "aten" and function.overloadpacket not in _UNFILLED
    lends = any(item.alias_info is not None for item in function._schema.returns)
    return is_own and not lends and torch.Tag.nondeterministic_seeded not in function.tags


def _dense(item: Any) -> Any:
    return item.contiguous() if isinstance(item, torch.Tensor) and item.layout == torch.strided else item
