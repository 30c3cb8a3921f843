"""Claim: a sharding signature that a definition makes for some inputs, and where it makes them.

Data and borders only; whether a claim holds is found out in ``opkit.checker.claims``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from opkit.errors import Location
from opkit.ir import TensorDesc
from opkit.record import record
from opkit.sharding import Arg, Sbp

#: A list of descriptions per input.
Descs: TypeAlias = Mapping[str, Sequence[TensorDesc]]


@record
class Claim:
    """One signature that a definition makes.

    Args:
        parts: how each (argument, index) that it names lies.
        places: where the definition says so, as far as it does itself.
        where: where it builds the signature.
    """

    parts: Mapping[Arg, Sbp]
    places: Mapping[Arg, Location] = field(default_factory=dict)
    where: Location | None = None


@record
class Claims:
    """What the definition of an op says about devices.

    Args:
        op: the op type.
        list: the signatures for descriptions of the inputs, attributes and a number of devices; raises InferError where
            the definition's function fails.
        inputs, outputs: names of the declared arguments.
        refuse: says why the definition refuses shards of these descriptions, "" where it takes them; None where it
            does not look at shards.
        is_made: whether the definition has a function for signatures at all.
        where: of the registration.
    """

    op: str
    list: Callable[[Descs, Mapping[str, Any], int], Sequence[Claim]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    refuse: Callable[[Descs, Mapping[str, Any]], str] | None = None
    is_made: bool = True
    where: Location | None = None
