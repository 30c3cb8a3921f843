"""Scaffolding: rendering the templates of a kind into files, either all of them or none.

Nothing is compiled or run here.
"""

from __future__ import annotations

import keyword
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path

from opkit.atomic import is_fault_of_disk, write_together
from opkit.errors import UsageError
from opkit.project.attribute import ScaffoldAttr, parse_attr
from opkit.project.framework_op import render_framework
from opkit.project.kind import Kind, kind_of
from opkit.project.rendering import class_name, environment_of, rendered
from opkit.record import record


@record
class BackwardInput:
    """An input of the backward op: the method of the forward op's wrapper that gives it, and the argument."""

    name: str
    source: str
    of: str


def scaffold(
    name: str,
    folder: Path,
    kind: str = "elementwise",
    attrs: Sequence[str] = (),
    *,
    grad: bool = True,
    force: bool = False,
    job: bool = False,
    cpp: bool = False,
) -> list[Path]:
    """Write a new op: a directory ``folder/name``, or for a kind without definitions the file ``folder/name.py``.

    Args:
        name: the op's name, an identifier.
        folder: where to put it; created if it does not exist.
        kind: one of ``KINDS``.
        attrs: attributes as ``NAME:TYPE=DEFAULT``.
        grad: whether to write the gradient too.
        force: replace files that exist; files with other names in the directory are always kept.
        job: also write ``folder/job.py``, which predicts with the op (a kind without definitions always contains a
            job).
        cpp: also write kernels in C++.

    Returns:
        the files written, in order.

    Raises:
        UsageError: the name, kind or an attribute is unusable, or something would be overwritten.
    """
    chosen = kind_of(kind)
    check_name(name, has_spec=chosen.has_spec)
    if not grad and not chosen.can_skip_grad:
        raise UsageError(
            f"--no-grad: a {chosen.name} is a forward and its gradient",
            help="for an op without a gradient: --kind py_func",
        )
    if cpp and not chosen.has_spec:
        raise UsageError(f"--cpp-kernel: --kind {kind} is one Python file", help="choose a kind with definitions")
    parsed = parsed_attrs(attrs, chosen)
    texts = _render(name, chosen, parsed, grad=grad, job=job and chosen.has_spec, cpp=cpp)
    return write_new(name, folder, texts, is_directory=chosen.has_spec, force=force)


def write_new(name: str, folder: Path, texts: Mapping[str, str], *, is_directory: bool, force: bool) -> list[Path]:
    """Write the files of a new op, all of them or none.

    Args:
        name: the op's name.
        folder: where to put it.
        texts: {path relative to ``folder``: text}.
        is_directory: whether the op is a directory ``folder/name``.
        force: replace files that exist.

    Returns:
        the files written, in order.

    Raises:
        UsageError: something would be overwritten, or the folder cannot be written.
    """
    try:
        write_together(
            folder,
            name,
            {path: text.encode() for path, text in texts.items()},
            lambda finished: _refuse_taken(folder, name, texts, finished, is_directory=is_directory, force=force),
        )
    except OSError as error:
        if is_fault_of_disk(error):
            raise
        raise UsageError(
            f"cannot write into {str(folder)!r}: {error.strerror}", help="choose a writable folder with --dir"
        ) from error
    return [folder / path for path in texts]


def _refuse_taken(
    folder: Path, name: str, texts: Mapping[str, str], finished: Sequence[str], *, is_directory: bool, force: bool
) -> None:
    """Refuse to replace what is there, but for what a killed run of the same command left to be finished.

    Raises:
        UsageError: something would be overwritten; a folder is in the place of a file, or a file of a folder.
    """
    for path in texts:
        if (folder / path).is_dir():
            raise UsageError(f"{str(folder / path)!r} is a folder, and a file of the op needs that name")
    place = folder / name
    if is_directory and os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
        raise UsageError(f"{str(place)!r} already exists and is not a folder", help="choose another name or --dir")
    module = folder / (f"{name}.py" if is_directory else name)
    is_other = not any((folder / path).is_relative_to(module) for path in texts)
    if module.exists() and is_other and not force:
        raise UsageError(
            f"{str(module)!r} exists, and `import {name}` means one of the two", help="choose another name or --dir"
        )
    existing = [str(folder / path) for path in texts if os.path.lexists(folder / path) and path not in finished]
    if is_directory and place.is_dir() and not existing and not any(path.startswith(f"{name}/") for path in finished):
        existing = [str(place)] if any(place.iterdir()) else []
    if existing and not force:
        raise UsageError(
            f"{existing[0]} already exists", help="choose another name or --dir, or --force to replace opkit's files"
        )


#: File systems take names of up to 255 bytes, and a file of an op has its name and more.
_LONGEST_NAME = 200
_MODULES = ("paddle", "oneflow", "torch", "jax", *sys.stdlib_module_names)


def is_module(name: str) -> bool:
    """Return whether an op's name is that of a module of Python's, of a framework, or of what is installed."""
    installed = [place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages")]
    found = PathFinder.find_spec(name, installed)
    return name in _MODULES or (found is not None and found.has_location)


def check_name(name: str, *, has_spec: bool) -> None:
    """Raise a UsageError where the name cannot be an op's (or, without definitions, a module's)."""
    if any(sep in name for sep in ("/", "\\", os.sep)) or name in (".", ".."):
        raise UsageError(f"{name!r} holds a path; give a plain name and use --dir for the folder")
    if not (name.isascii() and name.isidentifier()):
        near = re.sub(r"\W", "_", name, flags=re.ASCII)
        raise UsageError(
            f"{name!r} is not an identifier: letters, digits and underscores, and not a digit first",
            help=f"{near!r} would be one" if near.isidentifier() else "",
        )
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"the name {name[:20]!r}... has {len(name)} characters, more than {_LONGEST_NAME}")
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} is a keyword of Python")
    if not has_spec and is_module(name):
        raise UsageError(f"a file {name}.py would hide the module {name!r} from every script beside it")


def parsed_attrs(texts: Sequence[str], kind: Kind) -> list[ScaffoldAttr]:
    """Return attributes as ``NAME:TYPE=DEFAULT`` says them.

    Raises:
        UsageError: one cannot be read, or its name is taken in this kind.
    """
    taken = {*kind.inputs, *kind.reads, "x", "y", "dy", "name", "device_sub_tag", "ctx", "args", "attrs", "np", "flow"}
    taken |= {f"d{item}" for item in (*kind.gradients, *kind.more_outputs)} | set(kind.more_outputs)
    taken |= {
        "shifted",
        "largest",
        "log_softmax",
        "exp",
        "paddle",
        "centred",
        "scale",
        "normal",
        "dnormal",
        "along",
        "rows",
    }
    parsed: list[ScaffoldAttr] = []
    for text in texts:
        attr = parse_attr(text)
        if attr.name in taken:
            raise UsageError(f"--attr {text!r}: the name {attr.name!r} is taken in this kind of op")
        taken.add(attr.name)
        parsed.append(attr)
    return parsed


def _render(name: str, kind: Kind, attrs: list[ScaffoldAttr], *, grad: bool, job: bool, cpp: bool) -> dict[str, str]:
    """Return {path relative to the target folder: text}."""
    if kind.library:
        return render_framework(name, kind, attrs)
    context = context_of(name, kind, attrs, grad=grad)
    if not kind.has_spec:
        return {f"{name}.py": rendered(f"{kind.name}/module.py.jinja", context)}
    return render_directory(name, kind.name, context, cases=kind.has_cases and grad, job=job, cpp=cpp)


def render_directory(
    name: str, family: str, context: Mapping[str, object], *, cases: bool, job: bool, cpp: bool = False
) -> dict[str, str]:
    """Render the templates of a family as an op directory: {path relative to the target folder: text}."""
    parts = ["cpp_def.cpp", "py_api.py", "py_kernel.py", *["cpp_kernel.cpp"] * cpp, *["cases.py"] * cases]
    files = {part: f"{name}/{name}_{part}" for part in parts} | {"test.py": f"{name}/test_{name}.py"}
    if job:
        files["job.py"] = "job.py"
    environment = environment_of()
    return {
        path: environment.get_template(f"{family}/{template}.jinja").render(context) for template, path in files.items()
    }


def scaled(text: str, tail: str = "", *, factor: str = "") -> str:
    """Return a term between what it is multiplied with, in brackets where it needs them."""
    is_sum = text.startswith("-") or any(sign in text for sign in (" + ", " - ", " @ "))
    return f"{factor}({text}){tail}" if is_sum and (factor or tail) else f"{factor}{text}{tail}"


def context_of(name: str, kind: Kind, attrs: list[ScaffoldAttr], *, grad: bool) -> Mapping[str, object]:
    """Return what the templates of a kind read."""
    formula, scales = kind.formula_with(attrs), [attr for attr in attrs if attr.is_scale]
    factor, factors = formula.factor, formula.factors
    times = math.prod(attr.test_value for attr in factors)
    lines = "".join(f'    {attr.name} = attrs["{attr.name}"]\n' for attr in scales)
    lines += "".join(f'    # Not used yet: attrs["{attr.name}"].\n' for attr in attrs if not attr.is_scale)
    backward = [
        BackwardInput(item, *(("output", "y") if item == "y" and "y" not in kind.inputs else ("input", item)))
        for item in kind.reads
    ]
    return {
        "name": name,
        "class_name": class_name(name),
        "job": "job.py",
        "summary": formula.summary,
        "constant": formula.constant,
        "backward_summary": kind.backward_formula.format(factor=factor),
        "inputs": list(kind.inputs),
        "outputs": [kind.first_output, *kind.more_outputs],
        "input_docs": kind.inputs,
        "output_doc": "; ".join([kind.output, *(f"{item}, {text}" for item, text in kind.more_outputs.items())]),
        "backward_inputs": [
            *backward,
            *(BackwardInput(f"d{item}", "output_grad", item) for item in (kind.first_output, *kind.more_outputs)),
        ],
        "gradients": kind.gradients,
        "grad": grad,
        "attrs": attrs,
        "backward_attrs": attrs,
        "scales": scales,
        "params": "args, attrs" if attrs else "args",
        "attr_lines": lines,
        "factor": factor,
        "scaled": partial(scaled, factor=factor),
        "minus_factor": "-" + factor,
        "ctx_factor": "".join(f"ctx.{attr.name} * " for attr in factors),
        "upper_factor": "".join(f"{attr.name.upper()} * " for attr in factors),
        "test_attrs": "{" + ", ".join(f'"{attr.name}": {attr.test_text}' for attr in attrs) + "}",
        "other_attrs": "".join(f', "{attr.name}": {attr.test_text}' for attr in attrs),
        "call_attrs": ", ATTRS" if attrs else "",
        "times": f"{times!r} * " if factors else "",
    }
