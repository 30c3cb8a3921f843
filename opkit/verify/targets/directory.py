"""An op directory as a target: loaded, each forward op a checkable, what does not build a report.

Making the checkables is in ``subjects.directory``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType

from opkit.blind.call import Kind
from opkit.checker import CODES, Checkable, CheckResult, OpReport, Status
from opkit.diagnostics import Diagnostic
from opkit.errors import ProjectError, UsageError, unknown
from opkit.project.directory import op_directory_of
from opkit.project.findings import fatal
from opkit.project.loading import LoadedOps, assemble, with_facts
from opkit.settings import settings
from opkit.shim import frameworks
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.shown import shown_path
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.directory import checkable_of, with_reference
from opkit.verify.subjects.loaded import Loaded, unloadable
from opkit.verify.subjects.ordinary_call import found_at
from opkit.verify.subjects.references import reference_in
from opkit.verify.targets.target import Target
from opkit.verify.trial import SECONDS, ApiTrial


def load_directory(target: Target, options: RunOptions, _flight: Flight) -> Loaded:
    """Load an op directory and make a checkable of each of its forward ops.

    An op whose definition or kernel has errors becomes a report that says so; the others are checked.
    """
    directory = op_directory_of(shown_path(target.path))
    trial = ApiTrial(directory, min(SECONDS, options.timeout / 2) if options.timeout else SECONDS)
    with frameworks(), settings(kernel=options.kernel, sanitize=options.sanitize):
        loaded = with_facts(assemble(directory), trial.facts())
        try:
            module = loaded.cases()
        except ProjectError as error:
            cause = error.__cause__ or error
            finding = blame_error(cause, CODES["GC183"], "loading the cases file")
            report = OpReport(loaded.directory.name, (finding,), target.label)
            return Loaded((report,), loaded.diagnostics)
    if errors := fatal(loaded.diagnostics):
        return Loaded((_broken(loaded.directory.name, target.label, errors),), loaded.diagnostics)
    every: Sequence[LoadedOps] = (loaded,)
    if loaded.cpp is not None:
        from opkit.verify.subjects.cpp_twins import twins_of

        every = twins_of(loaded, options.kernel)
    found = [item for one in every for item in _ops(one, target, module, options)]
    return Loaded(tuple(found), loaded.diagnostics)


def _ops(
    loaded: LoadedOps, target: Target, module: ModuleType | None, options: RunOptions
) -> Iterator[Checkable | OpReport]:
    """Yield what is checked of an op directory, and the reports of ops that cannot be."""
    names = [name for name in loaded.forward_ops if target.name in ("", name, f"{name} (C++)")]
    if target.name and not names:
        said = unknown("the directory has no op type", target.name, loaded.forward_ops, has="it has")
        yield unloadable(target.label, said.error(NamedError))
    asked_for = reference_in(options.check)
    for name in names:
        errors = [item for item in loaded.diagnostics if item.is_error and _concerns(item.subject, name, loaded)]
        try:
            made = checkable_of(loaded, loaded.ops[name], module)
            made = made if made is None else with_reference(made, asked_for)
        except UsageError as error:
            yield replace(unloadable(name, error), dir=target.label)
            continue
        if made is None or errors:
            yield _broken(name, target.label, errors)
        elif loaded.cpp is None:
            yield found_at(made, Kind.OP, target.path, name)
        else:
            from opkit.verify.subjects.cpp_twins import with_own_checks

            found = made if options.sanitize else found_at(made, Kind.OP, target.path, name, kernel="cpp")
            yield with_own_checks(found, loaded, loaded.ops[name])


def _concerns(subject: str, op: str, loaded: LoadedOps) -> bool:
    """Return whether a finding about an op type makes a forward op unusable: it itself, or a backward op of its own."""
    forward = loaded.forward_ops
    if subject == op or subject in forward:
        return subject == op
    return len(forward) == 1 or subject.startswith(f"{op.removesuffix('_forward')}_")


def _broken(op: str, directory: str, errors: Sequence[Diagnostic]) -> OpReport:
    """Return the report of an op that does not build: one check per error."""
    places = (None if item.span is None else item.span.location for item in errors)
    checks = (CheckResult("build", Status.ERROR, item.code, item.message, where=at) for item, at in zip(errors, places))
    return OpReport(op, tuple(checks), directory)
