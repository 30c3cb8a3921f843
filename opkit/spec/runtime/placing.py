"""Placing: shapes on one device and on all, and placements and distributions as the text that attributes hold.

Source: OneFlow v0.5.0, core/operator/operator.cpp for the shapes, core/job/parallel_desc.cpp for the devices of a
placement.
"""

from __future__ import annotations

import re
from typing import Any

from opkit.spec.runtime.contexts import ParallelContext
from opkit.spec.runtime.faults import RefusalError
from opkit.spec.runtime.objects import Shape
from opkit.spec.runtime.sbp import Distribution

Fields = list[tuple[str, Any]]

_TOKEN = re.compile(r'\s*(?:([A-Za-z_]\w*|-?\d+)|"([^"]*)"|([{}:,;]))')
_DEVICES = re.compile(r"@?\d+:(\d+)(?:-(\d+))?")


def logical_shape(shape: Shape, distribution: Distribution, desc: ParallelContext) -> Shape:
    """Return the shape of the whole, of which one device holds ``shape``; parts are of equal size."""
    counts = desc.hierarchy.dims
    if len(distribution.parts) != len(counts):
        raise RefusalError("the distribution does not fit the devices")
    made = Shape(shape.dims)
    for sbp, count in zip(distribution.parts, counts, strict=True):
        if sbp.kind == "S":
            made.set(sbp.axis, made.at(sbp.axis) * count)
    return made


def placement_of(text: str) -> ParallelContext:
    """Return the devices that a placement names: ``device_tag: "cpu" device_name: "@0:0-3"``.

    Raises:
        RefusalError: the text is not a placement.
    """
    fields = _fields(text)
    names = [value for name, value in fields or () if name == "device_name"]
    spans = [_DEVICES.fullmatch(name) if isinstance(name, str) else None for name in names]
    counts = [int(span[2] or span[1]) - int(span[1]) + 1 for span in spans if span is not None]
    if not counts or len(counts) != len(names) or min(counts) < 1:
        raise RefusalError(f'{text!r} is not a placement such as device_tag: "cpu" device_name: "0:0-3"')
    return ParallelContext(sum(counts))


def parse_distribution(text: str, into: Distribution) -> bool:
    """Read ``sbp_parallel { split_parallel { axis: 0 } }``, one for each axis of the devices; say whether it is one."""
    fields = _fields(text)
    if fields is None or any(name != "sbp_parallel" or not isinstance(value, list) for name, value in fields):
        return False
    made = Distribution()
    for _, parts in fields:
        sbp = made.add()
        for kind, inner in parts:
            if kind not in _KINDS or not isinstance(inner, list):
                return False
            sbp.kind, sbp.axis = _KINDS[kind], int(dict(inner).get("axis", 0))
    into.assign(made)
    return True


_KINDS = {"split_parallel": "S", "broadcast_parallel": "B", "partial_sum_parallel": "P"}


def _fields(text: str) -> Fields | None:
    """Read a message in protobuf's text form, None where it is none."""
    tokens: list[tuple[str, bool]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        at = match.end()
        if match[3] not in (",", ";"):
            tokens.append((match[2] if match[2] is not None else match[1] or match[3], match[2] is not None))
    tokens.reverse()
    try:
        found = _message(tokens)
    except IndexError:
        return None
    return None if tokens else found


def _message(tokens: list[tuple[str, bool]]) -> Fields:
    """Take the fields up to the end or a closing brace, which stays."""
    found: Fields = []
    while tokens and tokens[-1] != ("}", False):
        name, _ = tokens.pop()
        if tokens[-1] == (":", False):
            tokens.pop()
        if tokens[-1] != ("{", False):
            found.append((name, tokens.pop()[0]))
            continue
        tokens.pop()
        found.append((name, _message(tokens)))
        tokens.pop()
    return found
