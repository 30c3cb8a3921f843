"""Checkables from an op directory: its kernels as functions of arrays, its spec's promises, its cases and hints.

Loading and wiring are project's; what is checked is the checker's business. Hints are numbers and strings of the
kernels and the spec: kernels may branch there, and the strings may be legal values of attributes. Never needed, often
decisive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attr, Attrs, Checkable, constants_of
from opkit.checker.collect import malformed
from opkit.checker.model.reference import Reference
from opkit.diagnostics import SourceText
from opkit.errors import Location, UsageError
from opkit.ir import TensorDesc
from opkit.ops.core.types import Function
from opkit.project.kernel import positional_count
from opkit.project.loading import LoadedOps, refreshed
from opkit.project.user_op import UserOp
from opkit.shim import frameworks
from opkit.spec.findings import Findings
from opkit.spec.text.lexer import STRING, Token, lex
from opkit.verify.isolation.shown import shown_path
from opkit.verify.subjects.declared import Declared, declared_in, drawn_by, surrogate_of, together
from opkit.verify.subjects.gradient import RawGradient, compiled_of
from opkit.verify.subjects.half_precision import of_halves
from opkit.verify.subjects.modes import runners_of
from opkit.verify.subjects.parameters import Parameters
from opkit.verify.subjects.raw_kernel import TAG, RawKernel, claims_of
from opkit.verify.subjects.references import NumpyReference, referred, taken_by
from opkit.verify.subjects.remembered import remembered
from opkit.verify.subjects.source_location import location_of, shown


def checkable_of(loaded: LoadedOps, op: UserOp, module: ModuleType | None) -> Checkable | None:
    """Return an op type as a checkable, None where it cannot be run."""
    compiled = op.compiled
    if compiled is None or op.kernel is None:
        return None
    kernel = RawKernel(op, compiled)
    made = Checkable(
        name=op.name,
        inputs=tuple(map(_arg, compiled.inputs)),
        outputs=tuple(map(_arg, compiled.outputs)),
        forward=kernel.call,
        attrs=tuple(Attr(one.name, one.type, one.default) for one in compiled.attrs.values() if one.name != TAG),
        infer=_infer(kernel),
        directory=shown_path(loaded.directory.path),
        runners=runners_of(op),
        constants=hints_of(loaded),
        sizes=sizes_of(loaded),
        afresh=lambda: _afresh(loaded, op.name),
        forward_where=shown(op.kernel.where),
        claims=claims_of(compiled),
    )
    if op.grad is not None:
        gradient = RawGradient(op, compiled, op.grad)
        made = replace(
            made,
            backward=gradient.backward,
            trace=gradient.trace,
            registration=gradient.registration,
            backward_where=_backward_where(loaded, op) or shown(op.grad.span.location),
        )
    return _with_cases(made, loaded, kernel, module)


def _afresh(loaded: LoadedOps, name: str) -> Checkable:
    """Return an op with its kernel file run again: what it and its gradient compute, nothing else."""
    with frameworks():
        op = refreshed(loaded).ops[name]
    made = Checkable(name, (), (), RawKernel(op, compiled_of(op)).call)
    if op.grad is not None:
        made = replace(made, backward=RawGradient(op, compiled_of(op), op.grad).backward)
    return made


def _arg(spec: Any) -> Arg:
    return Arg(spec.name, spec.is_optional, spec.is_variadic or spec.count > 1, spec.count)


def _infer(kernel: RawKernel) -> Callable[..., Sequence[TensorDesc]]:
    """Return the op's infer function, which is asked about the same few descriptions again and again."""
    answers: dict[object, tuple[TensorDesc, ...]] = {}

    def infer(descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> Sequence[TensorDesc]:
        key = tuple([(name, *items) for name, items in descs.items()]), repr(attrs) if attrs else ""
        return remembered(answers, key, lambda: tuple(kernel.infer(descs, kernel.compiled.check_attrs(dict(attrs)))))

    return infer


def _backward_where(loaded: LoadedOps, op: UserOp) -> Location | None:
    """Return the user's backward kernel where there is one of that name, None where there is none."""
    stem = op.name[: -len("_forward")] if op.name.endswith("_forward") else op.name
    for name in (f"{stem}_backward", f"{stem}_grad", f"{op.name}_backward", f"{op.name}_grad"):
        found = loaded.ops.get(name)
        if found is not None and found.kernel is not None:
            return shown(found.kernel.where)
    return None


def _with_cases(made: Checkable, loaded: LoadedOps, kernel: RawKernel, module: ModuleType | None) -> Checkable:
    """Add what the cases file says: the domain, and the exceptions it declares."""
    if module is None:
        return made
    suffixes = {name: name[len(loaded.directory.name) + 1 :] or "forward" for name in loaded.forward_ops}
    compiled = [loaded.ops[name].compiled for name in loaded.forward_ops]
    takes = [arg.name for one in compiled if one is not None for arg in one.inputs]
    gives = [arg.name for one in compiled if one is not None for arg in one.outputs]
    own, others = [suffixes[made.name], made.name, "forward"], {*suffixes, *suffixes.values()}
    declared = declared_in(vars(module), own, takes=takes, gives=gives, others=others, overwrites=False)
    cases = None if declared.cases is None else _of_op(declared.cases, made.name, loaded.forward_ops)
    where = declared.cases_where or Location(shown_path(loaded.directory.cases), 1)
    made = replace(made, cases=cases, cases_where=where)
    if declared.mistakes:
        cases_told = (UsageError(item.message, where=item.where) for item in malformed(made))
        raise together([*declared.mistakes, *cases_told])
    made = replace(
        made,
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        surrogate=surrogate_of(declared, made.forward, partial(_surrogate, kernel)),
        reference=None if declared.reference is None else _reference(declared, made),
        tolerance=declared.tolerance,
        allow=declared.allow,
    )
    try:
        example: Any = {} if cases is None else next(iter(cases(np.random.default_rng(0))), {})
    except UsageError:
        raise
    except Exception:  # user code: the checks report what it raises
        return made
    if not isinstance(example, Mapping):  # the checks say that a case is a dict
        return made
    attrs = {attr.name: example.get(attr.name, attr.default) for attr in made.attrs}
    return of_halves(made, example, attrs)


def with_reference(made: Checkable, function: Function | None) -> Checkable:
    """Return an op that is compared with a function, itself where there is none."""
    return made if function is None else replace(made, reference=_reference(Declared(reference=function), made))


def _reference(declared: Declared, made: Checkable) -> Reference:
    """Return a declared function, of inputs and attributes by name or of what the kernel takes, as a reference."""
    function = declared.reference
    assert function is not None
    names = [*(arg.name for arg in made.inputs), *(attr.name for attr in made.attrs)]
    own = taken_by(function, Parameters(tuple(names)))
    takes_attrs = (positional_count(function) or 1) >= 2

    def call(arrays: Arrays, attrs: Attrs) -> Any:
        if own is not None:
            return function(**{name: value for name, value in {**arrays, **attrs}.items() if name in own.names})
        given = tuple(arrays[arg.name] for arg in made.inputs)
        return function(given, attrs) if takes_attrs else function(given)

    return referred(declared, NumpyReference(call))


def _of_op(
    cases: Callable[[np.random.Generator], Iterable[Mapping[str, Any]]], op: str, known: Sequence[str]
) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]]:
    """Return the cases of one op type: those whose "op" names it, or all where there is only one op."""

    def drawn(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        at = location_of(cases)
        for case in drawn_by(cases, rng):
            if "op" in case:
                if case["op"] not in known:
                    raise UsageError(f"a case names the op {case['op']!r}; there are {', '.join(known)}", where=at)
                if case["op"] == op:
                    yield {name: value for name, value in case.items() if name != "op"}
            else:
                yield case

    return drawn


def _surrogate(raw: RawKernel, function: Function) -> Function:
    """Return a declared function as a forward; it has the kernel's own signature."""
    own = raw.op.kernel
    assert own is not None
    takes_attrs = (positional_count(function) or 1) >= 2
    kernel = replace(own, function=function, takes_attrs=takes_attrs, where=location_of(function) or own.where)
    return RawKernel(replace(raw.op, kernel=kernel), raw.compiled).call


def hints_of(loaded: LoadedOps) -> tuple[Any, ...]:
    """Return the constants of a loaded directory's kernels, then the strings of its spec that name nothing in it."""
    return (*constants_of(kernels_of(loaded)), *_strings(loaded))


def kernels_of(loaded: LoadedOps) -> list[Function]:
    """Return the kernel functions of a loaded directory."""
    return [op.kernel.function for op in loaded.ops.values() if op.kernel is not None]


def _strings(loaded: LoadedOps) -> list[str]:
    named = {"py", "device_sub_tag", *loaded.ops}
    for op in loaded.ops.values():
        if op.compiled is not None:
            named |= {arg.name for arg in (*op.compiled.inputs, *op.compiled.outputs)} | set(op.compiled.attrs)
    found = [token.text[1:-1] for token in _tokens(loaded) if token.kind == STRING and token.text.startswith('"')]
    short = [item for item in found if 0 < len(item) <= 24 and item.isidentifier() and item not in named]
    return list(dict.fromkeys(short))


def sizes_of(loaded: LoadedOps) -> tuple[int, ...]:
    """Return the whole numbers from 2 to 1024 that stand in a loaded directory's spec, the most frequent first."""
    counts = Counter(
        int(token.text) for token in _tokens(loaded) if token.text.isdecimal() and 2 <= int(token.text) <= 1024
    )
    return tuple(size for size, _ in counts.most_common())


def _tokens(loaded: LoadedOps) -> Sequence[Token]:
    try:
        text = loaded.directory.spec.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # the build says so
        return ()
    return lex(SourceText(text, loaded.directory.spec.name), Findings())
