"""What ``opkit build`` and ``opkit ops`` show: tables of ops, and diagnostics in colour."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import opkit
from opkit.cli.columns import columns_text
from opkit.cli.console import paint, put, screen_width, uses_colour, warn
from opkit.diagnostics import Diagnostic, Severity, render_text
from opkit.ops import ArgDef
from opkit.project import Build, LoadedOps, UserOp
from opkit.spec import ArgSpec

_HEAD = re.compile(r"^(error|warning|note)\[(\w+)\]: (.*)$")


def show_build(result: Build, form: str, *, show_python: bool, no_kernel: str = "missing") -> None:
    """Show a build in a form: the table and the compiled Python are data; diagnostics as text are not."""
    if form == "json":
        put(json.dumps(result.to_json(opkit.__version__), indent=2))
        return
    if form in ("github", "sarif"):
        from opkit.reporters import github_diagnostics, sarif_diagnostics

        if text := (github_diagnostics if form == "github" else sarif_diagnostics)(result.diagnostics):
            put(text)
        return
    if show_python:
        for loaded in result.loaded:
            put(_python_of(loaded))
    elif any(loaded.ops for loaded in result.loaded):
        put(_table(result.loaded, no_kernel))
    show_diagnostics(result.diagnostics)
    if result.loaded:
        warn(_summary(result))


def _python_of(loaded: LoadedOps) -> str:
    parts = [compiled.python_source() for compiled in loaded.result.ops.values()]
    parts += [f"# {grad.op_type}: gradient\n{grad.python_source()}" for grad in loaded.result.grads.values()]
    return "\n\n".join(part.rstrip() for part in parts if part)


def _table(loaded: Iterable[LoadedOps], no_kernel: str) -> str:
    rows = [
        (op.name, *_signature(op), _gradient(op), op.kernel.where.function if op.kernel is not None else no_kernel)
        for one in loaded
        for op in one.ops.values()
    ]
    return op_table(rows, ("op", "inputs", "outputs", "attributes", "gradient", "kernel"))


def op_table(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> str:
    """Return a table of ops. Attributes are wrapped first: names are easier to read in one piece."""
    return columns_text(rows, headings, screen_width(), flexible="attributes", is_coloured=uses_colour(sys.stdout))


def _signature(op: UserOp) -> tuple[str, str, str]:
    compiled = op.compiled
    if compiled is None or compiled.has_errors:
        return "error", "error", "error"
    specs = (spec for spec in compiled.attrs.values() if spec.name != "device_sub_tag")
    attrs = "\n".join(f"{spec.name}: {spec.type} = {spec.default!r}" for spec in specs)
    return arg_texts(compiled.inputs), arg_texts(compiled.outputs), attrs or "-"


def arg_texts(args: Iterable[ArgDef | ArgSpec]) -> str:
    """Return declared arguments in a line: any number of values as ``...``, what may be left out with a ``?``."""
    return ", ".join(f"{arg.name}{'...' * arg.is_variadic}{'?' * arg.is_optional}" for arg in args)


def _gradient(op: UserOp) -> str:
    if op.has_gradient:
        return "yes"
    return "error" if op.grad_trouble else "-"


def show_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """Show diagnostics on standard error."""
    if text := render_text(diagnostics):
        warn((_coloured(text) if uses_colour(sys.stderr) else text) + "\n")


def _coloured(text: str) -> str:
    lines = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            word, code, message = head.groups()
            line = f"{paint(f'{word}[{code}]', word)}: {paint(message, 'strong')}"
        elif line.strip(" |").strip("^") == "" and "^" in line:
            line = paint(line, "error")
        elif line.lstrip().startswith("= help:"):
            line = line.replace("= help:", f"= {paint('help:', 'good')}", 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _summary(result: Build) -> str:
    count = sum(len(loaded.ops) for loaded in result.loaded)
    found = Counter(item.severity for item in result.diagnostics)
    parts = [f"{found[item]} {item.value}{'s' * (found[item] > 1)}" for item in Severity if found[item]]
    text = f"{count} op type{'' if count == 1 else 's'} in {len(result.loaded)} "
    text += f"director{'y' if len(result.loaded) == 1 else 'ies'}: {', '.join(parts) or 'no findings'}"
    return paint(text, "error" if result.has_errors else "good")
