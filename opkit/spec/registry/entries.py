"""Entries: what was read of one registration, before it becomes an op or a gradient.

Reading them is in ``registrations``.
"""

from __future__ import annotations

from dataclasses import field

from opkit.record import mutable
from opkit.spec.lower.units import Unit
from opkit.spec.parse.syntax import Node
from opkit.spec.registry.schema import ArgSpec, AttrSpec


@mutable
class OpEntry:
    """An op registration as read: specs, slots with their units, and the syntax behind them."""

    name: str
    node: Node
    name_node: Node
    is_cpu_only: bool = False
    has_no_grad: bool = False
    inputs: list[ArgSpec] = field(default_factory=list)
    outputs: list[ArgSpec] = field(default_factory=list)
    attrs: dict[str, AttrSpec] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    setters: dict[str, Node] = field(default_factory=dict)
    has_errors: bool = False


@mutable
class GradEntry:
    """A gradient registration as read."""

    name: str
    node: Node
    name_node: Node
    unit: Unit | None = None
    is_new_style: bool = False
    has_errors: bool = False
