#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

// Computes nothing.
class Kernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<float>();
    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

REGISTER_USER_KERNEL("empty_forward").SetCreateFn<Kernel>().SetIsMatchedHob(user_op::HobDeviceTag() == "cpu");

}  // namespace

}  // namespace oneflow
