"""What ``opkit new`` says of an op that it wrote: what it computes, and the next steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from opkit.project import parse_attr
from opkit.project.kind import Kind
from opkit.project.rendering import class_name


def target_of(name: str, folder: Path, kind: Kind) -> str:
    """Return what ``opkit gradcheck`` takes to check an op."""
    if kind.library:
        symbol = class_name(name) if kind.is_class else name
        return f"{folder / f'check_{name}.py'}::{symbol}"
    return os.fspath(folder / (name if kind.has_spec else f"{name}.py"))


def told(name: str, folder: Path, chosen: Kind, attrs: Sequence[str], *, grad: bool, job: bool) -> str:
    """Return what the op computes until somebody edits it, and the next steps.

    Args:
        name: the op's.
        folder: that holds it.
        chosen: the scaffold's kind.
        attrs: as given on the command line.
        grad: whether it has a gradient.
        job: whether a job was written beside it.
    """
    target = target_of(name, folder, chosen)
    steps = [f"opkit build {target}"] if chosen.has_spec else []
    if grad:
        steps.append(f"opkit gradcheck {target}")
    if chosen.library:
        steps.append(f"pytest {folder / f'test_{name}.py'}")
    elif job or not chosen.has_spec:
        steps.append(f"opkit run {folder / 'job.py' if chosen.has_spec else target}")
    given = [parse_attr(attr) for attr in attrs]
    formula = chosen.formula_with(given)
    values = f"and the values in test_{name}.py, " if chosen.has_spec or chosen.library else ""
    lines = [
        f"{name} computes {formula.summary} Edit forward and backward,",
        f'{values}or begin with a formula: opkit new NAME --from "x * sigmoid(x)"',
    ]
    became = [f"{attr.name} is a factor of the result until you edit it" for attr in formula.factors]
    became += [f"{attr.name} is not used yet" for attr in given if not attr.is_scale]
    lines += ["; ".join(became)] if became else []
    if job and not chosen.has_spec and not chosen.library:
        lines.append(f"note: {name}.py holds its own job; --job adds none")
    return "\n".join([*lines, "next: " + "\n      ".join(steps)])
