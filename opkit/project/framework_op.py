"""An op of another framework: one module, and beside it what checks it: cases and tests, or cases within.

What it computes comes from a formula's design, or is a tanh to be replaced; how each is written is the templates'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opkit.errors import UsageError
from opkit.project.attribute import ScaffoldAttr
from opkit.project.kind import Kind
from opkit.project.rendering import class_name, rendered, tidy

if TYPE_CHECKING:
    from opkit.formula import Design

_FILES = {"module": "{}.py", "check": "check_{}.py", "test": "test_{}.py"}
_WHAT = {
    "pylayer": "A PyLayer.",
    "py_func": "An op of a static program, through py_func.",
    "torch_function": "A torch.autograd.Function.",
    "torch_op": "An op of torch's library, with a fake kernel and autograd.",
    "jax_function": "A function of JAX with a rule of its own.",
}
_TAKEN = frozenset(
    {"torch", "jax", "jnp", "partial", "inputs", "output", "saved", "gradient", "gradients", "wanted", "rng"}
)


def render_framework(
    name: str, kind: Kind, attrs: Sequence[ScaffoldAttr], design: Design | None = None
) -> dict[str, str]:
    """Return {path relative to the target folder: text}.

    Args:
        name: the op's name.
        kind: one whose ``library`` is an installed framework, or a file of its own with a design.
        attrs: its attributes.
        design: of a formula; None for a tanh.

    Raises:
        UsageError: a name is used by the op's files for something else, or an attribute is a list.
    """
    context = framework_context(name, kind, attrs, design)
    files = _FILES if kind.library else {"formula": "{}.py"}
    return {path.format(name): tidy(rendered(f"{kind.name}/{part}.py.jinja", context)) for part, path in files.items()}


def framework_context(
    name: str, kind: Kind, attrs: Sequence[ScaffoldAttr], design: Design | None = None
) -> dict[str, Any]:
    """Return what the templates of such a kind read; see ``render_framework``."""
    context = _plain(attrs, kind) if design is None else _designed(design, attrs, kind)
    names = [name, *context["inputs"], *(attr.name for attr in attrs)]
    for taken in names:
        if taken in _TAKEN or (taken == name and taken in ("forward", "backward", *context["helper_names"])):
            raise UsageError(f"the op's files use the name {taken!r} for something else", help="choose another name")
    for attr in attrs:
        if isinstance(attr.default, list) and kind.name == "torch_op":
            raise UsageError(f"--attr {attr.name}:{attr.type}: a torch_op takes numbers, bools and strings")
    symbol = class_name(name) if kind.is_class else name
    context.update(
        name=name,
        class_name=class_name(name),
        symbol=symbol,
        call=f"{symbol}.apply" if kind.is_class else symbol,
        target=f"check_{name}.py::{symbol}",
        what=_WHAT[kind.name],
        library=kind.library,
    )
    return context


def _plain(attrs: Sequence[ScaffoldAttr], kind: Kind) -> dict[str, Any]:
    formula = kind.formula_with(attrs)
    factor, scales = formula.factor, formula.factors
    times = "".join(f"{attr.py_default} * " for attr in scales)
    tanh = "jnp.tanh" if kind.library == "jax" else "torch.tanh"
    names = [attr.name for attr in scales]
    return {
        **_names(["x"], ["y"], ["x", "dy"], attrs, names, names),
        "summary": formula.summary,
        "backward_summary": kind.backward_formula.format(factor=factor),
        "forward": [f"return {factor}{tanh}(x)"],
        "backward": [f"t = {tanh}(x)", f"return {factor}dy * (1 - t * t)"],
        "helpers": [],
        "helper_names": [],
        "needs_math": False,
        "example": None,
        "times": times,
        "shapes": [{"x": (3, 4)}, {"x": (5,)}, {"x": (2, 1, 3)}],
        "draws": {"x": "rng.standard_normal(x)"},
        "narrowed": [],
        "varied": scales,
        "own": "",
    }


def _designed(design: Design, attrs: Sequence[ScaffoldAttr], kind: Kind) -> dict[str, Any]:
    from opkit.formula import translated

    said = translated(design, kind.name, [attr.name for attr in attrs])
    inputs, outputs = list(design.inputs), list(design.outputs)
    many = "s" * (len(design.gradients) > 1)
    return {
        **_names(inputs, outputs, design.reads, attrs, design.forward_attrs, design.backward_attrs),
        "summary": "; ".join(f"{output} = {text}" for output, text in design.formulas.items()) + ".",
        "backward_summary": f"The gradient{many} {', '.join(design.gradients)}, from the derivative of the formula.",
        "forward": said.forward,
        "backward": said.backward,
        "helpers": said.helpers,
        "helper_names": [text.partition("(")[0].removeprefix("def ") for text in said.helpers],
        "needs_math": "math." in "\n".join([*said.forward, *said.backward, *said.helpers]),
        "example": design.example,
        "times": "",
        "shapes": design.shapes,
        "draws": {item: region.text(item) for item, region in design.regions.items()},
        "samples": {item: region.text(repr(design.shapes[0][item])) for item, region in design.regions.items()},
        "narrowed": design.narrowed,
        "varied": [attr for attr in attrs if attr.name in design.varied],
        "own": ".clone()" if said.is_view and len(outputs) == 1 else "",
    }


def _names(
    inputs: Sequence[str],
    outputs: Sequence[str],
    reads: Sequence[str],
    attrs: Sequence[ScaffoldAttr],
    forward: Sequence[str],
    backward: Sequence[str],
) -> Mapping[str, Any]:
    """Return the parameters and arguments of the functions of a module."""
    incoming = [f"d{output}" for output in outputs]
    saved = [item for item in reads if item not in incoming]
    typed = [f"{item}: torch.Tensor" for item in inputs]
    return {
        "inputs": list(inputs),
        "outputs": list(outputs),
        "attrs": list(attrs),
        "names_target": _target([*inputs, *(attr.name for attr in attrs)]),
        "saved_target": _target(saved),
        "params": ", ".join([*inputs, *(f"{attr.name}={attr.py_default}" for attr in attrs)]),
        "typed_params": ", ".join(
            [*typed, *(f"{attr.name}: {type(attr.default).__name__} = {attr.py_default}" for attr in attrs)]
        ),
        "returns": "torch.Tensor" if len(outputs) == 1 else f"tuple[{', '.join(['torch.Tensor'] * len(outputs))}]",
        "static": [len(inputs) + index for index in range(len(attrs))],
        "forward_args": ", ".join([*inputs, *forward]),
        "backward_args": ", ".join([*saved, *incoming, *backward]),
        "backward_args_ctx": ", ".join([*saved, *incoming, *(f"ctx.{item}" for item in backward)]),
        "saved": saved,
        "incoming": incoming,
        "kept": list(backward),
    }


def _target(names: Sequence[str]) -> str:
    """Return names as the left side of an assignment."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)
