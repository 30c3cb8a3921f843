"""CppText: the repetitive parts of a definition file, as a person would write them.

Which of them a file lacks is decided in ``amending``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opkit.project.attribute import ScaffoldAttr

_INDENT = "    "


def attr_line(attr: ScaffoldAttr) -> str:
    """Return the setter that declares an attribute."""
    return f'{_INDENT}.Attr<{attr.cpp_type}>("{attr.name}", {attr.cpp_default})'


def tag_line() -> str:
    """Return the setter that asks for the Python kernel."""
    return f'{_INDENT}.Attr<std::string>("device_sub_tag", "py")'


def tensor_desc_setter(shapes: Mapping[str, str]) -> str:
    """Return the setter of the shapes: {output: the input whose shape it has}."""
    return _setter("SetTensorDescInferFn", "Shape", shapes)


def data_type_setter(dtypes: Mapping[str, str]) -> str:
    """Return the setter of the dtypes: {output: the input whose dtype it has}."""
    return _setter("SetDataTypeInferFn", "Dtype", dtypes)


def _setter(name: str, what: str, sources: Mapping[str, str]) -> str:
    lines = [
        f'{_INDENT}  *ctx->{what}4ArgNameAndIndex("{output}", 0) = *ctx->{what}4ArgNameAndIndex("{source}", 0);'
        for output, source in sources.items()
    ]
    return "\n".join(
        (
            f"{_INDENT}.{name}([](user_op::InferContext* ctx) -> Maybe<void> {{",
            *lines,
            f"{_INDENT}  return Maybe<void>::Ok();",
            f"{_INDENT}}})",
        )
    )


def registration(op_type: str, inputs: Sequence[str], sources: Mapping[str, str], attrs: Sequence[ScaffoldAttr]) -> str:
    """Return the registration of an op; ``sources`` names its outputs with the input whose shape and dtype each has."""
    lines = [f'REGISTER_USER_OP("{op_type}")']
    lines += [f'{_INDENT}.Input("{name}")' for name in inputs]
    lines += [f'{_INDENT}.Output("{name}")' for name in sources]
    lines += [attr_line(attr) for attr in attrs]
    lines += [tag_line(), tensor_desc_setter(sources), data_type_setter(sources) + ";"]
    return "\n".join(lines) + "\n"


def gradient(
    forward: str, backward: str, binds: Mapping[str, str], grads: Mapping[str, str], attrs: Sequence[ScaffoldAttr]
) -> str:
    """Return a gradient registration.

    Args:
        forward: the forward op type.
        backward: the op type that computes the gradient.
        binds: {input of backward: the call on ``ctx->FwOp()`` that gives it}.
        grads: {output of backward: the forward input whose gradient it is}.
        attrs: what both ops declare.
    """
    lines = [
        f'REGISTER_USER_OP_GRAD("{forward}")',
        f"{_INDENT}.SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{",
        '      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";',
        "      ctx->DefineOp(grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {",
        f'        return builder.OpTypeName("{backward}")',
        *(f'            .InputBind("{name}", ctx->FwOp().{source})' for name, source in binds.items()),
        *(f'            .Output("{name}")' for name in grads),
        *(
            f'            .Attr<{attr.cpp_type}>("{attr.name}", ctx->FwOp().attr<{attr.cpp_type}>("{attr.name}"))'
            for attr in attrs
        ),
        "            .Build();",
        "      });",
    ]
    for name, source in grads.items():
        lines += [
            f'      ctx->FwOp().InputGradBind(user_op::OpArg("{source}", 0),',
            "                                [&ctx, &grad_op_name]() -> const std::string& {",
            f'                                  return ctx->GetOp(grad_op_name).output("{name}", 0);',
            "                                });",
        ]
    return "\n".join((*lines, "    });")) + "\n"


def definition(registrations: Sequence[str]) -> str:
    """Return a whole definition file."""
    head = '#include "oneflow/core/framework/framework.h"\n\nnamespace oneflow {\n\nnamespace {\n'
    return "\n".join((head, *registrations, "}  // namespace\n", "}  // namespace oneflow\n"))
