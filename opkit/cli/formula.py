"""``opkit new NAME --from FORMULA``: from the text to a checked op."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import typer

from opkit.cli.console import hint, put, warn
from opkit.cli.scaffolded import target_of
from opkit.errors import UsageError, unknown

_DTYPES = ("float", "float32", "float64")


def new_from_formula(
    name: str,
    folder: Path,
    text: str,
    attrs: Sequence[str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    kind: str,
    grad: bool,
    job: bool,
    force: bool,
    dry_run: bool,
    cpp: bool = False,
) -> None:
    """Write the op of a formula and check it; exit as ``opkit gradcheck`` does.

    Raises:
        UsageError: the formula or an option cannot be used, or sympy is not installed.
    """
    from opkit.project import parse_attr, render_formula, scaffold_formula
    from opkit.project.kind import kind_of

    chosen = kind_of(kind)
    if not chosen.takes_formula:
        raise UsageError(
            f"--kind {kind} computes what it computes; --from does not change it",
            help="leave out --kind for an op directory, or pylayer, py_func, torch_function, torch_op, jax_function",
        )
    if not grad and not chosen.has_spec:
        raise UsageError(f"--no-grad: a {kind} is a forward and its gradient", help="leave it out")

    try:
        from opkit.formula import design, read_function
    except ModuleNotFoundError as error:
        if error.name not in ("sympy", "mpmath"):
            raise
        raise UsageError(
            "--from derives formulas with sympy, which is not installed", help="pip install 'opkit[formula]'"
        ) from None
    parsed = [parse_attr(attr) for attr in attrs]
    names = [_input(item) for item in inputs]
    if "::" in text:
        path, _, function = text.rpartition("::")
        found = read_function(Path(path), function)
        given = {attr.name for attr in parsed}
        parsed += [attr for attr in map(parse_attr, found.attrs) if attr.name not in given]
        text, names, outputs = found.text, names or found.inputs, outputs or found.outputs
    for attr in parsed:
        if isinstance(attr.default, bool) or not isinstance(attr.default, int | float):
            raise UsageError(
                f"--attr {attr.name}:{attr.type}: a formula computes with numbers", help="int and float attributes"
            )
    made = design(text, {attr.name: attr.default for attr in parsed}, inputs=names, outputs=outputs, grad=grad)
    if len(made.inputs) > len(names or [0]):
        hint(f"{', '.join(made.inputs)} are inputs; --attr NAME:float=1 makes an attribute of one")
    for line in made.weak():  # what no rewriting made stable
        warn(f"note: {line}")
    if made.narrowed and grad:
        cases = f"check_{name}.py" if chosen.library else f"{name}_cases.py" if chosen.has_spec else f"{name}.py"
        said = "for some other numbers what is written for the formula or its derivative is not finite"
        warn(f"note: {cases} draws {', '.join(made.narrowed)}: {said}; change it to check more")
    if dry_run:
        for path_name, content in render_formula(name, made, parsed, kind=kind, job=job, cpp=cpp).items():
            put(f"== {path_name}\n{content}")
        return
    for written in scaffold_formula(name, folder, made, parsed, kind=kind, force=force, job=job, cpp=cpp):
        put(str(written))
    target = target_of(name, folder, chosen)
    if chosen.library and find_spec(chosen.library) is None:
        hint(f"next: where {chosen.library} is installed, opkit gradcheck {target}")
    elif grad:
        from opkit.cli.checking import check, options_of
        from opkit.configuration import read_configuration

        status = check([target], options_of(read_configuration(Path.cwd()).options()), "text", [])
        if job and chosen.has_spec and not status:
            hint(f"next: opkit run {folder / 'job.py'}")
        raise typer.Exit(status)


def _input(text: str) -> str:
    name, _, dtype = (part.strip() for part in text.partition(":"))
    if dtype and dtype not in _DTYPES:
        raise unknown(f"--input {text!r}: formulas have no dtype", dtype, _DTYPES, has="they have").error(UsageError)
    if not name.isidentifier():
        raise UsageError(f"--input {text!r}: {name!r} is not an identifier")
    return name
