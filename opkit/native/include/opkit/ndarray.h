// Broadcasting and reducing: XpuVarNdarray, NdarrayUtil and the functions of two values that they apply.
#pragma once

#include "opkit/kernel_util.h"

namespace oneflow {
class XpuShape final {
 public:
  XpuShape() = default;
  explicit XpuShape(const ShapeView& shape) : dims_(shape.ptr(), shape.ptr() + shape.NumAxes()) {
    if (dims_.empty()) dims_.push_back(1);
  }
  explicit XpuShape(const Shape& shape) : XpuShape(ShapeView(shape)) {}
  int64_t NumAxes() const { return static_cast<int64_t>(dims_.size()); }
  int64_t At(int64_t i) const { return dims_.at(i); }
  int64_t Count(int64_t begin) const {
    return std::accumulate(dims_.begin() + begin, dims_.end(), int64_t{1}, std::multiplies<int64_t>());
  }
  int64_t ElemNum() const { return Count(0); }
  size_t HostElemNum() const { return static_cast<size_t>(Count(0)); }
  bool operator==(const XpuShape& other) const { return dims_ == other.dims_; }
 private:
  DimVector dims_;
};

template<typename T>
class XpuVarNdarray final {
 public:
  XpuVarNdarray(const ShapeView& shape, T* data) : shape_(shape), data_(data) {}
  XpuVarNdarray(const Shape& shape, T* data) : shape_(shape), data_(data) {}
  XpuVarNdarray(const XpuShape& shape, T* data) : shape_(shape), data_(data) {}
  XpuVarNdarray(const ShapeView& shape, T* data, int64_t axes)
      : shape_(CreateLeftExtendedShape(shape, static_cast<int>(axes))), data_(data) {}
  template<typename U, typename = typename std::enable_if<std::is_same<const U, T>::value>::type>
  XpuVarNdarray(const XpuVarNdarray<U>& other) : shape_(other.shape()), data_(other.ptr()) {}
  const XpuShape& shape() const { return shape_; }
  T* ptr() const { return data_; }
  T* host_ptr() const { return data_; }
 private:
  XpuShape shape_;
  T* data_;
};

#define OPKIT_BINARY(name, result, expression)               \
  template<typename T>                                       \
  struct BinaryFunc##name final {                            \
    using Out = result;                                      \
    static Out Invoke(const T x, const T y) { return expression; } \
  };                                                         \
  template<typename T>                                       \
  struct BinaryFunc##name<const T> final : std::true_type {  \
    using Out = typename BinaryFunc##name<T>::Out;           \
    static Out Invoke(const T x, const T y) { return BinaryFunc##name<T>::Invoke(x, y); } \
  };
template<typename T>
T FloorModOf(T x, T y) {
  if constexpr (std::is_integral<T>::value) {
    const T rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    const T rest = std::fmod(x, y);
    return rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest;
  }
}
OPKIT_BINARY(Add, T, x + y)
OPKIT_BINARY(Sum, T, x + y)
OPKIT_BINARY(Sub, T, x - y)
OPKIT_BINARY(Mul, T, x* y)
OPKIT_BINARY(Prod, T, x* y)
OPKIT_BINARY(Div, T, x / y)
OPKIT_BINARY(Min, T, x < y ? x : y)
OPKIT_BINARY(Max, T, x > y ? x : y)
OPKIT_BINARY(FloorMod, T, FloorModOf<T>(x, y))
OPKIT_BINARY(EQ, int8_t, x == y)
OPKIT_BINARY(NE, int8_t, x != y)
OPKIT_BINARY(GT, int8_t, x > y)
OPKIT_BINARY(GE, int8_t, x >= y)
OPKIT_BINARY(LT, int8_t, x < y)
OPKIT_BINARY(LE, int8_t, x <= y)
OPKIT_BINARY(AND, int8_t, x&& y)
OPKIT_BINARY(Any, T, x || y)
OPKIT_BINARY(All, T, x&& y)
#undef OPKIT_BINARY
template<template<typename> class BinaryFunc, typename T>
struct BinaryFuncTrait final {
  using return_type = typename BinaryFunc<T>::Out;
};

// What a reduction of nothing gives.
template<typename T, template<typename> class BinaryFunc>
struct UnitOfBinaryFunc {
  static T Val() { return T(0); }
};
#define OPKIT_UNIT(name, value)                     \
  template<typename T>                              \
  struct UnitOfBinaryFunc<T, BinaryFunc##name> {    \
    static T Val() { return value; }                \
  };
OPKIT_UNIT(Prod, T(1))
OPKIT_UNIT(All, T(1))
OPKIT_UNIT(Min, GetMaxVal<T>())
OPKIT_UNIT(Max, GetMinVal<T>())
#undef OPKIT_UNIT

#define REDUCE_BINARY_FUNC_NAME_SEQ (Sum)(Max)(Min)(Prod)(Any)(All)
#define ARITHMETIC_BINARY_FUNC_NAME_SEQ (Add)(Sub)(Mul)(Div)(Min)(Max)(FloorMod)
#define LOGICAL_BINARY_FUNC_NAME_SEQ (EQ)(NE)(GT)(GE)(LT)(LE)(AND)
#define BINARY_FUNC_NAME_SEQ ARITHMETIC_BINARY_FUNC_NAME_SEQ LOGICAL_BINARY_FUNC_NAME_SEQ
#define OPKIT_NAMED(name) BinaryFunc##name
#define REDUCE_BINARY_FUNC_SEQ OF_PP_SEQ_MAP(OPKIT_NAMED, REDUCE_BINARY_FUNC_NAME_SEQ)
#define ARITHMETIC_BINARY_FUNC_SEQ OF_PP_SEQ_MAP(OPKIT_NAMED, ARITHMETIC_BINARY_FUNC_NAME_SEQ)
#define LOGICAL_BINARY_FUNC_SEQ OF_PP_SEQ_MAP(OPKIT_NAMED, LOGICAL_BINARY_FUNC_NAME_SEQ)

namespace broadcast {
// The steps of an operand along the axes of a whole: 0 where it has one element and the whole several.
inline std::vector<int64_t> Steps(const XpuShape& part, const XpuShape& whole) {
  std::vector<int64_t> steps(whole.NumAxes(), 0);
  const int64_t missing = whole.NumAxes() - part.NumAxes();
  CHECK_GE(missing, 0) << "an operand has more axes than the result";
  for (int64_t i = 0; i < part.NumAxes(); ++i) {
    if (part.At(i) == whole.At(i + missing)) {
      steps[i + missing] = part.Count(i + 1);
    } else {
      CHECK_EQ(part.At(i), 1) << "an operand does not fit the result";
    }
  }
  return steps;
}

// Calls f(offset in whole, offset in a, offset in b, count, a's step, b's step) for each row of the whole.
template<typename F>
void Rows(const XpuShape& whole, const std::vector<int64_t>& a, const std::vector<int64_t>& b, F f) {
  const int64_t last = whole.NumAxes() - 1, row = whole.At(last), count = whole.ElemNum();
  std::vector<int64_t> index(last + 1, 0);
  int64_t at_a = 0, at_b = 0;
  for (int64_t at = 0; at < count; at += row) {
    f(at, at_a, at_b, row, a[last], b[last]);
    for (int64_t axis = last - 1; axis >= 0; --axis) {
      at_a += a[axis];
      at_b += b[axis];
      if (++index[axis] < whole.At(axis)) break;
      at_a -= a[axis] * index[axis];
      at_b -= b[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

template<template<typename> class BinaryFunc, typename T, typename R>
void Apply(const XpuVarNdarray<R>& y, const XpuShape& a_shape, const T* a, const XpuShape& b_shape, const T* b) {
  using F = BinaryFunc<T>;
  R* const out = y.ptr();
  Rows(y.shape(), Steps(a_shape, y.shape()), Steps(b_shape, y.shape()),
       [=](int64_t at, int64_t i, int64_t j, int64_t n, int64_t step_a, int64_t step_b) {
         if (step_a == 1 && step_b == 1) {
           for (int64_t k = 0; k < n; ++k) out[at + k] = F::Invoke(a[i + k], b[j + k]);
         } else if (step_b == 0) {
           const T other = b[j];
           for (int64_t k = 0; k < n; ++k) out[at + k] = F::Invoke(a[i + k * step_a], other);
         } else {
           for (int64_t k = 0; k < n; ++k) out[at + k] = F::Invoke(a[i + k * step_a], b[j + k * step_b]);
         }
       });
}

template<template<typename> class BinaryFunc, typename T>
void Reduce(const XpuVarNdarray<T>& y, const XpuVarNdarray<const T>& x) {
  std::fill(y.ptr(), y.ptr() + y.shape().ElemNum(), UnitOfBinaryFunc<T, BinaryFunc>::Val());
  const std::vector<int64_t> steps = Steps(y.shape(), x.shape());
  T* const out = y.ptr();
  const T* const in = x.ptr();
  Rows(x.shape(), steps, steps, [=](int64_t at, int64_t i, int64_t, int64_t n, int64_t step, int64_t) {
    if (step == 0) {
      T value = out[i];
      for (int64_t k = 0; k < n; ++k) value = BinaryFunc<T>::Invoke(value, in[at + k]);
      out[i] = value;
    } else {
      for (int64_t k = 0; k < n; ++k) out[i + k] = BinaryFunc<T>::Invoke(out[i + k], in[at + k]);
    }
  });
}
}  // namespace broadcast

template<DeviceType device_type, typename T, template<typename> class BinaryFunc>
struct NdarrayReduce {
  static void Reduce(DeviceCtx*, const XpuVarNdarray<T>& y, const XpuVarNdarray<const T>& x, const XpuVarNdarray<T>&) {
    broadcast::Reduce<BinaryFunc, T>(y, x);
  }
};

template<DeviceType device_type, typename T>
struct NdarrayUtil final {
  using Var = XpuVarNdarray<T>;
  using Val = XpuVarNdarray<const T>;
  static std::function<Var(const Shape&, T*)> GetVarNdarrayBuilder() {
    return [](const Shape& shape, T* data) { return Var(shape, data); };
  }
  static std::function<Val(const Shape&, const T*)> GetValNdarrayBuilder() {
    return [](const Shape& shape, const T* data) { return Val(shape, data); };
  }
  static void Assign(DeviceCtx*, const Var& y, const Val& x) { std::copy_n(x.ptr(), x.shape().ElemNum(), y.ptr()); }
  static void BroadcastTo(DeviceCtx*, const Var& y, const Val& x) {
    T* const out = y.ptr();
    const T* const in = x.ptr();
    const auto steps = broadcast::Steps(x.shape(), y.shape());
    broadcast::Rows(y.shape(), steps, steps, [=](int64_t at, int64_t i, int64_t, int64_t n, int64_t step, int64_t) {
      for (int64_t k = 0; k < n; ++k) out[at + k] = in[i + k * step];
    });
  }
#define OPKIT_ARITHMETIC(name)                                                            \
  static void name(DeviceCtx* ctx, const Var& y, const Val& a, const Val& b) {            \
    Broadcast##name(ctx, y, a, b);                                                        \
  }                                                                                       \
  static void Broadcast##name(DeviceCtx*, const Var& y, const Val& a, const Val& b) {     \
    broadcast::Apply<BinaryFunc##name, T, T>(y, a.shape(), a.ptr(), b.shape(), b.ptr());  \
  }                                                                                       \
  static void Inplace##name(DeviceCtx* ctx, const Var& y, const Val& x) {                 \
    Broadcast##name(ctx, y, Val(y), x);                                                   \
  }                                                                                       \
  static void InplaceBroadcast##name(DeviceCtx* ctx, const Var& y, const Val& x) {        \
    Broadcast##name(ctx, y, Val(y), x);                                                   \
  }
  OF_PP_FOR_EACH_ATOMIC(OPKIT_ARITHMETIC, ARITHMETIC_BINARY_FUNC_NAME_SEQ)
#undef OPKIT_ARITHMETIC
#define OPKIT_LOGICAL(name)                                                                                  \
  static void Broadcast##name(DeviceCtx*, const XpuVarNdarray<int8_t>& y, const Val& a, const Val& b) {      \
    broadcast::Apply<BinaryFunc##name, T, int8_t>(y, a.shape(), a.ptr(), b.shape(), b.ptr());                \
  }
  OF_PP_FOR_EACH_ATOMIC(OPKIT_LOGICAL, LOGICAL_BINARY_FUNC_NAME_SEQ)
#undef OPKIT_LOGICAL
#define OPKIT_REDUCE(name)                                                                    \
  static void Reduce##name(DeviceCtx*, const Var& y, const Val& x, const Var&) {              \
    broadcast::Reduce<BinaryFunc##name, T>(y, x);                                             \
  }
  OF_PP_FOR_EACH_ATOMIC(OPKIT_REDUCE, REDUCE_BINARY_FUNC_NAME_SEQ)
#undef OPKIT_REDUCE
#define OPKIT_INPLACE(name, expression)                                       \
  static void Inplace##name(DeviceCtx*, const Var& y) {                       \
    T* const v = y.ptr();                                                     \
    for (int64_t i = 0, n = y.shape().ElemNum(); i < n; ++i) v[i] = expression; \
  }
  OPKIT_INPLACE(Exp, std::exp(v[i]))
  OPKIT_INPLACE(Negative, -v[i])
  OPKIT_INPLACE(Abs, std::abs(v[i]))
  OPKIT_INPLACE(Log, std::log(v[i]))
#undef OPKIT_INPLACE
};
}  // namespace oneflow
