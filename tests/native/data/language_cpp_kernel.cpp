// Kernels that use the parts of the kernel language; each op type has the name of what it tries.
#include "oneflow/core/common/balanced_splitter.h"
#include "oneflow/core/common/nd_index_offset_helper.h"
#include "oneflow/core/common/switch_func.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/new_kernel_util.h"
#include "oneflow/core/ndarray/ndarray_util.h"

namespace oneflow {

namespace {

using user_op::KernelComputeContext;
using user_op::Tensor;

#define KERNEL(Class)                                                    \
  class Class final : public user_op::OpKernel {                         \
    void Compute(KernelComputeContext* ctx) const override;              \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; } \
  };                                                                     \
  void Class::Compute(KernelComputeContext* ctx) const

#define ON_CPU SetIsMatchedHob(user_op::HobDeviceTag() == "cpu")

// The sum of all attributes, one of each type.
KERNEL(AttrsKernel) {
  double sum = ctx->Attr<int32_t>("i32") + ctx->Attr<int64_t>("i64") + ctx->Attr<bool>("b") + ctx->Attr<float>("f");
  sum += ctx->Attr<double>("d") + ctx->Attr<std::string>("s").size() + ctx->Attr<Shape>("shape").elem_cnt();
  sum += ctx->Attr<DataType>("dtype") == DataType::kDouble ? 100 : 0;
  for (int32_t item : ctx->Attr<std::vector<int32_t>>("li32")) { sum += item; }
  for (int64_t item : ctx->Attr<std::vector<int64_t>>("li64")) { sum += item; }
  for (float item : ctx->Attr<std::vector<float>>("lf")) { sum += item; }
  for (DataType item : ctx->Attr<std::vector<DataType>>("ldtype")) { sum += item; }
  for (const Shape& item : ctx->Attr<std::vector<Shape>>("lshape")) { sum += item.NumAxes(); }
  for (const std::string& item : ctx->Attr<std::vector<std::string>>("ls")) { sum += item.size(); }
  *ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<double>() = sum;
}
REGISTER_USER_KERNEL("attrs").SetCreateFn<AttrsKernel>().ON_CPU;

// The reversed input, by way of the temporary buffer; it may be written over its input, since the buffer comes between.
KERNEL(BufferKernel) {
  const Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
  Tensor* buffer = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0);
  const int64_t n = in->shape().elem_cnt();
  CHECK_EQ(buffer->shape().elem_cnt(), n * static_cast<int64_t>(sizeof(float)));
  float* held = buffer->mut_dptr<float>();
  XPU_1D_KERNEL_LOOP(i, n) { held[i] = in->dptr<float>()[n - 1 - i]; }
  Memcpy<DeviceType::kCPU>(ctx->device_ctx(), ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<float>(), held,
                           n * sizeof(float));
}
REGISTER_USER_KERNEL("buffer")
    .SetCreateFn<BufferKernel>()
    .ON_CPU
    .SetInferTmpSizeFn([](user_op::InferContext* ctx) {
      return ctx->Shape4ArgNameAndIndex("in", 0)->elem_cnt() * sizeof(float);
    })
    .SetInplaceProposalFn([](const user_op::InferContext&, user_op::AddInplaceArgPair Add) -> Maybe<void> {
      OF_RETURN_IF_ERROR(Add("out", 0, "in", 0, true));
      return Maybe<void>::Ok();
    });

// How often it was called.
struct Counter final : public user_op::OpKernelState {
  explicit Counter(int64_t start) : count(start) {}
  int64_t count;
};
class StateKernel final : public user_op::OpKernel {
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(user_op::KernelInitContext* ctx) const override {
    return std::make_shared<Counter>(ctx->Attr<int64_t>("start"));
  }
  void Compute(KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    *ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<int64_t>() = dynamic_cast<Counter*>(state)->count++;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("state").SetCreateFn<StateKernel>().ON_CPU;

// The sums over a variadic input, by dtype, and their count in a second output.
template<typename T>
class SumKernel final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const int64_t n = out->shape().elem_cnt();
    std::fill(out->mut_dptr<T>(), out->mut_dptr<T>() + n, GetZeroVal<T>());
    FOR_RANGE(int32_t, j, 0, ctx->input_size("in")) {
      const T* in = ctx->Tensor4ArgNameAndIndex("in", j)->template dptr<T>();
      FOR_RANGE(int64_t, i, 0, n) { out->mut_dptr<T>()[i] += in[i]; }
    }
    *ctx->Tensor4ArgNameAndIndex("count", 0)->mut_dptr<int32_t>() = ctx->input_size("in");
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define REGISTER_SUM(device, dtype_pair)                           \
  REGISTER_USER_KERNEL("sum")                                      \
      .SetCreateFn<SumKernel<OF_PP_PAIR_FIRST(dtype_pair)>>()      \
      .SetIsMatchedHob((user_op::HobDeviceTag() == device)         \
                       & (user_op::HobDataType("in", 0) == OF_PP_PAIR_SECOND(dtype_pair)));
OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(REGISTER_SUM, DEVICE_TYPE_SEQ, ARITHMETIC_DATA_TYPE_SEQ FLOAT16_DATA_TYPE_SEQ)

// The transposed input, by index arithmetic, for any number of axes from 1 to 3.
template<int N>
struct Transpose {
  static void Run(const Tensor* in, Tensor* out) {
    DimVector reversed(in->shape().NumAxes());
    FOR_RANGE(int64_t, i, 0, N) { reversed[i] = in->shape().At(N - 1 - i); }
    const NdIndexOffsetHelper<int64_t, N> from(in->shape().ptr()), to(reversed.data());
    FOR_RANGE(int64_t, i, 0, in->shape().elem_cnt()) {
      int64_t index[N];
      from.OffsetToNdIndex(i, index);
      std::reverse(index, index + N);
      out->mut_dptr<float>()[to.NdIndexToOffset(index)] = in->dptr<float>()[i];
    }
  }
};
#define NDIMS OF_PP_MAKE_TUPLE_SEQ(1) OF_PP_MAKE_TUPLE_SEQ(2) OF_PP_MAKE_TUPLE_SEQ(3)
#define TRANSPOSE_ENTRY(name, N) Transpose<N>::name
DEFINE_STATIC_SWITCH_FUNC(void, Run, TRANSPOSE_ENTRY, MAKE_NDIM_CTRV_SEQ(NDIMS));
KERNEL(TransposeKernel) {
  const Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
  SwitchRun(SwitchCase(static_cast<int32_t>(in->shape().NumAxes())), in, ctx->Tensor4ArgNameAndIndex("out", 0));
}
REGISTER_USER_KERNEL("transpose").SetCreateFn<TransposeKernel>().ON_CPU;

// Row sums of a product that is broadcast, by the ndarray helpers.
KERNEL(NdarrayKernel) {
  using Util = NdarrayUtil<DeviceType::kCPU, float>;
  const Tensor* a = ctx->Tensor4ArgNameAndIndex("a", 0);
  const Tensor* b = ctx->Tensor4ArgNameAndIndex("b", 0);
  Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
  std::vector<float> held(a->shape().elem_cnt());
  const XpuVarNdarray<float> product(a->shape(), held.data());
  Util::BroadcastMul(ctx->device_ctx(), product, XpuVarNdarray<const float>(a->shape(), a->dptr<float>()),
                     XpuVarNdarray<const float>(b->shape(), b->dptr<float>()));
  Util::ReduceSum(ctx->device_ctx(), XpuVarNdarray<float>(out->shape(), out->mut_dptr<float>()),
                  XpuVarNdarray<const float>(a->shape(), held.data()), product);
}
REGISTER_USER_KERNEL("ndarray").SetCreateFn<NdarrayKernel>().ON_CPU;

// Every way to fail.
Maybe<void> Refused() { return Error::CheckFailedError() << "refused"; }
KERNEL(FailKernel) {
  const std::string& how = ctx->Attr<std::string>("how");
  const Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
  if (how == "check") { CHECK_LT(in->shape().At(0), 2) << "rows"; }
  if (how == "just") { JUST(Refused()); }
  if (how == "dtype") { in->dptr<double>(); }
  if (how == "argument") { ctx->Tensor4ArgNameAndIndex("x", 0); }
  if (how == "attribute") { ctx->Attr<float>("alpha"); }
  if (how == "type") { ctx->Attr<int32_t>("how"); }
  if (how == "axis") { in->shape().At(5); }
  if (how == "throw") { throw std::out_of_range("beyond"); }
  if (how == "number") { throw 7; }
  if (how == "unimplemented") { UNIMPLEMENTED(); }
  if (how == "fatal") { LOG(FATAL) << "over"; }
}
REGISTER_USER_KERNEL("fail").SetCreateFn<FailKernel>().ON_CPU;

// Registered under conditions of every kind.
KERNEL(WideKernel) { *ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<int32_t>() = 1; }
KERNEL(NarrowKernel) { *ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<int32_t>() = 2; }
REGISTER_USER_KERNEL("choice")
    .SetCreateFn<WideKernel>()
    .SetIsMatchedHob((user_op::HobDeviceSubTag() == "cpp") & (user_op::HobAttr<int64_t>("k") > 3)
                     & !(user_op::HobDataType("in", 0) == DataType::kFloat));
REGISTER_USER_KERNEL("choice")
    .SetCreateFn<NarrowKernel>()
    .SetIsMatchedHob((user_op::HobAttr<int64_t>("k") == 1) | (user_op::HobAttr<int64_t>("k") == 2));
REGISTER_USER_KERNEL("twice").SetCreateFn<WideKernel>().SetIsMatchedHob(user_op::HobTrue());
REGISTER_USER_KERNEL("twice").SetCreateFn<NarrowKernel>().SetIsMatchedHob(user_op::HobTrue());

}  // namespace

}  // namespace oneflow
