"""Op directories written for tests: a spec of elementwise shape rules, and the kernels given as text."""

from __future__ import annotations

from pathlib import Path

_SPEC = """#include "oneflow/core/framework/framework.h"

namespace oneflow {{

REGISTER_USER_OP("{name}_forward")
    .Input("x")
    .Output("y")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    }});

REGISTER_USER_OP("{name}_backward")
    .Input("x")
    .Input("dy")
    .Output("dx")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    }});

REGISTER_USER_OP_GRAD("{name}_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{
      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {{
        return builder.OpTypeName("{name}_backward")
            .InputBind("x", ctx->FwOp().input("x", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("dx")
            .Build();
      }});
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad_op_name]() -> const std::string& {{
        return ctx->GetOp(grad_op_name).output("dx", 0);
      }});
    }});

}}  // namespace oneflow
"""

_API = """import oneflow as flow


def {name}_forward(x):
    op = flow.user_op_builder("{name}").Op("{name}_forward").Input("x", [x]).Output("y").Build()
    return op.InferAndTryRun().SoleOutputBlob()
"""

SQUARE = """import numpy as np


def forward(args):
    (x,) = args
    return x * x


def backward(args):
    (x, dy) = args
    return 2 * x * dy
"""


def make_op(folder: Path, name: str, kernel: str = SQUARE, cases: str = "") -> Path:
    """Write an op directory with one input x and one output y of its shape and dtype; return it."""
    path = folder / name
    path.mkdir(parents=True)
    (path / f"{name}_cpp_def.cpp").write_text(_SPEC.format(name=name))
    (path / f"{name}_py_api.py").write_text(_API.format(name=name))
    (path / f"{name}_py_kernel.py").write_text(kernel)
    if cases:
        (path / f"{name}_cases.py").write_text(cases)
    return path
