#include <cmath>

#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

template<typename T>
class Kernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* given = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* x = given->dptr<T>();
    T* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    T total = 0;
    FOR_RANGE(int64_t, i, 0, given->shape().elem_cnt()) { y[i] = total = T(0.9) * total + x[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

REGISTER_USER_KERNEL("decay_forward").SetCreateFn<Kernel<float>>().SetIsMatchedHob(
    (user_op::HobDeviceTag() == "cpu") & (user_op::HobDataType("x", 0) == DataType::kFloat));
REGISTER_USER_KERNEL("decay_forward").SetCreateFn<Kernel<double>>().SetIsMatchedHob(
    (user_op::HobDeviceTag() == "cpu") & (user_op::HobDataType("x", 0) == DataType::kDouble));

}  // namespace

}  // namespace oneflow
