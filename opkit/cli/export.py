"""``opkit export``: an op directory's ops as files for torch or JAX, proved there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from opkit.export import Exported


def export(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Op directory, or DIR::op_type.")],
    to: Annotated[str, typer.Option("--to", metavar="torch|jax|graph", help="For what; graph prints what was traced.")],
    form: Annotated[
        str, typer.Option("--form", metavar="auto|native|callback", help="How the kernels go along.")
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="The file to write; without a suffix, a folder for it."),
    ] = None,
    no_check: Annotated[bool, typer.Option("--no-check", help="Write without a proof; the file says so.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite, and write what is unequal, unverified or not checked here.")
    ] = False,
) -> None:
    """Write an op as one file of today's framework, free of opkit, and prove that it is the same op.

    Example: `opkit export my_op --to torch`.

    Exit status: 0 proved, or --no-check; 1 unequal, unverified, its gradient fails opkit gradcheck, or untraceable
    under native; 2 the output exists; 3 the op does not build.
    """
    from opkit.cli.console import user_code, warn
    from opkit.cli.ends import CLEAN, FINDINGS, USAGE
    from opkit.export import export as export_op

    def refuse_taken(path: Path) -> None:
        if path.exists() and not force:
            warn(f"error: {path} exists\nnext: --force overwrites it, --output FILE writes elsewhere")
            raise typer.Exit(USAGE)

    def told(text: str) -> None:
        if sys.stderr.isatty():
            warn(f"{target}: {text}")

    is_folder = output is not None and (output.is_dir() or not output.suffix)
    if to != "graph" and not is_folder:  # as far as the target's name tells
        directory, _, op = target.partition("::")
        name = (op or Path(directory).resolve().name).removesuffix("_forward")
        refuse_taken(output or Path(f"{name}_{to}.py"))
    with user_code():
        made = export_op(target, to=to, form=form, check=not no_check, told=told)
    if to == "graph":
        typer.echo(made.text, nl=False)
        raise typer.Exit(CLEAN)
    path = Path(f"{made.name}_{to}.py")
    if output is not None:
        path = output / path if is_folder else output
    refuse_taken(path)
    raise typer.Exit(CLEAN if _write(made, path, to, force=force) else FINDINGS)


def _reason(made: Exported, to: str) -> str:
    """Return why an export is not proved: the gradient first, which no proof could mend."""
    from opkit.export.proof import GRADIENT

    rows = [row for row in made.proof.rows if row[2] in ("FAIL", "unverified")] if made.proof is not None else []
    for _, check, _, note in rows:
        if check == GRADIENT:
            return f"its gradient does not pass opkit gradcheck ({note})"
    unequal = next((row for row in rows if row[2] == "FAIL"), rows[0] if rows else None)
    if unequal is None:
        return f"it could not be proved in {to}"
    said = f": {unequal[3]}" if unequal[3] else ""
    return f"{unequal[1]} {'differ in ' + to if unequal[2] == 'FAIL' else unequal[2]}{said}"


def _write(made: Exported, path: Path, to: str, *, force: bool) -> bool:
    """Write the file and its test unless the proof forbids it; the table goes to stdout."""
    from opkit.atomic import write_together
    from opkit.cli.console import warn

    if made.note:
        warn(f"note: {made.note}")
    if made.proof is not None:
        typer.echo(made.proof.table)
        if not made.proof.is_proved and not force:
            warn(f"error: {made.name}: {_reason(made, to)}; nothing is written\nnext: --force writes it all the same")
            return False
    test = path.with_name(f"test_{path.name}")
    write_together(path.parent, path.name, {path.name: made.text.encode(), test.name: made.test.encode()})
    typer.echo(f"{path}: {', '.join(made.functions)}, {made.form} form; {test.name} beside it")
    return made.proof is None or made.proof.is_proved
