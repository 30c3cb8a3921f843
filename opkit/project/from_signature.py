"""An op directory from its inputs and outputs alone: a scaffold with these names, whose computation is a placeholder.

What the scaffold computes is in the templates of ``signature``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opkit.errors import UsageError, unknown
from opkit.project.attribute import parse_attr
from opkit.project.kind import Kind
from opkit.project.scaffolding import check_name, context_of, parsed_attrs, render_directory, scaled, write_new

_FLOATS, _INTEGERS = ("float", "float32", "float64"), ("int", "int32", "int64")


def scaffold_signature(
    name: str,
    folder: Path,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attrs: Sequence[str] = (),
    *,
    grad: bool = True,
    force: bool = False,
    job: bool = False,
) -> list[Path]:
    """Write the op directory ``folder/name`` of an op with these inputs and outputs.

    Args:
        name: the op's name, an identifier.
        folder: where to put it; created if it does not exist.
        inputs: ``NAME`` or ``NAME:DTYPE``, in order; at least one is a float. An integer takes no gradient.
        outputs: names, in order.
        attrs: attributes as ``NAME:TYPE=DEFAULT``.
        grad: whether to write the gradient too.
        force: replace files that exist.
        job: also write ``folder/job.py``, which predicts with the op.

    Returns:
        the files written, in order.

    Raises:
        UsageError: a name or a dtype is unusable, or something would be overwritten.
    """
    check_name(name, has_spec=True)
    kind = signature_kind(inputs, outputs, attrs)
    floats, made = list(kind.gradients), [kind.first_output, *kind.more_outputs]
    integers = [item for item in kind.inputs if item not in floats]
    context = {
        **context_of(name, kind, parsed_attrs(attrs, kind), grad=grad),
        "outputs": made,
        "floats": floats,
        "integers": integers,
        "sums": _sums(floats, made),
        "slopes": _slopes(floats, made),
        "tail": "".join(f" * {item}.astype({floats[0]}.dtype)" for item in integers),
    }
    texts = render_directory(name, "signature", context, cases=False, job=job)
    return write_new(name, folder, texts, is_directory=True, force=force)


def signature_kind(inputs: Sequence[str], outputs: Sequence[str], attrs: Sequence[str]) -> Kind:
    """Return what is known of a scaffold with these inputs, outputs and attributes, as they are given.

    Raises:
        UsageError: a name or a dtype is unusable.
    """
    dtypes = dict(_input(item) for item in inputs) or {"x": "float"}
    outputs = list(outputs) or ["y"]
    floats = [item for item, dtype in dtypes.items() if dtype in _FLOATS]
    _check_names([*(item.partition(":")[0] for item in inputs), *outputs], floats)
    first = next(iter(dtypes))
    tail = "".join(f" * {item}" for item in dtypes if item not in floats)
    factor = "{factor}" if any(parse_attr(item).is_scale for item in attrs) else ""
    sums = [
        f"{output} = {scaled(text.replace('np.', ''), tail, factor=factor)}"
        for output, text in _sums(floats, outputs).items()
    ]
    shaped = "any shape" if len(dtypes) == 1 else f"shape of {first}"
    docs = {
        item: ("float32 or float64, " if item in floats else "int32 or int64, ")
        + ("any shape." if item == first else f"{shaped}.")
        for item in dtypes
    }
    return Kind(
        "signature",
        f"{', '.join(sums)}, elementwise.",
        f"{', '.join(f'd{item}' for item in floats)}, elementwise.",
        inputs=docs,
        output=f"{outputs[0]}, shaped as {first}" + ("." if len(outputs) == 1 else ""),
        first_output=outputs[0],
        more_outputs=dict.fromkeys(outputs[1:], f"shaped as {first}."),
        reads=tuple(dtypes),
        gradients=tuple(floats),
    )


def _sums(floats: Sequence[str], outputs: Sequence[str]) -> dict[str, str]:
    """Return what every output is: sines and cosines of the inputs in turn, so that none is as another."""
    return {
        output: " + ".join(f"np.{'cos' if (place + turn) % 2 else 'sin'}({item})" for turn, item in enumerate(floats))
        for place, output in enumerate(outputs)
    }


def _slopes(floats: Sequence[str], outputs: Sequence[str]) -> dict[str, str]:
    """Return the gradient of every input."""
    made = {}
    for turn, item in enumerate(floats):
        terms = [
            f" - d{output} * np.sin({item})" if (place + turn) % 2 else f" + d{output} * np.cos({item})"
            for place, output in enumerate(outputs)
        ]
        made[item] = "".join(terms).removeprefix(" + ").replace(" - ", "-", terms[0].startswith(" - "))
    return made


def _input(text: str) -> tuple[str, str]:
    name, _, dtype = (part.strip() for part in text.partition(":"))
    known = (*_FLOATS, *_INTEGERS)
    if dtype and dtype not in known:
        raise unknown(f"--input {text!r}: there is no dtype", dtype, known, has="there are").error(UsageError)
    return name, dtype or "float"


def _check_names(names: Sequence[str], floats: Sequence[str]) -> None:
    """Refuse names that cannot be used.

    Raises:
        UsageError: one is not an identifier or comes twice, or no input is a float.
    """
    taken = {"args", "attrs", "np", "flow", "name", "ctx", "shape", "dtype", "i"}
    for place, name in enumerate(names):
        check_name(name, has_spec=True)
        if name in taken or name in names[:place] or f"d{name}" in names:
            raise UsageError(f"the name {name!r} is taken", help="choose another for the input or output")
    if not floats:
        raise UsageError("no input is a float: there is nothing to compute with", help="--input x:float32")
