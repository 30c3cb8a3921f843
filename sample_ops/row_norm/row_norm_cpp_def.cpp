#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

// y = sqrt(sum(x ** 2)) over the last axis, which is removed.
REGISTER_USER_OP("row_norm_forward")
    .Input("x")
    .Output("y")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_GE_OR_RETURN(x.NumAxes(), 1) << "there must be an axis to reduce";
      DimVector y = x.dim_vec();
      y.pop_back();
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(y);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      // Every axis except the reduced one may be split.
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes() - 1) {
        ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).Split(user_op::OpArg("y", 0), i).Build();
      }
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const DataType dtype = *ctx->Dtype4ArgNameAndIndex("x", 0);
      CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == DataType::kDouble)
          << "x must be float32 or float64";
      *ctx->Dtype4ArgNameAndIndex("y", 0) = dtype;
      return Maybe<void>::Ok();
    });

// dx = dy * x / y.
REGISTER_USER_OP("row_norm_backward")
    .Input("x")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("dy", 0), *ctx->Shape4ArgNameAndIndex("y", 0));
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes() - 1) {
        ctx->NewBuilder()
            .Split(user_op::OpArg("x", 0), i)
            .Split(user_op::OpArg("y", 0), i)
            .Split(user_op::OpArg("dy", 0), i)
            .Split(user_op::OpArg("dx", 0), i)
            .Build();
      }
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });

// Which op computes the gradient, and where its inputs come from.
REGISTER_USER_OP_GRAD("row_norm_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
      const auto& grad_op_func = [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("row_norm_backward")
            .InputBind("x", ctx->FwOp().input("x", 0))
            .InputBind("y", ctx->FwOp().output("y", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("dx")
            .Build();
      };
      ctx->DefineOp(grad_op_name, grad_op_func);

      const auto& dx_get_func = [&ctx, &grad_op_name]() -> const std::string& {
        return ctx->GetOp(grad_op_name).output("dx", 0);
      };
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), dx_get_func);
    });

}  // namespace

}  // namespace oneflow
