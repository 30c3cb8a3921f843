"""``define``: the short way to write an OpDef, and ``apply`` for builders.

No op is defined here; each family has a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from opkit.ir import ForInference
from opkit.ops.core.inference import like, unchanged
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import ArgDef, AttrDef, GradKernel, GradRule, Infer, Kept, Kernel, OpDef
from opkit.ops.core.quiet import SMALL, bare_kernel, quiet
from opkit.ops.core.registry import BUILTIN
from opkit.ops.core.types import Attrs, Function, Values

__all__ = [
    "NO_ATTRS",
    "attr_list",
    "define",
    "define_linear",
    "define_map",
    "first_only",
    "named",
    "quiet",
    "slope_kernel",
]

#: The attributes of an op that has none.
NO_ATTRS: Attrs = MappingProxyType({})


def define(
    name: str,
    inputs: str,
    outputs: str,
    kernel: Kernel,
    *,
    infer: Infer,
    grad: GradRule | None = None,
    grad_kernel: GradKernel | None = None,
    attrs: str = "",
    defaults: Attrs = NO_ATTRS,
    reads: str = "",
    out: Kernel | None = None,
    elementwise: bool = False,
    view: bool = False,
    random: bool = False,
    writes: str = "",
    writes_when: str = "",
    side_effect: bool = False,
    silent: bool = False,
    for_inference: ForInference | None = None,
) -> OpDef:
    """Define a built-in op and register it.

    Args:
        name: op type name.
        inputs: names, in the kernel's order; ``?name`` is optional, ``*name`` variadic, ``=name`` read for its
            shape and dtype only.
        outputs: names, with the same marks.
        kernel: computes new arrays.
        infer: shape and dtype inference.
        grad: gradient rule.
        grad_kernel: see ``OpDef.grad_kernel``.
        attrs: ``"axis:vector<int32> keepdims:bool"``.
        defaults: of attributes whose default is not their type's zero.
        reads: names of inputs and outputs whose data the rule reads.
        out: the kernel that writes into a buffer.
        elementwise: see ``OpDef.is_elementwise``.
        view: see ``OpDef.is_view``.
        random: see ``OpDef.is_random``.
        writes: names of the inputs that the kernel changes in place.
        writes_when: see ``OpDef.writes_when``.
        side_effect: see ``OpDef.has_side_effect``; an op that writes has one anyway.
        silent: see ``OpDef.is_silent``.
        for_inference: see ``OpDef.for_inference``.
    """
    opdef = OpDef(
        name=name,
        inputs=tuple(map(_argument, inputs.split())),
        outputs=tuple(map(_argument, outputs.split())),
        attrs=attr_list(attrs, defaults),
        kernel=kernel,
        infer=infer,
        grad=grad,
        grad_kernel=grad_kernel,
        reads=tuple(reads.split()),
        kernel_out=out,
        is_elementwise=elementwise,
        is_view=view,
        is_random=random,
        writes=tuple(writes.split()),
        writes_when=writes_when,
        has_side_effect=side_effect,
        is_silent=silent,
        for_inference=for_inference,
    )
    BUILTIN.add(opdef)
    return opdef


def define_map(
    name: str,
    kernel: Kernel,
    rule: Callable[[Any, Any], Any],
    *,
    names: tuple[str, str] = ("x", "y"),
    infer: Infer | None = None,
    **rest: Any,
) -> OpDef:
    """Define an op of one input and one output.

    Args:
        name: op type name.
        kernel: see ``define``.
        rule: ``rule(applied, dout)`` returns the input's cotangent.
        names: of the input and the output.
        infer: left out: shape and dtype are kept.
        rest: further arguments of ``define``.
    """
    source, result = names
    return define(name, source, result, kernel, infer=infer or unchanged, grad=first_only(rule), **rest)


def define_linear(
    name: str,
    kernel: Kernel,
    adjoint: Kernel,
    *,
    names: tuple[str, str, str] = ("x", "y", "like"),
    infer: Infer,
    attrs: str,
) -> tuple[OpDef, OpDef]:
    """Define a linear op and its gradient op ``NAME_grad``, each of which is the other's gradient.

    Args:
        name: op type name.
        kernel: ``kernel(x, **attrs)``.
        adjoint: ``adjoint(dy, like, **attrs)``, where ``like`` has x's shape and dtype.
        names: of the input, the output, and the input of the gradient op that has x's shape.
        infer: of the op; the gradient op's result is like x.
        attrs: of both.

    Returns:
        the op and the gradient op.
    """
    source, result, model = names
    both: list[OpDef] = []

    def forward_rule(applied: Any, dout: Any) -> Any:
        return perform(both[1], dout, applied.inputs[0], **applied.attrs)

    def backward_rule(applied: Any, douts: Any) -> Any:
        return perform(both[0], douts[0], **applied.attrs), None

    both.append(define(name, source, result, kernel, infer=infer, attrs=attrs, grad=first_only(forward_rule)))
    grad_name, shape = f"{name}_grad", like(1)
    both.append(define(grad_name, f"dy ={model}", "dx", adjoint, infer=shape, attrs=attrs, grad=backward_rule))
    return both[0], both[1]


def _argument(text: str) -> ArgDef:
    name = text.lstrip("?*=")
    marks = text[: len(text) - len(name)]
    return ArgDef(name, is_optional="?" in marks, is_variadic="*" in marks, is_shape_only="=" in marks)


def attr_list(text: str, defaults: Attrs = NO_ATTRS) -> tuple[AttrDef, ...]:
    """Return the attributes that ``"name:type name:type"`` declares; a default left out is its type's zero."""
    attrs = []
    for item in text.split():
        name, _, kind = item.partition(":")
        zero = () if kind.startswith("vector") or kind == "shape" else _ZEROS[kind]
        attrs.append(AttrDef(name, kind, defaults.get(name, zero)))
    return tuple(attrs)


_ZEROS: dict[str, Any] = {
    "int32": 0,
    "int64": 0,
    "float": 0.0,
    "double": 0.0,
    "bool": False,
    "string": "",
    "data_type": "float32",
    "object": None,
}


def named(builders: dict[str, Function]) -> dict[str, Function]:
    """Return builders by name, each called with its own name."""
    for name, build in builders.items():
        build.__name__ = build.__qualname__ = name
    return builders


def first_only(rule: Callable[[Any, Any], Any]) -> GradRule:
    """Return the gradient rule of a one-input, one-output op from ``rule(applied, dout) -> cotangent``."""
    return lambda applied, douts: (rule(applied, douts[0]),)


def slope_kernel(slope: Function, *, from_output: bool = False) -> GradKernel:
    """Return the gradient kernel of a one-input, one-output op from ``slope(x, dy, **attrs)``, or of y."""
    bare = bare_kernel(slope) or slope
    whole = getattr(bare, "small", bare)

    def kernel(kept: Kept, dy: Any) -> Values:
        value = kept.result() if from_output else kept.array(0)
        run = whole if dy.size < SMALL else bare
        return (run(value, dy, **kept.attrs) if kept.attrs else run(value, dy),)

    return kernel
