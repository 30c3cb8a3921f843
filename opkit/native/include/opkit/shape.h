// Shapes, and the arithmetic of indices: Shape, ShapeView, NdIndexOffsetHelper, BalancedSplitter.
#pragma once

#include "opkit/data_type.h"

namespace oneflow {
template<typename T, size_t kMaxSize>
class fixed_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  fixed_vector() = default;
  fixed_vector(const std::vector<T>& items) : std::vector<T>(items) {}
};

using DimVector = fixed_vector<int64_t, 20>;
using AxisVector = fixed_vector<int64_t, 20>;
#define SHAPE_MAX_AXIS_SIZE 20

template<typename T, int N>
class small_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
};

// What Shape and ShapeView have in common, over At and NumAxes of the derived class.
template<typename Derived>
class ShapeReader {
 public:
  int64_t Count(int64_t begin, int64_t end) const {
    int64_t product = 1;
    for (int64_t i = begin; i < end; ++i) product *= self().At(i);
    return product;
  }
  int64_t Count(int64_t begin) const { return Count(begin, self().NumAxes()); }
  std::string ToString() const {
    std::string text = "(";
    for (int64_t i = 0; i < self().NumAxes(); ++i) text += (i ? "," : "") + std::to_string(self().At(i));
    return text + ")";
  }
  std::string DebugStr() const { return ToString(); }
  bool IsSameAs(const Derived& other) const {
    if (self().NumAxes() != other.NumAxes()) return false;
    for (int64_t i = 0; i < other.NumAxes(); ++i) {
      if (self().At(i) != other.At(i)) return false;
    }
    return true;
  }
 protected:
  const Derived& self() const { return *static_cast<const Derived*>(this); }
  int64_t Checked(int64_t index, const char* file, int line) const {
    if (index < 0 || index >= self().NumAxes()) {
      throw ::opkit::Failure(file, line, "axis " + std::to_string(index) + " of shape " + ToString());
    }
    return index;
  }
};

class Shape final : public ShapeReader<Shape> {
 public:
  Shape() = default;
  Shape(const DimVector& dims) : dims_(dims) {}
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  int64_t NumAxes() const { return static_cast<int64_t>(dims_.size()); }
  int64_t At(int64_t i, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return dims_[Checked(i, file, line)];
  }
  void Set(int64_t i, int64_t size, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    dims_[Checked(i, file, line)] = size;
  }
  // As OneFlow has it: no axes, no elements. A ShapeView of no axes has one.
  int64_t elem_cnt() const { return dims_.empty() ? 0 : Count(0); }
  const DimVector& dim_vec() const { return dims_; }
  const int64_t* ptr() const { return dims_.data(); }
  bool operator==(const Shape& other) const { return IsSameAs(other); }
  bool operator!=(const Shape& other) const { return !IsSameAs(other); }
  bool Containing(const Shape& other) const {
    if (NumAxes() < other.NumAxes()) return false;
    for (int64_t i = 0; i < other.NumAxes(); ++i) {
      if (At(i) != other.At(i)) return false;
    }
    return true;
  }
  AxisVector ShiftNegativeAxisVec(const AxisVector& axes) const {
    AxisVector shifted(axes);
    for (int64_t& axis : shifted) axis += axis < 0 ? NumAxes() : 0;
    return shifted;
  }
  Shape RemoveOnes(const AxisVector& axes) const {
    DimVector dims;
    for (int64_t i = 0; i < NumAxes(); ++i) {
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) dims.push_back(At(i));
    }
    return Shape(dims);
  }
 private:
  DimVector dims_;
};

template<typename Dim>
class ShapeViewOf : public ShapeReader<ShapeViewOf<Dim>> {
 public:
  ShapeViewOf() = default;
  ShapeViewOf(Dim* dims, int64_t count) : dims_(dims), count_(count) {}
  int64_t NumAxes() const { return count_; }
  int64_t At(int64_t i, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return dims_[this->Checked(i, file, line)];
  }
  int64_t elem_cnt() const { return this->Count(0); }
  Dim* ptr() const { return dims_; }
  void ToDimVector(DimVector* dims) const { dims->assign(dims_, dims_ + count_); }
  void ToShape(Shape* shape) const { *shape = Shape(DimVector(dims_, dims_ + count_)); }
 protected:
  Dim* dims_ = nullptr;
  int64_t count_ = 0;
};

class ShapeView final : public ShapeViewOf<const int64_t> {
 public:
  using ShapeViewOf<const int64_t>::ShapeViewOf;
  ShapeView(const Shape& shape) : ShapeViewOf<const int64_t>(shape.ptr(), shape.NumAxes()) {}
  bool operator==(const ShapeView& other) const { return IsSameAs(other); }
  bool operator!=(const ShapeView& other) const { return !IsSameAs(other); }
};

class MutShapeView final : public ShapeViewOf<int64_t> {
 public:
  using ShapeViewOf<int64_t>::ShapeViewOf;
  void Set(int64_t i, int64_t size, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    dims_[Checked(i, file, line)] = size;
  }
  void set_shape(const ShapeView& shape) {
    CHECK_EQ(shape.NumAxes(), NumAxes());
    std::copy(shape.ptr(), shape.ptr() + NumAxes(), dims_);
  }
};

extern template class ShapeReader<Shape>;
extern template class ShapeReader<ShapeViewOf<const int64_t>>;
inline std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.ToString(); }
inline std::ostream& operator<<(std::ostream& out, const ShapeView& shape) { return out << shape.ToString(); }

inline Shape CreateReducedShape(const ShapeView& shape, const AxisVector& axes) {
  DimVector dims(shape.ptr(), shape.ptr() + shape.NumAxes());
  for (int64_t axis : axes) dims.at(axis < 0 ? axis + shape.NumAxes() : axis) = 1;
  return Shape(dims);
}
inline Shape CreateLeftExtendedShape(const ShapeView& shape, int ndims_extended) {
  DimVector dims(static_cast<size_t>(ndims_extended - shape.NumAxes()), 1);
  dims.insert(dims.end(), shape.ptr(), shape.ptr() + shape.NumAxes());
  return Shape(dims);
}
inline Shape CreateReducedShapeOrOnesShape(const ShapeView& shape, const AxisVector& axes) {
  if (!axes.empty()) return CreateReducedShape(shape, axes);
  return Shape(DimVector(static_cast<size_t>(shape.NumAxes()), 1));
}

// Between the offset of an element and its index on each of N axes (or fewer) in row-major order.
template<typename T, int N>
class NdIndexOffsetHelper {
 public:
  NdIndexOffsetHelper() = default;
  template<class... Ts>
  explicit NdIndexOffsetHelper(T dim0, Ts... dims) {
    const T sizes[] = {dim0, static_cast<T>(dims)...};
    SetStrides(sizes, 1 + sizeof...(dims));
  }
  explicit NdIndexOffsetHelper(const T* dims) { SetStrides(dims, N); }
  template<typename U>
  explicit NdIndexOffsetHelper(const U* dims) { SetStrides(dims, N); }
  explicit NdIndexOffsetHelper(const T* dims, int n) { SetStrides(dims, n); }
  template<typename U>
  explicit NdIndexOffsetHelper(const U* dims, int n) { SetStrides(dims, n); }
  T NdIndexToOffset(const T* index) const { return NdIndexToOffset(index, N); }
  T NdIndexToOffset(const T* index, int n) const {
    T offset = 0;
    for (int i = 0; i < n; ++i) offset += index[i] * strides_[i];
    return offset;
  }
  template<class... Ts>
  T NdIndexToOffset(T d0, Ts... others) const {
    const T index[] = {d0, static_cast<T>(others)...};
    return NdIndexToOffset(index, 1 + sizeof...(others));
  }
  void OffsetToNdIndex(T offset, T* index) const { OffsetToNdIndex(offset, index, N); }
  void OffsetToNdIndex(T offset, T* index, int n) const {
    for (int i = 0; i < n; ++i) {
      index[i] = offset / strides_[i];
      offset -= index[i] * strides_[i];
    }
  }
  template<class... Ts>
  void OffsetToNdIndex(T offset, T& d0, Ts&... others) const {
    T* const index[] = {&d0, &others...};
    for (size_t i = 0; i < 1 + sizeof...(others); ++i) {
      *index[i] = offset / strides_[i];
      offset -= *index[i] * strides_[i];
    }
  }
  constexpr int Size() const { return N; }
 protected:
  template<typename U>
  void SetStrides(const U* dims, int n) {
    for (int i = N - 1; i >= 0; --i) strides_[i] = i >= n - 1 ? 1 : strides_[i + 1] * static_cast<T>(dims[i + 1]);
  }
  T strides_[N];
};

using NdIndex = Shape;

struct Range final {
  Range() = default;
  Range(int64_t begin, int64_t end) : begin_(begin), end_(end) {}
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  int64_t size() const { return end_ - begin_; }
  int64_t begin_ = 0, end_ = 0;
};

// total cut into parts whose sizes differ by one at most, the larger ones first.
class BalancedSplitter final {
 public:
  BalancedSplitter(int64_t total, int64_t parts) : base_(total / parts), more_(total % parts) {}
  Range At(int64_t i) const {
    const int64_t begin = base_ * i + std::min(i, more_);
    return Range(begin, begin + base_ + (i < more_ ? 1 : 0));
  }
  Range At(int64_t first, int64_t last) const { return Range(At(first).begin(), At(last).end()); }
 private:
  int64_t base_, more_;
};

// What of a tensor a device has: all of it.
class TensorSliceView final {
 public:
  explicit TensorSliceView(const Shape& shape) : shape_(shape) {}
  Range At(int64_t axis) const { return Range(0, shape_.At(axis)); }
 private:
  Shape shape_;
};
}  // namespace oneflow
