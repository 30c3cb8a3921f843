"""Candidates: signatures that hold and that the definition does not claim.

One split axis per argument; the inputs are cut in a way, and how the outputs then lie is read off the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations, islice, product
from math import prod

import numpy as np
from numpy.random import Generator

from opkit.checker.claims.cutting import Cut, Outcome, as_named, compared, is_empty_cut, run_shards
from opkit.checker.claims.prove import Proof, Ranks, ranks_of
from opkit.checker.claims.subject import Subject, Whole, run_whole
from opkit.checker.model.thresholds import FEW, PROOF_CANDIDATES, PROOF_DEVICES, SOME
from opkit.record import mutable, record
from opkit.sharding import BROADCAST, PARTIAL, Arg, Sbp, Signature, split


@record
class Unclaimed:
    """A signature that holds on all cases of some ranks and is not claimed there.

    Args:
        signature: the signature.
        ranks: numbers of axes of the inputs with which it holds.
        others: numbers of axes with which it was seen not to hold or not to be possible.
        cuts: on which it was tried.
    """

    signature: Signature
    ranks: tuple[Ranks, ...]
    others: tuple[Ranks, ...]
    cuts: int


@mutable
class _Found:
    """Candidates of one combination of ranks: the signature and the cuts that it holds on; and what was left out."""

    held: dict[str, tuple[Signature, int]] = field(default_factory=dict)
    left: int = 0


def unclaimed(
    subject: Subject, wholes: Sequence[Whole], proof: Proof, seed: int, is_over: Callable[[], bool]
) -> tuple[list[Unclaimed], list[str]]:
    """Return the signatures that could be claimed too, and what was not tried.

    Args:
        subject: the op type.
        wholes: its cases.
        proof: what is claimed.
        seed: of the partial sums.
        is_over: says when no further way to cut is begun.
    """
    groups: dict[Ranks, list[Whole]] = {}
    for whole in wholes:
        groups.setdefault(ranks_of(whole), []).append(whole)
    found = {ranks: _of_ranks(subject, group, proof, seed, is_over) for ranks, group in groups.items()}
    texts: dict[str, list[Ranks]] = {}
    for ranks, item in found.items():
        for text in item.held:
            texts.setdefault(text, []).append(ranks)
    made = []
    for text, where in texts.items():
        signature = found[where[0]].held[text][0]
        cuts = sum(found[ranks].held[text][1] for ranks in where)
        others = tuple(ranks for ranks in groups if ranks not in where)
        made.append(Unclaimed(signature, tuple(where), others, cuts))
    left = max((item.left for item in found.values()), default=0)
    return made, [f"{subject.op}: {left} more ways to cut its inputs were not tried"] if left else []


def _of_ranks(
    subject: Subject, wholes: Sequence[Whole], proof: Proof, seed: int, is_over: Callable[[], bool]
) -> _Found:
    """Try the ways to cut the inputs of one combination of ranks."""
    found = _Found()
    if not any(array.ndim for array in wholes[0].inputs.values()):
        return found  # partial sums of single numbers are too few to be trusted
    tried = _spread(wholes)
    unread = _unread(subject, tried[:FEW])
    ways, found.left = _ways(tried[0], unread)
    known = {_essence(item, unread) for item in proof.claimed.get(ranks_of(tried[0]), ())}
    for number, inputs in enumerate(ways):
        if is_over():
            found.left += 1
            continue
        outputs, cuts = _outputs(subject, tried, inputs, np.random.default_rng([seed, number]))
        if outputs is None or cuts < 2 * len(PROOF_DEVICES):
            continue
        chosen = {arg: lies[0] for arg, lies in outputs.items()}
        if all(sbp.kind == "B" for sbp in chosen.values()):
            continue  # every device would do all the work
        signature = Signature.of({**inputs, **chosen}, list(tried[0].inputs), list(tried[0].outputs))
        # What is claimed may be another true reading of the same cut, or cut what is not read in another way.
        if not known & {_essence(item, unread) for item in (signature, *_others(signature, outputs))}:
            found.held[str(signature)] = (signature, cuts)
            known.add(_essence(signature, unread))
    return found


def _essence(signature: Signature, unread: frozenset[Arg]) -> Signature:
    """Return a signature without the inputs whose values change nothing."""
    return Signature(tuple(item for item in signature.inputs if item[0] not in unread), signature.outputs)


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
    step = max(1, len(rest) // SOME)
    return [best, *rest[::step][:SOME]]


def _unread(subject: Subject, wholes: Sequence[Whole]) -> frozenset[Arg]:
    """Return the inputs whose values change nothing in these cases."""
    found = set(wholes[0].inputs)
    for whole in wholes:
        for arg in sorted(found):
            changed = {**whole.inputs, arg: np.zeros_like(whole.inputs[arg])}
            case = replace(whole.case, inputs=as_named(changed, whole.case.inputs))
            again = run_whole(subject, case, is_bare=True)
            if again is None or any(
                not np.array_equal(array, again.outputs.get(output, 0)) for output, array in whole.outputs.items()
            ):
                found.discard(arg)
    return frozenset(found)


def _is_apart(way: Sequence[Sbp], args: Sequence[Arg], unread: frozenset[Arg]) -> bool:
    """Return whether an input that is not read is cut otherwise than all that are: nobody needs to hear of that."""
    read = {sbp for arg, sbp in zip(args, way) if arg not in unread}
    return any(arg in unread and sbp.kind != "B" and {sbp} != read for arg, sbp in zip(args, way))


def _ways(whole: Whole, unread: frozenset[Arg]) -> tuple[list[dict[Arg, Sbp]], int]:
    """Return the likeliest ways to cut the inputs, and how many more there are.

    First those that cut all inputs alike, then those that cut one input, two and so on.
    """
    args = list(whole.inputs)
    choices = [
        [*map(split, range(array.ndim)), *([] if array.dtype.kind == "b" else [PARTIAL])]
        for array in whole.inputs.values()
    ]
    total = prod(len(ways) + 1 for ways in choices) - 1
    alike = [[way] * len(choices) for way in choices[0] if all(way in ways for ways in choices)] if choices else []
    made = dict.fromkeys(map(tuple, alike))
    left_out = 0
    for way in _by_number(choices):
        if len(made) >= PROOF_CANDIDATES:
            break
        if _is_apart(way, args, unread):
            left_out += 1
        else:
            made.setdefault(way)
    return [dict(zip(args, way)) for way in made], total - len(made) - left_out


def _by_number(choices: Sequence[Sequence[Sbp]]) -> Iterator[tuple[Sbp, ...]]:
    """Yield the ways that cut one input, then those that cut two ..."""
    for number in range(1, len(choices) + 1):
        for places in combinations(range(len(choices)), number):
            for picked in product(*(choices[place] for place in places)):
                given = dict(zip(places, picked))
                yield tuple(given.get(place, BROADCAST) for place in range(len(choices)))


def _outputs(
    subject: Subject, wholes: Sequence[Whole], inputs: Mapping[Arg, Sbp], rng: Generator
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
                left = {arg: [*map(split, range(item.ndim)), BROADCAST, PARTIAL] for arg, item in whole.outputs.items()}
            for arg, ways in left.items():
                left[arg] = [sbp for sbp in ways if compared(whole, shards, arg, sbp).outcome is Outcome.HOLDS]
                if not left[arg]:
                    return None, cuts
            cuts += 1
    return left, cuts
