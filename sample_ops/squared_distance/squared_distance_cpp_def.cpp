#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

// y = (a - b) ** 2, elementwise.
REGISTER_USER_OP("squared_distance_forward")
    .Input("a")
    .Input("b")
    .Output("y")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& a = *ctx->Shape4ArgNameAndIndex("a", 0);
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("b", 0), a) << "a and b must have the same shape";
      *ctx->Shape4ArgNameAndIndex("y", 0) = a;
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      // Every axis may be split: each element is computed on its own.
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("a", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes()) {
        ctx->NewBuilder()
            .Split(user_op::OpArg("a", 0), i)
            .Split(user_op::OpArg("b", 0), i)
            .Split(user_op::OpArg("y", 0), i)
            .Build();
      }
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const DataType dtype = *ctx->Dtype4ArgNameAndIndex("a", 0);
      CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == DataType::kDouble)
          << "a must be float32 or float64";
      CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("b", 0), dtype);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = dtype;
      return Maybe<void>::Ok();
    });

// da = 2 * dy * (a - b), elementwise. There is no op for db: it is -da, and OneFlow has an op for that.
REGISTER_USER_OP("squared_distance_backward")
    .Input("a")
    .Input("b")
    .Input("dy")
    .Output("da")
    .Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("b", 0), *ctx->Shape4ArgNameAndIndex("a", 0));
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("dy", 0), *ctx->Shape4ArgNameAndIndex("a", 0));
      *ctx->Shape4ArgNameAndIndex("da", 0) = *ctx->Shape4ArgNameAndIndex("a", 0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex("a", 0).shape();
      FOR_RANGE(int64_t, i, 0, shape.NumAxes()) {
        ctx->NewBuilder().Split(ctx->inputs(), i).Split(ctx->outputs(), i).Build();
      }
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Dtype4ArgNameAndIndex("da", 0) = *ctx->Dtype4ArgNameAndIndex("a", 0);
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP_GRAD("squared_distance_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto da_op_name = ctx->FwOp().op_name() + "_da";
      ctx->DefineOp(da_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("squared_distance_backward")
            .InputBind("a", ctx->FwOp().input("a", 0))
            .InputBind("b", ctx->FwOp().input("b", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("da")
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("a", 0), [&ctx, &da_op_name]() -> const std::string& {
        return ctx->GetOp(da_op_name).output("da", 0);
      });

      // db = -1 * da, with one of OneFlow's own ops.
      const auto db_op_name = ctx->FwOp().op_name() + "_db";
      ctx->DefineOp(db_op_name, [&ctx, &da_op_name](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("scalar_mul")
            .InputBind("in", ctx->GetOp(da_op_name).output("da", 0))
            .Output("out")
            .Attr("has_int_operand", false)
            .Attr("has_float_operand", true)
            .Attr("int_operand", static_cast<int64_t>(0))
            .Attr("float_operand", static_cast<double>(-1))
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("b", 0), [&ctx, &db_op_name]() -> const std::string& {
        return ctx->GetOp(db_op_name).output("out", 0);
      });
    });

}  // namespace

}  // namespace oneflow
