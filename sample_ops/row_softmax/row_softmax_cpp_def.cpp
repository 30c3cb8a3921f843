#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

// y = exp(x) / sum(exp(x)) over the last axis.
REGISTER_USER_OP("row_softmax_forward")
    .Input("x")
    .Output("y")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_GE_OR_RETURN(x.NumAxes(), 2) << "there must be rows";
      *ctx->Shape4ArgNameAndIndex("y", 0) = x;
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      // Wrong on purpose: the last axis must not be split, a row needs its whole sum. `opkit sbp` refutes the claim.
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes()) {
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

// dx = y * (dy - sum(dy * y)).
REGISTER_USER_OP("row_softmax_backward")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("dy", 0), *ctx->Shape4ArgNameAndIndex("y", 0));
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("y", 0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      // Every axis except the last may be split, and dy may arrive as partial sums.
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("y", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes() - 1) {
        ctx->NewBuilder()
            .Split(user_op::OpArg("y", 0), i)
            .Split(user_op::OpArg("dy", 0), i)
            .Split(user_op::OpArg("dx", 0), i)
            .Build();
      }
      ctx->NewBuilder()
          .Broadcast(user_op::OpArg("y", 0))
          .PartialSum(user_op::OpArg("dy", 0))
          .PartialSum(user_op::OpArg("dx", 0))
          .Build();
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("y", 0);
      return Maybe<void>::Ok();
    });

// Which op computes the gradient, and where its inputs come from.
REGISTER_USER_OP_GRAD("row_softmax_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
      const auto& grad_op_func = [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("row_softmax_backward")
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
