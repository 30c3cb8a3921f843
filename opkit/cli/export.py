"""``opkit export``: an op directory's ops as files for torch or JAX, proved there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from opkit.export import Exported

__all__ = ["export"]


def export(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Op directory, or DIR::op_type.")],
    to: Annotated[str, typer.Option("--to", help="torch, jax, or graph (prints what was traced).")],
    form: Annotated[str, typer.Option("--form", help="auto, native or callback.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("--output", help="The file to write; a folder where the directory has several ops.")
    ] = None,
    no_check: Annotated[bool, typer.Option("--no-check", help="Write without a proof; the file says so.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite, and write what is unequal, unverified or not checked here.")
    ] = False,
) -> None:
    """Write an op as one file of today's framework, free of opkit, and prove that it is the same op.

    Exit status: 0 proved, or --no-check; 1 unequal, unverified, its gradient fails opkit gradcheck, or untraceable
    under native; 2 the output exists; 3 the op does not build.
    """
    from opkit.cli.console import user_code, warn
    from opkit.cli.edge import CLEAN, FINDINGS, USAGE
    from opkit.export import export as export_op

    if to != "graph":
        taken = [path for path in _expected(target, to, output) if path.exists()]
        if taken and not force:
            warn(f"error: {taken[0]} exists\nnext: --force overwrites it, --output FILE writes elsewhere")
            raise typer.Exit(USAGE)
    is_checked = True
    if to != "graph" and not no_check:
        is_checked = _passes_gradcheck(target)
        if not is_checked and not force:
            raise typer.Exit(FINDINGS)
    with user_code():
        made = export_op(target, to=to, form=form, check=not no_check, is_checked=is_checked)
    several = made if isinstance(made, tuple) else (made,)
    status = CLEAN
    for item in several:
        if to == "graph":
            typer.echo(item.text, nl=False)
        elif not _write(item, to, output, len(several) > 1, force=force):
            status = FINDINGS
    raise typer.Exit(status)


def _expected(target: str, to: str, output: Path | None) -> list[Path]:
    """Return the files that would be written, as far as the target's name tells."""
    if output is not None:
        return [output] if not output.is_dir() else []
    directory, _, op = target.partition("::")
    name = (op or Path(directory).resolve().name).removesuffix("_forward")
    return [Path(f"{name}_{to}.py")]


def _passes_gradcheck(target: str) -> bool:
    """Say whether opkit's own check of the gradient passes; what it found goes to stderr."""
    from opkit.checker import Status
    from opkit.cli.console import warn
    from opkit.verify import gradcheck

    report = gradcheck(target)
    wrong = [item for item in report.ops if item.status not in (Status.PASS, Status.SKIP) and _has_gradient(item)]
    for item in wrong:
        warn(f"error: opkit gradcheck says {item.status.value} of {item.op}: only a correct gradient is exported")
    if wrong:
        warn(f"next: opkit gradcheck {target}; --force exports all the same")
    return not wrong


def _has_gradient(item: object) -> bool:
    return any(getattr(check, "check", "") not in ("no-gradient",) for check in getattr(item, "checks", ()))


def _write(item: Exported, to: str, output: Path | None, is_one_of_many: bool, *, force: bool) -> bool:
    """Write one op's files unless its proof forbids it; the table goes to stdout."""
    from opkit.atomic import write_together
    from opkit.cli.console import warn

    if item.note:
        warn(f"note: {item.note}")
    if item.proof is not None:
        typer.echo(item.proof.table)
        if not item.proof.is_proved and not force:
            warn(
                f"error: {item.name} was not proved to be the same op in {to}; nothing is written\nnext: see the table"
            )
            return False
    path = output if output is not None else Path(f"{item.name}_{to}.py")
    if is_one_of_many and output is not None:
        path = output / f"{item.name}_{to}.py"
    test = path.with_name(f"test_{path.name}")
    write_together(path.parent, path.name, {path.name: item.text.encode(), test.name: item.test.encode()})
    typer.echo(f"{path}: {item.name}, {item.form} form; {test.name} beside it")
    return item.proof is None or item.proof.is_proved
