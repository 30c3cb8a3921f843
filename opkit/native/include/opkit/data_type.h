// Dtypes and devices: DataType, float16, what a C++ type's dtype is, and the sequences of dtypes that macros walk.
#pragma once

#include "opkit/checks.h"
#include "opkit/sequences.h"

namespace oneflow {
enum DeviceType { kInvalidDevice = 0, kCPU = 1, kGPU = 2 };
enum DataType {
  kInvalidDataType = 0,
  kChar = 1,
  kFloat = 2,
  kDouble = 3,
  kInt8 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kUInt8 = 7,
  kOFRecord = 8,
  kFloat16 = 9,
  kTensorBuffer = 10,
};

inline const char* DataType_Name(DataType type) {
  static const char* const names[] = {"invalid", "char",  "float",    "double",  "int8",         "int32",
                                      "int64",   "uint8", "ofrecord", "float16", "tensor_buffer"};
  return type >= 0 && type <= kTensorBuffer ? names[type] : "unknown";
}

// Half precision: stored in 16 bits, computed in float.
class float16 {
 public:
  float16() = default;
  float16(float value) : bits_(FromFloat(value)) {}
  float16(double value) : float16(static_cast<float>(value)) {}
  float16(int value) : float16(static_cast<float>(value)) {}
  float16(int64_t value) : float16(static_cast<float>(value)) {}
  operator float() const { return ToFloat(bits_); }
  float16& operator+=(float other) { return *this = float16(float(*this) + other); }
  float16& operator-=(float other) { return *this = float16(float(*this) - other); }
  float16& operator*=(float other) { return *this = float16(float(*this) * other); }
  float16& operator/=(float other) { return *this = float16(float(*this) / other); }
 private:
  // The nearest half, ties to even.
  static uint16_t FromFloat(float value) {
    uint32_t x;
    std::memcpy(&x, &value, 4);
    const uint32_t sign = x >> 16 & 0x8000;
    x &= 0x7fffffff;
    if (x > 0x7f800000) return sign | 0x7e00;
    if (x >= 0x477ff000) return sign | 0x7c00;
    if (x < 0x38800000) {
      const float scaled = std::fabs(value) * 16777216.0f;  // in units of the smallest subnormal half
      return sign | static_cast<uint16_t>(std::nearbyint(scaled));
    }
    const uint32_t odd = x >> 13 & 1;
    return sign | static_cast<uint16_t>((x - 0x38000000 + 0xfff + odd) >> 13);
  }
  static float ToFloat(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest < 0x400) return (sign ? -1.0f : 1.0f) * static_cast<float>(rest) / 16777216.0f;
    const uint32_t x = sign | (rest >= 0x7c00 ? (rest << 13 | 0x7f800000) : (rest << 13) + 0x38000000);
    float value;
    std::memcpy(&value, &x, 4);
    return value;
  }
  uint16_t bits_;
};

template<typename T>
struct IsFloat16 : std::is_same<typename std::remove_cv<T>::type, float16> {};
}  // namespace oneflow
namespace std {
template<>
class numeric_limits<oneflow::float16> {
 public:
  static constexpr bool is_specialized = true, has_infinity = true;
  static oneflow::float16 max() { return 65504.0f; }
  static oneflow::float16 lowest() { return -65504.0f; }
  static oneflow::float16 min() { return 6.103515625e-05f; }
  static oneflow::float16 epsilon() { return 9.765625e-04f; }
  static oneflow::float16 infinity() { return numeric_limits<float>::infinity(); }
};
}  // namespace std

#define FLOATING_DATA_TYPE_SEQ                  \
  OF_PP_MAKE_TUPLE_SEQ(float, DataType::kFloat) \
  OF_PP_MAKE_TUPLE_SEQ(double, DataType::kDouble)
#define INT_DATA_TYPE_SEQ                         \
  OF_PP_MAKE_TUPLE_SEQ(int8_t, DataType::kInt8)   \
  OF_PP_MAKE_TUPLE_SEQ(int32_t, DataType::kInt32) \
  OF_PP_MAKE_TUPLE_SEQ(int64_t, DataType::kInt64)
#define SIGNED_INT_DATA_TYPE_SEQ INT_DATA_TYPE_SEQ
#define INDEX_DATA_TYPE_SEQ                       \
  OF_PP_MAKE_TUPLE_SEQ(int32_t, DataType::kInt32) \
  OF_PP_MAKE_TUPLE_SEQ(int64_t, DataType::kInt64)
#define CHAR_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(char, DataType::kChar)
#define UNSIGNED_INT_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(uint8_t, DataType::kUInt8)
#define FLOAT16_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(float16, DataType::kFloat16)
#define ARITHMETIC_DATA_TYPE_SEQ FLOATING_DATA_TYPE_SEQ INT_DATA_TYPE_SEQ
#define POD_DATA_TYPE_SEQ ARITHMETIC_DATA_TYPE_SEQ CHAR_DATA_TYPE_SEQ UNSIGNED_INT_DATA_TYPE_SEQ
#define ALL_DATA_TYPE_SEQ POD_DATA_TYPE_SEQ
#define IMAGE_DATA_TYPE_SEQ                       \
  OF_PP_MAKE_TUPLE_SEQ(uint8_t, DataType::kUInt8) \
  OF_PP_MAKE_TUPLE_SEQ(float, DataType::kFloat)
#define DIM_SEQ                                                                               \
  OF_PP_MAKE_TUPLE_SEQ(1) OF_PP_MAKE_TUPLE_SEQ(2) OF_PP_MAKE_TUPLE_SEQ(3) OF_PP_MAKE_TUPLE_SEQ(4) \
  OF_PP_MAKE_TUPLE_SEQ(5) OF_PP_MAKE_TUPLE_SEQ(6)
#define DEVICE_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(DeviceType::kCPU)

namespace oneflow {
template<typename T>
struct IsFloating : std::is_floating_point<T> {};
template<typename T>
struct IsIntegral : std::integral_constant<bool, std::is_same<T, int8_t>::value || std::is_same<T, int32_t>::value
                                                     || std::is_same<T, int64_t>::value> {};

template<typename T, typename = void>
struct GetDataType;
template<>
struct GetDataType<void> : std::integral_constant<DataType, kChar> {};
template<DataType type>
struct TypeOf;
#define OPKIT_DATA_TYPE(cpp_type, data_type)                                     \
  template<>                                                                     \
  struct GetDataType<cpp_type> : std::integral_constant<DataType, data_type> {}; \
  template<>                                                                     \
  struct TypeOf<data_type> {                                                     \
    using type = cpp_type;                                                       \
  };
OF_PP_FOR_EACH_TUPLE(OPKIT_DATA_TYPE, POD_DATA_TYPE_SEQ FLOAT16_DATA_TYPE_SEQ)
#undef OPKIT_DATA_TYPE
template<DataType type>
using DataTypeToType = typename TypeOf<type>::type;

template<typename T>
T GetZeroVal() { return static_cast<T>(0); }
template<typename T>
T GetOneVal() { return static_cast<T>(1); }
template<typename T>
T GetMaxVal() { return std::numeric_limits<T>::max(); }
template<typename T>
T GetMinVal() { return std::numeric_limits<T>::lowest(); }
template<typename T>
const T* GetZeroPtr() {
  static const T value = GetZeroVal<T>();
  return &value;
}
template<typename T>
const T* GetOnePtr() {
  static const T value = GetOneVal<T>();
  return &value;
}
template<DeviceType, typename T>
struct DevDType {
  using type = T;
};

inline Maybe<DeviceType> DeviceType4DeviceTag(const std::string& tag) {
  if (tag == "cpu" || tag == "gpu") return tag == "cpu" ? kCPU : kGPU;
  return Error::ValueError("unknown device tag " + tag);
}
inline size_t GetSizeOfDataType(DataType type) {
  switch (type) {
    case kChar:
    case kInt8:
    case kUInt8: return 1;
    case kFloat16: return 2;
    case kFloat:
    case kInt32: return 4;
    case kDouble:
    case kInt64: return 8;
    default: throw ::opkit::Failure(__FILE__, __LINE__, std::string("dtype ") + DataType_Name(type) + " has no size");
  }
}
inline bool IsIntegralDataType(DataType type) { return type == kInt8 || type == kInt32 || type == kInt64; }
inline bool IsFloatingDataType(DataType type) { return type == kFloat || type == kDouble; }
inline bool IsIndexDataType(DataType type) { return type == kInt32 || type == kInt64; }
inline bool IsPODDataType(DataType type) { return type != kInvalidDataType && type < kOFRecord; }
}  // namespace oneflow
