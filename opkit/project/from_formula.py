"""An op directory from the design of a formula: the same files as a kind's, from the templates of ``formula``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opkit.errors import UsageError
from opkit.project.attribute import ScaffoldAttr
from opkit.project.framework_op import render_framework
from opkit.project.kind import KINDS
from opkit.project.rendering import tidy
from opkit.project.scaffolding import BackwardInput, check_name, render_directory, write_new

if TYPE_CHECKING:
    from opkit.formula import Design
    from opkit.formula.cpp_design import CppDesign, CppLines


def scaffold_formula(
    name: str,
    folder: Path,
    design: Design,
    attrs: Sequence[ScaffoldAttr],
    *,
    kind: str = "elementwise",
    force: bool = False,
    job: bool = False,
    cpp: bool = False,
) -> list[Path]:
    """Write the op directory ``folder/name`` of a formula's design, or the files of a kind of a framework.

    Args:
        name: the op's name, an identifier.
        folder: where to put it; created if it does not exist.
        design: what ``opkit.formula.design`` made of the formula.
        attrs: its attributes.
        kind: "elementwise" for an op directory, or another that takes a formula.
        force: replace files that exist.
        job: also write ``folder/job.py``, which trains through the op.
        cpp: also write kernels in C++.

    Returns:
        the files written, in order.

    Raises:
        UsageError: the name is unusable, or something would be overwritten.
    """
    texts = render_formula(name, design, attrs, kind=kind, job=job, cpp=cpp)
    return write_new(name, folder, texts, is_directory=KINDS[kind].has_spec, force=force)


def render_formula(
    name: str,
    design: Design,
    attrs: Sequence[ScaffoldAttr],
    *,
    kind: str = "elementwise",
    job: bool = False,
    cpp: bool = False,
) -> dict[str, str]:
    """Return {path relative to the target folder: text} of the files that ``scaffold_formula`` writes."""
    chosen = KINDS[kind]
    check_name(name, has_spec=chosen.has_spec)
    if chosen.has_spec:
        context = {**_context(name, design, attrs), **({"cpp": _cpp(design.cpp(), attrs)} if cpp else {})}
        texts = render_directory(name, "formula", context, cases=design.needs_cases, job=job, cpp=cpp)
        return {path: tidy(text) for path, text in texts.items()}
    if cpp:
        raise UsageError(f"--cpp-kernel: a {kind} has no kernels in C++", help="leave it out")
    return render_framework(name, chosen, attrs, design)


def _context(name: str, design: Design, attrs: Sequence[ScaffoldAttr]) -> Mapping[str, object]:
    inputs, outputs = list(design.inputs), list(design.outputs)
    summary = "; ".join(f"{output} = {text}" for output, text in design.formulas.items())
    many = "s" * (len(design.gradients) > 1)
    backward_attrs = [attr for attr in attrs if attr.name in design.backward_attrs]
    forward_attrs = [attr for attr in attrs if attr.name in design.forward_attrs]
    sizes = design.shapes[0]
    first = design.regions[inputs[0]]
    low, high = (-1.0, 1.0) if first.low is None or first.high is None else (first.low, first.high)
    return {
        "name": name,
        "job": "job.py",
        "design": design,
        "summary": summary + ".",
        "about": [f"{output} = {text}." for output, text in design.formulas.items()],
        "backward_summary": f"The gradient{many} {', '.join(design.gradients)}, from the derivative of the formula.",
        "inputs": inputs,
        "outputs": outputs,
        "input_docs": design.inputs,
        "output_doc": "; ".join(f"{output}, {text}" for output, text in design.outputs.items()) + ".",
        "backward_inputs": [_bound(item, inputs) for item in design.reads],
        "gradients": [gradient[1:] for gradient in design.gradients],
        "grad": bool(design.gradients),
        "attrs": list(attrs),
        "backward_attrs": backward_attrs,
        "forward_params": "args, attrs" if forward_attrs else "args",
        "backward_params": "args, attrs" if backward_attrs else "args",
        "test_attrs": "{" + ", ".join(f'"{attr.name}": {attr.py_default}' for attr in attrs) + "}",
        "call_attrs": ", ATTRS" if forward_attrs else "",
        "example": design.example,
        "example_args": f"({inputs[0]},)" if len(inputs) == 1 else f"({', '.join(inputs)})",
        "example_shapes": sizes,
        "narrowed": design.narrowed,
        "job_draws": {
            item: design.regions[item].text(repr(sizes[item])) for item in (inputs[1:] if design.gradients else inputs)
        },
        "job_goal": f"the mean of {' + '.join(outputs)}",
        "job_loss": " + ".join(outputs),
        "job_low": low,
        "job_high": high,
    }


def _cpp(made: CppDesign, attrs: Sequence[ScaffoldAttr]) -> Mapping[str, object]:
    """Return what the template of the C++ kernels reads."""

    def kernel(lines: CppLines) -> Mapping[str, object]:
        from opkit.formula.cpp_text import spelled

        given = [(attr.name, spelled(attr.name), attr.cpp_type) for attr in attrs if attr.name in lines.attrs]
        return {"inputs": lines.inputs, "attrs": given, "lines": lines.lines, "source": lines.source}

    backward = kernel(made.backward) if made.backward is not None else None
    return {"own": made.own, "helpers": made.helpers, "forward": kernel(made.forward), "backward": backward}


def _bound(item: str, inputs: Sequence[str]) -> BackwardInput:
    return BackwardInput(item, "input", item) if item in inputs else BackwardInput(item, "output_grad", item[1:])
