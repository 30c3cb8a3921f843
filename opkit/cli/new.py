"""``opkit new``: scaffold an op."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from opkit.errors import UsageError


def _kinds(incomplete: str) -> list[str]:
    from opkit.project import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The op's name, an identifier.", show_default=False)] = "",
    folder: Annotated[Path, typer.Option("--dir", metavar="D", help="The folder to create it in.")] = Path(),
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="elementwise|binary|reduction|matmul|loss|normalization|gather|multi_output|pylayer|py_func|"
            "torch_function|torch_op|jax_function",
            autocompletion=_kinds,
            help="What to scaffold: an op directory; with pylayer and py_func one file; with the last three a module, "
            "its cases and its tests.",
        ),
    ] = "elementwise",
    attr: Annotated[
        list[str] | None,
        typer.Option("--attr", metavar="NAME:TYPE=DEFAULT", help="An attribute, such as alpha:float=0.1; repeatable."),
    ] = None,
    no_grad: Annotated[bool, typer.Option("--no-grad", help="Write no gradient.")] = False,
    cpp_kernel: Annotated[
        bool, typer.Option("--cpp-kernel", help="Also write kernels in C++, which opkit compiles and checks.")
    ] = False,
    job: Annotated[bool, typer.Option("--job", help="Also write job.py, which predicts with the op.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    formula: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMULA",
            help='A formula, such as "x * sigmoid(beta * x)", or FILE.py::function: write its kernels, gradient and '
            "definition, and check them.",
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME[:DTYPE]", help="An input, of a formula or of a scaffold; repeatable, in order."
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--output", metavar="NAME", help="An output; repeatable.")
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            "--template",
            metavar="FOLDER",
            help="Templates of your own; NAME in their paths is the op's name. Without a NAME their files are listed.",
        ),
    ] = None,
    ci: Annotated[
        bool,
        typer.Option("--ci", help="Write .github/workflows/opkit.yml, which checks all ops; NAME may be left out."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the files of a formula or of templates instead of writing them.")
    ] = False,
) -> None:
    """Scaffold an op that builds, passes its gradient check and runs without any edit.

    Examples: `opkit new my_relu --job`; `opkit new swish --from "x * sigmoid(beta * x)" --attr beta:float=1.0`.
    """
    from opkit.cli.console import hint, put, warn
    from opkit.cli.scaffolded import told
    from opkit.project import (
        KINDS,
        render_template,
        scaffold,
        scaffold_signature,
        scaffold_template,
        scaffold_workflow,
    )
    from opkit.project.from_signature import signature_kind
    from opkit.project.scaffolding import is_module

    attrs, sources, results, grad = attr or [], inputs or [], outputs or [], not no_grad
    if formula is not None and not formula.strip():
        raise UsageError("--from is empty", help='give it a formula, such as "x * sigmoid(x)"')
    if ci and not dry_run:
        put(str(scaffold_workflow(folder, force=force)))
    if template is not None and (formula or inputs or outputs or cpp_kernel or job):
        raise UsageError(
            "--template writes the files of its folder alone",
            help="leave out --from, --input, --output, --cpp-kernel, --job",
        )
    if template is not None and (dry_run or not name):
        for place, text in render_template(name or "NAME", template, attrs, kind=kind, grad=grad).items():
            put(f"== {place}\n{text}" if dry_run else place)
        return
    if not name:
        if not ci:
            raise UsageError(
                "new needs the op's NAME", help="opkit new my_op, or opkit new --ci for the workflow alone"
            )
        return
    if cpp_kernel and not formula and (inputs or outputs):
        raise UsageError(
            "--cpp-kernel writes the kernels of a --kind or of a formula", help="leave out --input, --output"
        )
    if getattr(KINDS.get(kind), "has_spec", False) and is_module(name):
        warn(f"note: there is a module {name!r}: `import {name}` means that one, not the op")
    if template is not None:
        for path in scaffold_template(name, folder, template, attrs, kind=kind, grad=grad, force=force):
            put(str(path))
        return
    options: dict[str, Any] = {"grad": grad, "force": force, "job": job}
    if formula:
        from opkit.cli.formula import new_from_formula

        new_from_formula(
            name, folder, formula, attrs, sources, results, kind=kind, dry_run=dry_run, cpp=cpp_kernel, **options
        )
        return
    if dry_run:
        raise UsageError(
            "--dry-run shows the files of a formula or of templates", help="give it with --from or --template"
        )
    if sources or results:
        if kind != "elementwise":
            raise UsageError(f"--kind {kind} has inputs and outputs of its own", help="leave out --input and --output")
        written = scaffold_signature(name, folder, sources, results, attrs, **options)
        chosen = signature_kind(sources, results, attrs)
    else:
        written = scaffold(name, folder, kind, attrs, cpp=cpp_kernel, **options)
        chosen = KINDS[kind]
    for path in written:
        put(str(path))
    hint(told(name, folder, chosen, attrs, grad=grad, job=job))
