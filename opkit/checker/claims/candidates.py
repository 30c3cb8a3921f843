"""Candidates: signatures that hold and that the definition does not claim.

One split axis per argument; the inputs are cut in a way, and how the outputs then lie is read off the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, product
from math import prod
from time import perf_counter

import numpy as np

from opkit.checker.claims.cutting import Cut, Outcome, compared, is_empty_cut, run_shards
from opkit.checker.claims.prove import Proof, ranks_of
from opkit.checker.claims.subject import Subject, Whole
from opkit.checker.model.thresholds import PROOF_CANDIDATES, PROOF_DEVICES, PROOF_LEAST, PROOF_TRIED
from opkit.sharding import BROADCAST, PARTIAL, Arg, Sbp, Signature, split

__all__ = ["Unclaimed", "unclaimed"]

_Ranks = tuple[tuple[Arg, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unclaimed:
    """A signature that holds on all cases of some ranks and is not claimed there.

    Args:
        signature: the signature.
        ranks: numbers of axes of the inputs with which it holds.
        others: numbers of axes with which it was seen not to hold or not to be possible.
        cuts: on which it was tried.
    """

    signature: Signature
    ranks: tuple[_Ranks, ...]
    others: tuple[_Ranks, ...]
    cuts: int


@dataclass(slots=True)
class _Found:
    """Candidates of one combination of ranks: the signature and the cuts that it holds on; and what was left out."""

    held: dict[str, tuple[Signature, int]] = field(default_factory=dict)
    left: int = 0


def unclaimed(
    subject: Subject, wholes: Sequence[Whole], proof: Proof, seed: int, until: float
) -> tuple[list[Unclaimed], list[str]]:
    """Return the signatures that could be claimed too, and what was not tried.

    Args:
        subject: the op type.
        wholes: its cases.
        proof: what is claimed.
        seed: of the partial sums.
        until: no further way to cut is begun after that time.
    """
    groups: dict[_Ranks, list[Whole]] = {}
    for whole in wholes:
        groups.setdefault(ranks_of(whole), []).append(whole)
    found = {ranks: _of_ranks(subject, group, proof, seed, until) for ranks, group in groups.items()}
    texts: dict[str, list[_Ranks]] = {}
    for ranks, item in found.items():
        for text in item.held:
            texts.setdefault(text, []).append(ranks)
    made = []
    for text, where in texts.items():
        free = [ranks for ranks in where if (ranks, text) not in proof.claimed]
        if not free:
            continue
        signature = found[free[0]].held[text][0]
        cuts = sum(found[ranks].held[text][1] for ranks in free)
        others = tuple(ranks for ranks in groups if ranks not in free)
        made.append(Unclaimed(signature, tuple(free), others, cuts))
    left = max((item.left for item in found.values()), default=0)
    notes = []
    if left:
        notes.append(f"{subject.op}: {left} more ways to cut its inputs were not tried")
    return made, notes


def _of_ranks(subject: Subject, wholes: Sequence[Whole], proof: Proof, seed: int, until: float) -> _Found:
    """Try the ways to cut the inputs of one combination of ranks."""
    found = _Found()
    tried = _spread(wholes)
    ways, found.left = _ways(tried[0])
    for number, inputs in enumerate(ways):
        if perf_counter() > until:
            found.left += 1
            continue
        outputs, cuts = _outputs(subject, tried, inputs, np.random.default_rng([seed, number]))
        if outputs is None or cuts < PROOF_LEAST:
            continue
        chosen = {arg: lies[0] for arg, lies in outputs.items()}
        signature = Signature.of({**inputs, **chosen}, list(tried[0].inputs), list(tried[0].outputs))
        found.held[str(signature)] = (signature, cuts)
        for other in _others(signature, outputs):  # what is claimed may be another true reading of the same cut
            if (ranks_of(tried[0]), str(other)) in proof.claimed:
                del found.held[str(signature)]
                break
    return found


def _others(signature: Signature, outputs: Mapping[Arg, Sequence[Sbp]]) -> list[Signature]:
    """Return the other signatures of the same cut that hold as well."""
    made = [
        Signature(signature.inputs, tuple(zip(outputs, choice))) for choice in islice(product(*outputs.values()), 64)
    ]
    return [item for item in made if str(item) != str(signature)]


def _spread(wholes: Sequence[Whole]) -> list[Whole]:
    """Return cases whose sizes differ first, then the others, not too many."""
    best = max(wholes, key=lambda whole: len({size for array in whole.inputs.values() for size in array.shape}))
    rest = [whole for whole in wholes if whole is not best]
    step = max(1, len(rest) // PROOF_TRIED)
    return [best, *rest[::step][:PROOF_TRIED]]


def _ways(whole: Whole) -> tuple[list[dict[Arg, Sbp]], int]:
    """Return the likeliest ways to cut the inputs, and how many more there are.

    First those that cut all inputs alike, then those that cut one input, two and so on.
    """
    choices = []
    for array in whole.inputs.values():
        sums = [] if array.dtype.kind == "b" else [PARTIAL]
        choices.append([*(split(axis) for axis in range(array.ndim)), *sums])
    total = prod(len(ways) + 1 for ways in choices) - 1
    alike = [[way] * len(choices) for way in choices[0] if all(way in ways for ways in choices)] if choices else []
    made: dict[tuple[Sbp, ...], None] = dict.fromkeys(tuple(way) for way in alike)
    for way in _by_number(choices):
        if len(made) >= PROOF_CANDIDATES:
            break
        made.setdefault(way)
    return [dict(zip(whole.inputs, way)) for way in made], total - len(made)


def _by_number(choices: Sequence[Sequence[Sbp]]) -> Iterator[tuple[Sbp, ...]]:
    """Yield the ways that cut one input, then those that cut two ..."""
    for number in range(1, len(choices) + 1):
        for places in combinations(range(len(choices)), number):
            for picked in product(*(choices[place] for place in places)):
                given = dict(zip(places, picked))
                yield tuple(given.get(place, BROADCAST) for place in range(len(choices)))


def _outputs(
    subject: Subject, wholes: Sequence[Whole], inputs: Mapping[Arg, Sbp], rng: np.random.Generator
) -> tuple[dict[Arg, list[Sbp]] | None, int]:
    """Return how the outputs may lie on all cases where the inputs are cut so, None where in no way; and the cuts."""
    left: dict[Arg, list[Sbp]] | None = None
    cuts = 0
    for whole in wholes:
        for count in PROOF_DEVICES:
            if is_empty_cut(whole, inputs, count):
                continue
            shards = run_shards(subject, whole, inputs, count, rng)
            if isinstance(shards, Cut):
                return None, cuts
            if left is None:
                left = {
                    arg: [*(split(axis) for axis in range(item.ndim)), BROADCAST, PARTIAL]
                    for arg, item in whole.outputs.items()
                }
            for arg, ways in left.items():
                left[arg] = [sbp for sbp in ways if compared(whole, shards, arg, sbp).outcome is Outcome.HOLDS]
                if not left[arg]:
                    return None, cuts
            cuts += 1
    return left, cuts
