"""Contract: shapes, dtypes and number of results, gradients that are there and bound (GC140-GC148, GC160, GC161).

Compares descriptions only; values decide alone whether a narrower result lost any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.agreement import same
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import KernelCall, describe_inputs
from opkit.checker.model.evaluate import Evaluator, flat, is_float
from opkit.checker.model.raised import is_write, raised_at, words_of
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession, Findings, cast_case
from opkit.checker.model.steps import is_step
from opkit.checker.model.thresholds import CALLS_A_CASE, FEW, MANY, PLENTY, SUM_ULPS
from opkit.errors import InferError, KernelError, OpkitError


class _Edges(Findings):
    """Failures, those on empty and 0-d arrays under codes of their own."""

    def add(self, code: str, message: str, ev: Evaluator, **fields: Any) -> None:
        code = edge_code(code, ev.case)
        if (code, fields.get("actual")) == ("GC141", "float64"):
            fields["hint"] = self.session.checkable.widening
        super().add(code, message, ev, **fields)

    def compare(
        self,
        ev: Evaluator,
        item: Any,
        codes: Sequence[str],
        says: Sequence[str],
        promised: Sequence[Any],
        **fields: Any,
    ) -> None:
        """Add what is wrong with an array's shape and dtype.

        Args:
            ev: the case.
            item: the array.
            codes: of a wrong shape, and of a wrong dtype.
            says: the message on each, with places for what is and for what was promised.
            promised: the shape, with -1 where any will do, and the dtype's name.
            **fields: of the result.
        """
        shape, dtype = promised
        if -1 not in shape and item.shape != shape:
            self.add(codes[0], says[0].format(item.shape, shape), ev, expected=[*shape], actual=[*item.shape], **fields)
        if item.dtype.name != dtype and dtype not in _ANY_DTYPE:
            name = item.dtype.name
            self.add(codes[1], says[1].format(name, dtype), ev, expected=dtype, actual=name, **fields)


#: Dtypes of definitions that numpy has not.
_ANY_DTYPE = ("invalid", "tensor_buffer", "of_record", "char")


def edge_code(code: str, case: Case) -> str:
    """Return the code that a finding on an empty or 0-d case goes by."""
    return "GC160" if case.is_empty else "GC161" if case.is_scalar else code


def forward_contract(session: CheckSession) -> Iterator[CheckResult]:
    """GC140, GC141, GC144: what forward returns against what infer promises, in float64 and in float32."""
    found = _Edges(session)
    evaluators = session.evaluators + session.large + session.single
    for ev in evaluators:
        _check_outputs(ev, found)
    yield from found.told(("GC140", "GC141", "GC144"), len(evaluators))


def _check_outputs(ev: Evaluator, found: _Edges) -> None:
    session = found.session
    if ev.foreign is not None:
        message = f"forward returned {ev.foreign.__name__} where an array is expected"
        found.add("GC144", message, ev, expected="an array", actual=ev.foreign.__name__)
        return
    try:
        promised = session.trial.promise(ev.case.inputs, ev.case.attrs)
    except OpkitError:
        return
    if promised is None:
        if not ev.outputs:
            found.add("GC144", "forward returned no array: a return may be missing", ev)
        _check_kept_dtype(ev, found)
        return
    if len(promised) != len(ev.outputs):
        message = f"forward returned {len(ev.outputs)} results for {len(promised)} declared outputs"
        found.add("GC144", message, ev, expected=len(promised), actual=len(ev.outputs))
        return
    for index, (desc, item) in enumerate(zip(promised, ev.outputs)):
        name = session.output_name(index)
        says = [f"forward returned {name} {what} {{}}; infer promises {{}}" for what in ("of shape", "as")]
        found.compare(ev, item, ("GC140", "GC141"), says, (desc.shape, desc.dtype), output=name)


def _check_kept_dtype(ev: Evaluator, found: _Edges) -> None:
    """Without an infer function a float result has the float inputs' common dtype, or is a narrow step of all.

    A wider one is a line where it is mixed with others in silence: nothing promises its dtype.
    """
    dtypes = {array.dtype.name for array in ev.case.floats}
    for index, item in enumerate(ev.outputs) if len(dtypes) == 1 else ():
        if is_float(item) and item.dtype.name not in dtypes and not _is_step(ev, index):
            name, (expected,), session = found.session.output_name(index), dtypes, found.session
            message = f"forward returned {name} as {item.dtype.name} for {expected} inputs"
            line = f"{message}, as numpy does: {session.checkable.widening}"
            if not _is_promoted(ev, item):
                found.add("GC141", message, ev, output=name, expected=expected, actual=item.dtype.name)
            elif line not in session.notes:
                session.notes.append(line)


def _is_promoted(ev: Evaluator, item: ndarray) -> bool:
    """Return whether a result is wider than the float inputs where wider ones are mixed with others in silence."""
    return ev.checkable.promotes and all(item.itemsize > array.itemsize for array in ev.case.floats)


def _is_step(ev: Evaluator, slot: int) -> bool:
    """Return whether a narrower output holds no digits of its inputs, so that none are lost."""
    narrow = ev.outputs[slot].itemsize
    return bool(ev.leaves) and all(narrow < ev.array(leaf).itemsize and is_step(ev, leaf, slot) for leaf in ev.leaves)


def gradient_contract(session: CheckSession) -> Iterator[CheckResult]:
    """GC142, GC143, GC145, GC148, GC181: that every gradient is there, with its input's shape and dtype."""
    found = _Edges(session)
    pool = session.evaluators + session.large + session.single
    evaluators = [ev for ev in pool if ev.leaves and ev.slots]
    for ev in evaluators:
        _check_gradients(ev, found)
    if session.checkable.registration is not None and not found.results:
        for number, ev in enumerate(session.diverse(FEW, 1, evaluators)):
            _check_alone(ev, found, session.rng(number))
    yield from found.told(("GC142", "GC143", "GC145", "GC148", "GC181"), len(evaluators))
    cases = [ev.case for ev in evaluators]
    edges = {"GC160": sum(case.is_empty for case in cases), "GC161": sum(case.is_scalar for case in cases)}
    for code, count in edges.items():
        if code not in found.results:
            yield session.passed(code, count) if count else session.skipped(code, "the op takes none")


def _check_gradients(ev: Evaluator, found: _Edges) -> None:
    weights = ev.weights()
    try:
        gradients = _run_backward(ev, ev.douts_from(weights), found)
    except Exception as error:  # user code
        message = f"backward raised {words_of(error)}"
        code = "GC123" if is_write(error) else "GC181"
        if isinstance(error, KernelError):
            code, message = "GC144", error.message
        found.add(code, message, ev, where=raised_at(error, ev.checkable.backward_where))
        return
    for leaf, gradient in gradients.items():
        array, name = ev.array(leaf), str(leaf)
        if gradient is None:
            found.add("GC145", f"input {leaf} gets no gradient", ev, input=name)
        elif not isinstance(gradient, (ndarray, np.generic)):
            message = f"the gradient of {leaf} is a {type(gradient).__name__}, not an array"
            found.add("GC144", message, ev, input=name)
        else:
            says = (
                f"the gradient of {leaf} has shape {{}}; the input has {{}}",
                f"the gradient of {leaf} is {{}}; the input is {{}}",
            )
            is_promoted = any(_is_promoted(ev, ev.outputs[slot]) for slot in ev.slots)
            dtype = gradient.dtype.name if is_promoted else array.dtype.name
            found.compare(ev, gradient, ("GC142", "GC143"), says, (array.shape, dtype), input=name)
            if not ev.entries and np.any(np.asarray(gradient) != 0):
                given = "NaN" if is_float(gradient) and np.isnan(gradient).all() else "not 0"
                message = f"the gradient of {leaf} is {given}, although there is no output that could depend on it"
                found.add("GC160", message, ev, input=name, expected=0.0)
    if not found.results:
        ev.known[weights.tobytes()] = flat(gradients)


def _check_alone(ev: Evaluator, found: _Edges, rng: Generator) -> None:
    """Each gradient requested alone, as if all other inputs were constants, compared with all of them together."""
    names = sorted({leaf.name for leaf in ev.leaves})
    if len(names) < 2:
        return
    douts = ev.drawn(rng, 1)
    _, pullback = ev.run()
    together = ev.gradients(douts, pullback)
    for name in names:
        try:
            alone = ev.by_leaf(pullback(douts, frozenset({name})))
        except InferError as error:  # the registration refuses, with an error: a limit of the op, not a wrong gradient
            found.session.notes.append(f"no gradient of {name} alone: {error.message}")
            continue
        except Exception as error:  # user code
            message = f"backward raised where only {name} needs a gradient: {words_of(error)}"
            where = raised_at(error, found.session.checkable.backward_where)
            found.add("GC181", message, ev, where=where, input=name, is_stopped=is_write(error))
            continue
        for leaf in (item for item in ev.leaves if item.name == name):
            one, other = alone[leaf], together[leaf]
            if one is None:
                found.add("GC145", f"input {leaf} gets no gradient where only it needs one", ev, input=str(leaf))
            elif other is not None and not same([one], [other], SUM_ULPS):
                message = f"input {leaf} gets a different gradient when only it needs one than when the others do too"
                found.add("GC145", message, ev, input=str(leaf))


def _run_backward(ev: Evaluator, douts: list[ndarray], found: _Edges) -> dict[Any, Any]:
    trace = ev.checkable.trace
    if trace is None:
        return ev.gradients(douts)
    outputs, _ = ev.run()
    needs = ev.needs
    gradients, calls = trace(ev.inputs, outputs, douts, ev.attrs, needs)
    for call in calls:
        _check_call(call, ev, found)
    return ev.by_leaf(gradients)


def _check_call(call: KernelCall, ev: Evaluator, found: _Edges) -> None:
    """GC148: one backward kernel against its own infer function."""
    if call.promised is None:
        return
    kernel, where = call.kernel.name, call.kernel.where
    if len(call.promised) != len(call.outputs):
        message = f"{kernel} returned {len(call.outputs)} results for {len(call.promised)} declared outputs"
        found.add("GC148", message, ev, expected=len(call.promised), actual=len(call.outputs), where=where)
        return
    for name, desc, item in zip(call.kernel.outputs, call.promised, call.outputs):
        if not isinstance(item, (ndarray, np.generic)):
            found.add("GC144", f"{kernel} returned a {type(item).__name__} for {name}", ev, where=where)
            continue
        says = [f"{kernel} returned {name} {what} {{}}; its infer promises {{}}" for what in ("of shape", "as")]
        found.compare(ev, item, ("GC148", "GC148"), says, (desc.shape, desc.dtype), output=name, where=where)


def registration(session: CheckSession) -> Iterator[CheckResult]:
    """GC146, GC147: what the gradient computes is bound, and it reads the gradient of every float output."""
    ask = session.checkable.registration
    if ask is None:
        for code in ("GC146", "GC147"):
            yield session.skipped(code, "no gradient registration")
        return
    unused: dict[str, CheckResult] = {}
    unread: dict[str, CheckResult] = {}
    evaluators = [ev for ev in session.evaluators if ev.leaves]
    for ev in evaluators[:PLENTY]:
        try:
            facts = ask(describe_inputs(ev.case.inputs), ev.attrs)
        except OpkitError:
            continue
        for name in facts.unused:
            message = f"the backward output {name} is computed, but no input is bound to it"
            unused.setdefault(name, session.failed("GC146", message, ev, output=name))
        for index in ev.slots:
            name = session.output_name(index)
            if index < len(session.checkable.outputs) and session.checkable.outputs[index].name not in facts.reads:
                message = f"no gradient rule reads the gradient of the float output {name}"
                unread.setdefault(name, session.failed("GC147", message, ev, output=name))
    yield from unused.values() or [session.passed("GC146", len(evaluators))]
    yield from unread.values() or [session.passed("GC147", len(evaluators))]


def single_cases(session: CheckSession) -> list[Evaluator]:
    """Return evaluators of ordinary float64 cases cast to float32, where infer and forward take them."""
    found: list[Evaluator] = []
    if not session.has_time(CALLS_A_CASE):
        return found
    for ev in session.diverse(MANY, 0, session.evaluators):
        if not any(array.dtype == np.float64 for array in ev.case.arrays):
            continue
        is_recorded = bool(session.checkable.recorded or session.checkable.seen)
        if session.checkable.infer is None and is_recorded and not ev.case.precision:
            continue  # other dtypes than those seen need not be accepted
        case = replace(cast_case(ev.case, "float32"), label=ev.case.label)
        outcome = session.trial.probe(case)
        if outcome.is_accepted:
            found.append(Evaluator(session.checkable, case).prepare())
    return found
