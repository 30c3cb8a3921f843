"""Claims of an op directory's op types, in the checker's form.

The signatures come from the compiled definition; what they are worth is the checker's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from opkit.checker import Attrs
from opkit.checker.model.claim import Claim, Claims, Descs
from opkit.errors import InferError
from opkit.sharding import parse_sbp
from opkit.spec import CompiledOp
from opkit.verify.subjects.remembered import remembered
from opkit.verify.subjects.source_location import shown


def claims_of(compiled: CompiledOp, outputs: Mapping[str, Sequence[str]] | None = None) -> Claims:
    """Return what a definition says about devices.

    Args:
        compiled: the op type.
        outputs: the values asked for by output name; by default one of each that is not optional.
    """
    counts = None if outputs is None else {name: len(blobs) for name, blobs in outputs.items()}

    def listed(descs: Descs, attrs: Attrs, devices: int) -> list[Claim]:
        given = {name: list(items) for name, items in descs.items() if items}
        return [
            Claim(
                {arg: parse_sbp(part) for arg, part in item.parts.items()},
                {arg: shown(place) for arg, place in item.places.items()},
                shown(item.where),
            )
            for item in compiled.sbp_claims(given, dict(attrs), devices, counts)
        ]

    answers: dict[object, str] = {}

    def refuse(descs: Descs, attrs: Attrs) -> str:
        key = tuple((name, *items) for name, items in descs.items())
        return remembered(answers, (key, repr(attrs)), partial(_refused, compiled, descs, attrs, counts))

    # The shape function looks at shards only where the definition sets it for them too.
    unit = compiled.units.get("physical")
    looks = unit is not None and unit is compiled.units.get("tensor_desc")
    return Claims(
        compiled.name,
        listed,
        tuple(arg.name for arg in compiled.inputs),
        tuple(arg.name for arg in compiled.outputs),
        refuse if looks else None,
        compiled.makes_claims,
        shown(compiled.span.location),
    )


def _refused(compiled: CompiledOp, descs: Descs, attrs: Attrs, counts: Mapping[str, int] | None) -> str:
    """Say why a shape function refuses inputs, "" where it takes them."""
    try:
        compiled.infer({name: list(items) for name, items in descs.items() if items}, dict(attrs), outputs=counts)
    except InferError as error:
        return error.message
    return ""
