"""Prove: every signature that a definition makes, tried on all cases and numbers of devices.

The outcome is a tally per signature; the words are in ``verdicts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from opkit.checker.claims.cutting import Cut, Outcome, Shards, compared, is_empty_cut, run_shards
from opkit.checker.claims.subject import Subject, Whole
from opkit.checker.model.claim import Claim, Claims
from opkit.checker.model.thresholds import FEW, PROOF_DEVICES
from opkit.errors import OpkitError
from opkit.record import mutable, record
from opkit.sharding import Arg, Signature

#: The number of axes of each input.
Ranks: TypeAlias = tuple[tuple[Arg, int], ...]


@record
class Refutation:
    """A cut that refutes a signature.

    Args:
        whole: the case.
        count: of devices.
        cut: what happened.
    """

    whole: Whole
    count: int
    cut: Cut


@mutable
class Tally:
    """What is known of one signature.

    Args:
        claim: where and how it is made, at the first case.
        signature: None where it is malformed.
        trouble: what is malformed: ("entry" or "axis", text).
        cuts: that hold.
        cases: on which at least one cut holds.
        counts: of devices of the cuts that hold.
        fault: the first cut that does not hold, on the smallest case.
        refusal: what the definition says of shards that it refuses, and how many cuts it refuses.
        empty: why shards without elements cannot be computed, "" where they can.
        untried: cuts that were not tried because an axis is shorter than the number of devices.
        gradient: the first cut on which the gradient does not follow.
        gradients: cuts on which it does.
        kept: cuts that hold, for the gradient: (case, devices, shards).
    """

    claim: Claim
    signature: Signature | None
    trouble: tuple[str, str] = ("", "")
    cuts: int = 0
    cases: int = 0
    counts: set[int] = field(default_factory=set)
    fault: Refutation | None = None
    refusal: str = ""
    refused: int = 0
    empty: str = ""
    untried: int = 0
    gradient: Refutation | None = None
    gradients: int = 0
    kept: list[tuple[Whole, int, Shards]] = field(default_factory=list)


@mutable
class Proof:
    """All signatures of one op type.

    Args:
        tallies: in the order in which they were met.
        failures: errors of the definition's function, by their text, each with a case.
        left: how many cases were left out for want of time.
        claimed: the signatures that are claimed for inputs of some numbers of axes.
    """

    tallies: list[Tally] = field(default_factory=list)
    failures: dict[str, tuple[OpkitError, Whole]] = field(default_factory=dict)
    left: int = 0
    claimed: dict[Ranks, set[Signature]] = field(default_factory=dict)


def ranks_of(whole: Whole) -> Ranks:
    """Return the number of axes of each input."""
    return tuple((arg, array.ndim) for arg, array in whole.inputs.items())


def prove(subject: Subject, wholes: Sequence[Whole], seed: int, is_over: Callable[[], bool], keep: int = 0) -> Proof:
    """Try all signatures of an op type.

    Args:
        subject: the op type.
        wholes: its cases, the smallest first.
        seed: of the partial sums.
        is_over: says when only a few more cases are begun, of all sizes: the small ones alone would show too little.
        keep: cuts that hold are kept for the gradient, at most so many of each signature.
    """
    proof = Proof()
    known: dict[object, Tally] = {}
    least = set(np.linspace(0, len(wholes) - 1, FEW, dtype=int).tolist())
    for number, whole in enumerate(wholes):
        if number not in least and is_over():
            proof.left += 1
            continue
        held: set[int] = set()
        for count in PROOF_DEVICES:
            rng = np.random.default_rng([seed, number, count])
            claims: Sequence[Claim] = ()
            try:
                claims = subject.claims.list(whole.descs, whole.case.attrs, count)
            except OpkitError as error:
                proof.failures.setdefault(error.message, (error, whole))
            for claim in claims:
                tally = _tally(claim, subject.claims, whole, known, proof)
                if tally is None or tally.fault is not None or tally.signature is None:
                    continue
                proof.claimed.setdefault(ranks_of(whole), set()).add(tally.signature)
                if _try(subject, whole, tally, count, rng, keep) and id(tally) not in held:
                    held.add(id(tally))
                    tally.cases += 1
    return proof


def held_of(op: str, proof: Proof) -> Iterator[tuple[str, str, str]]:
    """Yield what was proved: op type, number of axes of each input, signature, as texts."""
    false = {tally.signature for tally in proof.tallies if tally.fault is not None or tally.gradient is not None}
    true = {tally.signature for tally in proof.tallies if tally.cuts} - false
    for ranks, signatures in proof.claimed.items():
        axes = ", ".join(str(rank) for _, rank in ranks)
        yield from ((op, axes, str(signature)) for signature in signatures if signature in true)


def _tally(claim: Claim, claims: Claims, whole: Whole, known: dict[object, Tally], proof: Proof) -> Tally | None:
    """Return the tally of a claim, a new one where it is met for the first time; None where it says nothing here."""
    trouble = malformed(claim, claims, whole)
    if trouble == ("axis", ""):
        return None
    signature = None if trouble[0] else Signature.of(claim.parts, list(whole.inputs), list(whole.outputs))
    key = (trouble if signature is None else signature, claim.where)
    if key not in known:
        known[key] = Tally(claim, signature, trouble)
        if signature is None:
            known[key].fault = Refutation(whole, 0, Cut(Outcome.REFUSED))
        proof.tallies.append(known[key])
    return known[key]


def malformed(claim: Claim, claims: Claims, whole: Whole) -> tuple[str, str]:
    """Return what is wrong with a signature before anything is cut: ("entry" or "axis", text), ("", "") if nothing is.

    ("axis", "") is a split of a 0-d array, which has no axis: no job uses it, and nothing is said of it.
    """
    arrays = {**whole.inputs, **whole.outputs}
    declared = {*claims.inputs, *claims.outputs}
    for name, index in claim.parts:
        if name not in declared:
            return "entry", f"names {name!r}, which is not an argument of {claims.op}"
        if (name, index) not in arrays and (name, 0) in arrays:
            count = sum(known == name for known, _ in arrays)
            many = f"{count} tensor{'s' * (count != 1)} of it"
            return "entry", f"names {name!r} with index {index}, and there are {many}"
    for name, index in (arg for arg in arrays if arg not in claim.parts):
        kind = "input" if (name, index) in whole.inputs else "output"
        return "entry", f"has no entry for {kind} {name!r}" + (f" with index {index}" if index else "")
    for arg, array in arrays.items():
        sbp = claim.parts[arg]
        if not sbp.fits(array.ndim):
            is_used = array.ndim > 0 or arg not in whole.inputs
            return "axis", f"gives {arg[0]!r} {sbp}, and it has {array.ndim} axes here" if is_used else ""
    return "", ""


def _try(subject: Subject, whole: Whole, tally: Tally, count: int, rng: Generator, keep: int) -> bool:
    """Cut one case over one number of devices; say whether the signature holds there."""
    assert tally.signature is not None
    inputs = dict(tally.signature.inputs)
    is_short = is_empty_cut(whole, inputs, count)
    draws = 2 if any(sbp.kind == "P" for sbp in inputs.values()) else 1
    for _ in range(draws):
        shards = run_shards(subject, whole, inputs, count, rng)
        cut = shards if isinstance(shards, Cut) else _first_wrong(whole, shards, tally.signature)
        if is_short or cut.outcome is Outcome.EMPTY:
            tally.untried += cut.outcome is not Outcome.HOLDS
            tally.empty = tally.empty or cut.message
            return False
        if cut.outcome is Outcome.REFUSED:
            tally.refusal, tally.refused = tally.refusal or cut.message, tally.refused + 1
            return False
        if cut.outcome is not Outcome.HOLDS:
            tally.fault = Refutation(whole, count, cut)
            return False
        tally.cuts += 1
        tally.counts.add(count)
        if isinstance(shards, Shards) and len(tally.kept) < keep:
            tally.kept.append((whole, count, shards))
    return True


def _first_wrong(whole: Whole, shards: Shards, signature: Signature) -> Cut:
    """Return the first result that does not lie as the signature says, or that all do."""
    cuts = (compared(whole, shards, arg, sbp) for arg, sbp in signature.outputs)
    return next((cut for cut in cuts if cut.outcome is not Outcome.HOLDS), Cut(Outcome.HOLDS))
