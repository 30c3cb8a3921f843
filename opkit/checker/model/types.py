"""The types that signatures of the checker are written in.

No class is defined here: each is a short name for a type of Python or of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from numpy import ndarray

#: An input's value: an array, a list of arrays (variadic), or None (optional and left out).
Value: TypeAlias = "ndarray | list[ndarray] | None"
Arrays: TypeAlias = Mapping[str, Value]
Attrs: TypeAlias = Mapping[str, Any]
#: Outputs, or incoming gradients: one array for each declared output.
Results: TypeAlias = Sequence[ndarray]
Gradients: TypeAlias = Mapping[str, Value]
Pullback: TypeAlias = Callable[[Results, frozenset[str]], Gradients]
#: What a forward that keeps its context returns.
Ran: TypeAlias = tuple[Results, Pullback]
#: What a function gives at once: its results, and its gradients.
Computed: TypeAlias = tuple[Results, Gradients]
#: An array made of another.
ArrayMap: TypeAlias = Callable[[ndarray], ndarray]
#: A function of which only what it returns matters here, or one that users wrote.
Function: TypeAlias = Callable[..., Any]
