"""Ops of the tests of export beside the corpus's, as directories; holds no test."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tests.corpus.model import Op

__all__ = ["AWKWARD", "DIRECTORIES", "ROW_WISE", "write_directory"]

#: Its forward calls Python once per row, which no graph holds.
ROW_WISE = Op(
    "row_wise",
    "return np.apply_along_axis(np.cumsum, -1, x)",
    "return np.flip(np.cumsum(np.flip(dy, -1), axis=-1), -1)",
    saved=("dy",),
    like={"x": "dy"},
    infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        CHECK_GT_OR_RETURN(x->elem_cnt(), 0);
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """,
)


def _same_type(first: str, *outputs: str) -> str:
    lines = "".join(
        f'      *ctx->Dtype4ArgNameAndIndex("{out}", 0) = *ctx->Dtype4ArgNameAndIndex("{first}", 0);\n'
        for out in outputs
    )
    return (
        "    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {\n"
        f"{lines}      return Maybe<void>::Ok();\n    }});\n"
    )


#: {name: (definitions, kernels, cases)}.
DIRECTORIES: dict[str, tuple[str, str, str]] = {}

# Arrays joined along an axis; their gradients are a list.
DIRECTORIES["joined"] = (
    """
    REGISTER_USER_OP("joined_forward").InputWithMinimum("xs", 1).Output("y")
        .Attr<int32_t>("axis", 0).Attr<std::string>("device_sub_tag", "py")
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          const Shape& first = *ctx->Shape4ArgNameAndIndex("xs", 0);
          const int32_t axis = ctx->Attr<int32_t>("axis");
          CHECK_OR_RETURN(axis >= 0 && axis < first.NumAxes());
          DimVector dims = first.dim_vec();
          dims[axis] = 0;
          for (const auto& pair : ctx->inputs()) {
            const Shape& one = *ctx->Shape4ArgNameAndIndex(pair.first, pair.second);
            CHECK_EQ_OR_RETURN(one.NumAxes(), first.NumAxes()) << "all must have as many axes";
            FOR_RANGE(int64_t, i, 0, one.NumAxes()) {
              if (i != axis) { CHECK_EQ_OR_RETURN(one.At(i), first.At(i)); }
            }
            dims[axis] += one.At(axis);
          }
          *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("xs", "y")
    + """
    REGISTER_USER_OP("joined_backward").InputWithMinimum("xs", 1).Input("dy").OutputWithMinimum("dxs", 1)
        .Attr<int32_t>("axis", 0).Attr<std::string>("device_sub_tag", "py")
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          FOR_RANGE(int32_t, i, 0, ctx->outputs().size()) {
            *ctx->Shape4ArgNameAndIndex("dxs", i) = *ctx->Shape4ArgNameAndIndex("xs", i);
          }
          return Maybe<void>::Ok();
        })
        .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          FOR_RANGE(int32_t, i, 0, ctx->outputs().size()) {
            *ctx->Dtype4ArgNameAndIndex("dxs", i) = *ctx->Dtype4ArgNameAndIndex("xs", i);
          }
          return Maybe<void>::Ok();
        });
    REGISTER_USER_OP_GRAD("joined_forward")
        .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
          const auto grad = ctx->FwOp().op_name() + "_grad";
          const int32_t size = ctx->FwOp().input_size("xs");
          ctx->DefineOp(grad, [&ctx, size](user_op::BackwardOpBuilder& builder) {
            builder = builder.OpTypeName("joined_backward");
            FOR_RANGE(int32_t, i, 0, size) { builder = builder.InputBind("xs", ctx->FwOp().input("xs", i)); }
            return builder.InputBind("dy", ctx->FwOp().output_grad("y", 0)).Output("dxs", size)
                .Attr<int32_t>("axis", ctx->FwOp().attr<int32_t>("axis")).Build();
          });
          FOR_RANGE(int32_t, i, 0, size) {
            ctx->FwOp().InputGradBind(user_op::OpArg("xs", i), [&ctx, &grad, i]() -> const std::string& {
              return ctx->GetOp(grad).output("dxs", i);
            });
          }
        });
    """,
    """
    def forward(args, attrs):
        (xs,) = args
        return np.concatenate(xs, axis=attrs["axis"])


    def backward(args, attrs):
        xs, dy = args
        begin, found = 0, []
        moved = np.moveaxis(dy, attrs["axis"], 0)
        for x in xs:
            size = x.shape[attrs["axis"]]
            found.append(np.moveaxis(moved[begin : begin + size], 0, attrs["axis"]))
            begin = begin + size
        return found
    """,
    """
    def cases(rng):
        for axis, shapes in ((0, ((2, 3), (1, 3))), (1, ((2, 3), (2, 2), (2, 1))), (0, ((4,), (2,)))):
            yield {"xs": [rng.normal(size=shape) for shape in shapes], "axis": axis}
    """,
)

# A weight that may be left out decides how the gradient is wired.
DIRECTORIES["weighted"] = (
    """
    REGISTER_USER_OP("weighted_forward").Input("x").OptionalInput("w").Output("y")
        .Attr<std::string>("device_sub_tag", "py")
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          if (ctx->has_input("w", 0)) {
            CHECK_OR_RETURN(*ctx->Shape4ArgNameAndIndex("w", 0) == *ctx->Shape4ArgNameAndIndex("x", 0));
          }
          *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("x", "y")
    + """
    REGISTER_USER_OP_GRAD("weighted_forward")
        .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
          const auto slope = ctx->FwOp().op_name() + "_slope";
          ctx->DefineOp(slope, [&ctx](user_op::BackwardOpBuilder& builder) {
            return builder.OpTypeName("cos").InputBind("x", ctx->FwOp().input("x", 0)).Output("y").Build();
          });
          const auto dx = ctx->FwOp().op_name() + "_dx";
          ctx->DefineOp(dx, [&ctx, &slope](user_op::BackwardOpBuilder& builder) {
            return builder.OpTypeName("multiply").InputBind("x", ctx->GetOp(slope).output("y", 0))
                .InputBind("y", ctx->FwOp().output_grad("y", 0)).Output("out").Build();
          });
          if (ctx->FwOp().input_size("w") > 0) {
            const auto scaled = ctx->FwOp().op_name() + "_scaled";
            ctx->DefineOp(scaled, [&ctx, &dx](user_op::BackwardOpBuilder& builder) {
              return builder.OpTypeName("multiply").InputBind("x", ctx->GetOp(dx).output("out", 0))
                  .InputBind("y", ctx->FwOp().input("w", 0)).Output("out").Build();
            });
            const auto sine = ctx->FwOp().op_name() + "_sine";
            ctx->DefineOp(sine, [&ctx](user_op::BackwardOpBuilder& builder) {
              return builder.OpTypeName("sin").InputBind("x", ctx->FwOp().input("x", 0)).Output("y").Build();
            });
            const auto dw = ctx->FwOp().op_name() + "_dw";
            ctx->DefineOp(dw, [&ctx, &sine](user_op::BackwardOpBuilder& builder) {
              return builder.OpTypeName("multiply").InputBind("x", ctx->GetOp(sine).output("y", 0))
                  .InputBind("y", ctx->FwOp().output_grad("y", 0)).Output("out").Build();
            });
            ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &scaled]() -> const std::string& {
              return ctx->GetOp(scaled).output("out", 0);
            });
            ctx->FwOp().InputGradBind(user_op::OpArg("w", 0), [&ctx, &dw]() -> const std::string& {
              return ctx->GetOp(dw).output("out", 0);
            });
          } else {
            ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &dx]() -> const std::string& {
              return ctx->GetOp(dx).output("out", 0);
            });
          }
        });
    """,
    """
    def forward(args):
        x, w = args
        return np.sin(x) if w is None else np.sin(x) * w
    """,
    """
    def cases(rng):
        for shape in ((3,), (2, 2)):
            yield {"x": rng.normal(size=shape)}
            yield {"x": rng.normal(size=shape), "w": rng.normal(size=shape)}
    """,
)

# Two forward ops in one directory; the second has helper functions, an early return and a check of attributes.
DIRECTORIES["twins"] = (
    """
    namespace {
    int64_t Windows(int64_t size, int32_t width, int32_t step) { return (size - width) / step + 1; }
    Maybe<void> CheckRank(const Shape& shape, int64_t rank) {
      CHECK_EQ_OR_RETURN(shape.NumAxes(), rank) << "there must be " << rank << " axes";
      return Maybe<void>::Ok();
    }
    }
    REGISTER_USER_OP("twins_forward").Input("x").Output("y").Attr<std::string>("device_sub_tag", "py")
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("x", "y")
    + """
    REGISTER_USER_OP_GRAD("twins_forward")
        .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
          const auto grad = ctx->FwOp().op_name() + "_grad";
          ctx->DefineOp(grad, [&ctx](user_op::BackwardOpBuilder& builder) {
            return builder.OpTypeName("scalar_mul").InputBind("in", ctx->FwOp().output_grad("y", 0)).Output("out")
                .Attr<bool>("has_float_operand", true).Attr<double>("float_operand", 3.0)
                .Attr<bool>("has_int_operand", false).Attr<int64_t>("int_operand", 0).Build();
          });
          ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad]() -> const std::string& {
            return ctx->GetOp(grad).output("out", 0);
          });
        });
    REGISTER_USER_OP("twins_windows").Input("x").Output("y").Output("n")
        .Attr<int32_t>("width", 2).Attr<int32_t>("step", 1).Attr<std::string>("mode", "slide")
        .Attr<std::string>("device_sub_tag", "py")
        .SetCheckAttrFn([](const user_op::UserOpDefWrapper& def, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
          CHECK_GT_OR_RETURN(conf.attr<int32_t>("step"), 0) << "step must be positive";
          return Maybe<void>::Ok();
        })
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
          *ctx->Shape4ArgNameAndIndex("n", 0) = Shape({1});
          if (ctx->Attr<std::string>("mode") == "whole") {
            *ctx->Shape4ArgNameAndIndex("y", 0) = x;
            return Maybe<void>::Ok();
          }
          CHECK_EQ_OR_RETURN(ctx->Attr<std::string>("mode"), "slide");
          JUST(CheckRank(x, 2));
          CHECK_GE_OR_RETURN(x.At(1), ctx->Attr<int32_t>("width"));
          CHECK_GE_OR_RETURN(ctx->Attr<int32_t>("width"), 1);
          *ctx->Shape4ArgNameAndIndex("y", 0) =
              Shape({x.At(0), Windows(x.At(1), ctx->Attr<int32_t>("width"), ctx->Attr<int32_t>("step"))});
          return Maybe<void>::Ok();
        })
        .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
          *ctx->Dtype4ArgNameAndIndex("n", 0) = DataType::kInt64;
          return Maybe<void>::Ok();
        });
    """,
    """
    def forward(args):
        return 3 * args[0]


    def windows(args, attrs):
        (x,) = args
        if attrs["mode"] == "whole":
            return x * 1, np.array([1])
        width, step = attrs["width"], attrs["step"]
        rows = []
        for begin in range(0, x.shape[1] - width + 1, step):
            rows.append(x[:, begin : begin + width].sum(axis=1))
        return np.stack(rows, axis=1), np.array([(x.shape[1] - width) // step + 1])
    """,
    """
    def cases(rng):
        for shape in ((2, 7), (3, 5)):
            yield {"op": "twins_forward", "x": rng.normal(size=shape)}
            yield {"op": "twins_windows", "x": rng.normal(size=shape), "width": 2, "step": 2}
            yield {"op": "twins_windows", "x": rng.normal(size=shape), "mode": "whole"}
    """,
)

# Attributes of the types that torch's custom ops do not take.
DIRECTORIES["described"] = (
    """
    REGISTER_USER_OP("described_forward").Input("x").Output("y").Attr<std::string>("device_sub_tag", "py")
        .Attr<std::vector<std::string>>("steps", std::vector<std::string>({"double", "add"}))
        .Attr<std::vector<Shape>>("shapes", std::vector<Shape>({Shape({2, 3})}))
        .Attr<std::vector<DataType>>("kinds", std::vector<DataType>({DataType::kFloat}))
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("x", "y")
    + """
    REGISTER_USER_OP("described_backward").Input("dy").Output("dx").Attr<std::string>("device_sub_tag", "py")
        .Attr<std::vector<std::string>>("steps", std::vector<std::string>({}))
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("dy", 0);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("dy", "dx")
    + """
    REGISTER_USER_OP_GRAD("described_forward")
        .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
          const auto grad = ctx->FwOp().op_name() + "_grad";
          ctx->DefineOp(grad, [&ctx](user_op::BackwardOpBuilder& builder) {
            return builder.OpTypeName("described_backward").InputBind("dy", ctx->FwOp().output_grad("y", 0))
                .Output("dx").Attr<std::vector<std::string>>("steps", ctx->FwOp().attr<std::vector<std::string>>("steps"))
                .Build();
          });
          ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad]() -> const std::string& {
            return ctx->GetOp(grad).output("dx", 0);
          });
        });
    """,
    """
    def forward(args, attrs):
        y = args[0] * 1
        for step in attrs["steps"]:
            y = y * 2 if step == "double" else y + 1
        return y


    def backward(args, attrs):
        return args[0] * 2 ** sum(1 for step in attrs["steps"] if step == "double")
    """,
    """
    def cases(rng):
        yield {"x": rng.normal(size=(2, 3))}
        yield {"x": rng.normal(size=(4,)), "steps": ["add"]}
    """,
)


# All fourteen types of attributes; the callback form hands each to the kernel as opkit does.
DIRECTORIES["attributed"] = (
    """
    REGISTER_USER_OP("attributed_forward").Input("x").Output("y").Attr<std::string>("device_sub_tag", "py")
        .Attr<int32_t>("a", 2).Attr<int64_t>("b", 3).Attr<bool>("c", true).Attr<float>("d", 0.1).Attr<double>("e", 0.2)
        .Attr<std::string>("f", "word").Attr<Shape>("g", Shape({2, 3})).Attr<DataType>("h", DataType::kFloat)
        .Attr<std::vector<int32_t>>("i", std::vector<int32_t>({1, 2})).Attr<std::vector<int64_t>>("j", std::vector<int64_t>({3}))
        .Attr<std::vector<float>>("k", std::vector<float>({0.5, 1.5}))
        .Attr<std::vector<DataType>>("l", std::vector<DataType>({DataType::kInt32, DataType::kFloat}))
        .Attr<std::vector<Shape>>("m", std::vector<Shape>({Shape({2}), Shape({1, 2})}))
        .Attr<std::vector<std::string>>("n", std::vector<std::string>({"one", "two"}))
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
          return Maybe<void>::Ok();
        })
    """
    + _same_type("x", "y")
    + ";",
    """
    def forward(args, attrs):
        (x,) = args
        total = attrs["a"] + attrs["b"] + attrs["c"] + attrs["d"] + attrs["e"] + len(attrs["f"])
        total += sum(attrs["g"]) + len(attrs["h"]) + sum(attrs["i"]) + sum(attrs["j"]) + sum(attrs["k"])
        total += sum(len(item) for item in attrs["l"]) + sum(len(item) for item in attrs["m"])
        total += sum(len(item) for item in attrs["n"])
        return (x * total).astype(x.dtype)
    """,
    """
    def cases(rng):
        yield {"x": rng.normal(size=(2, 3))}
        yield {"x": rng.normal(size=(4,)), "a": 5, "c": False, "f": "", "g": (7,), "i": [], "l": [], "m": [(4,)], "n": ["x"]}
    """,
)


def write_directory(name: str, folder: Path) -> Path:
    """Write one of the directories below a folder and return it."""
    spec, kernel, cases = DIRECTORIES[name]
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    text = f'#include "oneflow/core/framework/framework.h"\n\nnamespace oneflow {{\n{dedent(spec)}}}  // namespace oneflow\n'
    (place / f"{name}_cpp_def.cpp").write_text(text)
    (place / f"{name}_py_kernel.py").write_text("import numpy as np\n\n\n" + dedent(kernel).strip() + "\n")
    (place / f"{name}_cases.py").write_text(dedent(cases).strip() + "\n")
    (place / f"{name}_py_api.py").write_text("import oneflow as flow\n")
    return place


# --- names that clash with what a file uses itself; ops in the manner of the corpus
_BOTH = """
    CHECK_OR_RETURN(*ctx->Shape4ArgNameAndIndex("{0}", 0) == *ctx->Shape4ArgNameAndIndex("{1}", 0));
    *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("{0}", 0);
    """


def _awkward(name: str, first: str, second: str, attr: str) -> Op:
    return Op(
        name,
        f"return {first} * {second} * attrs['{attr}']",
        f"return dy * {second} * attrs['{attr}'], dy * {first} * attrs['{attr}']",
        inputs=(first, second),
        saved=(first, second, "dy"),
        grads=(first, second),
        attrs=((attr, "float", "1.5"),),
        infer=_BOTH.format(first, second),
    )


AWKWARD = {
    op.name: op
    for op in (
        _awkward("of_modules", "torch", "jnp", "np"),
        _awkward("of_python", "list", "len", "tuple"),
        _awkward("of_file", "shape", "dtype", "y_dtype"),
        _awkward("of_rules", "ctx", "grads", "grad_y"),
        _awkward("of_contexts", "residuals", "inputs", "saved_tensors"),
    )
}
