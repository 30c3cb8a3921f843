"""Sharding contexts: what the functions of a definition see that give sharding signatures.

The signatures themselves are made of what is in ``sbp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.record import mutable_entity
from opkit.spec.runtime.contexts import Conf
from opkit.spec.runtime.faults import FatalError
from opkit.spec.runtime.objects import Desc
from opkit.spec.runtime.sbp import Arg


class BuiltSignature(dict[Arg, str]):
    """A signature as it was built: the part of each argument, and the sites of the calls that gave them.

    Args:
        parts: "S(axis)", "B" or "P" for each argument.
        sites: index of the call's place in the program's table for each argument, where the definition itself made it.
        site: that of ``Build``, None where a function of the framework built it.
    """

    __slots__ = ("site", "sites")

    def __init__(self, parts: Mapping[Arg, str], sites: Mapping[Arg, int], site: int | None) -> None:
        super().__init__(parts)
        self.sites = dict(sites)
        self.site = site


class SbpBuilder:
    """A UserOpSbpSignatureBuilder: collects one signature, ``build`` adds a copy to the list.

    ``at`` is the site of the definition's call, None where a function of the framework calls.
    """

    __slots__ = ("into", "parts", "sites")

    def __init__(self, into: list[BuiltSignature]) -> None:
        self.into = into
        self.parts: dict[Arg, str] = {}
        self.sites: dict[Arg, int] = {}

    def _put(self, args: Sequence[Arg], part: str, at: int | None) -> SbpBuilder:
        for arg in args:
            self.parts[arg] = part
            if at is None:
                self.sites.pop(arg, None)
            else:
                self.sites[arg] = at
        return self

    def split(self, arg: Arg, axis: int, at: int | None = None) -> SbpBuilder:
        """Split one argument at an axis."""
        return self._put((arg,), f"S({axis})", at)

    def split_all(self, args: Sequence[Arg], axis: int, at: int | None = None) -> SbpBuilder:
        """Split several arguments at an axis."""
        return self._put(args, f"S({axis})", at)

    def broadcast(self, arg: Arg, at: int | None = None) -> SbpBuilder:
        """Broadcast one argument."""
        return self._put((arg,), "B", at)

    def broadcast_all(self, args: Sequence[Arg], at: int | None = None) -> SbpBuilder:
        """Broadcast several arguments."""
        return self._put(args, "B", at)

    def partial(self, arg: Arg, at: int | None = None) -> SbpBuilder:
        """Make one argument a partial sum."""
        return self._put((arg,), "P", at)

    def partial_all(self, args: Sequence[Arg], at: int | None = None) -> SbpBuilder:
        """Make several arguments partial sums."""
        return self._put(args, "P", at)

    def build(self, at: int | None = None) -> None:
        """Add the signature to the list."""
        if len(self.into) >= 10_000:
            raise FatalError("more than 10,000 sharding signatures")
        self.into.append(BuiltSignature(self.parts, self.sites, at))


@mutable_entity
class SbpContext:
    """The context of SBP functions."""

    logical: dict[Arg, Desc]
    attrs: Mapping[str, Any]
    inputs: list[Arg]
    outputs: list[Arg]
    conf: Conf
    parallel_num: int
    device_type: str = "kCPU"
    found: list[BuiltSignature] = field(default_factory=list)

    def desc(self, name: str, index: int) -> Desc:
        """Return the description of an input."""
        found = self.logical.get((name, index))
        if found is None:
            raise FatalError(f"there is no input {name!r} with index {index}")
        return found

    def builder(self) -> SbpBuilder:
        """Return a builder that adds to the result."""
        return SbpBuilder(self.found)
