"""Op directories beyond one array in and one out: several outputs, optional and variadic arguments, built-in backward ops."""

from pathlib import Path

import numpy as np
import pytest

import opkit.eager
from opkit import ops
from opkit.eager import wrap
from opkit.errors import KernelError, UsageError
from opkit.project import load

HEAD = '#include "oneflow/core/framework/framework.h"\nnamespace oneflow {\n'
TAG = '.Attr<std::string>("device_sub_tag", "py")'
UNCHANGED = """
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      for (const auto& out : ctx->outputs()) {
        *ctx->Shape4ArgNameAndIndex(out.first, out.second) = ctx->TensorDesc4ArgNameAndIndex("x", 0)->shape();
        *ctx->Dtype4ArgNameAndIndex(out.first, out.second) = ctx->TensorDesc4ArgNameAndIndex("x", 0)->data_type();
      }
      return Maybe<void>::Ok();
    });
"""
X = np.linspace(-1, 1, 4)


def op(folder: Path, name: str, spec: str, kernel: str):
    """Write an op directory and load it."""
    path = folder / name
    path.mkdir()
    (path / f"{name}_cpp_def.cpp").write_text(HEAD + spec + "}  // namespace oneflow\n")
    (path / f"{name}_py_kernel.py").write_text("import numpy as np\n\n\n" + kernel)
    (path / f"{name}_py_api.py").write_text("")
    loaded = load(path)
    assert not loaded.has_errors, loaded.diagnostics
    return loaded


def apply(loaded, name: str, inputs: dict, outputs: dict | None = None):
    """Apply an op eagerly to Tensors."""
    bound = loaded.ops[name].bind(inputs, {}, outputs)
    return ops.apply(bound.opdef, bound.inputs, bound.attrs)


SINCOS = f"""
REGISTER_USER_OP("t_forward").Input("x").Output("s").Output("c"){TAG}{UNCHANGED}
REGISTER_USER_OP("t_backward").Input("x").Input("ds").Input("dc").Output("dx"){TAG}{UNCHANGED}
REGISTER_USER_OP_GRAD("t_forward").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {{
    return builder.OpTypeName("t_backward").InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("ds", ctx->FwOp().output_grad("s", 0)).InputBind("dc", ctx->FwOp().output_grad("c", 0))
        .Output("dx").Build();
  }});
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &name]() -> const std::string& {{
    return ctx->GetOp(name).output("dx", 0);
  }});
}});
"""
SINCOS_KERNEL = (
    "def forward(args):\n    return [np.sin(args[0]), np.cos(args[0])]\n\n\n"
    "def backward(args):\n    x, ds, dc = args\n    return ds * np.cos(x) - dc * np.sin(x)\n"
)


def test_output_that_no_loss_reaches_gives_zeros(tmp_path: Path) -> None:
    """Where only one of two outputs is used, the gradient of the other is an array of zeros."""
    loaded = op(tmp_path, "t", SINCOS, SINCOS_KERNEL)
    for used, expected in ((0, np.cos(X)), (1, -np.sin(X))):
        x = wrap(X, stop_gradient=False)
        outputs = apply(loaded, "t_forward", {"x": [x]})
        opkit.eager.run_backward([outputs[used]], [wrap(np.ones_like(X))])
        np.testing.assert_allclose(x.grad._data, expected)


def test_both_outputs_used(tmp_path: Path) -> None:
    """Where both outputs are used their gradients add up in one backward op."""
    loaded = op(tmp_path, "t", SINCOS, SINCOS_KERNEL)
    x = wrap(X, stop_gradient=False)
    outputs = apply(loaded, "t_forward", {"x": [x]})
    opkit.eager.run_backward(list(outputs), [wrap(np.ones_like(X)), wrap(2 * np.ones_like(X))])
    np.testing.assert_allclose(x.grad._data, np.cos(X) - 2 * np.sin(X))


def test_optional_input(tmp_path: Path) -> None:
    """An optional input that is left out reaches the kernel as None."""
    spec = f'REGISTER_USER_OP("t").Input("x").OptionalInput("bias").Output("y"){TAG}{UNCHANGED}'
    loaded = op(tmp_path, "t", spec, "def forward(args):\n    x, b = args\n    return x + 1 if b is None else x + b\n")
    np.testing.assert_allclose(apply(loaded, "t", {"x": [wrap(X)]})._data, X + 1)
    np.testing.assert_allclose(apply(loaded, "t", {"x": [wrap(X)], "bias": [wrap(X)]})._data, 2 * X)


def test_variadic_input(tmp_path: Path) -> None:
    """A variadic input reaches the kernel as one list; fewer values than declared are refused."""
    spec = f'REGISTER_USER_OP("t").InputWithMinimum("x", 2).Output("y"){TAG}{UNCHANGED}'
    loaded = op(
        tmp_path, "t", spec, "def forward(args):\n    (x,) = args\n    assert type(x) is list\n    return sum(x)\n"
    )
    for count in (2, 3, 5):
        np.testing.assert_allclose(apply(loaded, "t", {"x": [wrap(X)] * count})._data, count * X)
    with pytest.raises(UsageError, match=r"input 'x' has 1 values?, at least 2 are expected"):
        apply(loaded, "t", {"x": [wrap(X)]})


def test_variadic_output(tmp_path: Path) -> None:
    """A variadic output is a list of as many arrays as the builder asks for."""
    spec = f'REGISTER_USER_OP("t").Input("x").OutputWithMinimum("y", 1){TAG}{UNCHANGED}'
    loaded = op(tmp_path, "t", spec, "def forward(args):\n    (x,) = args\n    return [x * i for i in range(3)]\n")
    results = apply(loaded, "t", {"x": [wrap(X)]}, {"y": 3})
    for index, result in enumerate(results):
        np.testing.assert_allclose(result._data, index * X)
    with pytest.raises(KernelError, match="returned 3 arrays for output 'y', of which there are 2"):
        apply(loaded, "t", {"x": [wrap(X)]}, {"y": 2})


def test_backward_by_built_in_ops_alone(tmp_path: Path) -> None:
    """A gradient may be made of built-in ops only, in the older interface too; no backward kernel is needed."""
    spec = f"""
REGISTER_USER_OP("t_forward").Input("x").Output("y"){TAG}{UNCHANGED}
REGISTER_USER_OP_GRAD("t_forward")
    .SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {{
      if (op.NeedGenGradTensor4OpInput("x", 0)) {{
        user_op::UserOpConfWrapperBuilder two(op.op_name() + "_two");
        user_op::UserOpConfWrapper two_op = two.Op("scalar_mul").Input("in", op.input("x", 0)).Output("out")
            .Attr<bool>("has_float_operand", true).Attr<double>("float_operand", 2)
            .Attr<bool>("has_int_operand", false).Attr<int64_t>("int_operand", 0).Build();
        AddOp(two_op);
        user_op::UserOpConfWrapperBuilder product(op.op_name() + "_grad");
        user_op::UserOpConfWrapper product_op = product.Op("multiply").Input("x", two_op.output("out", 0))
            .Input("y", op.GetGradTensorWithOpOutput("y", 0)).Output("out").Build();
        op.BindGradTensorWithOpInput(product_op.output("out", 0), "x", 0);
        AddOp(product_op);
      }}
    }});
"""
    loaded = op(tmp_path, "t", spec, "def forward(args):\n    (x,) = args\n    return x * x\n")
    x = wrap(X, stop_gradient=False)
    y = apply(loaded, "t_forward", {"x": [x]})
    opkit.eager.run_backward([y], [wrap(np.full_like(X, 3.0))])
    np.testing.assert_allclose(x.grad._data, 6 * X)


def test_results_that_are_views_of_arguments(tmp_path: Path) -> None:
    """A kernel may return a view of an argument, or the argument itself; the input is not changed by what follows."""
    spec = f'REGISTER_USER_OP("t").Input("x").Output("y"){TAG}{UNCHANGED}'
    loaded = op(tmp_path, "t", spec, "def forward(args):\n    return args[0][::-1]\n")
    x = X.copy()
    np.testing.assert_allclose(apply(loaded, "t", {"x": [wrap(x)]})._data, X[::-1])
    np.testing.assert_array_equal(x, X)
