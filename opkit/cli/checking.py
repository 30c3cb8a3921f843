"""Running a gradcheck for the command line: its options, its progress, its reports."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import Popen
from typing import Any, NoReturn

import opkit
from opkit.checker import Report
from opkit.cli.arguments import FORMS as PRINTED
from opkit.cli.arguments import choice, pair_of, shape_of
from opkit.cli.configured import configured
from opkit.cli.console import hint, put, uses_colour, warn
from opkit.cli.ends import CLEAN, NOTHING, ended
from opkit.cli.progress_lines import ProgressLines
from opkit.cli.report_file import need_folder, now, write_report
from opkit.configuration import read_configuration
from opkit.errors import UsageError
from opkit.reporters import FORMS, render
from opkit.signals import Terminated, undisturbed
from opkit.streams import escape_unprintable
from opkit.verify.options import OPTIONS, RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.run import run_targets
from opkit.verify.targets.target import scripts_below


def options_of(
    configured: Mapping[str, Any], flags: Mapping[str, Any] | None = None, command: str = "gradcheck", **others: Any
) -> RunOptions:
    """Return the run's options.

    Args:
        configured: what the configuration says in place of flags that were not given.
        flags: of the command line, by the names of the options that they set; among them codes, comma-separated, and
            ``NAME=SIZES`` under "shape". What sets no option is passed over.
        command: "gradcheck" or "sbp".
        others: options by name.

    Raises:
        UsageError: a code, a shape or a number cannot be used.
    """
    flags = flags or {}
    given = {name: value for name, value in flags.items() if name in OPTIONS}
    shapes = dict(map(shape_of, flags.get("shape") or ()))
    return RunOptions.of({**given, **others, "command": command, "shapes": shapes, **configured})


def check_plainly(targets: Sequence[str], interpreter: Popen[bytes] | None) -> NoReturn:
    """Check gradients with the settings that hold where no flag says otherwise, and exit as the outcome says."""
    escape_unprintable()
    with ended():
        settled = configured((), targets, "GC")
        pairs = [pair_of(item) for item in settled.reports]
        raise SystemExit(check(settled.targets, options_of(settled.options), "text", pairs, interpreter=interpreter))


def check(
    targets: Sequence[str],
    options: RunOptions,
    form: str,
    reports: Sequence[tuple[str, Path]],
    *,
    is_verbose: bool = False,
    is_drawn: bool = False,
    interpreter: Popen[bytes] | None = None,
) -> int:
    """Check targets, print the report, write the others, and return the exit status.

    Args:
        targets: as on the command line.
        options: of the run.
        form: of what is printed.
        reports: (form, file) of what is written.
        is_verbose: print the checks that passed, too.
        is_drawn: the page is for its pictures: without an op there is none, and without a picture that is said.
        interpreter: one for the workers that was started ahead, None to start one.
    """
    choice("--format", form, PRINTED)
    for name, path in reports:
        choice("--report", name, (*FORMS, "svg") if is_drawn else FORMS)
        need_folder(path)
    outcome = _run(targets, options, interpreter)
    with undisturbed():
        put_report(outcome, form, is_verbose=is_verbose)
        is_worth_it = outcome.report.ops and not outcome.is_interrupted
        outcome = replace(outcome, report=replace(outcome.report, command="plot")) if is_drawn else outcome
        for name, path in reports if is_worth_it or not is_drawn else ():
            shown = _portraits_of(targets, options, outcome.report) if name in ("html", "svg") else None
            if is_drawn and not shown and name == "html":
                warn("nothing could be drawn: the page has the findings alone")
            command = shlex.join(["opkit", *sys.argv[1:]])
            write_report(path, _picture_of(shown) if name == "svg" else render(outcome, name, command, now(), shown))
    status = outcome.exit_status(options.check.strict)
    for script in scripts_below(targets) if options.command == "gradcheck" else ():
        hint(f"left out: {script}, whose py_funcs show where it runs: opkit gradcheck {shlex.quote(script)}")
    if status == NOTHING and outcome.report.ops:
        warn("nothing was checked: every op was skipped, and the report says why")
    elif status == NOTHING:
        others = (
            " or a FILE.py with PyLayers, py_funcs or functions of torch or JAX (of a folder: op directories and files "
            "of functions); a pair of numpy functions is checked by opkit.gradcheck(forward=f, backward=df, inputs=[x])"
        )
        more = others if options.command == "gradcheck" else " or a folder of them"
        warn(f"nothing to check was found\nnext: opkit new NAME, or name an op directory{more}")
    is_all = is_worth_it and tuple(targets) in ((), read_configuration(Path.cwd()).value("paths"))
    for pattern in options.overrides if is_all else ():
        if not any(pattern in options.overriding(op.op, op.dir) for op in outcome.report.ops):
            hint(f"note: [tool.opkit.overrides] has {pattern!r}, which is the name of no op that was checked")
    return status


def _portraits_of(targets: Sequence[str], options: RunOptions, report: Report) -> Any:
    """Return what the pictures of a page show; nothing of what runs on other machines or makes no gradients."""
    if options.cluster or options.command != "gradcheck":
        return None
    from opkit.cli.portrait import portraits, wrong_at

    return portraits(targets, options, wrong_at(report))


def _picture_of(shown: Any) -> str:
    """Return the first picture that shows a wrong gradient, else the first, as an SVG file."""
    from opkit.reporters.figures import figure_of, standing_alone

    found = [item for portraits in (shown or {}).values() for item in portraits]
    if not found:
        raise UsageError("nothing could be measured", help="the report says why")
    return standing_alone(figure_of(max(found, key=lambda item: bool(item.is_wrong.any()))))


def debug(targets: Sequence[str], options: RunOptions) -> int:
    """Check targets in this process, stop at the first failing call, print the report, and return the exit status."""
    from opkit.verify.debugging import debug_targets

    outcome = debug_targets(targets, options, warn)
    put_report(outcome, "text")
    return outcome.exit_status(options.check.strict)


def _run(targets: Sequence[str], options: RunOptions, interpreter: Popen[bytes] | None) -> Outcome:
    """Run the checks; an end by SIGTERM or Ctrl-C is an outcome too, whenever it comes."""
    try:
        if not sys.stderr.isatty():
            with ProgressLines(hint) as lines:
                return run_targets(targets, options, lines, interpreter)
        from opkit.reporters import ProgressBar

        with ProgressBar(sys.stderr) as bar:
            return run_targets(targets, options, bar, interpreter)
    except KeyboardInterrupt as stop:  # before the first check, or when the last was done
        report = Report(opkit.__version__, options.check.seed, ())
        return Outcome(report, is_interrupted=True, is_terminated=isinstance(stop, Terminated))


def put_report(outcome: Outcome, form: str, *, is_verbose: bool = False) -> None:
    """Print an outcome on standard output."""
    if form == "text":
        from opkit.reporters import text_report

        width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 140))
        put(text_report(outcome, width=width, is_colored=uses_colour(sys.stdout), is_verbose=is_verbose))
    elif text := render(outcome, form):
        put(text)


def put_repro(failure_id: str, options: RunOptions) -> int:
    """Write a saved failure's data and script to the working directory, and say where they are."""
    from opkit.verify.failures.repro import write_repro

    data, script = write_repro(failure_id, options=options)
    put(f"{data}\n{script}")
    hint(f"next: python {script}")
    return 0


def put_cases(targets: Sequence[str], options: RunOptions, replaces: bool) -> int:
    """Write the inputs found of targets as cases, print them, and say where they are."""
    from opkit.verify.written_cases import write_cases

    written = []
    for file, text, target in write_cases(targets, options, replaces):
        written.append(bool(text))
        if text:
            put(text)
            hint(f"written to {file}\nnext: correct the cases, then opkit gradcheck {shlex.quote(target)}")
        else:
            warn(f"{file} has cases already; --force replaces them")
    if not written:
        warn("nothing was found that could be written as cases")
    return CLEAN if any(written) else NOTHING
