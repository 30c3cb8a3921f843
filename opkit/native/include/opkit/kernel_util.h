// Helpers that kernels call: memory, fills, elementwise arithmetic, products of matrices, transposition, switches over
// dtypes, and threads, whose work is done at once by the thread that asks.
#pragma once

#include "opkit/framework.h"

enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 };

namespace oneflow {
template<DeviceType device_type>
void Memcpy(DeviceCtx*, void* target, const void* source, size_t size) {
  if (target != source && size) std::memmove(target, source, size);
}
template<DeviceType device_type>
void Memset(DeviceCtx*, void* target, const char value, size_t size) { if (size) std::memset(target, value, size); }
inline void AutoMemcpy(DeviceCtx*, void* target, const void* source, size_t size, const MemoryCase&, const MemoryCase&) {
  Memcpy<kCPU>(nullptr, target, source, size);
}
inline void SyncAutoMemcpy(DeviceCtx*, void* target, const void* source, size_t size, const MemoryCase&,
                           const MemoryCase&) {
  Memcpy<kCPU>(nullptr, target, source, size);
}

inline size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
inline size_t GetCudaAlignedSize(size_t size) { return RoundUp(size, 512); }
template<typename T>
T MaxWithLogThreshold(T x) { return std::max(x, static_cast<T>(1e-20)); }
template<typename T>
T SafeLog(T x) { return std::log(MaxWithLogThreshold(x)); }
inline int64_t CeilDiv(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
constexpr int32_t kCudaAlignSize = 512;

// Each element cast to the other type.
template<typename SRC, typename DST>
void CopyElem(const SRC* source, DST* target, int64_t n) {
  for (int64_t i = 0; i < n; ++i) target[i] = static_cast<DST>(source[i]);
}

namespace gemm {
// c = alpha * op(a) op(b) + beta * c, row-major.
template<typename T>
void Multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
              int64_t ldb, T beta, T* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    T* row = c + i * ldc;
    for (int64_t j = 0; j < n; ++j) row[j] = beta == T(0) ? T(0) : beta * row[j];
    for (int64_t p = 0; p < k; ++p) {
      const T factor = alpha * (trans_a ? a[p * lda + i] : a[i * lda + p]);
      if (trans_b) {
        for (int64_t j = 0; j < n; ++j) row[j] += factor * b[j * ldb + p];
      } else {
        const T* other = b + p * ldb;
        for (int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
      }
    }
  }
}
}  // namespace gemm

// What is the same for all dtypes; NewKernelUtil and KernelUtil both have it.
struct Elementwise {
#define OPKIT_WITH_SCALAR(name, op)                                                          \
  template<typename T>                                                                       \
  static void name##ByScalar(DeviceCtx*, int64_t n, const T* x, const T y, T* z) {           \
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] op y;                                        \
  }                                                                                          \
  template<typename T>                                                                       \
  static void name##ByScalarPtr(DeviceCtx*, int64_t n, const T* x, const T* y, T* z) {       \
    const T scalar = *y;                                                                     \
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] op scalar;                                   \
  }
  OPKIT_WITH_SCALAR(Add, +)
  OPKIT_WITH_SCALAR(Sub, -)
  OPKIT_WITH_SCALAR(Mul, *)
  OPKIT_WITH_SCALAR(Div, /)
#undef OPKIT_WITH_SCALAR
#define OPKIT_UNARY(name, expression)                                \
  template<typename T>                                               \
  static void name(DeviceCtx*, int64_t n, const T* x, T* y) {        \
    for (int64_t i = 0; i < n; ++i) y[i] = expression;               \
  }
  OPKIT_UNARY(Exp, std::exp(x[i]))
  OPKIT_UNARY(Reciprocal, T(1) / x[i])
  OPKIT_UNARY(Square, x[i] * x[i])
  OPKIT_UNARY(Sqrt, std::sqrt(x[i]))
  OPKIT_UNARY(Sigmoid, T(0.5) + T(0.5) * std::tanh(T(0.5) * x[i]))
  OPKIT_UNARY(TanH, std::tanh(x[i]))
  OPKIT_UNARY(Relu, x[i] > T(0) ? x[i] : T(0))
#undef OPKIT_UNARY
#define OPKIT_BACKWARD(name, expression)                                                               \
  template<typename T>                                                                                 \
  static void name(DeviceCtx*, int64_t n, const T* x, const T* y, const T* dy, T* dx) {                \
    for (int64_t i = 0; i < n; ++i) dx[i] = expression;                                                \
  }
  OPKIT_BACKWARD(SigmoidBackward, y[i] * (T(1) - y[i]) * dy[i])
  OPKIT_BACKWARD(TanHBackward, (T(1) - y[i] * y[i]) * dy[i])
  OPKIT_BACKWARD(ReluBackward, y[i] > T(0) ? dy[i] : T(0))
#undef OPKIT_BACKWARD
  template<typename T>
  static void Mul(DeviceCtx*, int64_t n, const T* x, const T* y, T* z) {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
  }
  template<typename T>
  static void Div(DeviceCtx*, int64_t n, const T* x, const T* y, T* z) {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] / y[i];
  }
  template<typename T>
  static void Div(DeviceCtx*, int64_t n, T* x, const T* alpha) {
    for (int64_t i = 0; i < n; ++i) x[i] /= *alpha;
  }
  template<typename T>
  static void Rsqrt(DeviceCtx*, int64_t n, const T* x, T* y, const float epsilon) {
    for (int64_t i = 0; i < n; ++i) y[i] = T(1) / std::sqrt(x[i] + static_cast<T>(epsilon));
  }
  template<typename T>
  static void Powx(DeviceCtx*, int64_t n, const T* x, const float power, T* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = std::pow(x[i], static_cast<T>(power));
  }
  template<typename T, typename V>
  static void Fill(DeviceCtx*, int64_t n, const V value, T* y) { std::fill(y, y + n, static_cast<T>(value)); }
  template<typename T, typename V>
  static void Set(DeviceCtx*, const V value, T* address) { *address = static_cast<T>(value); }
  template<typename T>
  static void Replicate(DeviceCtx*, int64_t n, T* y, const T* x) { std::fill(y, y + n, *x); }
  template<typename T, typename V>
  static void Axpy(DeviceCtx*, int64_t n, const V alpha, const T* x, int incx, T* y, int incy) {
    for (int64_t i = 0; i < n; ++i) y[i * incy] += static_cast<T>(alpha) * x[i * incx];
  }
  template<typename T>
  static void Axpy(DeviceCtx*, int64_t n, const T* alpha, const T* x, int incx, T* y, int incy) {
    for (int64_t i = 0; i < n; ++i) y[i * incy] += *alpha * x[i * incx];
  }
  template<typename T, typename V>
  static void Scal(DeviceCtx*, int64_t n, const V alpha, T* x, int incx) {
    for (int64_t i = 0; i < n; ++i) x[i * incx] *= static_cast<T>(alpha);
  }
  template<typename T>
  static void Copy(DeviceCtx*, int64_t n, const T* x, int incx, T* y, int incy) {
    for (int64_t i = 0; i < n; ++i) y[i * incy] = x[i * incx];
  }
  template<typename T>
  static void Dot(DeviceCtx*, int64_t n, const T* x, int incx, const T* y, int incy, T* result) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i * incx] * y[i * incy];
    *result = sum;
  }
  template<typename T>
  static void Sum(DeviceCtx*, int64_t n, const T* x, T* sum, T* = nullptr, size_t = 0) {
    *sum = std::accumulate(x, x + n, T(0));
  }
  template<typename T>
  static void Max(DeviceCtx*, int64_t n, const T* x, T* max, T* = nullptr, size_t = 0) {
    *max = *std::max_element(x, x + n);
  }
  template<typename T>
  static void RowMax(DeviceCtx*, int64_t rows, int64_t cols, const T* x, T* y, void* = nullptr, size_t = 0) {
    for (int64_t i = 0; i < rows; ++i) y[i] = *std::max_element(x + i * cols, x + (i + 1) * cols);
  }
  template<typename T>
  static void RowSum(DeviceCtx*, int64_t rows, int64_t cols, const T* x, T* y, void* = nullptr, size_t = 0) {
    for (int64_t i = 0; i < rows; ++i) y[i] = std::accumulate(x + i * cols, x + (i + 1) * cols, T(0));
  }
  // out = the sum of any number of arrays, which may be out itself.
  template<typename T, typename... In>
  static void Addition(DeviceCtx*, int64_t n, T* out, const T* in, In... others) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>((in[i] + ... + others[i]));
  }
  template<typename T>
  static void CopyColsRegion(DeviceCtx*, int64_t rows, int64_t cols, const T* x, int64_t x_col, int64_t x_lda, T* y,
                             int64_t y_col, int64_t y_lda) {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(x + i * x_lda + x_col, cols, y + i * y_lda + y_col);
  }
  template<typename Permutation, typename T>
  static void Transpose(DeviceCtx*, int32_t axes, const ShapeView& x_shape, const ShapeView& y_shape,
                        const Permutation& permutation, int64_t n, const T* x, T* y) {
    std::vector<int64_t> steps(axes), index(axes, 0);
    for (int32_t i = 0; i < axes; ++i) steps[i] = x_shape.Count(permutation[i] + 1);
    int64_t from = 0;
    for (int64_t to = 0; to < n; ++to) {
      y[to] = x[from];
      for (int32_t axis = axes - 1; axis >= 0; --axis) {
        from += steps[axis];
        if (++index[axis] < y_shape.At(axis)) break;
        from -= steps[axis] * index[axis];
        index[axis] = 0;
      }
    }
  }
  template<typename T>
  static void OFGemm(DeviceCtx*, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, double alpha,
                     const T* a, const T* b, double beta, T* c) {
    const bool trans_a = ta != CblasNoTrans, trans_b = tb != CblasNoTrans;
    gemm::Multiply<T>(trans_a, trans_b, m, n, k, static_cast<T>(alpha), a, trans_a ? m : k, b, trans_b ? k : n,
                      static_cast<T>(beta), c, n);
  }
  template<typename T>
  static void OFBatchedGemm(DeviceCtx* ctx, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t batch, int64_t m, int64_t n,
                            int64_t k, double alpha, const T* a, const T* b, double beta, T* c, T** = nullptr) {
    for (int64_t i = 0; i < batch; ++i) {
      OFGemm<T>(ctx, ta, tb, m, n, k, alpha, a + i * m * k, b + i * k * n, beta, c + i * m * n);
    }
  }
  template<typename T>
  static void Gemm(DeviceCtx*, CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T alpha,
                   const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {
    gemm::Multiply<T>(ta != CblasNoTrans, tb != CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
};

template<DeviceType device_type>
struct NewKernelUtil : Elementwise {};
template<DeviceType device_type, typename T, typename = void>
struct KernelUtil : Elementwise {};
template<DeviceType device_type>
struct ArithemeticIf : Elementwise {};

// Threads: the work is done at once, in order.
inline void MultiThreadLoop(size_t count, const std::function<void(size_t)>& work) {
  for (size_t i = 0; i < count; ++i) work(i);
}
class ThreadPool {
 public:
  int32_t thread_num() const { return 1; }
  void AddWork(const std::function<void()>& work) { work(); }
};
class ResourceDesc {
 public:
  int32_t ComputeThreadPoolSize() const { return 1; }
  bool enable_debug_mode() const { return false; }
  bool EnableDebugMode() const { return false; }
};
class BlockingCounter {
 public:
  explicit BlockingCounter(int64_t) {}
  int64_t Increase() { return 0; }
  int64_t Decrease() { return 0; }
  void WaitUntilCntEqualZero() {}
};
struct ForSession {};
struct ForEnv {};
template<typename T, typename Kind = void>
class Global {
 public:
  static T* Get() {
    static T one;
    return &one;
  }
};

inline bool IsKernelSafeInt32(int64_t n) { return n <= std::numeric_limits<int32_t>::max() / 2; }

inline int64_t NewRandomSeed() {
  static std::mt19937 source{std::random_device{}()};
  return static_cast<int64_t>(source());
}
}  // namespace oneflow

// A function of a run-time value that picks an instance of a template: DEFINE_STATIC_SWITCH_FUNC and its parts.
namespace opkit {
template<typename... T>
auto SwitchCase(const T&... values) -> std::tuple<T...> { return std::tuple<T...>(values...); }
}  // namespace opkit
#define MAKE_STRICT_SWITCH_ENTRY(function, ...) function<__VA_ARGS__>
#define SwitchCase(...) ::opkit::SwitchCase(__VA_ARGS__)
#define MAKE_TYPED_CTRV_SEQ(type, seq) (type, seq)
#define MAKE_DATA_TYPE_CTRV_SEQ(seq) MAKE_TYPED_CTRV_SEQ(::oneflow::DataType, seq)
#define MAKE_DEVICE_TYPE_CTRV_SEQ(seq) \
  MAKE_TYPED_CTRV_SEQ(::oneflow::DeviceType, OF_PP_FOR_EACH_TUPLE(OPKIT_TWICE, seq))
#define MAKE_NDIM_CTRV_SEQ(seq) MAKE_TYPED_CTRV_SEQ(int32_t, OF_PP_FOR_EACH_TUPLE(OPKIT_TWICE, seq))
#define OPKIT_TWICE(value) ((value, value))
#define OPKIT_SEQ_OF(typed) OF_PP_PAIR_SECOND(typed)
#define DEFINE_STATIC_SWITCH_FUNC(result, name, make_entry, ...)                                                      \
  template<typename Case, typename... Args>                                                                           \
  static result Switch##name(const Case& key, Args&&... args) {                                                       \
    OPKIT_PICK_SWITCH(OF_PP_VARIADIC_SIZE(__VA_ARGS__))((make_entry, name), __VA_ARGS__)                              \
    UNIMPLEMENTED();                                                                                                  \
  }
#define OPKIT_PICK_SWITCH(n) OPKIT_PICK_SWITCH_(n)
#define OPKIT_PICK_SWITCH_(n) OPKIT_SWITCH_##n
#define OPKIT_SWITCH_1(how, a) OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OPKIT_ENTRY_1, (how), OPKIT_SEQ_OF(a))
#define OPKIT_SWITCH_2(how, a, b) \
  OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OPKIT_ENTRY_2, (how), OPKIT_SEQ_OF(a), OPKIT_SEQ_OF(b))
#define OPKIT_SWITCH_3(how, a, b, c) \
  OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OPKIT_ENTRY_3, (how), OPKIT_SEQ_OF(a), OPKIT_SEQ_OF(b), OPKIT_SEQ_OF(c))
#define OPKIT_SWITCH_4(how, a, b, c, d)                                                                      \
  OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OPKIT_ENTRY_4, (how), OPKIT_SEQ_OF(a), OPKIT_SEQ_OF(b), OPKIT_SEQ_OF(c), \
                                   OPKIT_SEQ_OF(d))
#define OPKIT_MADE(how, ...) OPKIT_MADE_(OPKIT_PP_BARE how, __VA_ARGS__)
#define OPKIT_MADE_(...) OPKIT_MADE__(__VA_ARGS__)
#define OPKIT_MADE__(make_entry, ...) make_entry(__VA_ARGS__)
#define OPKIT_ENTRY_1(how, a)                          \
  if (key == SwitchCase(OF_PP_PAIR_SECOND(a)))         \
    return OPKIT_MADE(how, OF_PP_PAIR_FIRST(a))(std::forward<Args>(args)...);
#define OPKIT_ENTRY_2(how, a, b)                                             \
  if (key == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b)))         \
    return OPKIT_MADE(how, OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b))(std::forward<Args>(args)...);
#define OPKIT_ENTRY_3(how, a, b, c)                                                               \
  if (key == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c)))        \
    return OPKIT_MADE(how, OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b), OF_PP_PAIR_FIRST(c))(std::forward<Args>(args)...);
#define OPKIT_ENTRY_4(how, a, b, c, d)                                                                                  \
  if (key == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c), OF_PP_PAIR_SECOND(d)))        \
    return OPKIT_MADE(how, OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b), OF_PP_PAIR_FIRST(c), OF_PP_PAIR_FIRST(d))(std::forward<Args>(args)...);

// What gathers, segment sums, paddings and sums of squares are made of.
namespace oneflow {
template<DeviceType device_type, typename T, typename K>
struct GatherKernelUtilImpl final {
  // in has the shape (outer, axis, inner); an index that is out of range gives zeros.
  static void Forward(DeviceCtx*, const K* indices, int64_t num_indices, const T* in, const Shape& in_shape, T* out,
                      int64_t offset) {
    const int64_t outer = in_shape.At(0), size = in_shape.At(1), inner = in_shape.At(2);
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < num_indices; ++j, out += inner) {
        const int64_t at = indices[j] - offset;
        if (at >= 0 && at < size) {
          std::copy_n(in + (i * size + at) * inner, inner, out);
        } else {
          std::fill_n(out, inner, T(0));
        }
      }
    }
  }
};
#define GATHER_DATA_TYPE_SEQ ARITHMETIC_DATA_TYPE_SEQ FLOAT16_DATA_TYPE_SEQ

template<DeviceType device_type, typename T, typename K>
struct BatchGatherKernelUtilImpl final {
  // The shape of the result is (batch, indices, instance); in has size instances for each of the batch.
  static void Forward(DeviceCtx*, const T* in, const K* indices, const Shape& shape, int64_t size, T* out) {
    Each(indices, shape, size, [=](int64_t from, int64_t to, int64_t n) { std::copy_n(in + from, n, out + to); });
  }
  static void Backward(DeviceCtx*, const T* dy, const K* indices, const Shape& shape, int64_t size, T* dx) {
    Each(indices, shape, size, [=](int64_t to, int64_t from, int64_t n) {
      for (int64_t i = 0; i < n; ++i) dx[to + i] += dy[from + i];
    });
  }
 private:
  template<typename F>
  static void Each(const K* indices, const Shape& shape, int64_t size, F f) {
    const int64_t count = shape.At(1), instance = shape.At(2);
    for (int64_t i = 0; i < shape.At(0) * count; ++i) {
      CHECK(indices[i] >= 0 && indices[i] < size) << "index " << indices[i] << " of " << size;
      f((i / count * size + indices[i]) * instance, i * instance, instance);
    }
  }
};

template<typename T>
struct SquareSumParam {
  const T* ptr;
  int64_t count;
};
template<DeviceType device_type, typename T>
struct SquareSumKernelUtil {
  static void SquareSum(DeviceCtx* ctx, int64_t n, const T* x, T* y) { Elementwise::Dot(ctx, n, x, 1, x, 1, y); }
  static void MultiSquareSum(DeviceCtx* ctx, const std::vector<SquareSumParam<T>>& params, T* y) {
    T sum = 0, part = 0;
    for (const auto& param : params) {
      SquareSum(ctx, param.count, param.ptr, &part);
      sum += part;
    }
    *y = sum;
  }
};

struct MemoryCopyNdDesc {
  Shape dst_shape, src_shape;
  NdIndex dst_pos, src_pos;
  Shape extent;
  MemoryCopyNdDesc CreateDimReducedDesc() const { return *this; }
};
class MemoryCopier {
 public:
  template<typename T>
  void CopyElem(DeviceCtx* ctx, void* dst, const void* src, const MemoryCopyNdDesc& desc) const {
    MemoryCopyNdDesc bytes = desc;
    for (Shape* shape : {&bytes.dst_shape, &bytes.src_shape, &bytes.dst_pos, &bytes.src_pos, &bytes.extent}) {
      shape->Set(shape->NumAxes() - 1, shape->At(shape->NumAxes() - 1) * static_cast<int64_t>(sizeof(T)));
    }
    Copy(ctx, dst, src, bytes);
  }
  // Copies a box of bytes.
  void Copy(DeviceCtx*, void* dst, const void* src, const MemoryCopyNdDesc& desc) const {
    const int64_t last = desc.extent.NumAxes() - 1, row = desc.extent.At(last);
    const int64_t rows = row ? desc.extent.Count(0) / row : 0;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t to = desc.dst_pos.At(last), from = desc.src_pos.At(last), rest = i;
      for (int64_t axis = last - 1; axis >= 0; --axis) {
        const int64_t at = rest % desc.extent.At(axis);
        rest /= desc.extent.At(axis);
        to += (desc.dst_pos.At(axis) + at) * desc.dst_shape.Count(axis + 1);
        from += (desc.src_pos.At(axis) + at) * desc.src_shape.Count(axis + 1);
      }
      std::memcpy(static_cast<char*>(dst) + to, static_cast<const char*>(src) + from, static_cast<size_t>(row));
    }
  }
};
inline MemoryCopier* NewDefaultMemoryCopier(DeviceType) { return new MemoryCopier(); }
}  // namespace oneflow
