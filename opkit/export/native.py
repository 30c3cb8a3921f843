"""The native form: each kernel traced at every example, the traces merged into one function with branches.

What differs between examples becomes a branch; what they all took for granted becomes a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opkit.errors import Location
from opkit.export.model import ExportError, ExportKernel, ExportOp
from opkit.export.signature import names_of, parameters_of
from opkit.export.text.writer import Dialect, Writer
from opkit.export.trace.graph import Trace, UntraceableError
from opkit.export.trace.run import trace_kernel

__all__ = ["NotNativeError", "native_bodies"]

#: Branches that a function may have; more than these are not code that anyone would read.
MOST_BRANCHES = 12
#: Ranks at which one text held, so that it is taken to hold for all.
_MANY_RANKS = 3


class NotNativeError(ExportError):
    """A kernel has no native form; the message says why, ``where`` is the kernel's line."""


@dataclass(frozen=True, slots=True)
class _Traced:
    """The body of one trace.

    Args:
        body: its statements.
        features: what tells it from others, {condition as text: answer}.
        ranks: the features that are ranks on which the body rests.
    """

    body: tuple[str, ...]
    features: dict[str, Any]
    ranks: frozenset[str] = frozenset()


def native_bodies(op: ExportOp, dialect: Dialect) -> dict[str, str]:
    """Return the function ``_TYPE`` of each kernel of an op, as text.

    Raises:
        NotNativeError: a kernel cannot be traced, or needs more branches than anyone would read.
    """
    return {kernel.name: _function(op, kernel, dialect) for kernel in op.kernels}


def _function(op: ExportOp, kernel: ExportKernel, dialect: Dialect) -> str:
    traced: list[_Traced] = []
    try:
        for example in op.examples:
            if kernel.name in example.calls:
                args, attrs = example.calls[kernel.name]
                traced.append(_traced(kernel, args, attrs, dialect))
        lines = _branches(traced, kernel)
    except UntraceableError as error:
        raise _refused(kernel, error.reason, error.line) from error
    return (
        f"def _{kernel.name}({', '.join(parameters_of(kernel))}):\n" + "\n".join("    " + line for line in lines) + "\n"
    )


def _refused(kernel: ExportKernel, reason: str, line: int) -> NotNativeError:
    where = kernel.where
    if where is not None and line:
        where = Location(where.file, line, function=where.function)
    return NotNativeError(f"kernel {kernel.name!r} has no native form: it {reason}", where=where)


def _traced(kernel: ExportKernel, args: Sequence[Any], attrs: Any, dialect: Dialect) -> _Traced:
    assert kernel.op.kernel is not None
    names = [arg.name for arg in kernel.inputs]
    trace = trace_kernel(kernel.op.kernel, names, args, attrs)
    safe = names_of(kernel)
    writer = Writer(trace, dialect, safe)
    body = tuple(writer.body())
    inner = trace.asks_rank or any(node.is_rank_read for node in writer.order if node.function != "input")
    present = [node for node in trace.inputs if node is not None]
    ranks = frozenset(f"{safe[node.args[0]]}.ndim" for node in present if inner or node.is_rank_read)
    return _Traced(body, {**_natural(trace, safe), **_asked(trace, dialect, safe)}, ranks)


def _natural(trace: Trace, safe: Any) -> dict[str, Any]:
    """Return what is true of the inputs themselves: ranks and dtypes."""
    found: dict[str, Any] = {}
    for node in trace.inputs:
        if node is None:
            continue
        name = safe[node.args[0]]
        found[f"{name}.ndim"] = len(node.value.shape)
        found[f"{name}.dtype"] = node.dtype.name
    return found


def _asked(trace: Trace, dialect: Dialect, safe: Any) -> dict[str, Any]:
    """Return the conditions that the kernel asked for, as far as they concern its arguments."""
    found: dict[str, Any] = {}
    bare = Writer(Trace(trace.inputs, ()), dialect, safe)
    bare.body()
    for guard in trace.guards:
        try:
            text = bare.text(guard.condition)
        except KeyError:
            what = "branches on the shape or dtype of a value that it computes itself"
            raise UntraceableError(what, guard.line) from None
        found[text] = guard.holds
    return found


def _branches(traced: Sequence[_Traced], kernel: ExportKernel) -> list[str]:
    bodies = list(dict.fromkeys(item.body for item in traced))
    if len(bodies) > MOST_BRANCHES:
        raise UntraceableError(f"would need {len(bodies)} branches for its ranks, sizes and attributes", 0)
    return _split(list(traced), kernel, frozenset())


def _guards(traced: Sequence[_Traced], kernel: ExportKernel, decided: frozenset[str]) -> list[str]:
    """Return checks of what had the same answer in every trace: conditions, and ranks where few were seen."""
    lines: list[str] = []
    common = set.intersection(*(set(item.features) for item in traced)) if traced else set()
    for text in (key for key in traced[0].features if key in common):
        answers = {item.features[text] for item in traced}
        is_rank = any(text in item.ranks for item in traced)
        if is_rank and text not in decided and len(answers) < _MANY_RANKS:
            ranks = ", ".join(str(item) for item in sorted(answers)) + ("," if len(answers) == 1 else "")
            lines += [
                f"if {text} not in ({ranks}):",
                f'    raise NotImplementedError(f"{kernel.name} was traced for {text} in ({ranks}), not {{{text}}}")',
            ]
        if len(answers) == 1 and _is_asked(text) and text not in decided:
            (answer,) = answers
            lines += [
                f"if {f'not ({text})' if answer else text}:",
                f'    raise NotImplementedError("{kernel.name} was traced only where '
                f'{text.replace(chr(34), chr(39))} is {answer}")',
            ]
    return lines


def _is_asked(text: str) -> bool:
    return not text.endswith((".ndim", ".dtype"))


def _split(traced: list[_Traced], kernel: ExportKernel, decided: frozenset[str]) -> list[str]:
    """Return guards and an if-chain over the feature that tells the bodies apart best."""
    bodies = list(dict.fromkeys(item.body for item in traced))
    if len(bodies) == 1:
        return [*_guards(traced, kernel, decided), *bodies[0]]
    common = [key for key in traced[0].features if all(key in item.features for item in traced)]
    best = min(common, key=lambda key: _impurity(traced, key), default=None)
    if best is None or _impurity(traced, best) >= len(bodies):
        raise UntraceableError(
            "does what depends on more than ranks, dtypes and what it asks of sizes and attributes", 0
        )
    answers = sorted({item.features[best] for item in traced}, key=repr)
    groups = {answer: [item for item in traced if item.features[best] == answer] for answer in answers}
    lines: list[str] = []
    if set(answers) <= {True, False} and all(isinstance(item, bool) for item in answers):
        return [
            f"if {best}:",
            *("    " + line for line in _split(groups[True], kernel, decided | {best})),
            *_split(groups[False], kernel, decided | {best}),
        ]
    for answer, items in groups.items():
        lines.append(f"if {_condition(best, answer)}:")
        lines += ["    " + line for line in _split(items, kernel, decided | {best})]
    shown = ", ".join(str(item) for item in answers)
    lines.append(f'raise NotImplementedError(f"{kernel.name} was traced for {best} {shown}, not {{{best}}}")')
    return lines


def _condition(key: str, answer: Any) -> str:
    if key.endswith(".dtype"):
        return f'str({key}).endswith("{answer}")'
    return f"{key} == {answer!r}"


def _impurity(traced: Sequence[_Traced], key: str) -> int:
    """Return how many bodies the largest group of a feature still has; a feature with one answer tells nothing."""
    groups: dict[Any, set[tuple[str, ...]]] = {}
    for item in traced:
        groups.setdefault(item.features[key], set()).add(item.body)
    if len(groups) == 1:
        return 10**6
    return max(len(bodies) for bodies in groups.values())
