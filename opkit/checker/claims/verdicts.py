"""Verdicts: what was found of signatures, as results of checks.

The words of reports; nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opkit.checker.claims.candidates import Unclaimed
from opkit.checker.claims.cutting import Cut, Outcome, Wrong
from opkit.checker.claims.prove import Proof, Refutation, Tally
from opkit.checker.model.claim import Claim, Claims
from opkit.checker.model.codes import CODES
from opkit.checker.model.report import CheckResult, Evidence, Status
from opkit.errors import Location
from opkit.sharding import Arg, Sbp, Signature

_CODE = {Outcome.VALUES: "SBP201", Outcome.SHAPES: "SBP202", Outcome.RAISED: "SBP203", Outcome.REFUSED: "SBP203"}


def result(code: str, status: Status, message: str, **fields: Any) -> CheckResult:
    """Return a result of a check of this family."""
    return CheckResult(CODES[code].name, status, code, message, **fields)


def verdicts(claims: Claims, proof: Proof, prefix: str) -> Iterator[CheckResult]:
    """Yield a result for each signature, and for each error of the definition's function.

    Args:
        claims: of the op type.
        proof: what was found.
        prefix: names the op type where it is not the op of the report.
    """
    for error, whole in proof.failures.values():
        message = f"{prefix}{error.message}"
        shown = {"case": whole.case.to_json(), "evidence": Evidence(whole.case)}
        yield result("SBP207", Status.FAIL, message, where=error.where or claims.where, **shown)
    found = []
    for tally in proof.tallies:
        found.append((tally, _verdict(tally, prefix)))
        if tally.gradient is not None:
            found.append((tally, _gradient(tally, tally.gradient, prefix)))
    yield from _by_cause(found)


def _by_cause(found: Sequence[tuple[Tally, CheckResult]]) -> Iterator[CheckResult]:
    """Yield the results; of findings of one code that one call of the definition makes, the first with the others."""
    causes: dict[object, list[tuple[Tally, CheckResult]]] = {}
    for number, (tally, item) in enumerate(found):
        is_finding = item.status is Status.FAIL and item.where is not None
        key = (item.code, item.where) if is_finding else number
        causes.setdefault(key, []).append((tally, item))
    for (_, first), *others in causes.values():
        if not others:
            yield first
            continue
        named = ", ".join(str(tally.signature) for tally, _ in others if tally.signature is not None)
        text = f"{first.message}; built at the same place, and false too: {named}" if named else first.message
        yield replace(first, message=text, consequences=tuple(item for _, item in others))


def _verdict(tally: Tally, prefix: str) -> CheckResult:
    fault, claim = tally.fault, tally.claim
    if tally.signature is None and fault is not None:
        code = "SBP204" if tally.trouble[0] == "entry" else "SBP205"
        message = f"{prefix}a signature {tally.trouble[1]}"
        named = (place for (name, _), place in claim.places.items() if f"{name!r}" in tally.trouble[1])
        where = next(named, claim.where)
        return result(code, Status.FAIL, message, case=fault.whole.case.to_json(), where=where)
    text = f"{prefix}{tally.signature}"
    if fault is not None:
        return _refuted(tally, fault, text)
    if not tally.cuts and tally.refused:
        message = f"{text} can never be used: the definition refuses every shard; {tally.refusal}"
        return result("SBP203", Status.FAIL, message, where=place_of(claim))
    if not tally.cuts:
        why = "the axes of all cases were shorter than the number of devices" if tally.untried else "no case fits it"
        return result("SBP208", Status.UNDECIDED, f"{text} could not be tried: {why}", where=place_of(claim))
    counts = ", ".join(map(str, sorted(tally.counts)))
    message = f"{text} holds on {tally.cuts} cuts over {counts} devices"
    if tally.gradients:
        message += f", with the gradient on {tally.gradients}"
    if tally.refused:
        message += f"; the definition refuses {tally.refused} cuts ({tally.refusal})"
    return result("SBP201", Status.PASS, message, where=place_of(claim), cases=tally.cases)


def _refuted(tally: Tally, fault: Refutation, text: str) -> CheckResult:
    cut, wrong = fault.cut, fault.cut.wrong
    if wrong is None:
        message = f"{text} does not hold on {fault.count} devices: the kernel raised on {cut.message}"
        return result("SBP203", Status.FAIL, message, **_fields(tally, fault, None))
    found = _described(wrong, cut, dict(tally.signature.outputs) if tally.signature else {})
    message = f"{text} does not hold on {fault.count} devices: {found}"
    return result(_CODE[cut.outcome], Status.FAIL, message, **_fields(tally, fault, wrong))


def _gradient(tally: Tally, fault: Refutation, prefix: str) -> CheckResult:
    wrong = fault.cut.wrong
    text = f"{prefix}{tally.signature} holds for forward, and the gradient does not follow on {fault.count} devices"
    if wrong is None:
        message = f"{text}: it raised on {fault.cut.message}"
        return result("SBP206", Status.FAIL, message, **_fields(tally, fault, None))
    lies = {arg: sbp.dual for arg, sbp in tally.signature.inputs} if tally.signature else {}
    message = f"{text}: of the gradient of {_name(wrong.arg)}, {_described(wrong, fault.cut, lies)}"
    return result("SBP206", Status.FAIL, message, **_fields(tally, fault, wrong))


def _fields(tally: Tally, fault: Refutation, wrong: Wrong | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "case": {**fault.whole.case.to_json(), "devices": fault.count},
        "where": place_of(tally.claim),
        "evidence": Evidence(fault.whole.case),
    }
    if wrong is not None:
        made |= {"output": _name(wrong.arg), "expected": wrong.expected, "actual": wrong.actual, "bound": wrong.bound}
        made["evidence"] = Evidence(fault.whole.case, output_element=wrong.element)
    return made


def _described(wrong: Wrong, cut: Cut, lies: Mapping[Arg, Sbp]) -> str:
    name = _name(wrong.arg)
    sbp = lies.get(wrong.arg)
    if wrong.element is None:
        who = "" if wrong.device is None else f" of device {wrong.device}"
        return cut.message or f"{name}{who} has shape {wrong.actual}, and {sbp} of the whole is {wrong.expected}"
    at = f"{name}[{', '.join(map(str, wrong.element))}]" if wrong.element else name
    how = {
        "S": "when the shards are put together along axis " + str(sbp.axis if sbp else 0),
        "P": "when it is summed over the devices",
        "B": f"on device {wrong.device}, which should have the whole result",
    }[sbp.kind if sbp else "S"]
    return f"{at} differs {how}"


def _name(arg: Arg) -> str:
    return arg[0] if not arg[1] else f"{arg[0]}_{arg[1]}"


def place_of(claim: Claim) -> Location | None:
    """Return the call that cuts the first input that is cut, else an output's, else where the signature is built."""
    cut = (arg for arg, sbp in claim.parts.items() if sbp.kind != "B" and arg in claim.places)
    return next((claim.places[arg] for arg in cut), claim.where)


# --- what could be claimed
def suggestion(claims: Claims, item: Unclaimed, prefix: str) -> CheckResult:
    """Return the result that says what could be claimed too, with the line to add."""
    guard, said = _guard(item)
    line = f"{guard}{line_of(item.signature)}"
    message = f"{prefix}could also be {item.signature}{said}; it holds on {item.cuts} cuts"
    return result("SBP210", Status.PASS, message, hint=line, where=claims.where)


def line_of(signature: Signature) -> str:
    """Return the statement of a definition that claims a signature."""
    calls = [_call(arg, sbp) for arg, sbp in (*signature.inputs, *signature.outputs)]
    return "\n    ".join(("ctx->NewBuilder()", *calls, ".Build();"))


def _call(arg: Arg, sbp: Sbp) -> str:
    given = f'user_op::OpArg("{arg[0]}", {arg[1]})'
    if sbp.is_split:
        return f".Split({given}, {sbp.axis})"
    return f".Broadcast({given})" if sbp.kind == "B" else f".PartialSum({given})"


def _guard(item: Unclaimed) -> tuple[str, str]:
    """Return the condition on the number of axes under which a signature holds, for the line and in words."""
    if not item.others:
        return "", ""
    own, others = ([{arg for arg, _ in ranks} for ranks in group] for group in (item.ranks, item.others))
    for arg in sorted(set().union(*own, *others)):
        has, word = f'ctx->user_op_conf().has_input("{arg[0]}", {arg[1]})', f"{arg[0]} is"
        if all(arg in args for args in own) and not any(arg in args for args in others):
            return f"if ({has}) ", f" where {word} given"
        if all(arg in args for args in others) and not any(arg in args for args in own):
            return f"if (!{has}) ", f" where {word} left out"
    for place, (arg, _) in enumerate(item.ranks[0]):
        have = {ranks[place][1] for ranks in item.ranks if len(ranks) > place}
        not_have = {ranks[place][1] for ranks in item.others if len(ranks) > place}
        if have & not_have:
            continue
        least = min(have)
        if len(have) > 1 and all(rank < least for rank in not_have):
            word = "axis" if least == 1 else "axes"
            return f"if ({_axes(arg)} >= {least}) ", f" where {arg[0]} has {least} {word} or more"
        tests = " || ".join(f"{_axes(arg)} == {rank}" for rank in sorted(have))
        word = "axis" if have == {1} else "axes"
        return f"if ({tests}) ", f" where {arg[0]} has {' or '.join(map(str, sorted(have)))} {word}"
    args = set().union(*own, *others)
    tests = " || ".join(f"({_test(ranks, args)})" for ranks in item.ranks)
    shown = " or ".join(_ranks(ranks) for ranks in item.ranks[:3])
    return f"if ({tests}) ", f" where the inputs have {shown} axes"


def _axes(arg: Arg) -> str:
    return f'ctx->LogicalTensorDesc4InputArgNameAndIndex("{arg[0]}", {arg[1]}).shape().NumAxes()'


def _test(ranks: Sequence[tuple[Arg, int]], args: set[Arg]) -> str:
    """Return the condition for exactly these inputs with exactly these numbers of axes."""
    known = dict(ranks)
    left_out = [f'!ctx->user_op_conf().has_input("{arg[0]}", {arg[1]})' for arg in sorted(args - set(known))]
    given = [
        f'ctx->user_op_conf().has_input("{arg[0]}", {arg[1]}) && {_axes(arg)} == {rank}' for arg, rank in known.items()
    ]
    return " && ".join([*left_out, *given])


def _ranks(ranks: Sequence[tuple[Arg, int]]) -> str:
    return ", ".join(str(rank) for _, rank in ranks)
